//! Arithmetic modulo X^n + 1 and a prime of at most 27 bits, n = 4096 or 8192.
//!
//! Residues are u32 below the prime, unless a line says otherwise. A transform gives a polynomial's values at the odd
//! powers of a root, in an order of our own (`exponents`), the same on every CPU: it is part of the wire form.
//!
//! Primes below 2^27 leave five bits of a word free. A butterfly adds less than 2p to what it is given, so thirteen layers
//! stay below 28p < 2^32, and nothing is reduced until the end. Products use Shoup's way: for a constant w with
//! s = floor(w 2^32 / p) and any word y, `y w - floor(y s / 2^32) p` is congruent to y w and below 2p. No step branches
//! on a residue or looks one up.

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::ring_avx2;
use crate::math::portable::dispatched;
#[cfg(target_arch = "x86_64")]
use crate::math::portable::has_avx2;

/// Primes that are 1 modulo 16384: the two largest of 27 bits, the two largest of 26, then again of 27. The first four
/// (106 bits) serve n = 4096, up to all eight (214 bits) n = 8192; `lattice/bounds` says which limits these keep.
pub const PRIMES: [u32; 8] =
    [133_857_281, 133_644_289, 67_043_329, 66_994_177, 133_611_521, 133_513_217, 133_251_073, 132_825_089];

pub fn power(base: u32, mut exponent: u64, p: u32) -> u32 {
    let (mut square, mut result) = (u64::from(base) % u64::from(p), 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % u64::from(p);
        }
        square = square * square % u64::from(p);
        exponent >>= 1;
    }
    result as u32
}

/// The inverse modulo a prime.
pub fn inverse_of(x: u32, p: u32) -> u32 {
    power(x, u64::from(p) - 2, p)
}

/// A constant to multiply with, and what Shoup's way needs of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    pub w: u32,
    pub s: u32,
}

impl Factor {
    pub fn new(w: u32, p: u32) -> Self {
        Self { w, s: ((u64::from(w) << 32) / u64::from(p)) as u32 }
    }

    /// Congruent to y w, below 2p, for every word y.
    #[inline(always)]
    pub fn lazy(self, y: u32, p: u32) -> u32 {
        let q = ((u64::from(y) * u64::from(self.s)) >> 32) as u32;
        y.wrapping_mul(self.w).wrapping_sub(q.wrapping_mul(p))
    }

    /// The same below p.
    #[inline(always)]
    pub fn times(self, y: u32, p: u32) -> u32 {
        below(self.lazy(y, p), p)
    }
}

/// x or x - p, whichever is below p, for x below 2p.
#[inline(always)]
pub fn below(x: u32, p: u32) -> u32 {
    x.min(x.wrapping_sub(p))
}

/// One prime's constants for one n: powers of a root in the order in which the layers need them.
pub struct Prime {
    pub p: u32,
    n: usize,
    /// floor(2^64 / p)
    barrett: u64,
    /// -1/p modulo 2^32
    pub(super) montgomery: u32,
    /// Entry m + i serves block i of the layer with m blocks.
    pub(super) forward: Twiddles,
    pub(super) backward: Twiddles,
    /// 1/n
    pub(super) scale: Factor,
    /// 1, to reduce a word
    pub(super) one: Factor,
    /// The first two layers of a polynomial of zeros and ones: w1, -w1, w2, w1 w2, w3, -w1 w3.
    pub(super) ones: [u32; 6],
}

/// Powers of a root, and the last three layers' once more in the order of 8 x 8 blocks.
pub(super) struct Twiddles {
    pub(super) w: Vec<u32>,
    pub(super) s: Vec<u32>,
    pub(super) tail_w: Vec<u32>,
    pub(super) tail_s: Vec<u32>,
}

