//! Random polynomials. Secrets come from ChaCha12 seeded by the operating system, public halves from ChaCha12 under a seed
//! that both sides know; the two never share a seed.
//!
//! Secret samples take the same steps whatever their values. Only how often a candidate is thrown away shows in time, and
//! that says nothing about those that are kept.

use chacha20::ChaCha12;
use chacha20::cipher::{KeyIvInit, StreamCipher};

use super::ring::Prime;
use crate::math::portable::dispatched;

pub type Seed = [u8; 32];

/// Coins of a side of the centred binomial distribution: errors have variance 10.5 and are at most 21.
pub const COINS: u32 = 21;

/// 32 bytes from the operating system.
pub fn system_seed() -> Seed {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).expect("the system has random numbers");
    seed
}

/// What a stream of a public seed is for; streams of different uses never meet.
#[derive(Clone, Copy)]
pub enum Use {
    Rows = 1,
    PublicKey = 2,
    SwitchKey = 3,
    Secret = 4,
    Slots = 5,
}

/// A generator: one stream of a seed.
pub struct Stream {
    cipher: ChaCha12,
    bytes: Vec<u8>,
}

impl Stream {
    pub fn new(seed: &Seed, what: Use, number: u64) -> Self {
        let mut nonce = [0; 12];
        nonce[0] = what as u8;
        nonce[4..].copy_from_slice(&number.to_le_bytes());
        Self { cipher: ChaCha12::new(seed.into(), &nonce.into()), bytes: Vec::new() }
    }

    pub(super) fn draw(&mut self, n: usize) -> &[u8] {
        self.bytes.resize(n, 0);
        self.cipher.write_keystream(&mut self.bytes);
        &self.bytes
    }

    /// Uniform residues: as many bits as the prime has, those thrown away that are not below it.
    pub fn uniform(&mut self, prime: &Prime, out: &mut [u32]) {
        let mut found = 0;
        while found < out.len() {
            let wanted = out.len() - found;
            found += keep_below(&mut out[found..], self.draw(4 * wanted), prime.p);
        }
    }

    /// Uniform in -1, 0, 1.
    pub fn ternary(&mut self, out: &mut [i8]) {
        let mut found = 0;
        while found < out.len() {
            let wanted = out.len() - found;
            for &byte in self.draw(wanted.div_ceil(3) + 8) {
                for shift in [0, 2, 4, 6] {
                    let x = (byte >> shift) & 3;
                    if found < out.len() {
                        out[found] = x as i8 - 1;
                        found += usize::from(x < 3);
                    }
                }
            }
        }
    }

    /// Errors: the difference of two counts of 21 coins.
    pub fn errors(&mut self, out: &mut [i8]) {
        let third = out.len().div_ceil(3);
        let bytes = self.draw(16 * third);
        let (heads, tails) = bytes.as_chunks::<8>().0.split_at(third);
        for (k, out) in out.chunks_mut(third).enumerate() {
            count_coins(out, heads, tails, COINS * k as u32);
        }
    }

    /// Sums of three uniform numbers of so many bits (126 at most).
    pub fn wide(&mut self, bits: u32, out: &mut [u128]) {
        let mask = (1u128 << bits) - 1;
        let bytes = self.draw(48 * out.len()).as_chunks::<48>().0;
        for (x, three) in out.iter_mut().zip(bytes) {
            *x = three.as_chunks::<16>().0.iter().map(|b| u128::from_le_bytes(*b) & mask).sum();
        }
    }

    /// Adds to each a uniform number below a bound (2^127 at most): as many bits as it has, thrown away and drawn anew if
    /// they are not below it. Below 0 there is none to add.
    pub fn add_below(&mut self, bound: u128, out: &mut [u128]) {
        if bound == 0 {
            return;
        }
        let mask = bound.next_power_of_two() - 1;
        for x in out {
            *x += loop {
                let drawn = u128::from_le_bytes(self.draw(16).as_chunks::<16>().0[0]) & mask;
                if drawn < bound {
                    break drawn;
                }
            };
        }
    }
}

