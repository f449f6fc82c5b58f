//! A table of bins, laid out for summing.
//!
//! A column lies in one of two blocks. *Dense*: one byte a row, row-major. *Sparse*: only rows whose bin differs from the
//! column's default bin, as bin numbers counted over all columns, ascending in each row. Rows in the default bin are
//! never visited: their sum is the node's total less all others. Where memory allows, all columns are kept a second time,
//! one after the other, for dividing rows.

use crate::math::portable::dispatched;
use crate::math::threads;
use crate::trees::cuts::key;

/// Bin numbers of the sparse block; short ones when all bins of the table fit.
#[derive(Clone, Copy)]
pub enum Entries<'a> {
    Short(&'a [u16]),
    Long(&'a [u32]),
}

/// Bins of all columns and rows, borrowed.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    pub rows: usize,
    pub dense: &'a [u8],
    pub dense_columns: &'a [u32],
    /// Where each row's entries begin; empty if there is no sparse column.
    pub starts: &'a [i64],
    pub entries: Entries<'a>,
    /// Where each column's bins begin among all bins.
    pub offsets: &'a [u32],
    /// The bin that the sparse block leaves out, -1 for a dense column.
    pub defaults: &'a [i32],
    /// All columns, one after the other, a byte a row; or empty.
    pub by_column: &'a [u8],
}

impl<'a> Matrix<'a> {
    pub fn n_bins(&self) -> usize {
        self.offsets[self.offsets.len() - 1] as usize
    }

    pub fn n_columns(&self) -> usize {
        self.defaults.len()
    }

    /// What the kernels rely on; cheap, done on every call.
    pub fn check(&self) -> Result<(), &'static str> {
        let width = self.dense_columns.len();
        let n_entries = match self.entries {
            Entries::Short(e) => e.len(),
            Entries::Long(e) => e.len(),
        };
        let ends = self.starts.last().copied().unwrap_or(0);
        let inside = |(&default, w): (&i32, &[u32])| default < (w[1] - w[0]) as i32;
        if self.offsets.len() != self.defaults.len() + 1 || !self.offsets.is_sorted() {
            return Err("offsets and default bins do not belong together");
        }
        if !self.defaults.iter().zip(self.offsets.windows(2)).all(inside) {
            return Err("a default bin lies outside its column");
        }
        if self.dense.len() != self.rows * width
            || self.dense_columns.iter().any(|&c| c as usize >= self.defaults.len())
        {
            return Err("the dense block has a wrong size");
        }
        let begins = self.starts.first().copied().unwrap_or(0);
        if begins != 0 || (!self.starts.is_empty() && self.starts.len() != self.rows + 1) || ends as usize != n_entries
        {
            return Err("the sparse block has a wrong size");
        }
        if !self.by_column.is_empty() && self.by_column.len() != self.rows * self.n_columns() {
            return Err("the columns have a wrong size");
        }
        Ok(())
    }

    /// Whether all entries name bins; looks at each, so done once for a matrix.
    pub fn check_entries(&self) -> Result<(), &'static str> {
        let n_bins = self.n_bins();
        let inside = match self.entries {
            Entries::Short(e) => e.iter().all(|&e| (e as usize) < n_bins),
            Entries::Long(e) => e.iter().all(|&e| (e as usize) < n_bins),
        };
        if inside && self.starts.is_sorted() { Ok(()) } else { Err("an entry names a bin that is not there") }
    }

    /// All columns one after the other, a byte a row.
    pub fn columns(&self, out: &mut [u8], n_threads: usize) {
        let (rows, width) = (self.rows, self.dense_columns.len());
        if rows == 0 {
            return;
        }
        let mut columns: Vec<Option<&mut [u8]>> = out.chunks_exact_mut(rows).map(Some).collect();
        let dense: Vec<&mut [u8]> =
            self.dense_columns.iter().map(|&c| columns[c as usize].take().expect("a column is dense once")).collect();
        // Eight columns at a time, so that each cache line of the rows is read few times.
        let mut groups: Vec<(usize, Vec<&mut [u8]>)> = Vec::new();
        for (j, column) in dense.into_iter().enumerate() {
            if j % 8 == 0 {
                groups.push((j, Vec::new()));
            }
            groups.last_mut().expect("just pushed").1.push(column);
        }
        threads::for_each(n_threads, groups, |(first, mut group)| {
            for (row, bins) in self.dense.chunks_exact(width).enumerate() {
                for (column, &bin) in group.iter_mut().zip(&bins[first..]) {
                    column[row] = bin;
                }
            }
        });
        let mut sparse: Vec<(usize, &mut [u8])> =
            columns.into_iter().enumerate().filter_map(|(c, column)| column.map(|column| (c, column))).collect();
        sparse.iter_mut().for_each(|(c, column)| column.fill(self.defaults[*c].max(0) as u8));
        match self.entries {
            Entries::Short(e) => self.scatter(e, &mut sparse, n_threads),
            Entries::Long(e) => self.scatter(e, &mut sparse, n_threads),
        }
    }

    /// Writes the entries of the sparse block to their columns, a share of the columns on each thread.
    fn scatter<E: Copy + Into<u32> + Sync>(&self, entries: &[E], sparse: &mut [(usize, &mut [u8])], n_threads: usize) {
        let share = sparse.len().div_ceil(n_threads).max(1);
        threads::for_each(n_threads, sparse.chunks_mut(share).collect(), |columns| {
            let (low, high) = (self.offsets[columns[0].0], self.offsets[columns[columns.len() - 1].0 + 1]);
            for (row, span) in self.starts.windows(2).enumerate() {
                let span = &entries[span[0] as usize..span[1] as usize];
                let mut at = 0;
                for e in span.iter().map(|&e| e.into()).skip_while(|&e| e < low).take_while(|&e| e < high) {
                    while self.offsets[columns[at].0 + 1] <= e {
                        at += 1;
                    }
                    columns[at].1[row] = (e - self.offsets[columns[at].0]) as u8;
                }
            }
        });
    }

    /// A reader of one column's bins.
    pub fn column(&self, column: usize) -> ColumnReader<'a> {
        let at = self.dense_columns.iter().position(|&c| c as usize == column);
        ColumnReader {
            matrix: *self,
            column,
            dense_at: at,
            low: self.offsets[column],
            high: self.offsets[column + 1],
            default: self.defaults[column].max(0) as u8,
        }
    }
}

