//! First and second derivatives of the losses, as integers.
//!
//! Scores and labels are 32-bit floats, the arithmetic is in 64 bits with the portable `exp`. A derivative becomes
//! the integer nearest to `value * scale`, kept within plus or minus 2^30; how many were cut to that is counted.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::math::portable::{dispatched, exp, nearest_integer};
use crate::math::threads;
use crate::trees::histogram::WIDE_BITS;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Loss {
    Squared,
    Logistic,
    Softmax,
    /// Squared distance to "is this class", from zero: the mean of a leaf is the share of the class.
    Shares,
    Poisson,
    /// With the power of the variance, between 1 and 2.
    Tweedie(f64),
    /// Smooth (pseudo-)Huber with the residual at which it turns linear.
    Huber(f64),
}

/// How derivatives become integers.
#[derive(Clone, Copy)]
pub struct Scales {
    pub gradient: f64,
    pub hessian: f64,
    /// Second derivatives are all 1 (times the row's weight).
    pub constant_hessian: bool,
}

const BLOCK: usize = 512;
type Buffer = [f64; BLOCK];

/// Rows of one table: their scores (of one tree, or of one a class), labels, and weights if they differ.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    pub loss: Loss,
    pub scales: Scales,
    pub scores: &'a [f32],
    pub labels: &'a [f32],
    pub weights: &'a [f32],
}

/// Some rows, by the place of the first, and their pairs of every tree.
type Block<'a> = (usize, Vec<&'a mut [[i32; 2]]>);

/// Fills pairs of integers for every tree and row of each table; returns how many derivatives of each were cut short.
pub fn gradients(tables: Vec<(Rows, &mut [[i32; 2]])>, n_threads: usize) -> Vec<u64> {
    let clipped: Vec<AtomicU64> = tables.iter().map(|_| AtomicU64::new(0)).collect();
    let n_blocks: usize = tables.iter().map(|(rows, _)| rows.labels.len().div_ceil(BLOCK)).sum();
    let share = n_blocks.div_ceil(4 * n_threads).max(4);
    let mut jobs = Vec::new();
    for (i, (rows, out)) in tables.into_iter().enumerate() {
        let n = rows.labels.len();
        let mut columns: Vec<_> = out.chunks_mut(n.max(1)).map(|tree| tree.chunks_mut(BLOCK)).collect();
        for first in (0..n).step_by(BLOCK * share) {
            let places = (first..n.min(first + BLOCK * share)).step_by(BLOCK);
            let block = |first| (first, columns.iter_mut().filter_map(Iterator::next).collect());
            jobs.push((i, rows, places.map(block).collect::<Vec<Block>>()));
        }
    }
    threads::for_each(n_threads, jobs, |(i, rows, blocks)| {
        let cut = blocks.into_iter().map(|block| rows.derive(block)).sum();
        clipped[i].fetch_add(cut, Ordering::Relaxed);
    });
    clipped.into_iter().map(AtomicU64::into_inner).collect()
}

impl Rows<'_> {
    fn derive(&self, (first, outs): Block) -> u64 {
        let (rows, trees) = (self.labels.len(), outs.len());
        let size = BLOCK.min(rows - first);
        let (mut g, mut h) = ([0.0; BLOCK], [0.0; BLOCK]);
        let mut softmax = (self.loss == Loss::Softmax).then(|| Normaliser::of(self.scores, rows, first, size, trees));
        let labels = &self.labels[first..first + size];
        let weights = if self.weights.is_empty() { self.weights } else { &self.weights[first..first + size] };
        let mut clipped = 0;
        for (tree, out) in outs.into_iter().enumerate() {
            let scores = &self.scores[tree * rows + first..][..size];
            match &mut softmax {
                Some(normaliser) => normaliser.derivatives(scores, labels, tree, &mut g, &mut h),
                None if self.loss == Loss::Shares => shares(labels, tree as f32, &mut g, &mut h),
                None => derivatives(self.loss, scores, labels, &mut g, &mut h),
            }
            clipped += quantise(self.scales, &g[..size], &h[..size], weights, out);
        }
        clipped
    }
}