dispatched! {
    /// The low bits of as many words as there is room for, without those that are not below p; returns how many stay.
    pub fn keep_below(out: &mut [u32], words: &[u8], p: u32) -> usize {
        let (mut found, mask) = (0, p.next_power_of_two() - 1);
        for eight in words.as_chunks::<32>().0 {
            let eight: [u32; 8] = std::array::from_fn(|i| {
                let word = [eight[4 * i], eight[4 * i + 1], eight[4 * i + 2], eight[4 * i + 3]];
                u32::from_le_bytes(word) & mask
            });
            let largest = eight.iter().fold(0, |a: u32, &b| a.max(b));
            if largest < p {
                out[found..found + 8].copy_from_slice(&eight);
                found += 8;
            } else {
                for x in eight.into_iter().filter(|&x| x < p) {
                    out[found] = x;
                    found += 1;
                }
            }
        }
        for word in words.as_chunks::<32>().1.as_chunks::<4>().0 {
            let x = u32::from_le_bytes(*word) & mask;
            out[found] = x;
            found += usize::from(x < p);
        }
        found
    }
}

dispatched! {
    /// The difference of the coins that lie `shift` bits high in each pair of words.
    pub fn count_coins(out: &mut [i8], heads: &[[u8; 8]], tails: &[[u8; 8]], shift: u32) {
        const MASK: u64 = (1 << COINS) - 1;
        for ((x, heads), tails) in out.iter_mut().zip(heads).zip(tails) {
            let heads = ((u64::from_le_bytes(*heads) >> shift) & MASK) as u32;
            let tails = ((u64::from_le_bytes(*tails) >> shift) & MASK) as u32;
            *x = (heads.count_ones() as i32 - tails.count_ones() as i32) as i8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ring::Ring;
    use super::*;

    fn moments(x: &[i8]) -> (f64, f64) {
        let n = x.len() as f64;
        let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        (mean, x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / n)
    }

    #[test]
    fn samples_have_the_moments_they_should() {
        let mut stream = Stream::new(&system_seed(), Use::Secret, 0);
        let mut x = vec![0i8; 400_000];
        stream.errors(&mut x);
        let (mean, square) = moments(&x);
        assert!(mean.abs() < 0.04 && (square - 10.5).abs() < 0.2, "{mean} {square}");
        assert!(x.iter().all(|x| x.abs() <= 21));
        stream.ternary(&mut x);
        let (mean, square) = moments(&x);
        assert!(mean.abs() < 0.01 && (square - 2.0 / 3.0).abs() < 0.01, "{mean} {square}");
        let prime = &Ring::of_4096().primes[3];
        let mut y = vec![0; 400_000];
        stream.uniform(prime, &mut y);
        assert!(y.iter().all(|&y| y < prime.p));
        let mean = y.iter().map(|&y| f64::from(y)).sum::<f64>() / 400_000.0 / f64::from(prime.p);
        assert!((mean - 0.5).abs() < 0.004, "{mean}");
        let mut z = vec![0; 100_000];
        stream.wide(70, &mut z);
        let mean = z.iter().map(|&z| z as f64).sum::<f64>() / 100_000.0 / 2f64.powi(70);
        assert!((mean - 1.5).abs() < 0.02, "{mean}");
    }

    #[test]
    fn numbers_below_a_bound_are_uniform_and_added() {
        let mut stream = Stream::new(&system_seed(), Use::Secret, 1);
        let large = (1u128 << 90) / 11 * 11;
        for bound in [11, large] {
            let mut x = vec![5; 110_000];
            stream.add_below(bound, &mut x);
            let mut counts = [0f64; 11];
            x.iter().for_each(|x| counts[((x - 5) / (bound / 11)) as usize] += 1.0);
            let chi: f64 = counts.iter().map(|n| (n - 10_000.0).powi(2) / 10_000.0).sum();
            // Ten degrees of freedom: beyond this once in a million.
            assert!(chi < 48.0, "{bound} {chi}");
        }
        let mut x = [7; 3];
        stream.add_below(1, &mut x);
        stream.add_below(0, &mut x);
        assert_eq!(x, [7; 3]);
    }

    #[test]
    fn streams_differ_and_can_be_repeated() {
        let draw = |what, number| {
            let mut out = vec![0; 100];
            Stream::new(&[7; 32], what, number).uniform(&Ring::of_4096().primes[0], &mut out);
            out
        };
        assert_eq!(draw(Use::Rows, 3), draw(Use::Rows, 3));
        assert_ne!(draw(Use::Rows, 3), draw(Use::Rows, 4));
        assert_ne!(draw(Use::Rows, 3), draw(Use::PublicKey, 3));
    }
}