impl Twiddles {
    fn new(root: u32, n: usize, p: u32) -> Self {
        let w: Vec<u32> = (0..n).map(|i| power(root, reversed(i, n) as u64, p)).collect();
        let s: Vec<u32> = w.iter().map(|&w| Factor::new(w, p).s).collect();
        let tail = |from: &[u32]| {
            let mut tail = Vec::with_capacity(n / 64 * 56);
            for block in 0..n / 64 {
                for layer in 0..3 {
                    let (parts, m) = (1 << layer, (n / 8) << layer);
                    for k in 0..parts {
                        tail.extend((0..8).map(|i| from[m + (block * 8 + i) * parts + k]));
                    }
                }
            }
            tail
        };
        Self { tail_w: tail(&w), tail_s: tail(&s), w, s }
    }

    #[inline(always)]
    fn at(&self, i: usize) -> Factor {
        Factor { w: self.w[i], s: self.s[i] }
    }
}

fn reversed(i: usize, n: usize) -> usize {
    i.reverse_bits() >> (usize::BITS - n.trailing_zeros())
}

impl Prime {
    pub(super) fn new(p: u32, n: usize) -> Self {
        let root = root_of(p, n);
        let two_inverse = (0..5).fold(p, |x, _| x.wrapping_mul(2u32.wrapping_sub(p.wrapping_mul(x))));
        let forward = Twiddles::new(root, n, p);
        let [w1, w2, w3] = [1, 2, 3].map(|i| u64::from(forward.w[i]));
        let times = |a: u64, b: u64| (a * b % u64::from(p)) as u32;
        let ones = [w1 as u32, p - w1 as u32, w2 as u32, times(w1, w2), w3 as u32, p - times(w1, w3)];
        Self {
            p,
            n,
            barrett: ((1u128 << 64) / u128::from(p)) as u64,
            montgomery: two_inverse.wrapping_neg(),
            forward,
            backward: Twiddles::new(inverse_of(root, p), n, p),
            scale: Factor::new(inverse_of(n as u32, p), p),
            one: Factor::new(1, p),
            ones,
        }
    }

    /// Any word modulo p.
    #[inline(always)]
    pub fn reduce(&self, x: u64) -> u32 {
        let q = ((u128::from(x) * u128::from(self.barrett)) >> 64) as u64;
        below(x.wrapping_sub(q.wrapping_mul(u64::from(self.p))) as u32, self.p)
    }

    /// Any double word modulo p.
    pub fn reduce_wide(&self, x: u128) -> u32 {
        let high = u64::from(self.reduce((x >> 64) as u64)) * u64::from(self.reduce(u64::MAX) + 1);
        self.reduce(high + u64::from(self.reduce(x as u64)))
    }

    #[inline(always)]
    pub fn times(&self, a: u32, b: u32) -> u32 {
        self.reduce(u64::from(a) * u64::from(b))
    }

    /// A small signed number's residue: |x| < p.
    #[inline(always)]
    pub fn lift(&self, x: i32) -> u32 {
        (x + (self.p as i32 & (x >> 31))) as u32
    }

    /// A signed number's residue.
    #[inline(always)]
    pub fn lift_wide(&self, x: i64) -> u32 {
        let residue = self.reduce(x.unsigned_abs());
        let negative = (x >> 63) as u32;
        below((residue & !negative) | ((self.p - residue) & negative), self.p)
    }

    /// Values of a polynomial whose coefficients are below 4p (in any case when below 2^28).
    pub fn transform(&self, a: &mut [u32]) {
        self.transform_lazily(a);
        reduce_words(a, self.p, self.one);
    }

