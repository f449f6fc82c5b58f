//! Gradients of rows as integers of which none is longer than agreed on: what differential privacy adds up.
//!
//! A row's pair (gradient, hessian) becomes the nearest integers in declared units. Where their vector is longer than the
//! radius, both are shortened by the same factor, in integers and toward zero, so that its L2 norm is at most the radius
//! exactly: whatever the row holds, it changes no sum by more. With units of 0 the hessian is 0 and the gradient alone is
//! held within the radius.

use crate::math::portable::{dispatched, nearest_integer};
use crate::math::threads;
use crate::trees::gradients::{self, Loss};

/// Integers are at most this before they are clipped, and so is the radius.
pub const MOST_UNITS: u32 = 1 << 30;
const BLOCK: usize = 512;
/// Rows of one task.
const PIECE: usize = 64 * BLOCK;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bounded {
    /// The derivatives of the logistic loss.
    Logistic,
    /// Those of half the squared distance to labels kept within a declared range, that range being one unit gradient.
    Squared { low: f64, high: f64 },
}

/// How derivatives become integers, and how long their vector may be.
#[derive(Clone, Copy)]
pub struct Clip {
    pub units: [u32; 2],
    pub radius: u32,
}

impl Clip {
    /// The pair if it is within the radius, else one of nearly the same direction that is.
    #[inline]
    pub fn clipped(self, pair: [i32; 2]) -> [i32; 2] {
        let [g, h] = pair.map(i64::from);
        let (square, radius) = ((g * g) as u64 + (h * h) as u64, u64::from(self.radius));
        if square <= radius * radius {
            return pair;
        }
        let root = square.isqrt();
        let length = (root + u64::from(root * root < square)) as i64;
        [g, h].map(|x| (x * radius as i64 / length) as i32)
    }
}

/// Fills the pairs of all rows.
pub fn clipped_pairs(
    loss: Bounded,
    clip: Clip,
    scores: &[f32],
    labels: &[f32],
    out: &mut [[i32; 2]],
    n_threads: usize,
) {
    let rows = scores.chunks(PIECE).zip(labels.chunks(PIECE)).zip(out.chunks_mut(PIECE));
    threads::for_each(n_threads, rows.collect(), |((scores, labels), out)| {
        let (mut g, mut h) = ([0.0; BLOCK], [0.0; BLOCK]);
        for ((scores, labels), out) in scores.chunks(BLOCK).zip(labels.chunks(BLOCK)).zip(out.chunks_mut(BLOCK)) {
            match loss {
                Bounded::Logistic => gradients::derivatives(Loss::Logistic, scores, labels, &mut g, &mut h),
                Bounded::Squared { low, high } => distances(low, high, scores, labels, &mut g, &mut h),
            }
            quantise(clip.units, &g, &h, out);
            out.iter_mut().for_each(|pair| *pair = clip.clipped(*pair));
        }
    });
}

dispatched! {
    pub fn distances(low: f64, high: f64, scores: &[f32], labels: &[f32], g: &mut [f64], h: &mut [f64]) {
        let range = high - low;
        for ((&s, &y), (g, h)) in scores.iter().zip(labels).zip(g.iter_mut().zip(h)) {
            *g = (f64::from(s) - f64::from(y).max(low).min(high)) / range;
            *h = 1.0;
        }
    }
}

dispatched! {
    /// The nearest integers; 0 for what is not a number.
    pub fn quantise(units: [u32; 2], g: &[f64], h: &[f64], out: &mut [[i32; 2]]) {
        let limit = f64::from(MOST_UNITS);
        let units = units.map(f64::from);
        for (o, (&g, &h)) in out.iter_mut().zip(g.iter().zip(h)) {
            *o = [g * units[0], h * units[1]].map(|x| {
                let x = if x.is_nan() { 0.0 } else { x };
                nearest_integer(x.clamp(-limit, limit))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn norm(pair: [i32; 2]) -> u64 {
        pair.iter().map(|&x| u64::from(x.unsigned_abs()).pow(2)).sum()
    }

    #[test]
    fn no_pair_is_longer_than_the_radius_and_short_ones_stay() {
        let some = [0, 1, -1, 2, 3, 4095, 4096, -4097, 99_999, 1 << 30, -(1 << 30), i32::MAX, i32::MIN];
        for radius in [1, 2, 3, 2458, 4096, 1 << 30] {
            let clip = Clip { units: [1, 1], radius };
            for pair in some.iter().flat_map(|&g| some.map(|h| [g, h])) {
                let found = clip.clipped(pair);
                assert!(norm(found) <= u64::from(radius).pow(2), "{pair:?} {radius} {found:?}");
                if norm(pair) <= u64::from(radius).pow(2) {
                    assert_eq!(found, pair);
                }
                // Toward zero, by two units of the length at most.
                assert!(
                    found
                        .iter()
                        .zip(pair)
                        .all(|(&a, b)| i64::from(a) * i64::from(b) >= 0 && a.unsigned_abs() <= b.unsigned_abs())
                );
            }
        }
    }

    #[test]
    fn labels_and_scores_of_any_kind_stay_within_the_radius() {
        let odd = [0.0, 1.0, -1.0, 1e30, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, 0.3];
        let rows: Vec<(f32, f32)> = odd.iter().flat_map(|&s| odd.map(|y| (s, y))).collect();
        let (scores, labels): (Vec<f32>, Vec<f32>) = rows.into_iter().unzip();
        let mut out = vec![[0; 2]; scores.len()];
        for loss in [Bounded::Logistic, Bounded::Squared { low: -2.0, high: 5.0 }] {
            for clip in [Clip { units: [4096, 13_640], radius: 4096 }, Clip { units: [4096, 0], radius: 614 }] {
                clipped_pairs(loss, clip, &scores, &labels, &mut out, 2);
                assert!(out.iter().all(|&pair| norm(pair) <= u64::from(clip.radius).pow(2)));
                assert!(clip.units[1] > 0 || out.iter().all(|pair| pair[1] == 0));
            }
        }
    }
}
