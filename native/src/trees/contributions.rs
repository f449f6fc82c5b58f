//! What each column adds to the score of a row: path-dependent SHAP values of trees.
//!
//! A game of columns: what a set of columns is worth is the mean over a tree's leaves, reached by the row's way at cuts of
//! columns in the set and by covers at the others. A path from the root remembers, for each column met on it, which share
//! of ways stays open without the column (`zero`) and with it (`one`), and the weights of sets of every size.

use super::predict::{self, Blocks, Forest};

#[derive(Clone, Copy, Default)]
struct Met {
    column: usize,
    zero: f64,
    one: f64,
    weight: f64,
}

const NO_COLUMN: usize = usize::MAX;

/// A walk calls itself at every level.
const MOST_DEPTH: usize = 256;

/// A forest with what a contribution needs besides.
struct Game<'a> {
    forest: Forest<'a>,
    /// Columns of which the row's way is known; at cuts of the others both ways are taken, by covers.
    known: &'a [bool],
    /// The share of each cut's cover that lies left.
    left_share: Vec<f64>,
    /// What each tree gives to a row of which nothing is known.
    means: Vec<f64>,
    /// Room for the paths of one walk.
    room: usize,
}

impl<'a> Game<'a> {
    fn of(forest: Forest<'a>, covers: &[f32], known: &'a [bool]) -> Self {
        forest.check(known.len()).expect("a forest that was checked");
        let n = forest.columns.len();
        let (mut left_share, mut depth) = (vec![0.0; n], vec![0usize; n]);
        let mut mean: Vec<f64> = forest.values.iter().map(|&v| f64::from(v)).collect();
        // Children stand behind their parents.
        for node in (0..n).rev().filter(|&node| forest.columns[node] >= 0) {
            let child = forest.children[node] as usize;
            let (left, right) = (f64::from(covers[child]), f64::from(covers[child + 1]));
            let share = if left + right > 0.0 { left / (left + right) } else { 0.5 };
            left_share[node] = share;
            mean[node] = share * mean[child] + (1.0 - share) * mean[child + 1];
            depth[node] = 1 + depth[child].max(depth[child + 1]);
        }
        let deepest = depth.iter().copied().max().unwrap_or(0);
        assert!(deepest <= MOST_DEPTH, "a tree is too deep");
        let means = forest.roots[..forest.roots.len() - 1].iter().map(|&root| mean[root as usize]).collect();
        Self { forest, known, left_share, means, room: (deepest + 2) * (deepest + 3) / 2 }
    }

    /// Adds what the columns give to the row below a node, to which `path` leads; `share` of the row comes there by
    /// cuts of columns that are not known. `room` is for the paths of its children.
    fn add(&self, node: usize, row: &[f32], path: &[Met], share: f64, room: &mut [Met], out: &mut [f64]) {
        let forest = &self.forest;
        if forest.columns[node] < 0 {
            let value = share * f64::from(forest.values[node]);
            for i in 1..path.len() {
                out[path[i].column] += weights_without(path, i) * (path[i].one - path[i].zero) * value;
            }
            return;
        }
        let (column, child) = (forest.columns[node] as usize, forest.children[node] as usize);
        let left = self.left_share[node];
        if !self.known[column] {
            self.add(child, row, path, share * left, room, out);
            self.add(child + 1, row, path, share * (1.0 - left), room, out);
            return;
        }
        let goes_left = forest.goes_left(node, row[column]);
        let before = path.iter().position(|met| met.column == column);
        let (zero, one) = before.map_or((1.0, 1.0), |i| (path[i].zero, path[i].one));
        for (side, part) in [left, 1.0 - left].into_iter().enumerate() {
            let one = if goes_left == (side == 0) { one } else { 0.0 };
            if zero * part == 0.0 && one == 0.0 {
                continue; // no row comes here, with the column or without it
            }
            let (own, rest) = room.split_at_mut(path.len() + 1);
            own[..path.len()].copy_from_slice(path);
            let length = before.map_or(path.len(), |i| without(&mut own[..path.len()], i));
            extend(&mut own[..=length], Met { column, zero: zero * part, one, weight: 0.0 });
            self.add(child + side, row, &own[..=length], share, rest, out);
        }
    }
}

/// Puts a column at the end of a path, whose last place is free.
fn extend(path: &mut [Met], met: Met) {
    let last = path.len() - 1;
    let size = path.len() as f64;
    path[last] = Met { weight: if last == 0 { 1.0 } else { 0.0 }, ..met };
    for i in (0..last).rev() {
        path[i + 1].weight += met.one * path[i].weight * (i + 1) as f64 / size;
        path[i].weight *= met.zero * (last - i) as f64 / size;
    }
}

/// Takes a column out of a path, and tells its new length.
fn without(path: &mut [Met], index: usize) -> usize {
    let last = path.len() - 1;
    let size = path.len() as f64;
    let Met { zero, one, .. } = path[index];
    let mut next = path[last].weight;
    for i in (0..last).rev() {
        if one != 0.0 {
            let now = path[i].weight;
            path[i].weight = next * size / ((i + 1) as f64 * one);
            next = now - path[i].weight * zero * (last - i) as f64 / size;
        } else {
            path[i].weight *= size / (zero * (last - i) as f64);
        }
    }
    for i in index..last {
        path[i] = Met { weight: path[i].weight, ..path[i + 1] };
    }
    last
}

/// The sum of a path's weights, were a column taken out of it.
fn weights_without(path: &[Met], index: usize) -> f64 {
    let last = path.len() - 1;
    let size = path.len() as f64;
    let Met { zero, one, .. } = path[index];
    let (mut next, mut total) = (path[last].weight, 0.0);
    for i in (0..last).rev() {
        if one != 0.0 {
            let weight = next * size / ((i + 1) as f64 * one);
            total += weight;
            next = path[i].weight - weight * zero * (last - i) as f64 / size;
        } else {
            total += path[i].weight * size / (zero * (last - i) as f64);
        }
    }
    total
}

/// Adds each column's contribution to each score of each row, and behind them what a row gives of which nothing is
/// known: rows x trees of a round x (columns + 1).
pub fn add_contributions(
    forest: Forest,
    covers: &[f32],
    known: &[bool],
    blocks: &impl Blocks,
    trees_a_round: usize,
    out: &mut [f64],
    n_threads: usize,
) {
    let game = Game::of(forest, covers, known);
    let (n_columns, width) = (known.len(), known.len() + 1);
    let together = predict::rows_together(n_columns);
    let start = [Met { column: NO_COLUMN, zero: 1.0, one: 1.0, weight: 1.0 }];
    let one = |buffer: &mut Vec<f32>, (i, out): (usize, &mut [f64])| {
        let row_width = trees_a_round * width;
        let block = blocks.rows(i * together, out.len() / row_width, buffer);
        let mut room = vec![Met::default(); game.room];
        for (row, out) in block.chunks(n_columns).zip(out.chunks_mut(row_width)) {
            for (tree, &mean) in game.means.iter().enumerate() {
                let out = &mut out[tree % trees_a_round * width..][..width];
                out[n_columns] += mean;
                game.add(forest.roots[tree] as usize, row, &start, 1.0, &mut room, out);
            }
        }
    };
    predict::in_blocks(out, together * trees_a_round * width, n_threads, one);
}
