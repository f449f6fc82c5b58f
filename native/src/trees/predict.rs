//! Sends rows down the trees of a forest.

use crate::math::threads;
use crate::trees::splits::BinSet;

/// A forest as flat arrays, borrowed; children of a cut stand side by side.
#[derive(Clone, Copy)]
pub struct Forest<'a> {
    /// The column a node cuts, -1 for a leaf.
    pub columns: &'a [i32],
    /// Values below go left.
    pub thresholds: &'a [f32],
    pub missing_left: &'a [bool],
    /// Where the left child stands.
    pub children: &'a [i32],
    /// Which set of categories goes left, -1 for a numeric cut.
    pub sets: &'a [i32],
    pub category_sets: &'a [BinSet],
    pub values: &'a [f32],
    /// Where each tree begins.
    pub roots: &'a [i64],
}

impl Forest<'_> {
    /// What the walk relies on: arrays of one length, children behind their parents and inside their tree.
    pub fn check(&self, n_columns: usize) -> Result<(), &'static str> {
        let n = self.columns.len();
        let sizes =
            [self.thresholds.len(), self.missing_left.len(), self.children.len(), self.sets.len(), self.values.len()];
        if sizes.iter().any(|&s| s != n) {
            return Err("the arrays of the forest differ in length");
        }
        if self.roots.first() != Some(&0)
            || self.roots.last() != Some(&(n as i64))
            || !self.roots.is_sorted_by(|a, b| a < b)
        {
            return Err("the trees of the forest do not follow each other");
        }
        for tree in self.roots.windows(2) {
            for i in tree[0] as usize..tree[1] as usize {
                let cut = self.columns[i] >= 0;
                let child = i64::from(self.children[i]);
                if cut && (self.columns[i] as usize >= n_columns || child <= i as i64 || child + 1 >= tree[1]) {
                    return Err("a node of the forest names a column or child that is not there");
                }
                if cut && self.sets[i] >= 0 && self.sets[i] as usize >= self.category_sets.len() {
                    return Err("a node of the forest names a set of categories that is not there");
                }
            }
        }
        Ok(())
    }

    /// Whether a value goes left at a cut.
    pub(super) fn goes_left(&self, node: usize, x: f32) -> bool {
        if self.sets[node] >= 0 {
            return self.category_left(node, x);
        }
        (x < self.thresholds[node]) | (x.is_nan() & self.missing_left[node])
    }

    fn category_left(&self, node: usize, x: f32) -> bool {
        let code = x as usize;
        if x.is_nan() || x < 0.0 || code > 255 {
            return self.missing_left[node];
        }
        let set = &self.category_sets[self.sets[node] as usize];
        (set[code / 64] >> (code % 64)) & 1 == 1
    }
}

/// A node as the walk needs it. A leaf is its own child, on both sides.
#[derive(Clone, Copy)]
struct Step {
    threshold: f32,
    column: u32,
    child: u32,
    is_cut: bool,
    missing_left: bool,
    categorical: bool,
}

/// Steps of all trees, and how many steps each tree is deep.
struct Walk<'a> {
    forest: Forest<'a>,
    n_columns: usize,
    steps: Vec<Step>,
    depths: Vec<usize>,
    any_categorical: bool,
}

impl<'a> Walk<'a> {
    fn of(forest: Forest<'a>, n_columns: usize) -> Self {
        forest.check(n_columns).expect("a forest that was checked");
        let step = |i: usize| {
            let leaf = forest.columns[i] < 0;
            Step {
                threshold: if leaf { f32::INFINITY } else { forest.thresholds[i] },
                column: forest.columns[i].max(0) as u32,
                child: if leaf { i as u32 } else { forest.children[i] as u32 },
                is_cut: !leaf,
                missing_left: forest.missing_left[i],
                categorical: !leaf && forest.sets[i] >= 0,
            }
        };
        let steps: Vec<Step> = (0..forest.columns.len()).map(step).collect();
        let any_categorical = steps.iter().any(|s| s.categorical);
        let mut depth_of = vec![0usize; steps.len()];
        // Children stand behind their parents.
        for (i, &child) in forest.children.iter().enumerate() {
            if forest.columns[i] >= 0 {
                depth_of[child as usize] = depth_of[i] + 1;
                depth_of[child as usize + 1] = depth_of[i] + 1;
            }
        }
        let span = |w: &[i64]| depth_of[w[0] as usize..w[1] as usize].iter().copied().max().unwrap_or(0);
        let depths = forest.roots.windows(2).map(span).collect();
        Self { forest, n_columns, steps, depths, any_categorical }
    }

