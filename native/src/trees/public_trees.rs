//! Sums over trees that depend on no row: cuts are given, every node is cut whether rows are there or not.
//!
//! An additive round has one tree a column, whose leaves are that column's bins; another tree is any that is given by its
//! cuts. What is added to scores does not depend on how a table lies in memory, so that it is the same at every party.

use crate::math::threads;
use crate::trees::divide::{self, Division, Table};
use crate::trees::histogram::Span;
use crate::trees::matrix::{Entries, Matrix};
use crate::trees::splits::BinSet;

/// Values of bins are added as multiples of 2^-32.
const UNIT: f64 = (1u64 << 32) as f64;
/// No value is larger: then sums over two million columns are within 64 bits.
pub const MOST_VALUE: f64 = 1024.0;
/// Rows of one task.
const PIECE: usize = 1 << 14;

/// What each bin adds: in sparse columns as the difference to the default bin, and what the default bins add together.
struct Addends {
    of_bins: Vec<i64>,
    of_defaults: i64,
}

impl Addends {
    fn of(matrix: &Matrix, values: &[f64]) -> Self {
        let mut of_bins: Vec<i64> = values.iter().map(|v| (v * UNIT).round() as i64).collect();
        let mut of_defaults = 0;
        for (column, &default) in matrix.defaults.iter().enumerate().filter(|(_, d)| **d >= 0) {
            let bins = &mut of_bins[matrix.offsets[column] as usize..matrix.offsets[column + 1] as usize];
            let left_out = bins[default as usize];
            of_defaults += left_out;
            bins.iter_mut().for_each(|bin| *bin -= left_out);
        }
        Self { of_bins, of_defaults }
    }
}

/// Adds to each row's score the values of its bins in all columns.
pub fn add_bin_values(matrix: &Matrix, values: &[f64], scores: &mut [f32], n_threads: usize) {
    let addends = Addends::of(matrix, values);
    let offsets: Vec<usize> = matrix.dense_columns.iter().map(|&c| matrix.offsets[c as usize] as usize).collect();
    threads::for_each(n_threads, scores.chunks_mut(PIECE).enumerate().collect(), |(i, scores): (usize, &mut [f32])| {
        for (row, score) in (i * PIECE..).zip(scores) {
            let bins = &matrix.dense[row * offsets.len()..][..offsets.len()];
            let dense = bins.iter().zip(&offsets).map(|(&bin, offset)| addends.of_bins[offset + usize::from(bin)]);
            let sum = addends.of_defaults + dense.sum::<i64>() + of_entries(matrix, row, &addends.of_bins);
            *score = (f64::from(*score) + sum as f64 / UNIT) as f32;
        }
    });
}

fn of_entries(matrix: &Matrix, row: usize, of_bins: &[i64]) -> i64 {
    if matrix.starts.is_empty() {
        return 0;
    }
    let span = matrix.starts[row] as usize..matrix.starts[row + 1] as usize;
    match matrix.entries {
        Entries::Short(e) => e[span].iter().map(|&e| of_bins[usize::from(e)]).sum(),
        Entries::Long(e) => e[span].iter().map(|&e| of_bins[e as usize]).sum(),
    }
}

/// One tree over bins; a leaf's column is -1, children of a cut stand side by side behind it.
#[derive(Clone, Copy)]
pub struct Tree<'a> {
    pub columns: &'a [i32],
    pub children: &'a [i32],
    pub left_bins: &'a [BinSet],
}

impl Tree<'_> {
    pub fn check(&self, n_columns: usize) -> Result<(), &'static str> {
        let n = self.columns.len();
        if n == 0 || self.children.len() != n || self.left_bins.len() != n {
            return Err("the arrays of the tree differ in length, or it has no node");
        }
        let cuts = self.columns.iter().zip(self.children).enumerate().filter(|(_, (column, _))| **column >= 0);
        let mut next = 1;
        for (node, (&column, &child)) in cuts {
            // Every node is the child of one before it, so that no row comes to a node twice.
            if column as usize >= n_columns || child as i64 != next || child as usize <= node || child as usize + 1 >= n
            {
                return Err("a node of the tree names a column that is not there, or its children are out of order");
            }
            next += 2;
        }
        Ok(())
    }
}

/// The leaf each row comes to, by its number in the tree.
pub fn leaf_numbers(matrix: &Matrix, tree: Tree, n_threads: usize) -> Vec<i32> {
    let mut order: Vec<u32> = (0..matrix.rows as u32).collect();
    let mut out = vec![0; matrix.rows];
    let mut level = vec![(0, 0, matrix.rows)];
    while !level.is_empty() {
        let (cuts, leaves): (Vec<_>, Vec<_>) = level.into_iter().partition(|&(node, ..)| tree.columns[node] >= 0);
        for (leaf, begin, end) in leaves {
            order[begin..end].iter().for_each(|&row| out[row as usize] = leaf as i32);
        }
        let division = |&(node, begin, end): &(usize, usize, usize)| Division {
            span: Span { tree: 0, begin, end },
            column: tree.columns[node] as usize,
            left_bins: tree.left_bins[node],
        };
        let divisions = cuts.iter().map(division).collect();
        let lefts = divide::divide(vec![Table { matrix: *matrix, orders: vec![&mut order], divisions }], n_threads);
        let children = cuts.into_iter().zip(lefts).flat_map(|((node, begin, end), left)| {
            let (child, middle) = (tree.children[node] as usize, begin + left as usize);
            [(child, begin, middle), (child + 1, middle, end)]
        });
        level = children.collect();
    }
    out
}

/// Sums of the pairs of the rows that have each number below `n`; None where a row has another.
pub fn sums_by_number(pairs: &[[i32; 2]], numbers: &[i32], n: usize, n_threads: usize) -> Option<Vec<[i64; 2]>> {
    let pieces = pairs.chunks(4 * PIECE).zip(numbers.chunks(4 * PIECE)).collect();
    let sums = threads::map(n_threads, pieces, |(pairs, numbers): (&[[i32; 2]], &[i32])| {
        let mut sums = vec![[0i64; 2]; n];
        for (&[g, h], &number) in pairs.iter().zip(numbers) {
            let sum = sums.get_mut(usize::try_from(number).ok()?)?;
            *sum = [sum[0] + i64::from(g), sum[1] + i64::from(h)];
        }
        Some(sums)
    });
    let mut total = vec![[0; 2]; n];
    for sums in sums {
        total.iter_mut().zip(sums?).for_each(|(t, s)| *t = [t[0] + s[0], t[1] + s[1]]);
    }
    Some(total)
}