/// Looks up the bin of a row in one column.
pub struct ColumnReader<'a> {
    matrix: Matrix<'a>,
    column: usize,
    dense_at: Option<usize>,
    low: u32,
    high: u32,
    default: u8,
}

impl ColumnReader<'_> {
    /// Calls `visit` with the rows, a place among them and the bin there; a visit may change rows up to that place.
    #[inline(always)]
    pub fn each(&self, rows: &mut [u32], mut visit: impl FnMut(&mut [u32], usize, u8)) {
        let m = &self.matrix;
        if !m.by_column.is_empty() {
            let bins = &m.by_column[self.column * m.rows..(self.column + 1) * m.rows];
            for i in 0..rows.len() {
                let bin = bins[rows[i] as usize];
                visit(rows, i, bin);
            }
            return;
        }
        if let Some(at) = self.dense_at {
            let width = m.dense_columns.len();
            for i in 0..rows.len() {
                if let Some(&ahead) = rows.get(i + 24) {
                    prefetch(m.dense, ahead as usize * width + at);
                }
                let bin = m.dense[rows[i] as usize * width + at];
                visit(rows, i, bin);
            }
            return;
        }
        match m.entries {
            Entries::Short(e) => self.each_sparse(rows, e, visit),
            Entries::Long(e) => self.each_sparse(rows, e, visit),
        }
    }

    #[inline(always)]
    fn each_sparse<E: Copy + Into<u32>>(
        &self,
        rows: &mut [u32],
        entries: &[E],
        mut visit: impl FnMut(&mut [u32], usize, u8),
    ) {
        let starts = self.matrix.starts;
        for i in 0..rows.len() {
            if let Some(&ahead) = rows.get(i + 16) {
                prefetch(entries, starts[ahead as usize] as usize);
            }
            let row = rows[i] as usize;
            let span = &entries[starts[row] as usize..starts[row + 1] as usize];
            let at = span.partition_point(|&e| e.into() < self.low);
            let bin = match span.get(at).map(|&e| e.into()) {
                Some(e) if e < self.high => (e - self.low) as u8,
                _ => self.default,
            };
            visit(rows, i, bin);
        }
    }
}

/// Asks for a cache line ahead of its use; outside the slice it does nothing harmful.
#[inline(always)]
pub fn prefetch<T>(data: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is allowed; nothing is read.
        unsafe { _mm_prefetch(data.as_ptr().wrapping_add(index).cast(), _MM_HINT_T0) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (data, index);
}

/// Cuts of all columns one after the other, and what stands for missing.
#[derive(Clone, Copy)]
pub struct Grid<'a> {
    pub cuts: &'a [f32],
    /// Where each column's cuts begin.
    pub cut_starts: &'a [i64],
    /// The bin of a missing value in each column.
    pub missing: &'a [u8],
}

