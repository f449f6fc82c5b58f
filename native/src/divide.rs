//! Moves the rows of a node to its children, and reads what stands in the leaves.

use std::cell::RefCell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use crate::histogram::Span;
use crate::matrix::{Matrix, prefetch};
use crate::splits::BinSet;
use crate::threads;

/// A span to be divided: rows whose bin of `column` is in `left_bins` come first.
#[derive(Clone, Copy)]
pub struct Division {
    pub span: Span,
    pub column: usize,
    pub left_bins: BinSet,
}

/// Divides every span in place, keeping the order of rows on each side; returns how many went left. The spans come in the
/// order of trees and rows and do not overlap.
pub fn divide(matrix: &Matrix, orders: Vec<&mut [u32]>, divisions: &[Division], n_threads: usize) -> Vec<i64> {
    let rows: usize = divisions.iter().map(|d| d.span.end - d.span.begin).sum();
    let n_threads = if rows < 10_000 { 1 } else { n_threads };
    let piece = if n_threads == 1 { usize::MAX } else { (rows / (2 * n_threads)).clamp(4096, 65_536) };
    // Pieces are parted where they lie; then the pieces of one division are put together.
    let mut slices = own_slices(orders, divisions);
    let mut jobs = Vec::new();
    for (division, rows) in divisions.iter().zip(&mut slices) {
        jobs.extend(rows.chunks_mut(piece.min(rows.len().max(1))).map(|part| (division, part)));
    }
    let parted = threads::map(n_threads, jobs, |(division, part)| {
        SCRATCH.with_borrow_mut(|spare| part_in_place(matrix, division, part, spare))
    });
    let mut parted = parted.into_iter();
    let mut lefts = Vec::with_capacity(slices.len());
    for rows in &mut slices {
        let n = rows.len().div_ceil(piece.min(rows.len().max(1)));
        let of_pieces: Vec<usize> = parted.by_ref().take(n).collect();
        lefts.push(of_pieces.iter().sum::<usize>() as i64);
        if n > 1 {
            put_together(rows, piece, &of_pieces, n_threads);
        }
    }
    lefts
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

/// The rows of each division, cut out of the orders.
fn own_slices<'a>(orders: Vec<&'a mut [u32]>, divisions: &[Division]) -> Vec<&'a mut [u32]> {
    let mut out = Vec::with_capacity(divisions.len());
    let mut rest = divisions.iter().peekable();
    for (tree, mut order) in orders.into_iter().enumerate() {
        let mut at = 0;
        while let Some(d) = rest.next_if(|d| d.span.tree == tree) {
            let _before = order.split_off_mut(..d.span.begin - at);
            out.push(order.split_off_mut(..d.span.end - d.span.begin).expect("checked by the caller"));
            at = d.span.end;
        }
    }
    out
}

/// Whether the spans come in the order of trees and rows and do not overlap.
pub fn in_order(spans: &[Span]) -> bool {
    spans.is_sorted_by(|a, b| a.tree < b.tree || (a.tree == b.tree && a.end <= b.begin))
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

/// Divides every span in place by given sides, one a row in the order of the rows; returns how many went left. The spans
/// come in the order of trees and rows and do not overlap.
pub fn divide_by(orders: Vec<&mut [u32]>, spans: &[Span], left: &[bool], n_threads: usize) -> Vec<i64> {
    let divisions: Vec<Division> =
        spans.iter().map(|&span| Division { span, column: 0, left_bins: Default::default() }).collect();
    let mut jobs = Vec::with_capacity(spans.len());
    let mut rest = left;
    for rows in own_slices(orders, &divisions) {
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

/// Sums of wide gradients and hessians over each span.
pub fn leaf_sums(
    pairs: &[[i32; 2]],
    rows: usize,
    orders: &[&[u32]],
    spans: &[Span],
    n_threads: usize,
) -> Vec<[i64; 2]> {
    let (pieces, n_threads) = pieces_of(spans, n_threads);
    let sums = threads::map(n_threads, pieces, |(i, s)| {
        let (own, pairs) = (&orders[s.tree][s.begin..s.end], &pairs[s.tree * rows..(s.tree + 1) * rows]);
        let mut sum = [0i64; 2];
        for (at, &row) in own.iter().enumerate() {
            if let Some(&ahead) = own.get(at + 16) {
                prefetch(pairs, ahead as usize);
            }
            let [g, h] = pairs[row as usize];
            sum = [sum[0] + i64::from(g), sum[1] + i64::from(h)];
        }
        (i, sum)
    });
    let mut out = vec![[0; 2]; spans.len()];
    for (i, [g, h]) in sums {
        out[i] = [out[i][0] + g, out[i][1] + h];
    }
    out
}

/// Adds each span's value to the scores of its rows. Spans of one tree must not overlap; a tree's order names each row
/// once, and each tree has its own scores.
pub fn add_values(
    scores: &mut [f32],
    rows: usize,
    orders: &[&[u32]],
    spans: &[Span],
    values: &[f32],
    n_threads: usize,
) {
    // Relaxed atomics cost nothing here and keep a damaged order from being more than wrong.
    // SAFETY: same size and alignment, and nobody else has the slice while it is borrowed.
    let shared = unsafe { std::slice::from_raw_parts(scores.as_mut_ptr().cast::<AtomicU32>(), scores.len()) };
    let (pieces, n_threads) = pieces_of(spans, n_threads);
    threads::for_each(n_threads, pieces, |(i, s)| {
        let (own, scores) = (&orders[s.tree][s.begin..s.end], &shared[s.tree * rows..(s.tree + 1) * rows]);
        for (at, &row) in own.iter().enumerate() {
            if let Some(&ahead) = own.get(at + 16) {
                prefetch(scores, ahead as usize);
            }
            let place = &scores[row as usize];
            let sum = f32::from_bits(place.load(Relaxed)) + values[i];
            place.store(sum.to_bits(), Relaxed);
        }
    });
}
