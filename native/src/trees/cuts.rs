//! Cut points of a column: exact quantiles over the ordered bits of 32-bit floats.
//!
//! A float becomes a `u32` key with the same order. Keys are grouped into *cells*: each distinct key, or, with
//! `min_rows` > 1, the first prefix (four bits a step) with fewer rows than that. With at most `max_bin` cells each is a
//! bin. Otherwise bins hold equal shares of the *capped* counts: a cell counts at most `tau` rows, where `tau` is such
//! that the capped counts add up to `max_bin * tau`. So a value that half the rows share takes one bin, not half of them.
//! A cut is the least key of the bin to its right. Everything is a function of sums of counts, so parties can find the
//! same cuts without showing a value.

use crate::math::threads;

pub const DIGIT_BITS: u32 = 4;

/// The key of a number: same order, `-0` equal to `0`.
#[inline(always)]
pub fn key(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    bits ^ (((bits as i32 >> 31) as u32) | 0x8000_0000)
}

/// The number of a key.
#[inline(always)]
pub fn value(key: u32) -> f32 {
    let mask = ((!key as i32 >> 31) as u32) | 0x8000_0000;
    f32::from_bits(key ^ mask)
}

/// Sorts keys by counting 11 bits at a time; a digit that all keys share costs nothing.
pub fn sort_keys(keys: &mut Vec<u32>, spare: &mut Vec<u32>) {
    const BITS: usize = 11;
    const SIZE: usize = 1 << BITS;
    if keys.len() < 1500 {
        keys.sort_unstable();
        return;
    }
    let mut counts = [[0u32; SIZE]; 3];
    for &k in keys.iter() {
        for (pass, count) in counts.iter_mut().enumerate() {
            count[(k as usize >> (pass * BITS)) & (SIZE - 1)] += 1;
        }
    }
    spare.resize(keys.len(), 0);
    for (pass, count) in counts.iter_mut().enumerate() {
        if count.iter().any(|&c| c as usize == keys.len()) {
            continue;
        }
        let mut at = 0;
        for c in count.iter_mut() {
            at += std::mem::replace(c, at);
        }
        for &k in keys.iter() {
            let place = &mut count[(k as usize >> (pass * BITS)) & (SIZE - 1)];
            spare[*place as usize] = k;
            *place += 1;
        }
        std::mem::swap(keys, spare);
    }
}

/// A cell: its least key and its rows.
type Cell = (u32, u64);

fn runs(sorted: &[u32]) -> impl Iterator<Item = Cell> + Clone + '_ {
    sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64))
}

fn coarse_cells(sorted: &[u32], start: u64, bits_left: u32, min_rows: u64, out: &mut Vec<Cell>) {
    if sorted.is_empty() {
        return;
    }
    if bits_left == 0 || (sorted.len() as u64) < min_rows {
        out.push((start as u32, sorted.len() as u64));
        return;
    }
    let step = bits_left - DIGIT_BITS;
    let mut rest = sorted;
    for digit in 1..=(1u64 << DIGIT_BITS) {
        let end = start + (digit << step);
        let (head, tail) = rest.split_at(rest.partition_point(|&k| u64::from(k) < end));
        coarse_cells(head, end - (1 << step), step, min_rows, out);
        rest = tail;
    }
}

/// For every cell whether it begins a bin; the first does.
fn begins_bin(cells: impl Iterator<Item = Cell> + Clone, rows: u64, max_bin: u64) -> impl Iterator<Item = bool> {
    let scale = Scale::of(cells.clone(), rows, max_bin);
    let (mut before, mut last) = (0, u64::MAX);
    cells.enumerate().map(move |(i, (_, count))| {
        let bin = scale.as_ref().map_or(i as u64, |scale| scale.bin(&mut before, count));
        bin != std::mem::replace(&mut last, bin)
    })
}

/// Least keys of all bins but the first, and the rows of every bin.
fn cut_cells(cells: impl Iterator<Item = Cell> + Clone, rows: u64, max_bin: u64) -> (Vec<u32>, Vec<u64>) {
    let (mut cuts, mut counts) = (Vec::new(), Vec::new());
    for ((start, count), begins) in cells.clone().zip(begins_bin(cells, rows, max_bin)) {
        if begins {
            if !counts.is_empty() {
                cuts.push(start);
            }
            counts.push(0);
        }
        *counts.last_mut().expect("a bin was just begun") += count;
    }
    (cuts, counts)
}