    /// The leaves that `WIDTH` rows reach in one tree, walked side by side. `PLAIN`: all cuts are numeric, all values
    /// finite.
    #[inline(always)]
    fn leaves<const WIDTH: usize, const PLAIN: bool>(
        &self,
        tree: usize,
        rows: &[f32],
        n_columns: usize,
    ) -> [u32; WIDTH] {
        assert!(n_columns == self.n_columns && rows.len() == WIDTH * n_columns);
        let mut at = [self.forest.roots[tree] as u32; WIDTH];
        for _ in 0..self.depths[tree] {
            for (r, at) in at.iter_mut().enumerate() {
                // SAFETY: `Walk::of` checked that every child and column is there, a leaf is not left (its threshold is
                // above every finite value, and otherwise `is_cut` holds it), and the length of `rows` is asserted.
                let step = unsafe { self.steps.get_unchecked(*at as usize) };
                let x = unsafe { *rows.get_unchecked(r * n_columns + step.column as usize) };
                *at = if PLAIN {
                    step.child + u32::from(x >= step.threshold)
                } else {
                    let left = if step.categorical {
                        self.forest.category_left(*at as usize, x)
                    } else {
                        (x < step.threshold) | (x.is_nan() & step.missing_left)
                    };
                    step.child + u32::from(step.is_cut & !left)
                };
            }
        }
        at
    }

    /// Whether a block of rows can take the short way.
    fn is_plain(&self, block: &[f32]) -> bool {
        !self.any_categorical && block.iter().fold(true, |finite, x| finite & (x.abs() < f32::INFINITY))
    }

    /// Calls `visit(row, leaf)` for every row of the block.
    #[inline(always)]
    fn each_leaf(&self, tree: usize, block: &[f32], plain: bool, mut visit: impl FnMut(usize, u32)) {
        let n_columns = self.n_columns;
        let rows = block.len() / n_columns;
        let whole = rows - rows % SIDE_BY_SIDE;
        for first in (0..whole).step_by(SIDE_BY_SIDE) {
            let part = &block[first * n_columns..(first + SIDE_BY_SIDE) * n_columns];
            let found = if plain {
                self.leaves::<SIDE_BY_SIDE, true>(tree, part, n_columns)
            } else {
                self.leaves::<SIDE_BY_SIDE, false>(tree, part, n_columns)
            };
            for (r, leaf) in found.into_iter().enumerate() {
                visit(first + r, leaf);
            }
        }
        for row in whole..rows {
            let part = &block[row * n_columns..(row + 1) * n_columns];
            visit(row, self.leaves::<1, false>(tree, part, n_columns)[0]);
        }
    }
}

const SIDE_BY_SIDE: usize = 16;

/// Rows that go down all trees together: as many as stay in a core's cache.
pub(super) fn rows_together(n_columns: usize) -> usize {
    (CACHE_BYTES / (4 * n_columns.max(1)) / SIDE_BY_SIDE * SIDE_BY_SIDE).clamp(SIDE_BY_SIDE, 128)
}

const CACHE_BYTES: usize = 1 << 16;

