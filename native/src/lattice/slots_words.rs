//! Loops over the residues of the slot ring: sums, products, floods, fewer primes. No loop branches on a
//! residue.

use super::random::Stream;
use super::ring::{self, Factor, Prime, below};
use crate::math::portable::dispatched;

/// Coefficients, or slots, of one polynomial.
pub const N: usize = 8192;
/// Bytes of one polynomial modulo one prime, 27 bits a residue.
pub const BYTES: usize = N / 8 * 27;
/// Bits of a flood that are drawn at a time.
const LOW: u32 = 96;
/// The representative of a residue modulo t that is nearest to zero.
#[inline(always)]
pub fn centred(value: u32, t: u32) -> i32 {
    let above = ((t / 2) as i32 - value as i32) >> 31;
    value as i32 - (t as i32 & above)
}

/// A small signed number modulo p.
#[inline(always)]
fn lifted(value: i32, p: u32) -> u32 {
    (value + (p as i32 & (value >> 31))) as u32
}

dispatched! {
    /// Small signed numbers modulo p.
    pub fn lift(values: &[i8], p: u32, out: &mut [u32]) {
        out.iter_mut().zip(values).for_each(|(out, &value)| *out = lifted(i32::from(value), p));
    }
}

dispatched! {
    /// Residues modulo t, the representatives nearest to zero, modulo p.
    pub fn lift_residues(values: &[u32], t: u32, p: u32, out: &mut [u32]) {
        out.iter_mut().zip(values).for_each(|(out, &value)| *out = lifted(centred(value, t), p));
    }
}

dispatched! {
    /// Residues r modulo t to r, or to r - t with the probability r / t: drawn numbers are uniform below p.
    pub fn round_at_random(out: &mut [i32], residues: &[u32], drawn: &[u32], t: u32, p: u32) {
        for ((out, &r), &drawn) in out.iter_mut().zip(residues).zip(drawn) {
            let below = (u64::from(drawn) * u64::from(t)).wrapping_sub(u64::from(r) * u64::from(p)) >> 63;
            *out = r as i32 - (t as i32 & (below as i32).wrapping_neg());
        }
    }
}

dispatched! {
    /// Adds signed numbers, smaller than 2p, times a factor.
    pub fn add_lifted(x: &mut [u32], values: &[i32], factor: Factor, p: u32) {
        x.iter_mut().zip(values).for_each(|(x, &value)| *x = below(*x + factor.times(lifted(value, 2 * p), p), p));
    }
}

dispatched! {
    pub fn add(x: &mut [u32], y: &[u32], p: u32) {
        x.iter_mut().zip(y).for_each(|(x, &y)| *x = below(*x + y, p));
    }
}

dispatched! {
    pub fn subtract(x: &mut [u32], y: &[u32], p: u32) {
        x.iter_mut().zip(y).for_each(|(x, &y)| *x = below(*x + p - y, p));
    }
}

dispatched! {
    /// x - a s, where s is given with what Shoup's way needs of it.
    pub fn subtract_products(x: &mut [u32], a: &[u32], s: &[u32], s_shoup: &[u32], p: u32) {
        for (((x, &a), &w), &s) in x.iter_mut().zip(a).zip(s).zip(s_shoup) {
            *x = below(*x + p - Factor { w, s }.times(a, p), p);
        }
    }
}

dispatched! {
    /// x + a b
    pub fn add_products(x: &mut [u32], a: &[u32], b: &[u32], prime: &Prime) {
        x.iter_mut().zip(a).zip(b).for_each(|((x, &a), &b)| *x = prime.reduce(u64::from(a) * u64::from(b) + u64::from(*x)));
    }
}

dispatched! {
    /// Words times a factor, below p.
    pub fn times(x: &mut [u32], factor: Factor, p: u32) {
        x.iter_mut().for_each(|x| *x = factor.times(*x, p));
    }
}

dispatched! {
    /// Adds y steps, each y a residue times a factor: a part of t x / q for the x that has these residues.
    pub fn add_steps(steps: &mut [f64], residues: &[u32], factor: Factor, p: u32, step: f64) {
        for (steps, &x) in steps.iter_mut().zip(residues) {
            *steps += f64::from(factor.times(x, p) as i32) * step;
        }
    }
}

