//! The best place to cut each node, from its sums alone.
//!
//! Rows of a histogram are `(gradient, hessian)` pairs per bin, the node's total last. A column's last bin holds missing
//! values where `has_missing` says so. Ties go to the lowest column, then the lowest cut, then missing to the left.

use crate::math::threads;

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
    /// Looked at only where nodes come with counts.
    pub min_child_rows: i64,
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

/// A node to be cut: its sums, the rows of each bin (empty: they do not matter), which columns may be cut (empty: all),
/// and the range its value must keep to.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    pub sums: &'a [Pair],
    pub counts: &'a [i64],
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

/// Sums and number of some of a node's rows; the number is 0 where rows are not counted.
#[derive(Clone, Copy, Default)]
struct Share {
    sums: Pair,
    rows: i64,
}

impl Share {
    fn is_empty(self) -> bool {
        self.sums == [0; 2] && self.rows == 0
    }
}

#[inline(always)]
fn together(a: Share, b: Share) -> Share {
    Share { sums: plus(a.sums, b.sums), rows: a.rows + b.rows }
}

/// A column's bins without that of the missing.
#[derive(Clone, Copy)]
struct Bins<'a, const COUNTED: bool> {
    sums: &'a [Pair],
    counts: &'a [i64],
}

impl<const COUNTED: bool> Bins<'_, COUNTED> {
    #[inline(always)]
    fn get(&self, bin: usize) -> Share {
        Share { sums: self.sums[bin], rows: if COUNTED { self.counts[bin] } else { 0 } }
    }
}

/// The best cut so far of one node.
struct Search<'a, const COUNTED: bool> {
    rules: Rules<'a>,
    node: Node<'a>,
    total: Share,
    best: Cut,
    best_score: f64,
}

impl<const COUNTED: bool> Search<'_, COUNTED> {
    #[inline(always)]
    fn offer(&mut self, column: usize, left: Share, missing_left: bool) -> bool {
        if COUNTED && left.rows.min(self.total.rows - left.rows) < self.rules.min_child_rows {
            return false;
        }
        let (left, right) = (left.sums, minus(self.total.sums, left.sums));
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
    fn offer_sides(&mut self, column: usize, left: Share, missing: Share) -> bool {
        if missing.is_empty() {
            return self.offer(column, left, true);
        }
        let first = self.offer(column, together(left, missing), true);
        self.offer(column, left, false) || first
    }

    fn numeric(&mut self, column: usize, bins: Bins<COUNTED>, missing: Share) {
        let mut left = Share::default();
        for b in 0..bins.sums.len() {
            let bin = bins.get(b);
            if bin.is_empty() {
                continue; // the same cut as the one before
            }
            left = together(left, bin);
            if self.offer_sides(column, left, missing) {
                self.best.bin = b as i32;
            }
        }
    }

    /// Cuts the categories in the order of their mean gradient: the score being convex in the sums, the best division in
    /// two is among these. Categories without sums (no row here has them, or their rows weigh nothing) go where the
    /// missing go.
    fn categorical(&mut self, column: usize, bins: Bins<COUNTED>, missing: Share, has_missing: bool) {
        let ratio = |b: usize| {
            let (g, h) = self.rules.real(bins.sums[b]);
            g / h
        };
        let bare = |b: &usize| bins.sums[*b] == [0; 2];
        let all = 0..bins.sums.len();
        let mut order: Vec<(f64, usize)> = all.clone().filter(|b| !bare(b)).map(|b| (ratio(b), b)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut missing = missing;
        if COUNTED {
            missing.rows += all.clone().filter(bare).map(|b| bins.counts[b]).sum::<i64>();
        }
        let mut left = Share::default();
        let mut found = None;
        for (i, &(_, b)) in order.iter().enumerate() {
            left = together(left, bins.get(b));
            if self.offer_sides(column, left, missing) {
                found = Some(i);
            }
        }
        if let Some(last) = found {
            let left = self.best.missing_left;
            let with_missing = all.filter(|b| left && bare(b));
            let missing = (has_missing && left).then_some(bins.sums.len());
            let chosen = order[..=last].iter().map(|&(_, b)| b);
            self.best.left_bins = set_of(chosen.chain(with_missing).chain(missing));
        }
    }
}

fn best_in<const COUNTED: bool>(
    rules: Rules,
    layout: Layout,
    node: Node,
    columns: std::ops::Range<usize>,
) -> (Cut, f64) {
    let whole = Bins::<COUNTED> { sums: node.sums, counts: node.counts };
    let total = whole.get(node.sums.len() - 1);
    let base = rules.whole(total.sums, node.bounds);
    let best_score = base + rules.gamma.max(LEAST_GAIN);
    let mut search = Search::<COUNTED> { rules, node, total, best: NO_CUT, best_score };
    for column in columns {
        if !node.allowed.is_empty() && !node.allowed[column] {
            continue;
        }
        let has_missing = layout.has_missing[column];
        let (low, high) = (layout.offsets[column] as usize, layout.offsets[column + 1] as usize);
        let missing = if has_missing { whole.get(high - 1) } else { Share::default() };
        let range = low..high - usize::from(has_missing);
        let counts = if COUNTED { &node.counts[range.clone()] } else { &[] };
        let bins = Bins::<COUNTED> { sums: &node.sums[range], counts };
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
    let found = threads::map(n_threads, jobs, |(node, s): (Node, usize)| {
        let search = if node.counts.is_empty() { best_in::<false> } else { best_in::<true> };
        search(rules, layout, node, s..n_columns.min(s + step))
    });
    let better = |a: (Cut, f64), b: &(Cut, f64)| if b.0.column >= 0 && (a.0.column < 0 || b.1 > a.1) { *b } else { a };
    found.chunks(starts.len()).map(|parts| parts[1..].iter().fold(parts[0], better).0).collect()
}

/// `parent - child`, in the parent's place.
pub fn subtract(parent: &mut [i64], child: &[i64]) {
    for (p, c) in parent.iter_mut().zip(child) {
        *p -= c;
    }
}