    /// The same with values below 28p, to be multiplied with residues and reduced then.
    pub fn transform_lazily(&self, a: &mut [u32]) {
        assert_eq!(a.len(), self.n);
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: the CPU was just asked, and the length is that of the tables.
            return unsafe { ring_avx2::transform(self, a) };
        }
        self.transform_portably(a);
    }

    /// The same of another polynomial, which stays as it is.
    pub fn transform_to(&self, from: &[u32], out: &mut [u32]) {
        assert!(from.len() == self.n && out.len() == self.n);
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: the CPU was just asked, and the lengths are those of the tables.
            return unsafe { ring_avx2::transform_to(self, from, out) };
        }
        out.copy_from_slice(from);
        self.transform_portably(out);
    }

    /// The same of a polynomial of zeros and ones, given as bytes 0 and 255.
    pub fn transform_mask(&self, mask: &[u8], out: &mut [u32]) {
        assert!(mask.len() == self.n && out.len() == self.n);
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: the CPU was just asked, and the lengths are those of the tables.
            return unsafe { ring_avx2::transform_mask(self, mask, out) };
        }
        out.iter_mut().zip(mask).for_each(|(x, &byte)| *x = u32::from(byte & 1));
        self.transform_portably(out);
    }

    fn transform_portably(&self, a: &mut [u32]) {
        let (p, twice) = (self.p, 2 * self.p);
        let mut m = 1;
        while m < self.n {
            let half = self.n / (2 * m);
            for (i, block) in a.chunks_exact_mut(2 * half).enumerate() {
                let w = self.forward.at(m + i);
                let (left, right) = block.split_at_mut(half);
                for (x, y) in left.iter_mut().zip(right) {
                    let r = w.lazy(*y, p);
                    (*x, *y) = (x.wrapping_add(r), x.wrapping_add(twice).wrapping_sub(r));
                }
            }
            m *= 2;
        }
        turn_blocks(a);
    }

    /// The polynomial of these values (below 2p).
    pub fn restore(&self, a: &mut [u32]) {
        self.restore_times(a, self.scale);
    }

    /// The factor for `restore_times` that multiplies the polynomial by c.
    pub fn scale_by(&self, c: u32) -> Factor {
        Factor::new(self.times(self.scale.w, c), self.p)
    }

    /// The polynomial of these values (below 2p) times a factor of `scale_by`.
    pub fn restore_times(&self, a: &mut [u32], scale: Factor) {
        assert_eq!(a.len(), self.n);
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: the CPU was just asked, and the length is that of the tables.
            return unsafe { ring_avx2::restore(self, a, scale) };
        }
        turn_blocks(a);
        self.restore_layers(a, self.n / 2);
        a.iter_mut().for_each(|x| *x = scale.times(*x, self.p));
    }

    /// The coefficients at multiples of `step` (64 at least, or 1) of the polynomial of these values (below 2p), times a
    /// factor of `scale_by`: quicker than all of them.
    pub fn restore_some(&self, a: &mut [u32], step: usize, scale: Factor) -> Vec<u32> {
        if step < 64 {
            self.restore_times(a, scale);
            return a.iter().step_by(step).copied().collect();
        }
        // The values at the points that share their step-th power lie together, in whole blocks of 64: their mean is the
        // value of the polynomial of every step-th coefficient.
        let sum = |values: &[u32]| self.reduce(values.iter().map(|&x| u64::from(x)).sum());
        let mut some: Vec<u32> = a.chunks_exact(step).map(sum).collect();
        self.restore_layers(&mut some, self.n / step / 2);
        // Layers double what `step` points were summed to before: n in all, as with the whole polynomial.
        some.iter_mut().for_each(|x| *x = scale.times(*x, self.p));
        some
    }

    /// Backward layers from the one with `m` blocks to the one with a single block.
    fn restore_layers(&self, a: &mut [u32], mut m: usize) {
        let (p, twice) = (self.p, 2 * self.p);
        while m >= 1 {
            let half = a.len() / (2 * m);
            for (i, block) in a.chunks_exact_mut(2 * half).enumerate() {
                let w = self.backward.at(m + i);
                let (left, right) = block.split_at_mut(half);
                for (x, y) in left.iter_mut().zip(right) {
                    let difference = (*x + twice).wrapping_sub(*y);
                    (*x, *y) = (below(*x + *y, twice), w.lazy(difference, p));
                }
            }
            m /= 2;
        }
    }
}

/// Transposes each block of 8 x 8: the order in which the AVX2 path leaves values.
fn turn_blocks(a: &mut [u32]) {
    for block in a.as_chunks_mut::<64>().0 {
        for i in 0..8 {
            for j in 0..i {
                block.swap(8 * i + j, 8 * j + i);
            }
        }
    }
}

