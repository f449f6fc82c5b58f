//! The best place to cut each node, from its sums alone.
//!
//! Rows of a histogram are `(gradient, hessian)` pairs per bin, the node's total last. A column's last bin holds missing
//! values where `has_missing` says so. Ties go to the lowest column, then the lowest cut, then missing to the left.

use crate::threads;

pub type Pair = [i64; 2];

/// What a cut is worth and what is allowed.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub gradient_unit: f64,
    pub hessian_unit: f64,
    pub lambda: f64,
    pub alpha: f64,
    pub gamma: f64,
    pub min_child_weight: f64,
    /// -1, 0 or 1 for each column; empty if nothing is constrained.
    pub monotone: &'a [i8],
}

/// The columns of a histogram.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    pub offsets: &'a [u32],
    pub has_missing: &'a [bool],
    pub categorical: &'a [bool],
}

/// A node to be cut: its sums, which columns may be cut (empty: all), and the range its value must keep to.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub sums: &'a [Pair],
    pub allowed: &'a [bool],
    pub bounds: [f64; 2],
}

/// A set of a column's bins.
pub type BinSet = [u64; 4];

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cut {
    pub column: i32,
    /// Bins up to this one go left; -1 for categories, where only `left_bins` tells.
    pub bin: i32,
    pub missing_left: bool,
    pub gain: f64,
    pub left: Pair,
    pub right: Pair,
    pub left_bins: BinSet,
}

pub const NO_CUT: Cut =
    Cut { column: -1, bin: -1, missing_left: true, gain: 0.0, left: [0; 2], right: [0; 2], left_bins: [0; 4] };

/// Gains up to this are noise of the last bits, as in XGBoost.
const LEAST_GAIN: f64 = 1e-6;

impl Rules<'_> {
    #[inline(always)]
    fn real(&self, p: Pair) -> (f64, f64) {
        (p[0] as f64 * self.gradient_unit, p[1] as f64 * self.hessian_unit)
    }

    #[inline(always)]
    fn shrunk(&self, g: f64) -> f64 {
        if g > self.alpha {
            g - self.alpha
        } else if g < -self.alpha {
            g + self.alpha
        } else {
            0.0
        }
    }

    #[inline(always)]
    fn score(&self, p: Pair) -> f64 {
        let (g, h) = self.real(p);
        let g = self.shrunk(g);
        g * g / (h + self.lambda)
    }

    fn weight(&self, p: Pair, bounds: [f64; 2]) -> f64 {
        let (g, h) = self.real(p);
        (-self.shrunk(g) / (h + self.lambda)).clamp(bounds[0], bounds[1])
    }

    /// The score of a node whose value is `w` rather than the best one.
    fn score_at(&self, p: Pair, w: f64) -> f64 {
        let (g, h) = self.real(p);
        -(2.0 * (g * w + self.alpha * w.abs()) + (h + self.lambda) * w * w)
    }

    #[inline(always)]
    fn heavy_enough(&self, p: Pair) -> bool {
        p[1] > 0 && p[1] as f64 * self.hessian_unit >= self.min_child_weight
    }

    /// The score of both sides together, or nothing if the cut is not allowed.
    #[inline(always)]
    fn both(&self, left: Pair, right: Pair, direction: i8, bounds: [f64; 2]) -> Option<f64> {
        if !self.heavy_enough(left) || !self.heavy_enough(right) {
            return None;
        }
        if self.monotone.is_empty() {
            return Some(self.score(left) + self.score(right));
        }
        let (l, r) = (self.weight(left, bounds), self.weight(right, bounds));
        if (direction > 0 && l > r) || (direction < 0 && l < r) {
            return None;
        }
        Some(self.score_at(left, l) + self.score_at(right, r))
    }

    fn whole(&self, total: Pair, bounds: [f64; 2]) -> f64 {
        if self.monotone.is_empty() { self.score(total) } else { self.score_at(total, self.weight(total, bounds)) }
    }
}

#[inline(always)]
fn plus(a: Pair, b: Pair) -> Pair {
    [a[0] + b[0], a[1] + b[1]]
}

#[inline(always)]
fn minus(a: Pair, b: Pair) -> Pair {
    [a[0] - b[0], a[1] - b[1]]
}

/// The best cut so far of one node.
struct Search<'a> {
    rules: Rules<'a>,
    node: Node<'a>,
    total: Pair,
    best: Cut,
    best_score: f64,
}

