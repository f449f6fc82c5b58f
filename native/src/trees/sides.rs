//! Sides of rows by their numbers: what is known of some party's rows put where it is found for any other's.
//!
//! The rows of a party are numbered its own way; `numbers` says which of the table's rows each is, or is empty where they
//! are the table's own numbers. A side is a byte, 0 or 1.

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use super::histogram::Span;
use super::matrix::prefetch;
use crate::math::threads;

/// Rows of one task.
const PIECE: usize = 1 << 15;
/// Rows ahead of which memory is asked for.
const AHEAD: usize = 24;

/// A party's rows on their way down the trees, of which some nodes are looked at.
#[derive(Clone, Copy)]
pub struct Followed<'a> {
    pub orders: &'a [&'a [u32]],
    pub spans: &'a [Span],
    /// The table's row that each of the party's rows is; empty: that of the same number.
    pub numbers: &'a [u32],
    /// Rows of the table.
    pub n_rows: usize,
}

impl Followed<'_> {
    pub fn n_sides(&self) -> usize {
        self.spans.iter().map(|s| s.end - s.begin).sum()
    }

    /// Pieces of the spans, with the tree that each is of.
    fn pieces(&self) -> Vec<(usize, &[u32])> {
        let rows = self.spans.iter().flat_map(|s| {
            self.orders[s.tree][s.begin..s.end].chunks(PIECE).map(move |rows| (s.tree * self.n_rows, rows))
        });
        rows.collect()
    }

    /// The place of a row among all trees' sides.
    fn place(&self, first: usize, row: u32) -> usize {
        let number = if self.numbers.is_empty() { row } else { self.numbers[row as usize] };
        assert!((number as usize) < self.n_rows, "a row that is not in the table");
        first + number as usize
    }

    /// Places of all rows of a piece, a block at a time, each asked for ahead of `work`.
    fn each(&self, first: usize, rows: &[u32], by_row: &[AtomicU8], mut work: impl FnMut(usize, &AtomicU8)) {
        let mut places = [0; AHEAD];
        for (block, rows) in rows.chunks(AHEAD).enumerate() {
            for (place, &row) in places.iter_mut().zip(rows) {
                *place = self.place(first, row);
                prefetch(by_row, *place);
            }
            for (i, &place) in places[..rows.len()].iter().enumerate() {
                work(block * AHEAD + i, &by_row[place]);
            }
        }
    }
}

/// Relaxed atomics cost nothing here, and keep a damaged order from being more than wrong.
fn shared(by_row: &mut [bool]) -> &[AtomicU8] {
    // SAFETY: same size and alignment, nobody else has the slice while it is borrowed, and only 0 and 1 are stored.
    unsafe { std::slice::from_raw_parts(by_row.as_mut_ptr().cast::<AtomicU8>(), by_row.len()) }
}

/// Puts sides, one a row in the order of the rows, to the rows' numbers (trees x rows of the table).
pub fn put(followed: &Followed, sides: &[bool], by_row: &mut [bool], n_threads: usize) {
    let by_row = shared(by_row);
    let mut rest = sides;
    let jobs = followed.pieces().into_iter().map(|(first, rows)| {
        let (own, others) = rest.split_at(rows.len());
        rest = others;
        (first, rows, own)
    });
    threads::for_each(
        useful(sides.len(), n_threads),
        jobs.collect(),
        |(first, rows, own): (usize, &[u32], &[bool])| {
            followed.each(first, rows, by_row, |i, place| place.store(u8::from(own[i]), Relaxed));
        },
    );
}

/// The sides at the rows' numbers, one a row in the order of the rows.
pub fn take(followed: &Followed, by_row: &[bool], n_threads: usize) -> Vec<bool> {
    let mut out = vec![false; followed.n_sides()];
    // SAFETY: same size and alignment; they are only read here.
    let by_row = unsafe { std::slice::from_raw_parts(by_row.as_ptr().cast::<AtomicU8>(), by_row.len()) };
    let n_threads = useful(out.len(), n_threads);
    let mut rest = &mut out[..];
    let mut jobs = Vec::new();
    for (first, rows) in followed.pieces() {
        let (own, others) = rest.split_at_mut(rows.len());
        rest = others;
        jobs.push((first, rows, own));
    }
    threads::for_each(n_threads, jobs, |(first, rows, own): (usize, &[u32], &mut [bool])| {
        followed.each(first, rows, by_row, |i, place| own[i] = place.load(Relaxed) != 0);
    });
    out
}

fn useful(rows: usize, n_threads: usize) -> usize {
    if rows < 10_000 { 1 } else { n_threads }
}
