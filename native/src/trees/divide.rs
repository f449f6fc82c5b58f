//! Moves the rows of a node to its children, and reads what stands in the leaves.

use std::cell::RefCell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::math::threads;
use crate::trees::check_cuts::Named;
use crate::trees::histogram::Span;
use crate::trees::matrix::{Matrix, prefetch};
use crate::trees::splits::BinSet;

/// A span to be divided: rows whose bin of `column` is in `left_bins` come first.
#[derive(Clone, Copy)]
pub struct Division {
    pub span: Span,
    pub column: usize,
    pub left_bins: BinSet,
}

/// Rows of one table to be divided. The spans do not overlap.
pub struct Table<'a> {
    pub matrix: Matrix<'a>,
    pub orders: Vec<&'a mut [u32]>,
    pub divisions: Vec<Division>,
}

/// Divides every span of every table in place, keeping the order of rows on each side; returns how many went left.
pub fn divide(tables: Vec<Table>, n_threads: usize) -> Vec<i64> {
    let rows: usize = tables.iter().flat_map(|t| &t.divisions).map(|d| d.span.end - d.span.begin).sum();
    let n_threads = if rows < 10_000 { 1 } else { n_threads };
    let piece = if n_threads == 1 { usize::MAX } else { (rows / (2 * n_threads)).clamp(4096, 65_536) };
    // Pieces are parted where they lie; then the pieces of one division are put together.
    let mut slices = Vec::new();
    for Table { matrix, orders, divisions } in tables {
        let own = own_slices(orders, &divisions.iter().map(|d| d.span).collect::<Vec<_>>());
        slices.extend(divisions.into_iter().zip(own).map(|(division, rows)| (matrix, division, rows)));
    }
    let mut jobs = Vec::new();
    for (matrix, division, rows) in &mut slices {
        jobs.extend(rows.chunks_mut(piece.min(rows.len().max(1))).map(|part| (&*matrix, &*division, part)));
    }
    let parted = threads::map(n_threads, jobs, |(matrix, division, part)| {
        SCRATCH.with_borrow_mut(|spare| part_in_place(matrix, division, part, spare))
    });
    let mut parted = parted.into_iter();
    let mut lefts = Vec::with_capacity(slices.len());
    for (_, _, rows) in &mut slices {
        let n = rows.len().div_ceil(piece.min(rows.len().max(1)));
        let of_pieces: Vec<usize> = parted.by_ref().take(n).collect();
        lefts.push(of_pieces.iter().sum::<usize>() as i64);
        if n > 1 {
            put_together(rows, piece, &of_pieces, n_threads);
        }
    }
    lefts
}

/// Where each node lies in a table of (tree, node).
pub fn places(named: Named, shape: [usize; 2]) -> Result<Vec<usize>, &'static str> {
    if named.tree.len() != named.node.len() {
        return Err("one node a tree is needed");
    }
    let place = |(&t, &n): (&i64, &i64)| {
        let fits = t >= 0 && n >= 0 && (t as usize) < shape[0] && (n as usize) < shape[1];
        fits.then_some(t as usize * shape[1] + n as usize).ok_or("no such node")
    };
    named.tree.iter().zip(named.node).map(place).collect()
}

/// The spans of nodes, from a table of (tree, node, begin and end), checked against the orders.
pub fn spans(named: Named, table: &[i64], shape: [usize; 2], orders: &[&[u32]]) -> Result<Vec<Span>, &'static str> {
    let one = |at: usize| {
        let (tree, begin, end) = (at / shape[1], table[2 * at], table[2 * at + 1]);
        let fits = begin >= 0 && begin <= end && tree < orders.len() && end as usize <= orders[tree].len();
        let span = Span { tree, begin: begin as usize, end: end as usize };
        fits.then_some(span).ok_or("a span lies outside its tree's rows")
    };
    places(named, shape)?.into_iter().map(one).collect()
}

/// Each tree's order.
pub fn orders_of(flat: &[u32], trees: usize) -> Vec<&[u32]> {
    let width = flat.len() / trees.max(1);
    (0..trees).map(|t| &flat[t * width..(t + 1) * width]).collect()
}

/// Rows that go the same way: their bins, the orders of all trees, and the table of spans (trees and nodes, by `shape`).
pub struct Part<'a> {
    pub matrix: Matrix<'a>,
    pub orders: &'a mut [u32],
    pub spans: &'a mut [i64],
    pub shape: [usize; 2],
}

