//! Discrete Gaussian integers, for the masks of `proof`.
//!
//! A table gives integers of standard deviation 6; x + k x' of two independent ones has deviation sqrt(1 + k^2) times
//! theirs and is again a discrete Gaussian, as long as sqrt(1 + k^2) is at most their deviation over 1.51 (the smoothing
//! parameter of the integers at 2^-64; Peikert 2010, Micciancio and Walter 2017). Three such steps reach thousands. Every sample
//! compares with the whole table, so that neither time nor memory depends on it.

use std::sync::OnceLock;

use super::random::Stream;
use crate::math::portable::dispatched;

/// The table's deviation, and the factors of the first two steps.
const BASE: f64 = 6.0;
const STEPS: [i64; 2] = [3, 12];
/// |x| is below this: more would have a probability under 2^-63.
const LARGEST: usize = 54;
/// Words that are looked up together.
const CHUNK: usize = 64;

/// The standard deviation of samples whose last step has the factor `last`.
pub fn deviation(last: i64) -> f64 {
    STEPS.iter().chain([&last]).fold(BASE, |sigma, &k| sigma * f64::hypot(1.0, k as f64))
}

/// 2^63 times the probability that |x| is larger than 0, 1, 2 and so on.
fn table() -> &'static [i64; LARGEST] {
    static TABLE: OnceLock<[i64; LARGEST]> = OnceLock::new();
    TABLE.get_or_init(|| {
        let weight = |x: usize| (-((x * x) as f64) / (2.0 * BASE * BASE)).exp();
        let tails: Vec<f64> = (0..=LARGEST).map(|x| (x + 1..400).rev().map(|y| 2.0 * weight(y)).sum()).collect();
        let whole = 1.0 + tails[0];
        std::array::from_fn(|x| (tails[x] / whole * 2f64.powi(63)) as i64)
    })
}

dispatched! {
    /// A sample for every word: its sign is the highest bit, its size the number of table entries that the rest is below.
    pub fn look_up(out: &mut [i64], words: &[u8], table: &[i64]) {
        for (out, words) in out.chunks_mut(CHUNK).zip(words.as_chunks::<{ 8 * CHUNK }>().0) {
            let words: [i64; CHUNK] = std::array::from_fn(|i| {
                let word: [u8; 8] = std::array::from_fn(|j| words[8 * i + j]);
                i64::from_le_bytes(word)
            });
            let mut sizes = [0i64; CHUNK];
            for &entry in table {
                for (size, &word) in sizes.iter_mut().zip(&words) {
                    *size += i64::from(word & i64::MAX < entry);
                }
            }
            for ((out, size), word) in out.iter_mut().zip(sizes).zip(words) {
                let sign = word >> 63;
                *out = (size ^ sign) - sign;
            }
        }
    }
}

/// Samples of deviation `deviation(last)`.
pub fn sample(own: &mut Stream, last: i64, out: &mut [i32]) {
    let factors = [STEPS[0], STEPS[1], last];
    let mut base = [0; 8 * CHUNK];
    for out in out.chunks_mut(CHUNK) {
        look_up(&mut base, own.draw(64 * CHUNK), table());
        let mut left = base.len();
        for k in factors {
            left /= 2;
            for i in 0..left {
                base[i] += k * base[left + i];
            }
        }
        out.iter_mut().zip(base).for_each(|(out, x)| *out = x as i32);
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{Use, system_seed};
    use super::*;

    #[test]
    fn samples_are_gaussian() {
        let mut own = Stream::new(&system_seed(), Use::Secret, 0);
        for last in [7, 40] {
            let (n, sigma) = (400_000, deviation(last));
            let mut x = vec![0; n];
            sample(&mut own, last, &mut x);
            let moment = |power: i32| x.iter().map(|&x| (f64::from(x) / sigma).powi(power)).sum::<f64>() / n as f64;
            assert!(moment(1).abs() < 0.01 && (moment(2) - 1.0).abs() < 0.02, "{} {}", moment(1), moment(2));
            assert!(moment(3).abs() < 0.04 && (moment(4) - 3.0).abs() < 0.12, "{} {}", moment(3), moment(4));
            let within = x.iter().filter(|&&x| f64::from(x).abs() < sigma).count() as f64 / n as f64;
            assert!((within - 0.6827).abs() < 0.005, "{within}");
            let odd = x.iter().filter(|&&x| x & 1 == 1).count() as f64 / n as f64;
            assert!((odd - 0.5).abs() < 0.005, "{odd}");
        }
    }

    #[test]
    fn the_table_is_that_of_a_gaussian() {
        let mut own = Stream::new(&system_seed(), Use::Secret, 1);
        let n = 1 << 20;
        let mut x = vec![0; n];
        look_up(&mut x, own.draw(8 * n), table());
        let whole: f64 = (-400..=400).map(|y| (-f64::from(y * y) / 72.0).exp()).sum();
        for y in -12i32..=12 {
            let wanted = (-f64::from(y * y) / 72.0).exp() / whole;
            let found = x.iter().filter(|&&x| x == i64::from(y)).count() as f64 / n as f64;
            assert!((found - wanted).abs() < 6.0 * (wanted / n as f64).sqrt(), "{y}: {found} {wanted}");
        }
        let entries = table();
        assert!(entries.windows(2).all(|w| w[0] > w[1]) && entries[LARGEST - 1] <= 8, "{}", entries[LARGEST - 1]);
    }
}