dispatched! {
    /// Words to residues below p.
    pub fn reduce_words(a: &mut [u32], p: u32, one: Factor) {
        a.iter_mut().for_each(|x| *x = one.times(*x, p));
    }
}

/// A root of X^n + 1: the smallest power that is one, so that every build finds the same.
fn root_of(p: u32, n: usize) -> u32 {
    let candidates = (2..p).map(|g| power(g, u64::from(p - 1) / (2 * n as u64), p));
    candidates.into_iter().find(|&root| power(root, n as u64, p) == p - 1).expect("2n divides p - 1")
}

/// The primes of one n.
pub struct Ring {
    pub n: usize,
    pub primes: Vec<Prime>,
    /// Of each prime the inverses of all others, 0 of itself.
    inverses: Vec<Vec<Factor>>,
}

impl Ring {
    /// n = 4096 with four primes.
    pub fn of_4096() -> &'static Ring {
        static RING: OnceLock<Ring> = OnceLock::new();
        RING.get_or_init(|| Ring::new(4096, 4))
    }

    /// n = 8192 with eight primes.
    pub fn of_8192() -> &'static Ring {
        static RING: OnceLock<Ring> = OnceLock::new();
        RING.get_or_init(|| Ring::new(8192, 8))
    }

    fn new(n: usize, primes: usize) -> Self {
        let chosen = &PRIMES[..primes];
        let inverse = |p: u32, of: u32| Factor::new(if of == p { 0 } else { inverse_of(of % p, p) }, p);
        let inverses = chosen.iter().map(|&p| chosen.iter().map(|&of| inverse(p, of)).collect()).collect();
        Self { n, primes: chosen.iter().map(|&p| Prime::new(p, n)).collect(), inverses }
    }

    /// The inverse of prime number `of` modulo prime number l.
    pub fn inverse(&self, l: usize, of: usize) -> Factor {
        self.inverses[l][of]
    }

    /// Which power of the root each transformed value belongs to.
    pub fn exponents(&self) -> Vec<usize> {
        let mut exponents: Vec<u32> = (0..self.n).map(|i| 2 * reversed(i, self.n) as u32 + 1).collect();
        turn_blocks(&mut exponents);
        exponents.into_iter().map(|e| e as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(n: usize, p: u32, mut x: u64) -> Vec<u32> {
        (0..n)
            .map(|_| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((x >> 33) % u64::from(p)) as u32
            })
            .collect()
    }

    fn product(a: &[u32], b: &[u32], p: u32) -> Vec<u32> {
        let n = a.len();
        let mut sums = vec![0i128; n];
        for (i, &x) in a.iter().enumerate().filter(|(_, x)| **x != 0) {
            for (j, &y) in b.iter().enumerate() {
                let term = i128::from(x) * i128::from(y);
                if i + j < n { sums[i + j] += term } else { sums[i + j - n] -= term }
            }
        }
        sums.iter().map(|s| s.rem_euclid(i128::from(p)) as u32).collect()
    }

    #[test]
    fn the_primes_are_the_largest_that_fit() {
        let is_prime = |n: u32| (2..).take_while(|i| i * i <= n).all(|i| !n.is_multiple_of(i));
        let largest = |bits: u32| (1..).map(move |i| (1u32 << bits) + 1 - 16_384 * i).filter(move |&p| is_prime(p));
        let (mut of_27, of_26) = (largest(27), largest(26).take(2));
        let found: Vec<u32> = of_27.by_ref().take(2).chain(of_26).collect();
        assert!(found.into_iter().chain(of_27.take(4)).eq(PRIMES));
        let bits = |primes: &[u32]| primes.iter().map(|&p| f64::from(p).log2()).sum::<f64>();
        assert!(bits(&PRIMES[..4]) < 106.0 && bits(&PRIMES) < 214.0);
    }

    #[test]
    fn transforms_multiply_polynomials() {
        for ring in [Ring::of_4096(), Ring::of_8192()] {
            for prime in &ring.primes {
                let mut sparse = vec![0; ring.n];
                for (i, x) in words(40, prime.p, 3).into_iter().enumerate() {
                    sparse[(i * 977) % ring.n] = x;
                }
                let (mut a, mut b) = (sparse.clone(), words(ring.n, prime.p, 5));
                let wanted = product(&sparse, &b, prime.p);
                prime.transform(&mut a);
                prime.transform(&mut b);
                a.iter_mut().zip(&b).for_each(|(x, y)| *x = prime.times(*x, *y));
                for step in [1, 2, 64, 256, ring.n] {
                    let some = prime.restore_some(&mut a.clone(), step, prime.scale_by(3));
                    let thrice = wanted.iter().step_by(step).map(|&x| prime.times(x, 3));
                    assert!(thrice.eq(some), "every {step}");
                }
                prime.restore(&mut a);
                assert_eq!(a, wanted);
            }
        }
    }

    #[test]
    fn values_are_those_at_the_powers_named() {
        let ring = Ring::of_4096();
        let prime = &ring.primes[2];
        let a = words(ring.n, prime.p, 9);
        let mut values = a.clone();
        prime.transform(&mut values);
        let root = root_of(prime.p, ring.n);
        for (i, e) in ring.exponents().into_iter().enumerate().step_by(391) {
            let x = power(root, e as u64, prime.p);
            let at_x = a.iter().rev().fold(0, |sum, &c| prime.reduce(u64::from(sum) * u64::from(x) + u64::from(c)));
            assert_eq!(values[i], at_x, "value {i}");
        }
    }

    #[test]
    fn both_paths_give_the_same_words() {
        for ring in [Ring::of_4096(), Ring::of_8192()] {
            for prime in &ring.primes {
                // The largest words that are allowed, and some between.
                for a in [vec![4 * prime.p - 1; ring.n], words(ring.n, 4 * prime.p, 11)] {
                    let (mut wide, mut plain) = (a.clone(), a);
                    let mut copied = vec![0; ring.n];
                    prime.transform_to(&wide, &mut copied);
                    prime.transform_lazily(&mut wide);
                    prime.transform_portably(&mut plain);
                    assert_eq!(wide, plain);
                    assert_eq!(copied, plain);
                    let mut wide: Vec<u32> = wide.iter().map(|x| x % (2 * prime.p)).collect();
                    let mut plain = wide.clone();
                    prime.restore(&mut wide);
                    turn_blocks(&mut plain);
                    prime.restore_layers(&mut plain, ring.n / 2);
                    plain.iter_mut().for_each(|x| *x = prime.scale.times(*x, prime.p));
                    assert_eq!(wide, plain);
                }
            }
        }
    }

    #[test]
    fn zeros_and_ones_are_transformed_like_any_other_polynomial() {
        for ring in [Ring::of_4096(), Ring::of_8192()] {
            let bits = words(ring.n, 2, 21);
            let mask: Vec<u8> = bits.iter().map(|&b| if b == 1 { 255 } else { 0 }).collect();
            for prime in &ring.primes {
                let (mut a, mut b) = (bits.clone(), vec![7; ring.n]);
                prime.transform(&mut a);
                prime.transform_mask(&mask, &mut b);
                reduce_words(&mut b, prime.p, prime.one);
                assert_eq!(a, b);
            }
        }
    }

    #[test]
    fn numbers_of_every_size_are_reduced() {
        for prime in &Ring::of_8192().primes {
            let p = u64::from(prime.p);
            for x in [0, 1, p - 1, p, p + 1, 2 * p - 1, p * p, u64::MAX - 1, u64::MAX] {
                assert_eq!(u64::from(prime.reduce(x)), x % p);
                let wide = u128::from(x) * 0x1_0000_0001_0000_0003 + 7;
                assert_eq!(u128::from(prime.reduce_wide(wide)), wide % u128::from(p));
            }
            for x in [0i64, 1, -1, p as i64, -(p as i64), i64::MAX, i64::MIN, -12_345_678_901] {
                assert_eq!(i64::from(prime.lift_wide(x)), x.rem_euclid(p as i64));
            }
            assert_eq!([prime.lift(-5), prime.lift(5), prime.lift(0)], [prime.p - 5, 5, 0]);
        }
    }
}