/// Cuts of nodes: rows whose bin is in the set go to the child, the others to the one behind it.
#[derive(Clone, Copy)]
pub struct Cuts<'a> {
    pub nodes: Named<'a>,
    pub child: &'a [i64],
    pub column: &'a [i32],
    pub left_bins: &'a [BinSet],
}

/// Divides rows and writes down the spans of all children; returns the sizes of both, part after part.
pub fn divide_parts(parts: Vec<(&mut Part, Cuts)>, n_threads: usize) -> Result<Vec<i64>, &'static str> {
    let (mut tables, mut placed) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
    for (Part { matrix, orders, spans: table, shape }, cuts) in parts {
        let own = spans(cuts.nodes, table, *shape, &orders_of(orders, shape[0]))?;
        let divisions = divisions_of(matrix, &own, &cuts, shape[1])?;
        let width = orders.len() / shape[0].max(1);
        let orders = match width {
            0 => (0..shape[0]).map(|_| Default::default()).collect(),
            _ => orders.chunks_mut(width).collect(),
        };
        tables.push(Table { matrix: *matrix, orders, divisions });
        placed.push((table, places(cuts.nodes, *shape)?, shape[1], cuts.child, own));
    }
    let lefts = divide(tables, n_threads);
    let (mut rest, mut sizes) = (&lefts[..], Vec::with_capacity(2 * lefts.len()));
    for (table, places, nodes, children, spans) in placed {
        let (own, others) = rest.split_at(spans.len());
        sizes.extend(child_spans(table, &places, nodes, children, &spans, own));
        rest = others;
    }
    Ok(sizes)
}

/// Writes down the spans of both children of every span; their sizes.
pub fn child_spans(
    table: &mut [i64],
    places: &[usize],
    nodes: usize,
    children: &[i64],
    spans: &[Span],
    lefts: &[i64],
) -> Vec<i64> {
    let mut sizes = Vec::with_capacity(2 * lefts.len());
    for (i, (&left, span)) in lefts.iter().zip(spans).enumerate() {
        let (begin, end) = (span.begin as i64, span.end as i64);
        let at = 2 * (places[i] / nodes * nodes + children[i] as usize);
        table[at..at + 4].copy_from_slice(&[begin, begin + left, begin + left, end]);
        sizes.extend([left, end - begin - left]);
    }
    sizes
}

fn divisions_of(matrix: &Matrix, spans: &[Span], cuts: &Cuts, nodes: usize) -> Result<Vec<Division>, &'static str> {
    let Cuts { child, column, left_bins, .. } = cuts;
    if [child.len(), column.len(), left_bins.len()].iter().any(|&n| n != spans.len()) {
        return Err("one child, column and set a node is needed");
    }
    if !child.iter().all(|&c| c >= 0 && (c as usize) + 1 < nodes) {
        return Err("no room for a child's span");
    }
    if !column.iter().all(|&c| (0..matrix.n_columns() as i32).contains(&c)) {
        return Err("no such column");
    }
    if !apart(spans) {
        return Err("spans must not overlap");
    }
    let one = |((&span, &column), &left_bins)| Division { span, column: column as usize, left_bins };
    Ok(spans.iter().zip(*column).zip(*left_bins).map(one).collect())
}

/// Brings the left parts of all pieces to the front.
fn put_together(rows: &mut [u32], piece: usize, lefts: &[usize], n_threads: usize) {
    let mut whole = vec![0u32; rows.len()];
    let (mut left, mut right) = whole.split_at_mut(lefts.iter().sum());
    let mut jobs = Vec::new();
    for (part, &l) in rows.chunks(piece).zip(lefts) {
        jobs.push((&part[..l], left.split_off_mut(..l).expect("room for all")));
        jobs.push((&part[l..], right.split_off_mut(..part.len() - l).expect("room for all")));
    }
    threads::for_each(n_threads, jobs, |(from, to)| to.copy_from_slice(from));
    let back = rows.chunks_mut(piece).zip(whole.chunks(piece)).collect();
    threads::for_each(n_threads, back, |(to, from): (&mut [u32], &[u32])| to.copy_from_slice(from));
}

