//! Products of transformed polynomials, several at a time, added to an accumulator.
//!
//! Words of 64 bits hold the sum of four products of a lazy value (below 28p) and a residue; then Montgomery's reduction
//! takes it to a word, so that what is accumulated is 1 / 2^32 of the sum. Whoever restores it multiplies by 2^32.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_blend_epi32, _mm256_loadu_si256, _mm256_min_epu32,
    _mm256_mul_epu32, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_srli_epi64, _mm256_storeu_si256,
    _mm256_sub_epi32,
};

use super::ring::{Factor, Prime, below, power};
#[cfg(target_arch = "x86_64")]
use crate::math::portable::has_avx2;

/// Products that can be added before they are reduced.
pub const AT_ONCE: usize = 4;

impl Prime {
    /// The factor for `restore_times` of what `accumulate` has gathered, times c.
    pub fn accumulated_scale(&self, c: u32) -> Factor {
        self.scale_by(self.times(c, power(2, 32, self.p)))
    }

    /// Adds to both halves of `sums` (2n words below 2p) 1 / 2^32 of the products of each lazy polynomial of `lazy` (n
    /// words each) with both halves of its pair (2n residues each).
    pub fn accumulate(&self, sums: &mut [u32], lazy: &[u32], pairs: &[&[u32]]) {
        self.accumulate_apart(sums, lazy, sums.len() / 2, pairs);
    }

    /// The same for lazy polynomials that begin so many words one after the other.
    pub fn accumulate_apart(&self, sums: &mut [u32], lazy: &[u32], apart: usize, pairs: &[&[u32]]) {
        let n = sums.len() / 2;
        assert!(pairs.len() <= AT_ONCE && apart >= n && lazy.len() >= apart * pairs.len() && n.is_multiple_of(16));
        assert!(pairs.iter().all(|pair| pair.len() == 2 * n));
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: the CPU was just asked, and the lengths were checked.
            return unsafe { accumulate_avx2(self, sums, lazy, apart, pairs) };
        }
        for half in [0, n] {
            for i in 0..n {
                let products = pairs.iter().enumerate();
                let total: u64 = products.map(|(t, c)| u64::from(lazy[t * apart + i]) * u64::from(c[half + i])).sum();
                sums[half + i] = self.added(sums[half + i], total);
            }
        }
    }

    /// a + total / 2^32 below 2p, for a below 2p and a total of four products.
    #[inline(always)]
    fn added(&self, a: u32, total: u64) -> u32 {
        let (p, m) = (self.p, (total as u32).wrapping_mul(self.montgomery));
        let reduced = ((total + u64::from(m) * u64::from(p)) >> 32) as u32;
        below(below(a + reduced, 4 * p), 2 * p)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn accumulate_avx2(prime: &Prime, sums: &mut [u32], lazy: &[u32], apart: usize, pairs: &[&[u32]]) {
    let n = sums.len() / 2;
    let (p, montgomery) = (prime.p as i32, prime.montgomery as i32);
    let moduli = [p, 2 * p, 4 * p, montgomery].map(|x| _mm256_set1_epi32(x));
    let to = sums.as_mut_ptr();
    // A whole cache line of each polynomial at a time.
    for line in (0..n).step_by(16) {
        let zero = _mm256_setzero_si256();
        let (mut left, mut right) = ([[zero; 2]; 2], [[zero; 2]; 2]);
        for (t, pair) in pairs.iter().enumerate() {
            for (k, i) in [line, line + 8].into_iter().enumerate() {
                // SAFETY: the caller has checked the lengths.
                unsafe {
                    let x = _mm256_loadu_si256(lazy.as_ptr().add(t * apart + i).cast());
                    let odd = _mm256_srli_epi64(x, 32);
                    let at = pair.as_ptr().add(i);
                    add_products(&mut left[k], x, odd, _mm256_loadu_si256(at.cast()));
                    add_products(&mut right[k], x, odd, _mm256_loadu_si256(at.add(n).cast()));
                }
            }
        }
        for (k, i) in [line, line + 8].into_iter().enumerate() {
            for (half, totals) in [(0, left[k]), (n, right[k])] {
                // SAFETY: the same.
                unsafe {
                    let place: *mut __m256i = to.add(half + i).cast();
                    _mm256_storeu_si256(place, added_avx2(_mm256_loadu_si256(place), totals, moduli));
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn add_products(totals: &mut [__m256i; 2], even: __m256i, odd: __m256i, c: __m256i) {
    totals[0] = _mm256_add_epi64(totals[0], _mm256_mul_epu32(even, c));
    totals[1] = _mm256_add_epi64(totals[1], _mm256_mul_epu32(odd, _mm256_srli_epi64(c, 32)));
}

/// `Prime::added` of eight words; totals of even and odd ones.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn added_avx2(a: __m256i, totals: [__m256i; 2], [p, twice, four, montgomery]: [__m256i; 4]) -> __m256i {
    let [even, odd] = totals.map(|t| _mm256_add_epi64(t, _mm256_mul_epu32(_mm256_mul_epu32(t, montgomery), p)));
    let reduced = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0b1010_1010);
    let x = _mm256_add_epi32(a, reduced);
    let x = _mm256_min_epu32(x, _mm256_sub_epi32(x, four));
    _mm256_min_epu32(x, _mm256_sub_epi32(x, twice))
}

#[cfg(test)]
mod tests {
    use super::super::ring::Ring;
    use super::*;

    #[test]
    fn sums_of_products_are_right_up_to_the_largest_words_in_both_paths() {
        for prime in &Ring::of_8192().primes {
            let (n, p) = (16, u64::from(prime.p));
            for terms in 1..=AT_ONCE {
                let lazy: Vec<u32> = (0..n * terms).map(|i| 28 * prime.p - 1 - i as u32 % 3).collect();
                let pair: Vec<u32> = (0..2 * n).map(|i| prime.p - 1 - i as u32 % 5).collect();
                let pairs = vec![&pair[..]; terms];
                let mut sums = vec![2 * prime.p - 1; 2 * n];
                let mut plain = sums.clone();
                prime.accumulate(&mut sums, &lazy, &pairs);
                for (i, x) in plain.iter_mut().enumerate() {
                    let totals = (0..terms).map(|t| u64::from(lazy[t * n + i % n]) * u64::from(pair[i]));
                    *x = prime.added(*x, totals.sum());
                    let wanted = (0..terms).map(|t| u64::from(lazy[t * n + i % n]) % p * u64::from(pair[i]) % p);
                    let wanted = (wanted.sum::<u64>() + (2 * p - 1) % p * (u64::from(power(2, 32, prime.p)))) % p;
                    assert_eq!(u64::from(prime.times(prime.reduce(u64::from(*x)), power(2, 32, prime.p))), wanted);
                    assert!(*x < 2 * prime.p);
                }
                assert_eq!(sums, plain);
            }
        }
    }
}