impl Search<'_> {
    #[inline(always)]
    fn offer(&mut self, column: usize, left: Pair, missing_left: bool) -> bool {
        let right = minus(self.total, left);
        let direction = if self.rules.monotone.is_empty() { 0 } else { self.rules.monotone[column] };
        match self.rules.both(left, right, direction, self.node.bounds) {
            Some(score) if score > self.best_score => {
                self.best_score = score;
                self.best = Cut { column: column as i32, missing_left, left, right, ..NO_CUT };
                true
            }
            _ => false,
        }
    }

    /// Offers a cut with the missing on either side.
    #[inline(always)]
    fn offer_sides(&mut self, column: usize, left: Pair, missing: Pair) -> bool {
        if missing == [0; 2] {
            return self.offer(column, left, true);
        }
        let first = self.offer(column, plus(left, missing), true);
        self.offer(column, left, false) || first
    }

    fn numeric(&mut self, column: usize, bins: &[Pair], missing: Pair) {
        let mut left = [0; 2];
        for (b, &pair) in bins.iter().enumerate() {
            if pair == [0; 2] {
                continue; // the same cut as the one before
            }
            left = plus(left, pair);
            if self.offer_sides(column, left, missing) {
                self.best.bin = b as i32;
            }
        }
    }

    /// Cuts the categories in the order of their mean gradient: the score being convex in the sums, the best division in
    /// two is among these.
    fn categorical(&mut self, column: usize, bins: &[Pair], missing: Pair, has_missing: bool) {
        let ratio = |b: usize| {
            let (g, h) = self.rules.real(bins[b]);
            g / h
        };
        let mut order: Vec<(f64, usize)> =
            (0..bins.len()).filter(|&b| bins[b] != [0; 2]).map(|b| (ratio(b), b)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut left = [0; 2];
        let mut found = None;
        for (i, &(_, b)) in order.iter().enumerate() {
            left = plus(left, bins[b]);
            if self.offer_sides(column, left, missing) {
                found = Some(i);
            }
        }
        if let Some(last) = found {
            // Categories that no row here has go where the missing go.
            let left = self.best.missing_left;
            let with_missing = (0..bins.len()).filter(|&b| left && bins[b] == [0; 2]);
            let missing = (has_missing && left).then_some(bins.len());
            let chosen = order[..=last].iter().map(|&(_, b)| b);
            self.best.left_bins = set_of(chosen.chain(with_missing).chain(missing));
        }
    }
}

fn best_in(rules: Rules, layout: Layout, node: Node, columns: std::ops::Range<usize>) -> (Cut, f64) {
    let total = node.sums[node.sums.len() - 1];
    let base = rules.whole(total, node.bounds);
    let mut search = Search { rules, node, total, best: NO_CUT, best_score: base + rules.gamma.max(LEAST_GAIN) };
    for column in columns {
        if !node.allowed.is_empty() && !node.allowed[column] {
            continue;
        }
        let bins = &node.sums[layout.offsets[column] as usize..layout.offsets[column + 1] as usize];
        let has_missing = layout.has_missing[column];
        let (bins, missing) =
            if has_missing { (&bins[..bins.len() - 1], bins[bins.len() - 1]) } else { (bins, [0; 2]) };
        if layout.categorical[column] {
            search.categorical(column, bins, missing, has_missing);
        } else {
            search.numeric(column, bins, missing);
        }
    }
    let mut best = search.best;
    if best.column >= 0 {
        best.gain = search.best_score - base;
    }
    if best.bin >= 0 {
        let column = best.column as usize;
        let missing = (layout.offsets[column + 1] - layout.offsets[column]) as usize - 1;
        let extra = (layout.has_missing[column] && best.missing_left).then_some(missing);
        best.left_bins = set_of((0..=best.bin as usize).chain(extra));
    }
    (best, search.best_score)
}

fn set_of(bins: impl Iterator<Item = usize>) -> BinSet {
    let mut set = [0; 4];
    for b in bins {
        set[b / 64] |= 1 << (b % 64);
    }
    set
}

/// The best cut of each node; `column` is -1 where none is worth making.
pub fn best(rules: Rules, layout: Layout, nodes: &[Node], n_threads: usize) -> Vec<Cut> {
    let n_columns = layout.categorical.len();
    let n_bins = layout.offsets[n_columns] as usize;
    let n_threads = if nodes.len() * n_bins < 20_000 { 1 } else { n_threads };
    let parts = if n_threads == 1 { 1 } else { (n_threads * 4).div_ceil(nodes.len()).min(n_columns) };
    let step = n_columns.div_ceil(parts);
    let starts: Vec<usize> = (0..n_columns).step_by(step).collect();
    let jobs = nodes.iter().flat_map(|&node| starts.iter().map(move |&s| (node, s))).collect();
    let found = threads::map(n_threads, jobs, |(node, s)| best_in(rules, layout, node, s..n_columns.min(s + step)));
    let better = |a: (Cut, f64), b: &(Cut, f64)| if b.0.column >= 0 && (a.0.column < 0 || b.1 > a.1) { *b } else { a };
    found.chunks(starts.len()).map(|parts| parts[1..].iter().fold(parts[0], better).0).collect()
}

/// `parent - child`, in the parent's place.
pub fn subtract(parent: &mut [Pair], child: &[Pair]) {
    for (p, c) in parent.iter_mut().zip(child) {
        *p = minus(*p, *c);
    }
}