impl Grid<'_> {
    pub fn n_columns(&self) -> usize {
        self.missing.len()
    }

    /// Sizes that belong together, at most 255 cuts a column.
    pub fn check(&self) -> Result<(), &'static str> {
        let fits = self.cut_starts.len() == self.missing.len() + 1
            && self.cut_starts.first() == Some(&0)
            && self.cut_starts.last() == Some(&(self.cuts.len() as i64))
            && self.cut_starts.windows(2).all(|w| w[0] <= w[1] && w[1] - w[0] <= 255);
        if fits { Ok(()) } else { Err("cuts and their starts do not belong together") }
    }

    fn of(&self, column: usize) -> &[f32] {
        &self.cuts[self.cut_starts[column] as usize..self.cut_starts[column + 1] as usize]
    }

    /// Each column's cuts in a table that is searched without branches.
    fn ladders(&self) -> Vec<Ladder> {
        (0..self.n_columns()).map(|c| Ladder::of(self.of(c), self.missing[c])).collect()
    }
}

/// The keys of a column's cuts, filled up beyond every key, and the bin of missing values.
pub struct Ladder {
    rungs: Vec<i64>,
    first_step: usize,
    missing: u8,
}

impl Ladder {
    fn of(cuts: &[f32], missing: u8) -> Self {
        let mut rungs = vec![1 << 33; (cuts.len() + 1).next_power_of_two()];
        rungs.iter_mut().zip(cuts).for_each(|(r, &c)| *r = i64::from(key(c)));
        Self { first_step: rungs.len() / 2, rungs, missing }
    }

    /// The bins of some values: how many cuts are at most each. Side by side and without a branch, which could only be
    /// guessed wrong.
    #[inline(always)]
    fn bins<const N: usize>(&self, values: &[f32; N]) -> [u8; N] {
        let keys = values.map(|v| i64::from(key(v)));
        let rungs = &self.rungs[..];
        let mut at = [0; N];
        let mut step = self.first_step;
        while step > 0 {
            for (at, &key) in at.iter_mut().zip(&keys) {
                let reached = (rungs[(*at + step - 1) & (rungs.len() - 1)] - key - 1) >> 63;
                *at += step & reached as usize;
            }
            step /= 2;
        }
        std::array::from_fn(|i| if values[i].is_nan() { self.missing } else { at[i] as u8 })
    }

    fn bin(&self, value: f32) -> u8 {
        self.bins(&[value])[0]
    }
}

const SIDE_BY_SIDE: usize = 16;
const ROWS_TOGETHER: usize = 2048;

/// Bins of the given columns of a row-major table, row-major.
pub fn dense_from_dense(grid: Grid, values: &[f32], columns: &[u32], out: &mut [u8], n_threads: usize) {
    let width = columns.len();
    if width == 0 {
        return;
    }
    let ladders = grid.ladders();
    let blocks = out.chunks_mut(ROWS_TOGETHER * width).zip(values.chunks(ROWS_TOGETHER * grid.n_columns()));
    threads::for_each(n_threads, blocks.collect(), |(out, values)| bin_block(&ladders, values, columns, out));
}

dispatched! {
    /// Bins of a block of rows, column after column.
    pub fn bin_block(ladders: &[Ladder], values: &[f32], columns: &[u32], out: &mut [u8]) {
        let (n_columns, width) = (ladders.len(), columns.len());
        let rows = out.len() / width;
        for (j, &column) in columns.iter().enumerate() {
            let ladder = &ladders[column as usize];
            let whole = rows - rows % SIDE_BY_SIDE;
            for first in (0..whole).step_by(SIDE_BY_SIDE) {
                let cells: [f32; SIDE_BY_SIDE] = std::array::from_fn(|i| values[(first + i) * n_columns + column as usize]);
                for (i, bin) in ladder.bins(&cells).into_iter().enumerate() {
                    out[(first + i) * width + j] = bin;
                }
            }
            for row in whole..rows {
                out[row * width + j] = ladder.bin(values[row * n_columns + column as usize]);
            }
        }
    }
}