/// Adds to every coefficient a sum of three uniform integers of so many bits, centred.
pub fn flood(c0: &mut [Vec<u32>], bits: u32, primes: &[Prime], own: &mut Stream) {
    // Such a sum is that of the integers' low bits, and 2^low of them times that of their high bits.
    let low = bits.min(LOW);
    let (mut lows, mut highs) = (vec![0; N], vec![0; N]);
    own.wide(low, &mut lows);
    if bits > low {
        own.wide(bits - low, &mut highs);
    }
    for (c0, prime) in c0.iter_mut().zip(primes) {
        add_wide(c0, &lows, 1, prime);
        if bits > low {
            add_wide(c0, &highs, ring::power(2, u64::from(low), prime.p), prime);
        }
        // The mean of the sum is 3 (2^bits - 1) / 2, a half more than this.
        let middle = prime.reduce(3 * u64::from(ring::power(2, u64::from(bits - 1), prime.p)) + u64::from(prime.p - 2));
        c0.iter_mut().for_each(|c| *c = below(*c + prime.p - middle, prime.p));
    }
}

/// Adds wide numbers times a factor.
fn add_wide(x: &mut [u32], wide: &[u128], factor: u32, prime: &Prime) {
    // 32 bits at a time, each times its weight: numbers below 2^98 have four, and four products fit a word.
    let weights = [0, 32, 64, 96].map(|bits| u64::from(prime.times(factor, ring::power(2, bits, prime.p))));
    for (x, &wide) in x.iter_mut().zip(wide) {
        let part = |i: usize| u64::from((wide >> (32 * i)) as u32) * weights[i];
        *x = prime.reduce(part(0) + part(1) + part(2) + part(3) + u64::from(*x));
    }
}

/// Divides by the last primes, one after the other, and rounds each time.
pub fn drop_primes(half: &mut Vec<Vec<u32>>, left: usize, primes: &[Prime]) {
    while half.len() > left {
        let top = half.pop().expect("more than are left");
        let last = primes[half.len()].p;
        for (x, prime) in half.iter_mut().zip(primes) {
            divide(x, &top, last, Factor::new(ring::inverse_of(last, prime.p), prime.p), prime.p);
        }
    }
}

dispatched! {
    /// (x - the representative of `top` modulo `last` nearest to zero) / last, for primes of which none is twice another.
    pub fn divide(x: &mut [u32], top: &[u32], last: u32, inverse: Factor, p: u32) {
        for (x, &top) in x.iter_mut().zip(top) {
            *x = inverse.times(*x + p.wrapping_sub(centred(top, last) as u32), p);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_at_random_is_right_in_the_mean() {
        let (t, p) = (65_537, 133_857_281);
        let drawn: Vec<u32> = (0..p).step_by(997).collect();
        for r in [0, 1, 20_000, 65_536] {
            let mut out = vec![0; drawn.len()];
            round_at_random(&mut out, &vec![r; drawn.len()], &drawn, t, p);
            assert!(out.iter().all(|&x| x == r as i32 || x == r as i32 - t as i32));
            let mean = out.iter().map(|&x| f64::from(x)).sum::<f64>() / drawn.len() as f64;
            assert!(mean.abs() < 1.0, "{mean}");
        }
    }

    #[test]
    fn residues_near_the_middle_are_centred() {
        assert_eq!([0, 1, 3, 4, 6].map(|x| centred(x, 7)), [0, 1, 3, -3, -1]);
    }

    #[test]
    fn dropping_primes_divides_the_whole_number_and_rounds() {
        let primes = &ring::Ring::of_8192().primes[..3];
        let product = |n: usize| primes[..n].iter().map(|prime| i128::from(prime.p)).product::<i128>();
        let numbers: Vec<i128> = (0..N as i128).map(|i| (i * i * 0x9E37_79B9_7F4A_7C15 + 7 * i) % product(3)).collect();
        let residues = |numbers: &[i128], n: usize| -> Vec<Vec<u32>> {
            let of = |p: u32| numbers.iter().map(|x| x.rem_euclid(i128::from(p)) as u32).collect();
            primes[..n].iter().map(|prime| of(prime.p)).collect()
        };
        let mut half = residues(&numbers, 3);
        drop_primes(&mut half, 1, primes);
        let divided = |x: i128, p: i128| (x + p / 2).div_euclid(p);
        let wanted: Vec<i128> =
            numbers.iter().map(|&x| divided(divided(x, primes[2].p.into()), primes[1].p.into())).collect();
        assert_eq!(half, residues(&wanted, 1));
    }
}