/// The cap `tau = light / bins`: rows and bins left when every cell with at least `tau` rows has a bin of its own.
#[derive(Clone, Copy)]
struct Scale {
    light: u64,
    bins: u64,
}

impl Scale {
    /// None where there are no more cells than bins.
    fn of(cells: impl Iterator<Item = Cell> + Clone, rows: u64, max_bin: u64) -> Option<Self> {
        cells.clone().nth(max_bin as usize)?;
        let mut scale = Self { light: rows, bins: max_bin };
        loop {
            let heavy = cells.clone().filter(|&(_, count)| scale.is_heavy(count));
            let (heavy_rows, heavy) = heavy.fold((0, 0), |(rows, n), (_, count)| (rows + count, n + 1));
            if (rows - heavy_rows, max_bin - heavy) == (scale.light, scale.bins) {
                return Some(scale);
            }
            scale = Self { light: rows - heavy_rows, bins: max_bin - heavy };
        }
    }

    fn is_heavy(&self, count: u64) -> bool {
        count * self.bins >= self.light
    }

    /// What a cell counts, in units of 1/bins of a row.
    fn mass(&self, count: u64) -> u64 {
        (count * self.bins).min(self.light)
    }

    /// The bin of the middle of a cell, `before` being what the cells before it count.
    fn bin(&self, before: &mut u64, count: u64) -> u64 {
        let mass = self.mass(count);
        let bin = (2 * *before + mass) / (2 * self.light);
        *before += mass;
        bin
    }
}

/// Keys are first counted by this many high bits; only prefixes that matter are looked into.
const HIGH_BITS: u32 = 16;
const LOW: u32 = 32 - HIGH_BITS;

/// The cells of a large column, in full where it matters and by prefix elsewhere: the cuts are the same. A prefix matters
/// if it may hide a frequent value, or if the edge of a bin falls into it.
fn needed_cells(keys: &[u32], max_bin: u64) -> Vec<Cell> {
    let mut counts = vec![0u32; 1 << HIGH_BITS];
    keys.iter().for_each(|&k| counts[(k >> LOW) as usize] += 1);
    let mut cells: Vec<(Cell, bool)> = Vec::new();
    for (prefix, &count) in counts.iter().enumerate().filter(|(_, c)| **c > 0) {
        cells.push((((prefix as u32) << LOW, u64::from(count)), true));
    }
    loop {
        let wanted = wanted_cells(&cells, keys.len() as u64, max_bin);
        let wanted: Vec<u32> = wanted.into_iter().map(|i| cells[i].0.0 >> LOW).collect();
        if wanted.is_empty() {
            return cells.into_iter().map(|(cell, _)| cell).collect();
        }
        let mut found = keys_under(keys, &counts, &wanted).into_iter();
        let mut refined = Vec::with_capacity(cells.len());
        for ((start, count), open) in cells {
            if open && wanted.binary_search(&(start >> LOW)).is_ok() {
                refined.extend(runs(&found.next().expect("one list a prefix")).map(|cell| (cell, false)));
            } else {
                refined.push(((start, count), open));
            }
        }
        cells = refined;
    }
}

/// Which of the cells that can be refined must be, as far as is known: in a column with few cells all; else those that
/// may hide a frequent value; if there are none, those that a bin's edge touches.
fn wanted_cells(cells: &[(Cell, bool)], rows: u64, max_bin: u64) -> Vec<usize> {
    let open = cells.iter().enumerate().filter(|(_, cell)| cell.1);
    let Some(scale) = Scale::of(cells.iter().map(|c| c.0), rows, max_bin) else {
        return open.map(|(i, _)| i).collect();
    };
    let frequent: Vec<usize> = open.filter(|(_, cell)| scale.is_heavy(cell.0.1)).map(|(i, _)| i).collect();
    if !frequent.is_empty() {
        return frequent;
    }
    let (mut before, mut last) = (0, 0);
    let mut edges = Vec::new();
    for (i, cell) in cells.iter().enumerate() {
        let first = before / scale.light;
        let bin = scale.bin(&mut before, cell.0.1);
        // Its rows may belong to two bins, or it begins a bin, whose cut is its least key.
        if cell.1 && (first != before / scale.light || bin != last) {
            edges.push(i);
        }
        last = bin;
    }
    edges
}

/// Cells of several columns as a federation knows them: where each column's begin, their rows, and which can be refined.
pub struct Known<'a> {
    pub starts: &'a [i64],
    pub rows: &'a [i64],
    pub open: &'a [bool],
}

