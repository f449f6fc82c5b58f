//! Sums of gradients and hessians per bin, or numbers of rows, for many nodes at once.
//!
//! Gradients arrive as 31-bit integers and are rounded to `gradient_bits` here. Where they are short, gradient and
//! hessian are added as one word (gradient above, hessian below) for as many rows as cannot overflow, then widened.
//! Integer sums do not depend on the order of rows or the number of threads.

use std::cell::RefCell;

use crate::math::threads;
use crate::trees::matrix::{Entries, Matrix, prefetch};

/// Rows of one node: a span of one tree's order.
#[derive(Clone, Copy)]
pub struct Span {
    pub tree: usize,
    pub begin: usize,
    pub end: usize,
}

/// Gradients and hessians of the trees of a round: for every tree and row a pair of 31-bit integers.
#[derive(Clone, Copy)]
pub struct Gradients<'a> {
    pub pairs: &'a [[i32; 2]],
    pub rows: usize,
    pub bits: u32,
}

/// Wide integers are at most 2^30.
pub const WIDE_BITS: u32 = 30;

/// What every row adds to its bins.
trait Addends: Copy + Send + Sync {
    /// One tree's part.
    fn of(self, tree: usize) -> Self;

    fn prefetch(&self, row: u32);

    fn pair(&self, row: u32) -> (i64, i64);

    /// How many rows can be added in a word of two 32-bit halves.
    fn rows_in_a_word(&self) -> usize;
}

impl Gradients<'_> {
    #[inline(always)]
    fn narrow(&self, wide: i32) -> i64 {
        let shift = WIDE_BITS + 1 - self.bits;
        ((i64::from(wide) << 1 >> shift) + 1) >> 1
    }
}

impl Addends for Gradients<'_> {
    fn of(self, tree: usize) -> Self {
        Self { pairs: &self.pairs[tree * self.rows..(tree + 1) * self.rows], ..self }
    }

    #[inline(always)]
    fn prefetch(&self, row: u32) {
        prefetch(self.pairs, row as usize);
    }

    #[inline(always)]
    fn pair(&self, row: u32) -> (i64, i64) {
        let [g, h] = self.pairs[row as usize];
        (self.narrow(g), self.narrow(h))
    }

    fn rows_in_a_word(&self) -> usize {
        (1usize << (WIDE_BITS + 2 - self.bits)) - 1
    }
}

/// One for every row.
#[derive(Clone, Copy)]
struct Ones;

impl Addends for Ones {
    fn of(self, _tree: usize) -> Self {
        self
    }

    #[inline(always)]
    fn prefetch(&self, _row: u32) {}

    #[inline(always)]
    fn pair(&self, _row: u32) -> (i64, i64) {
        (0, 1)
    }

    fn rows_in_a_word(&self) -> usize {
        u32::MAX as usize
    }
}

/// Integers that are added as they are; hessians are not below 0.
#[derive(Clone, Copy)]
struct Whole<'a> {
    pairs: &'a [[i32; 2]],
    /// The greatest size of any of them.
    most: u32,
}

impl Addends for Whole<'_> {
    fn of(self, _tree: usize) -> Self {
        self
    }

    #[inline(always)]
    fn prefetch(&self, row: u32) {
        prefetch(self.pairs, row as usize);
    }

    #[inline(always)]
    fn pair(&self, row: u32) -> (i64, i64) {
        let [g, h] = self.pairs[row as usize];
        (g.into(), h.into())
    }

    fn rows_in_a_word(&self) -> usize {
        (i32::MAX as u32 / self.most.max(1)) as usize
    }
}

/// Pairs rounded to `bits`: the integers that are summed.
pub fn narrow_all(gradients: Gradients, out: &mut [[i32; 2]]) {
    for (o, &[g, h]) in out.iter_mut().zip(gradients.pairs) {
        *o = [gradients.narrow(g) as i32, gradients.narrow(h) as i32];
    }
}

thread_local! {
    static SCRATCH: RefCell<Vec<i64>> = const { RefCell::new(Vec::new()) };
}