/// Entries of the sparse columns (`defaults` >= 0) of a row-major table: where each row begins, and all entries.
pub fn sparse_from_dense<E: Copy + Send + TryFrom<u32>>(
    grid: Grid,
    values: &[f32],
    offsets: &[u32],
    defaults: &[i32],
    n_threads: usize,
) -> (Vec<i64>, Vec<E>) {
    let columns: Vec<usize> = (0..defaults.len()).filter(|&c| defaults[c] >= 0).collect();
    let ladders = grid.ladders();
    let block = |values: &[f32]| {
        let (mut lengths, mut entries) = (Vec::new(), Vec::new());
        for row in values.chunks_exact(grid.n_columns()) {
            let before = entries.len();
            for &c in &columns {
                let bin = i32::from(ladders[c].bin(row[c]));
                if bin != defaults[c] {
                    entries.push(entry::<E>(offsets[c] + bin as u32));
                }
            }
            lengths.push((entries.len() - before) as i64);
        }
        (lengths, entries)
    };
    joined(threads::map(n_threads, values.chunks(ROWS_TOGETHER * grid.n_columns()).collect(), block))
}

fn entry<E: TryFrom<u32>>(bin: u32) -> E {
    E::try_from(bin).unwrap_or_else(|_| panic!("more bins than an entry can name"))
}

fn joined<E: Copy>(blocks: Vec<(Vec<i64>, Vec<E>)>) -> (Vec<i64>, Vec<E>) {
    let mut starts = vec![0];
    let mut entries = Vec::with_capacity(blocks.iter().map(|b| b.1.len()).sum());
    let mut at = 0;
    for (lengths, block) in blocks {
        for length in lengths {
            at += length;
            starts.push(at);
        }
        entries.extend_from_slice(&block);
    }
    (starts, entries)
}

/// A sparse table by rows, as read: columns ascending in each row.
#[derive(Clone, Copy)]
pub struct SparseTable<'a> {
    pub starts: &'a [i64],
    pub columns: &'a [i32],
    pub values: &'a [f32],
}

impl SparseTable<'_> {
    /// Sizes that belong together and columns in range.
    pub fn check(&self, n_columns: usize) -> Result<(), &'static str> {
        let fits = self.columns.len() == self.values.len()
            && self.starts.first() == Some(&0)
            && self.starts.last() == Some(&(self.values.len() as i64))
            && self.starts.is_sorted()
            && self.columns.iter().all(|&c| (0..n_columns as i32).contains(&c));
        if fits { Ok(()) } else { Err("the sparse table is damaged") }
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let span = self.starts[row] as usize..self.starts[row + 1] as usize;
        self.columns[span.clone()].iter().map(|&c| c as usize).zip(self.values[span].iter().copied())
    }
}

/// Both blocks of a sparse table. `absent` is the bin of entries not stored, by column; a sparse column's default is it.
pub fn both_from_sparse<E: Copy + Send + TryFrom<u32>>(
    grid: Grid,
    table: SparseTable,
    absent: &[u8],
    dense_columns: &[u32],
    offsets: &[u32],
    defaults: &[i32],
    dense: &mut [u8],
    n_threads: usize,
) -> (Vec<i64>, Vec<E>) {
    let width = dense_columns.len();
    let mut place = vec![u32::MAX; grid.n_columns()];
    for (j, &c) in dense_columns.iter().enumerate() {
        place[c as usize] = j as u32;
    }
    let ladders = grid.ladders();
    let template: Vec<u8> = dense_columns.iter().map(|&c| absent[c as usize]).collect();
    let rows = table.starts.len() - 1;
    let one = |(first, out): (usize, &mut [u8])| {
        let (mut lengths, mut entries) = (Vec::new(), Vec::new());
        for row in first..rows.min(first + ROWS_TOGETHER) {
            let before = entries.len();
            let out = &mut out[(row - first) * width..][..width];
            out.copy_from_slice(&template);
            for (c, v) in table.row(row) {
                let bin = ladders[c].bin(v);
                if place[c] != u32::MAX {
                    out[place[c] as usize] = bin;
                } else if i32::from(bin) != defaults[c] {
                    entries.push(entry::<E>(offsets[c] + u32::from(bin)));
                }
            }
            lengths.push((entries.len() - before) as i64);
        }
        (lengths, entries)
    };
    let firsts = (0..rows).step_by(ROWS_TOGETHER);
    let blocks: Vec<(usize, &mut [u8])> = if width == 0 {
        firsts.map(|first| (first, &mut [][..])).collect()
    } else {
        firsts.zip(dense.chunks_mut(ROWS_TOGETHER * width)).collect()
    };
    joined(threads::map(n_threads, blocks, one))
}