impl Known<'_> {
    fn columns(&self) -> impl Iterator<Item = (usize, Vec<(Cell, bool)>, u64)> {
        self.starts.windows(2).map(|span| {
            let (begin, end) = (span[0] as usize, span[1] as usize);
            let cells: Vec<(Cell, bool)> = (begin..end).map(|i| ((0, self.rows[i] as u64), self.open[i])).collect();
            let rows = cells.iter().map(|cell| cell.0.1).sum();
            (begin, cells, rows)
        })
    }

    /// For every cell whether it must be refined.
    pub fn wanted(&self, max_bin: u64) -> Vec<bool> {
        let mut out = vec![false; self.rows.len()];
        for (begin, cells, rows) in self.columns() {
            wanted_cells(&cells, rows, max_bin).into_iter().for_each(|i| out[begin + i] = true);
        }
        out
    }

    /// For every cell whether its least key is a cut.
    pub fn cuts(&self, max_bin: u64) -> Vec<bool> {
        let mut out = Vec::with_capacity(self.rows.len());
        for (begin, cells, rows) in self.columns() {
            out.extend(begins_bin(cells.iter().map(|cell| cell.0), rows, max_bin));
            if let Some(first) = out.get_mut(begin) {
                *first = false;
            }
        }
        out
    }
}

/// The keys under each wanted prefix, sorted.
fn keys_under(keys: &[u32], counts: &[u32], wanted: &[u32]) -> Vec<Vec<u32>> {
    let mut list_of = vec![u16::MAX; 1 << HIGH_BITS];
    let mut lists: Vec<Vec<u32>> = Vec::with_capacity(wanted.len());
    for (i, &prefix) in wanted.iter().enumerate() {
        list_of[prefix as usize] = i as u16;
        lists.push(Vec::with_capacity(counts[prefix as usize] as usize));
    }
    for &k in keys {
        let list = list_of[(k >> LOW) as usize];
        if list != u16::MAX {
            lists[list as usize].push(k);
        }
    }
    let mut spare = Vec::new();
    lists.iter_mut().for_each(|list| sort_keys(list, &mut spare));
    lists
}

/// What is found out about a column.
#[derive(Default)]
pub struct ColumnCuts {
    pub cuts: Vec<f32>,
    /// Rows of every bin; the last entry counts the missing.
    pub counts: Vec<u64>,
}

/// Cuts of the column whose keys these are (any order), `missing` rows not among them.
pub fn cut_column(keys: &mut Vec<u32>, spare: &mut Vec<u32>, missing: u64, max_bin: u64, min_rows: u64) -> ColumnCuts {
    let rows = keys.len() as u64;
    let (cuts, mut counts) = if min_rows == 1 && keys.len() > 1 << HIGH_BITS {
        cut_cells(needed_cells(keys, max_bin).into_iter(), rows, max_bin)
    } else {
        sort_keys(keys, spare);
        let mut cells = Vec::new();
        if min_rows > 1 {
            coarse_cells(keys, 0, 32, min_rows, &mut cells);
        } else {
            cells.extend(runs(keys));
        }
        cut_cells(cells.into_iter(), rows, max_bin)
    };
    if counts.is_empty() {
        counts.push(0);
    }
    counts.push(missing);
    ColumnCuts { cuts: cuts.into_iter().map(value).collect(), counts }
}

/// Columns gathered in one pass over a row-major table.
const TOGETHER: usize = 4;

/// Cuts of every column of a dense, row-major table.
pub fn cut_dense(values: &[f32], n_columns: usize, max_bin: u64, min_rows: u64, n_threads: usize) -> Vec<ColumnCuts> {
    let groups: Vec<usize> = (0..n_columns).step_by(TOGETHER).collect();
    let work = |first: usize| {
        let width = TOGETHER.min(n_columns - first);
        let (mut keys, mut spare) = (vec![Vec::new(); width], Vec::new());
        for row in values.chunks_exact(n_columns) {
            for (column, &v) in keys.iter_mut().zip(&row[first..first + width]) {
                if !v.is_nan() {
                    column.push(key(v));
                }
            }
        }
        let rows = values.len() / n_columns;
        let cut = |k: &mut Vec<u32>| {
            let missing = (rows - k.len()) as u64;
            cut_column(k, &mut spare, missing, max_bin, min_rows)
        };
        keys.iter_mut().map(cut).collect::<Vec<_>>()
    };
    threads::map(n_threads, groups, work).into_iter().flatten().collect()
}