/// The rows of each span, cut out of the orders.
fn own_slices<'a>(orders: Vec<&'a mut [u32]>, spans: &[Span]) -> Vec<&'a mut [u32]> {
    let mut out: Vec<&mut [u32]> = spans.iter().map(|_| Default::default()).collect();
    let mut rest = by_place(spans).into_iter().peekable();
    for (tree, mut order) in orders.into_iter().enumerate() {
        let mut at = 0;
        while let Some(i) = rest.next_if(|&i| spans[i].tree == tree) {
            let Span { begin, end, .. } = spans[i];
            let _before = order.split_off_mut(..begin - at);
            out[i] = order.split_off_mut(..end - begin).expect("checked by the caller");
            at = end;
        }
    }
    out
}

/// The numbers of the spans in the order of trees and rows.
fn by_place(spans: &[Span]) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..spans.len()).collect();
    numbers.sort_by_key(|&i| (spans[i].tree, spans[i].begin, spans[i].end));
    numbers
}

/// Whether no two of the spans overlap.
pub fn apart(spans: &[Span]) -> bool {
    let before = |a: &Span, b: &Span| a.tree < b.tree || (a.tree == b.tree && a.end <= b.begin);
    by_place(spans).is_sorted_by(|&a, &b| before(&spans[a], &spans[b]))
}

thread_local! {
    static SCRATCH: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Brings the rows that go left to the front; returns how many they are.
fn part_in_place(matrix: &Matrix, division: &Division, rows: &mut [u32], spare: &mut Vec<u32>) -> usize {
    if spare.len() < rows.len() + 1 {
        spare.resize(rows.len() + 1, 0);
    }
    let set = division.left_bins;
    let (mut l, mut r) = (0, 0);
    matrix.column(division.column).each(rows, |rows, i, bin| {
        let left = ((set[bin as usize >> 6] >> (bin & 63)) & 1) as usize;
        // Written to both sides, kept on one; the left side never overtakes the rows still to be read.
        let row = rows[i];
        rows[l] = row;
        spare[r] = row;
        l += left;
        r += 1 - left;
    });
    rows[l..].copy_from_slice(&spare[..r]);
    l
}

/// For every row of every division, in the order of the rows, whether it goes left.
pub fn sides(matrix: &Matrix, orders: &[&[u32]], divisions: &[Division], n_threads: usize) -> Vec<bool> {
    let rows: usize = divisions.iter().map(|d| d.span.end - d.span.begin).sum();
    let n_threads = if rows < 10_000 { 1 } else { n_threads };
    let parts = threads::map(n_threads, divisions.iter().collect(), |d: &Division| {
        let mut rows = orders[d.span.tree][d.span.begin..d.span.end].to_vec();
        let mut left = vec![false; rows.len()];
        matrix.column(d.column).each(&mut rows, |_, i, bin| {
            left[i] = (d.left_bins[bin as usize >> 6] >> (bin & 63)) & 1 == 1;
        });
        left
    });
    parts.concat()
}

/// Divides every span in place by given sides, one a row, span after span; returns how many went left. The spans do not
/// overlap.
pub fn divide_by(orders: Vec<&mut [u32]>, spans: &[Span], left: &[bool], n_threads: usize) -> Vec<i64> {
    let mut jobs = Vec::with_capacity(spans.len());
    let mut rest = left;
    for rows in own_slices(orders, spans) {
        let (own, others) = rest.split_at(rows.len());
        jobs.push((rows, own));
        rest = others;
    }
    let n_threads = if left.len() < 10_000 { 1 } else { n_threads };
    threads::map(n_threads, jobs, |(rows, left)| {
        SCRATCH.with_borrow_mut(|spare| {
            spare.clear();
            let mut l = 0;
            for i in 0..rows.len() {
                if left[i] {
                    rows[l] = rows[i];
                    l += 1;
                } else {
                    spare.push(rows[i]);
                }
            }
            rows[l..].copy_from_slice(spare);
            l as i64
        })
    })
}

/// Pieces of all spans, each with the number of its span.
fn pieces_of(spans: &[Span], n_threads: usize) -> (Vec<(usize, Span)>, usize) {
    let rows: usize = spans.iter().map(|s| s.end - s.begin).sum();
    let piece = (rows / (2 * n_threads)).clamp(2048, 65_536);
    let cut = |(i, s): (usize, &Span)| {
        let s = *s;
        (s.begin..s.end).step_by(piece).map(move |begin| (i, Span { begin, end: s.end.min(begin + piece), ..s }))
    };
    (spans.iter().enumerate().flat_map(cut).collect(), if rows < 10_000 { 1 } else { n_threads })
}

/// Leaves of one table: wide pairs of all trees, so many rows each, and the spans to be summed.
pub struct Leaves<'a> {
    pub pairs: &'a [[i32; 2]],
    pub rows: usize,
    pub orders: &'a [&'a [u32]],
    pub spans: &'a [Span],
}