/// Spans of one table to be summed, and where their sums go: spans one after the other, each span's total last.
pub struct Sums<'a, A> {
    pub matrix: Matrix<'a>,
    pub addends: A,
    pub orders: &'a [&'a [u32]],
    pub spans: &'a [Span],
    pub out: &'a mut [[i64; 2]],
}

/// Sums per bin of every span of every table, `(gradient, hessian)` pairs.
pub fn build(tables: Vec<Sums<Gradients>>, n_threads: usize) {
    add_up(tables, n_threads);
}

/// The number of rows per bin of every span, each span's total last, spans one after the other.
pub fn count(matrix: &Matrix, orders: &[&[u32]], spans: &[Span], n_threads: usize) -> Vec<i64> {
    let mut pairs = vec![[0; 2]; spans.len() * (matrix.n_bins() + 1)];
    add_up(vec![Sums { matrix: *matrix, addends: Ones, orders, spans, out: &mut pairs }], n_threads);
    pairs.into_iter().map(|[_, rows]| rows).collect()
}

/// Sums of all rows' pairs over every bin, and no total; hessians are not below 0.
pub fn bin_sums(matrix: &Matrix, pairs: &[[i32; 2]], n_threads: usize) -> Vec<[i64; 2]> {
    let most = pairs.iter().flatten().map(|x| x.unsigned_abs()).max().unwrap_or(0);
    let order: Vec<u32> = (0..matrix.rows as u32).collect();
    let mut out = vec![[0; 2]; matrix.n_bins() + 1];
    let (orders, spans) = ([&order[..]], [Span { tree: 0, begin: 0, end: matrix.rows }]);
    let addends = Whole { pairs, most };
    add_up(vec![Sums { matrix: *matrix, addends, orders: &orders, spans: &spans, out: &mut out }], n_threads);
    out.pop();
    out
}

fn add_up<A: Addends>(tables: Vec<Sums<A>>, n_threads: usize) {
    let rows_of = |t: &Sums<A>| t.spans.iter().map(|s| s.end - s.begin).sum::<usize>();
    let rows: usize = tables.iter().map(rows_of).sum();
    let work: usize = tables.iter().map(|t| rows_of(t) * (t.matrix.dense_columns.len() + 4)).sum();
    let n_threads = if work < 30_000 { 1 } else { n_threads };
    let piece = if n_threads == 1 { usize::MAX } else { (rows / (n_threads * 3)).max(4096) };
    // A span of one piece is summed where it belongs; the pieces of others are added up afterwards.
    let mut places = Vec::new();
    let mut jobs = Vec::new();
    for Sums { matrix, addends, orders, spans, out } in tables {
        for (span, place) in spans.iter().zip(out.chunks_exact_mut(matrix.n_bins() + 1)) {
            let table = (matrix, addends.of(span.tree), &orders[span.tree][span.begin..span.end]);
            if span.end - span.begin <= piece {
                jobs.push((table, Ok(place)));
            } else {
                jobs.extend(table.2.chunks(piece).map(|rows| ((table.0, table.1, rows), Err(places.len()))));
                places.push((matrix, place));
            }
        }
    }
    let parts = threads::map(n_threads, jobs, |((matrix, addends, rows), place)| match place {
        Ok(out) => {
            sum_rows(&matrix, addends, rows, out);
            fill_defaults(&matrix, out);
            None
        }
        Err(i) => {
            let mut part = vec![[0; 2]; matrix.n_bins() + 1];
            sum_rows(&matrix, addends, rows, &mut part);
            Some((i, part))
        }
    });
    for (i, part) in parts.into_iter().flatten() {
        for (o, p) in places[i].1.iter_mut().zip(&part) {
            o[0] += p[0];
            o[1] += p[1];
        }
    }
    places.into_iter().for_each(|(matrix, out)| fill_defaults(&matrix, out));
}