/// Adds the trees' values to scores laid row after row, `trees_a_round` scores a row.
pub fn add_scores(forest: Forest, blocks: &impl Blocks, trees_a_round: usize, scores: &mut [f32], n_threads: usize) {
    let walk = Walk::of(forest, blocks.n_columns());
    let together = rows_together(blocks.n_columns());
    let one = |buffer: &mut Vec<f32>, (i, scores): (usize, &mut [f32])| {
        let block = blocks.rows(i * together, scores.len() / trees_a_round, buffer);
        let plain = walk.is_plain(block);
        for tree in 0..walk.depths.len() {
            let class = tree % trees_a_round;
            walk.each_leaf(tree, block, plain, |row, leaf| {
                scores[row * trees_a_round + class] += walk.forest.values[leaf as usize];
            });
        }
    };
    in_blocks(scores, together * trees_a_round, n_threads, one);
}

/// Calls `work` with each block of the output and its number, a run of blocks on each thread.
pub(super) fn in_blocks<T: Send>(
    out: &mut [T],
    size: usize,
    n_threads: usize,
    work: impl Fn(&mut Vec<f32>, (usize, &mut [T])) + Sync,
) {
    let share = (out.len().div_ceil(size)).div_ceil(4 * n_threads).max(1);
    let runs: Vec<(usize, &mut [T])> = out.chunks_mut(size * share).enumerate().collect();
    threads::for_each(n_threads, runs, |(i, run)| {
        let mut buffer = Vec::new();
        run.chunks_mut(size).enumerate().for_each(|(j, block)| work(&mut buffer, (i * share + j, block)));
    });
}

/// The leaf each row reaches in each tree, counted from the tree's root, laid row after row.
pub fn leaf_places(forest: Forest, blocks: &impl Blocks, out: &mut [i32], n_threads: usize) {
    let walk = Walk::of(forest, blocks.n_columns());
    let trees = walk.depths.len();
    let together = rows_together(blocks.n_columns());
    let one = |buffer: &mut Vec<f32>, (i, out): (usize, &mut [i32])| {
        let block = blocks.rows(i * together, out.len() / trees, buffer);
        let plain = walk.is_plain(block);
        for tree in 0..trees {
            walk.each_leaf(tree, block, plain, |row, leaf| {
                out[row * trees + tree] = leaf as i32 - walk.forest.roots[tree] as i32;
            });
        }
    };
    in_blocks(out, together * trees, n_threads, one);
}

/// A table that hands out blocks of rows as dense floats.
pub trait Blocks: Sync {
    fn n_columns(&self) -> usize;
    fn rows<'a>(&'a self, first: usize, count: usize, buffer: &'a mut Vec<f32>) -> &'a [f32];
}

/// A row-major table.
pub struct DenseBlocks<'a> {
    pub values: &'a [f32],
    pub n_columns: usize,
}

impl Blocks for DenseBlocks<'_> {
    fn n_columns(&self) -> usize {
        self.n_columns
    }

    fn rows<'a>(&'a self, first: usize, count: usize, _: &'a mut Vec<f32>) -> &'a [f32] {
        &self.values[first * self.n_columns..(first + count) * self.n_columns]
    }
}

/// A sparse table by rows; entries it does not store are `absent`.
pub struct SparseBlocks<'a> {
    pub starts: &'a [i64],
    pub columns: &'a [i32],
    pub values: &'a [f32],
    pub n_columns: usize,
    pub absent: f32,
}

impl Blocks for SparseBlocks<'_> {
    fn n_columns(&self) -> usize {
        self.n_columns
    }

    fn rows<'a>(&'a self, first: usize, count: usize, buffer: &'a mut Vec<f32>) -> &'a [f32] {
        buffer.clear();
        buffer.resize(count * self.n_columns, self.absent);
        for row in first..first + count {
            let span = self.starts[row] as usize..self.starts[row + 1] as usize;
            let out = &mut buffer[(row - first) * self.n_columns..][..self.n_columns];
            for (&c, &v) in self.columns[span.clone()].iter().zip(&self.values[span]) {
                out[c as usize] = v;
            }
        }
        buffer
    }
}