/// Sums of wide gradients and hessians over each span of every table.
pub fn leaf_sums(tables: &[Leaves], n_threads: usize) -> Vec<Vec<[i64; 2]>> {
    let mut jobs = Vec::new();
    let mut useful = 1;
    for (t, table) in tables.iter().enumerate() {
        let (pieces, n) = pieces_of(table.spans, n_threads);
        jobs.extend(pieces.into_iter().map(|(i, s)| (t, i, s)));
        useful = useful.max(n);
    }
    let sums = threads::map(useful, jobs, |(t, i, s)| {
        let Leaves { pairs, rows, orders, .. } = tables[t];
        let (own, pairs) = (&orders[s.tree][s.begin..s.end], &pairs[s.tree * rows..(s.tree + 1) * rows]);
        let mut sum = [0i64; 2];
        for (at, &row) in own.iter().enumerate() {
            if let Some(&ahead) = own.get(at + 16) {
                prefetch(pairs, ahead as usize);
            }
            let [g, h] = pairs[row as usize];
            sum = [sum[0] + i64::from(g), sum[1] + i64::from(h)];
        }
        (t, i, sum)
    });
    let mut out: Vec<Vec<[i64; 2]>> = tables.iter().map(|table| vec![[0; 2]; table.spans.len()]).collect();
    for (t, i, [g, h]) in sums {
        let place = &mut out[t][i];
        *place = [place[0] + g, place[1] + h];
    }
    out
}

/// Values to be added to the scores of a table's rows (trees x `rows`), span by span of every part of the table. Spans
/// of one tree must not overlap; the orders of a tree name each row once, and each tree has its own scores.
pub struct Adding<'a> {
    pub scores: &'a mut [f32],
    pub rows: usize,
    pub parts: Vec<(Vec<&'a [u32]>, Vec<Span>)>,
    pub values: &'a [f32],
}

/// Adds each span's value to the scores of its rows, in every table.
///
/// Threads share out the rows by their numbers, not by spans: scores that lie side by side are written by one of them.
/// If the rows of a span are not in order, the shares are uneven, and no less complete.
pub fn add_values(mut tables: Vec<Adding>, n_threads: usize) {
    let in_all: usize =
        tables.iter().flat_map(|t| &t.parts).flat_map(|(_, spans)| spans).map(|s| s.end - s.begin).sum();
    let n_threads = if in_all < 10_000 { 1 } else { n_threads };
    let piece = if n_threads == 1 { usize::MAX } else { (in_all / (2 * n_threads)).max(2048).next_multiple_of(64) };
    let mut jobs = Vec::new();
    for Adding { scores, rows, parts, values } in &mut tables {
        let width = rows.div_ceil(scores.len().div_ceil(piece).max(1)).next_multiple_of(64);
        // Relaxed atomics cost nothing here and keep a damaged order from being more than wrong.
        // SAFETY: same size and alignment, and nobody else has the slice while it is borrowed.
        let shared = unsafe { std::slice::from_raw_parts(scores.as_mut_ptr().cast::<AtomicU32>(), scores.len()) };
        for (orders, spans) in &*parts {
            jobs.extend(
                (0..*rows).step_by(width.max(1)).map(|first| (shared, *rows, orders, spans, *values, first, width)),
            );
        }
    }
    threads::for_each(n_threads, jobs, |(scores, rows, orders, spans, values, first, width)| {
        for (span, &value) in spans.iter().zip(values) {
            let own = &orders[span.tree][span.begin..span.end];
            let before = |end: usize| {
                let places = (width..=end).step_by(width).map(|end| own.partition_point(|&row| (row as usize) < end));
                places.max().unwrap_or(0)
            };
            let end = if first + width >= rows { own.len() } else { before(first + width) };
            add_value(&own[before(first)..end], &scores[span.tree * rows..][..rows], value);
        }
    });
}

fn add_value(own: &[u32], scores: &[AtomicU32], value: f32) {
    for (at, &row) in own.iter().enumerate() {
        if let Some(&ahead) = own.get(at + 16) {
            prefetch(scores, ahead as usize);
        }
        let place = &scores[row as usize];
        place.store((f32::from_bits(place.load(Relaxed)) + value).to_bits(), Relaxed);
    }
}