dispatched! {
    /// Derivatives of a loss with one score a row.
    pub fn derivatives(loss: Loss, scores: &[f32], labels: &[f32], g: &mut Buffer, h: &mut Buffer) {
        let rows = scores.iter().zip(labels).zip(g.iter_mut().zip(h.iter_mut()));
        match loss {
            Loss::Squared => rows.for_each(|((&s, &y), (g, h))| {
                *g = f64::from(s) - f64::from(y);
                *h = 1.0;
            }),
            Loss::Logistic => rows.for_each(|((&s, &y), (g, h))| {
                let p = 1.0 / (1.0 + exp(-f64::from(s)));
                *g = p - f64::from(y);
                *h = p * (1.0 - p);
            }),
            Loss::Poisson => rows.for_each(|((&s, &y), (g, h))| {
                let mean = exp(f64::from(s));
                *g = mean - f64::from(y);
                *h = mean;
            }),
            Loss::Tweedie(power) => rows.for_each(|((&s, &y), (g, h))| {
                let (s, y) = (f64::from(s), f64::from(y));
                let (a, b) = (y * exp((1.0 - power) * s), exp((2.0 - power) * s));
                *g = b - a;
                *h = (2.0 - power) * b - (1.0 - power) * a;
            }),
            Loss::Huber(slope) => rows.for_each(|((&s, &y), (g, h))| {
                let z = (f64::from(s) - f64::from(y)) / slope;
                let root = (1.0 + z * z).sqrt();
                *g = z * slope / root;
                // The curvature of the parabola that touches the loss from above, not of the loss itself, which vanishes
                // for far outliers and would send leaves beyond them.
                *h = 1.0 / root;
            }),
            Loss::Softmax | Loss::Shares => unreachable!("these have a tree per class"),
        }
    }
}

fn shares(labels: &[f32], class: f32, g: &mut Buffer, h: &mut Buffer) {
    for (&y, (g, h)) in labels.iter().zip(g.iter_mut().zip(h)) {
        *g = if y == class { -1.0 } else { 0.0 };
        *h = 1.0;
    }
}

/// For a block of rows, what divides the exponentials of their scores.
struct Normaliser {
    greatest: Buffer,
    sum: Buffer,
}

impl Normaliser {
    fn of(scores: &[f32], rows: usize, first: usize, size: usize, trees: usize) -> Self {
        let mut n = Self { greatest: [f64::NEG_INFINITY; BLOCK], sum: [0.0; BLOCK] };
        for tree in 0..trees {
            for (m, &s) in n.greatest.iter_mut().zip(&scores[tree * rows + first..][..size]) {
                *m = m.max(f64::from(s));
            }
        }
        for tree in 0..trees {
            add_exp(&scores[tree * rows + first..][..size], &n.greatest, &mut n.sum);
        }
        n
    }

    fn derivatives(&self, scores: &[f32], labels: &[f32], class: usize, g: &mut Buffer, h: &mut Buffer) {
        softmax_derivatives(scores, labels, &self.greatest, &self.sum, class as f32, g, h);
    }
}

dispatched! {
    pub fn add_exp(scores: &[f32], greatest: &Buffer, sum: &mut Buffer) {
        for ((&s, m), sum) in scores.iter().zip(greatest).zip(sum) {
            *sum += exp(f64::from(s) - m);
        }
    }
}

dispatched! {
    pub fn softmax_derivatives(
        scores: &[f32],
        labels: &[f32],
        greatest: &Buffer,
        sum: &Buffer,
        class: f32,
        g: &mut Buffer,
        h: &mut Buffer,
    ) {
        let normal = greatest.iter().zip(sum);
        for (((&s, &y), (m, sum)), (g, h)) in scores.iter().zip(labels).zip(normal).zip(g.iter_mut().zip(h)) {
            let p = exp(f64::from(s) - m) / sum;
            *g = if y == class { p - 1.0 } else { p };
            *h = 2.0 * p * (1.0 - p);
        }
    }
}

dispatched! {
    /// Weighted, scaled, rounded; returns how many were beyond the range.
    pub fn quantise(scales: Scales, g: &[f64], h: &[f64], weights: &[f32], out: &mut [[i32; 2]]) -> u64 {
        let limit = f64::from(1u32 << WIDE_BITS);
        let mut beyond = 0u64;
        for (i, (o, (&g, &h))) in out.iter_mut().zip(g.iter().zip(h)).enumerate() {
            let w = if weights.is_empty() { 1.0 } else { f64::from(weights[i]) };
            let h = if scales.constant_hessian { 1.0 } else { h };
            let (g, h) = (g * w * scales.gradient, h * w * scales.hessian);
            beyond += u64::from(g.abs() > limit) + u64::from(h > limit);
            *o = [nearest_integer(g.clamp(-limit, limit)), nearest_integer(h.clamp(0.0, limit))];
        }
        beyond
    }
}

/// Probabilities of the classes from scores laid class after class, rows after rows in the result.
pub fn softmax(scores: &[f32], rows: usize, out: &mut [f64]) {
    let trees = scores.len() / rows.max(1);
    out.chunks_mut(trees.max(1)).enumerate().for_each(|(row, out)| {
        let greatest = (0..trees).map(|t| f64::from(scores[t * rows + row])).fold(f64::NEG_INFINITY, f64::max);
        for (t, o) in out.iter_mut().enumerate() {
            *o = exp(f64::from(scores[t * rows + row]) - greatest);
        }
        let sum: f64 = out.iter().sum();
        out.iter_mut().for_each(|o| *o /= sum);
    });
}

dispatched! {
    /// `1 / (1 + e^-s)` of each score.
    pub fn logistic(scores: &[f32], out: &mut [f64]) {
        for (o, &s) in out.iter_mut().zip(scores) {
            *o = 1.0 / (1.0 + exp(-f64::from(s)));
        }
    }
}