/// Cuts of every column of a sparse table by columns; entries it does not store are zeros or missing.
pub fn cut_sparse(
    starts: &[i64],
    stored: &[f32],
    rows: u64,
    absent_is_zero: bool,
    max_bin: u64,
    min_rows: u64,
    n_threads: usize,
) -> Vec<ColumnCuts> {
    let work = |(keys, spare): &mut (Vec<u32>, Vec<u32>), span: &[i64]| {
        let column = &stored[span[0] as usize..span[1] as usize];
        keys.clear();
        keys.extend(column.iter().filter(|v| !v.is_nan()).map(|&v| key(v)));
        let absent = rows - column.len() as u64;
        let mut missing = (column.len() - keys.len()) as u64;
        if absent_is_zero {
            keys.resize(keys.len() + absent as usize, key(0.0));
        } else {
            missing += absent;
        }
        cut_column(keys, spare, missing, max_bin, min_rows)
    };
    let spans: Vec<&[i64]> = starts.windows(2).collect();
    let share = spans.len().div_ceil(4 * n_threads).max(1);
    let group = |spans: &[&[i64]]| {
        let mut buffers = Default::default();
        spans.iter().map(|span| work(&mut buffers, span)).collect::<Vec<_>>()
    };
    threads::map(n_threads, spans.chunks(share).collect(), group).into_iter().flatten().collect()
}

/// The ordered keys of each column's values, missing ones left out.
pub fn sorted_keys<'a, C>(columns: Vec<C>, n_threads: usize) -> Vec<Vec<u32>>
where
    C: IntoIterator<Item = &'a f32> + Send,
{
    threads::map(n_threads, columns, |values| {
        let mut keys: Vec<u32> = values.into_iter().filter(|v| !v.is_nan()).map(|&v| key(v)).collect();
        sort_keys(&mut keys, &mut Vec::new());
        keys
    })
}

/// Counts rows of `keys` (sorted) by prefix: for each wanted prefix of `32 - shift` bits, its rows.
pub fn count_prefixes(sorted: &[u32], prefixes: &[u32], shift: u32) -> Vec<i64> {
    let place = |bound: u64| sorted.partition_point(|&k| u64::from(k) < bound) as i64;
    let span = |&p: &u32| (u64::from(p) << shift, (u64::from(p) + 1) << shift);
    let mut last = (0, 0); // where the prefix before ended, and how many keys are below: prefixes often follow each other
    let counted = |(low, high)| {
        let below = if low == last.0 { last.1 } else { place(low) };
        last = (high, place(high));
        last.1 - below
    };
    prefixes.iter().map(span).map(counted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_order_and_return() {
        let xs = [f32::MIN, -3.5, -1e-40, 0.0, 1e-40, 2.0, f32::MAX];
        assert!(xs.windows(2).all(|w| key(w[0]) < key(w[1])));
        assert!(xs.iter().all(|&x| value(key(x)) == x));
        assert_eq!(key(-0.0), key(0.0));
    }

    #[test]
    fn sorting_by_digits_is_sorting() {
        let mut keys: Vec<u32> = (0..5000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let mut expected = keys.clone();
        expected.sort_unstable();
        sort_keys(&mut keys, &mut Vec::new());
        assert_eq!(keys, expected);
    }

    #[test]
    fn looking_only_into_prefixes_that_matter_gives_the_same_cuts() {
        for (spread, max_bin) in [(3u32, 16), (1 << 8, 64), (1 << 20, 64), (u32::MAX, 255)] {
            let value =
                |i: u32| (i.wrapping_mul(2_654_435_761) % spread).wrapping_mul(u32::MAX / spread) / 2 + (1 << 30);
            let mut keys: Vec<u32> = (0..90_000).map(value).chain(std::iter::repeat_n(1 << 31, 30_000)).collect();
            let short = cut_cells(needed_cells(&keys, max_bin).into_iter(), keys.len() as u64, max_bin);
            keys.sort_unstable();
            assert_eq!(short, cut_cells(runs(&keys), keys.len() as u64, max_bin));
        }
    }

    #[test]
    fn a_value_that_most_rows_share_takes_one_bin() {
        let mut keys: Vec<u32> = (0..100).map(|i| key(i as f32)).collect();
        keys.extend(std::iter::repeat_n(key(50.0), 900));
        let found = cut_column(&mut keys, &mut Vec::new(), 0, 10, 1);
        assert_eq!(found.cuts.len(), 9);
        assert!(found.counts[..10].iter().filter(|&&c| c < 20).count() == 9, "{:?}", found.counts);
    }
}
