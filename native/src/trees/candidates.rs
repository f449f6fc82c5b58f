//! Which ways rows may come out of one party's own cuts, whatever the cuts of others say.

use crate::math::threads;
use crate::trees::splits::BinSet;

/// One party's cuts of a forest, borrowed; a cut stands behind every own cut above it.
#[derive(Clone, Copy)]
pub struct OwnCuts<'a> {
    /// Counted among the party's own.
    pub columns: &'a [i32],
    /// Values below go left.
    pub thresholds: &'a [f32],
    pub missing_left: &'a [bool],
    /// Which categories go left, where a cut is by categories.
    pub sets: &'a [BinSet],
    pub categorical: &'a [bool],
    /// The nearest own cut above: twice its number, and one more right of it; -1 if there is none.
    pub after: &'a [i64],
}

impl OwnCuts<'_> {
    /// What the walk relies on: arrays of one length, columns that are there, cuts behind those above them.
    pub fn check(&self, n_columns: usize) -> Result<(), &'static str> {
        let n = self.columns.len();
        let sizes =
            [self.thresholds.len(), self.missing_left.len(), self.sets.len(), self.categorical.len(), self.after.len()];
        if sizes.iter().any(|&size| size != n) {
            return Err("the arrays of the cuts differ in length");
        }
        if self.columns.iter().any(|&column| column < 0 || column as usize >= n_columns) {
            return Err("a cut names a column that is not there");
        }
        let goes_down = |(i, &after): (usize, &i64)| (-1..2 * i as i64).contains(&after);
        if !self.after.iter().enumerate().all(goes_down) {
            return Err("a cut stands before one that is above it");
        }
        Ok(())
    }

    fn goes_left(&self, cut: usize, x: f32) -> bool {
        if !self.categorical[cut] {
            return if x.is_nan() { self.missing_left[cut] } else { x < self.thresholds[cut] };
        }
        let code = x as usize;
        if x.is_nan() || x < 0.0 || code > 255 {
            return self.missing_left[cut];
        }
        (self.sets[cut][code / 64] >> (code % 64)) & 1 == 1
    }
}

/// For every row and cut whether the row may come out on its left, then on its right: it must go that way there, and
/// must be able to come there as far as the party's own cuts say. Laid row after row.
pub fn reached(cuts: OwnCuts, values: &[f32], n_columns: usize, out: &mut [bool], n_threads: usize) {
    let n = cuts.columns.len();
    let one = |row: &[f32], out: &mut [bool]| {
        for cut in 0..n {
            let comes = cuts.after[cut] < 0 || out[cuts.after[cut] as usize];
            let left = cuts.goes_left(cut, row[cuts.columns[cut] as usize]);
            out[2 * cut] = comes & left;
            out[2 * cut + 1] = comes & !left;
        }
    };
    let together = (values.len() / n_columns).div_ceil(4 * n_threads).max(1);
    let blocks = values.chunks(together * n_columns).zip(out.chunks_mut(together * 2 * n)).collect();
    threads::for_each(n_threads, blocks, |(values, out): (&[f32], &mut [bool])| {
        values.chunks(n_columns).zip(out.chunks_mut(2 * n)).for_each(|(row, out)| one(row, out));
    });
}