/// Adds the sums of these rows to `out`, their total to its last pair. Default bins get nothing.
fn sum_rows(matrix: &Matrix, addends: impl Addends, rows: &[u32], out: &mut [[i64; 2]]) {
    let limit = addends.rows_in_a_word();
    if limit >= 1024 {
        // Taken out while in use, so that a panic leaves no half-filled words behind.
        let mut words = SCRATCH.take();
        // A byte added to any column's offset stays inside.
        words.resize(words.len().max(matrix.n_bins() + 256), 0);
        let n_bins = matrix.n_bins();
        for rows in rows.chunks(limit) {
            let total = add_rows(matrix, addends, rows, &mut words, |(g, h)| (g << 32) + h);
            let last = out.len() - 1;
            for (o, w) in out[..last].iter_mut().zip(words.iter_mut()) {
                unpack(o, std::mem::take(w));
            }
            unpack(&mut out[last], total);
            // A damaged table may have written behind the last bin.
            words[n_bins..n_bins + 256].fill(0);
        }
        SCRATCH.set(words);
        return;
    }
    for half in 0..2 {
        let mut words = vec![0i64; matrix.n_bins() + 256];
        let total = add_rows(matrix, addends, rows, &mut words, |(g, h)| if half == 0 { g } else { h });
        let last = out.len() - 1;
        for (o, w) in out[..last].iter_mut().zip(&words) {
            o[half] += w;
        }
        out[last][half] += total;
    }
}

#[inline(always)]
fn unpack(out: &mut [i64; 2], word: i64) {
    let h = word & 0xffff_ffff;
    out[0] += (word - h) >> 32;
    out[1] += h;
}

/// Adds each row's word to its bins; returns the sum of the words.
#[inline(always)]
fn add_rows(
    matrix: &Matrix,
    addends: impl Addends,
    rows: &[u32],
    words: &mut [i64],
    word_of: impl Fn((i64, i64)) -> i64,
) -> i64 {
    let span = |row: u32| matrix.starts[row as usize] as usize..matrix.starts[row as usize + 1] as usize;
    match (matrix.starts.is_empty(), matrix.entries) {
        (true, _) => add_each(matrix, addends, rows, words, word_of, |_| &[] as &[u16]),
        (false, Entries::Short(e)) => add_each(matrix, addends, rows, words, word_of, |row| &e[span(row)]),
        (false, Entries::Long(e)) => add_each(matrix, addends, rows, words, word_of, |row| &e[span(row)]),
    }
}

#[inline(always)]
fn add_each<'a, E: Copy + Into<u32> + 'a>(
    matrix: &Matrix,
    addends: impl Addends,
    rows: &[u32],
    words: &mut [i64],
    word_of: impl Fn((i64, i64)) -> i64,
    entries_of: impl Fn(u32) -> &'a [E],
) -> i64 {
    let width = matrix.dense_columns.len();
    let offsets: Vec<usize> = matrix.dense_columns.iter().map(|&c| matrix.offsets[c as usize] as usize).collect();
    let mut total = 0;
    for (i, &row) in rows.iter().enumerate() {
        if let Some(&ahead) = rows.get(i + 16) {
            prefetch(matrix.dense, ahead as usize * width);
            addends.prefetch(ahead);
            prefetch(entries_of(ahead), 0);
        }
        let word = word_of(addends.pair(row));
        total += word;
        for (&bin, &offset) in matrix.dense[row as usize * width..][..width].iter().zip(&offsets) {
            // SAFETY: `words` has 256 places behind the greatest offset (`Matrix::check`, `sum_rows`).
            unsafe { *words.get_unchecked_mut(offset + bin as usize) += word };
        }
        for &e in entries_of(row) {
            words[e.into() as usize] += word;
        }
    }
    total
}

/// Gives each sparse column's default bin what is missing from the total.
fn fill_defaults(matrix: &Matrix, out: &mut [[i64; 2]]) {
    let total = out[out.len() - 1];
    for (column, &default) in matrix.defaults.iter().enumerate() {
        if default >= 0 {
            let (low, high) = (matrix.offsets[column] as usize, matrix.offsets[column + 1] as usize);
            let mut rest = total;
            for pair in &out[low..high] {
                rest[0] -= pair[0];
                rest[1] -= pair[1];
            }
            out[low + default as usize] = rest;
        }
    }
}
