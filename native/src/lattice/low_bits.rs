//! The lowest bits of integers that are known by their residues, and the integers without them.
//!
//! Residues become digits of the mixed radix p0, p0 p1 and so on (Garner), whose weights need be known only modulo 2^32. No step
//! branches on an integer or looks one up.

use super::ring::{Factor, Prime, below, inverse_of};
use crate::math::portable::dispatched;

/// For integers modulo the product of some primes.
pub struct LowBits {
    bits: u32,
    primes: Vec<u32>,
    /// Of each prime the inverses of those before it.
    inverses: Vec<Vec<Factor>>,
    /// Of each digit, modulo 2^32.
    weights: Vec<u32>,
}

dispatched! {
    /// (x - digit) times the digit's prime's inverse.
    pub fn without_digit(x: &mut [u32], digit: &[u32], inverse: Factor, p: u32) {
        for (x, &digit) in x.iter_mut().zip(digit) {
            *x = inverse.times(*x + 2 * p - digit, p);
        }
    }
}

dispatched! {
    /// Adds digits times their weight, modulo 2^32.
    pub fn add_digits(low: &mut [u32], digits: &[u32], weight: u32) {
        for (low, &digit) in low.iter_mut().zip(digits) {
            *low = low.wrapping_add(digit.wrapping_mul(weight));
        }
    }
}

dispatched! {
    /// Takes small integers from residues.
    pub fn take_small(x: &mut [u32], small: &[i32], p: u32) {
        for (x, &small) in x.iter_mut().zip(small) {
            let lifted = (small + (p as i32 & (small >> 31))) as u32;
            *x = below(*x + p - lifted, p);
        }
    }
}

/// x moved by multiples of 2^bits to between minus half of that and half of that.
pub fn centred(x: i32, bits: u32) -> i32 {
    let half = 1 << (bits - 1);
    ((x + half) & (2 * half - 1)) - half
}

impl LowBits {
    pub fn new(primes: &[Prime], bits: u32) -> Self {
        let primes: Vec<u32> = primes.iter().map(|prime| prime.p).collect();
        let inverse = |of: u32, p: u32| Factor::new(inverse_of(of % p, p), p);
        let inverses = primes.iter().enumerate().map(|(l, &p)| primes[..l].iter().map(|&of| inverse(of, p)).collect());
        let weights = (0..primes.len()).map(|l| primes[..l].iter().fold(1, |product: u32, &p| product.wrapping_mul(p)));
        Self { bits, inverses: inverses.collect(), weights: weights.collect(), primes }
    }

    /// Takes their lowest bits, centred, from integers given by residues, a row a prime; what stays are multiples.
    pub fn take(&self, residues: &mut [Vec<u32>]) -> Vec<i32> {
        let mut low = vec![0; residues[0].len()];
        let mut digits: Vec<Vec<u32>> = Vec::with_capacity(residues.len());
        for (l, x) in residues.iter().enumerate() {
            let mut next = x.clone();
            for (digit, &inverse) in digits.iter().zip(&self.inverses[l]) {
                without_digit(&mut next, digit, inverse, self.primes[l]);
            }
            add_digits(&mut low, &next, self.weights[l]);
            digits.push(next);
        }
        let mask = (1 << self.bits) - 1;
        let low: Vec<i32> = low.into_iter().map(|x| centred((x & mask) as i32, self.bits)).collect();
        residues.iter_mut().zip(&self.primes).for_each(|(x, &p)| take_small(x, &low, p));
        low
    }
}

#[cfg(test)]
mod tests {
    use super::super::ring::Ring;
    use super::*;

    #[test]
    fn the_lowest_bits_are_those_of_the_whole_number() {
        let (primes, bits) = (&Ring::of_4096().primes, 13);
        let q: u128 = primes.iter().map(|prime| u128::from(prime.p)).product();
        let some = (0..4000u128).map(|i| (i * i * i * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) % q);
        let numbers: Vec<u128> =
            [0, 1, 4095, 4096, 8191, 8192, q - 1, q - 4096, q - 4097].into_iter().chain(some).collect();
        let rows = |numbers: &[u128]| -> Vec<Vec<u32>> {
            let of = |prime: &Prime| numbers.iter().map(|x| (x % u128::from(prime.p)) as u32).collect();
            primes.iter().map(of).collect()
        };
        let mut residues = rows(&numbers);
        let low = LowBits::new(primes, bits).take(&mut residues);
        let wanted: Vec<i32> = numbers.iter().map(|x| ((x + 4096) % 8192) as i32 - 4096).collect();
        assert_eq!(low, wanted);
        let rest: Vec<u128> =
            numbers.iter().zip(&low).map(|(x, &low)| (x + q).wrapping_add_signed(-i128::from(low)) % q).collect();
        assert_eq!(residues, rows(&rest));
    }

    #[test]
    fn eight_primes_have_lowest_bits_too() {
        let primes = &Ring::of_8192().primes;
        for x in [0u32, 5, 9000, 133_000_000] {
            let mut residues: Vec<Vec<u32>> = primes.iter().map(|prime| vec![x % prime.p]).collect();
            let mut minus: Vec<Vec<u32>> = residues.iter().zip(primes).map(|(r, p)| vec![(p.p - r[0]) % p.p]).collect();
            let bits = LowBits::new(primes, 14);
            assert_eq!(bits.take(&mut residues), [centred((x & 16383) as i32, 14)]);
            // q - x, whose lowest bits need those of q.
            let q = primes.iter().fold(1u32, |q, prime| q.wrapping_mul(prime.p));
            let low = if x == 0 { 0 } else { q.wrapping_sub(x) & 16383 };
            assert_eq!(bits.take(&mut minus), [centred(low as i32, 14)]);
        }
    }
}
