//! Random n-th powers, with which ciphertexts are multiplied so that they tell nothing but their plaintext.
//!
//! A table holds small powers of random bases, so that a random product of powers is one multiplication a digit. Many
//! bases with many digits give an n-th power that is as good as uniform whatever the modulus is; one base with few
//! digits gives one that looks so to whoever cannot factor the modulus.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng, TryRng};
use crypto_bigint::ConcatenatingMul;
use getrandom::SysRng;

use super::monty::{Modulus, big, pick};
use crate::math::threads;

/// A generator for one task, seeded by the system's.
pub fn generator() -> ChaCha20Rng {
    let mut seed = [0; 32];
    SysRng.try_fill_bytes(&mut seed).expect("the system gives random numbers");
    ChaCha20Rng::from_seed(seed)
}

/// A random number of so many words, in Montgomery form. Modulo a number half as long it is as good as uniform.
pub fn number(rng: &mut ChaCha20Rng, modulus: &Modulus) -> Vec<u64> {
    let mut words: Vec<u64> = (0..modulus.len()).map(|_| rng.next_u64()).collect();
    modulus.enter(&mut words);
    words
}

/// The powers of one base for so many digits of `window` bits: entry j of digit d is the base to the j 2^(window d).
pub fn powers(modulus: &Modulus, base: Vec<u64>, digits: usize, window: u32) -> Vec<u64> {
    let mut table = Vec::with_capacity((digits << window) * modulus.len());
    let mut unit = base;
    for _ in 0..digits {
        let mut entry = modulus.one().to_vec();
        for _ in 0..1 << window {
            table.extend_from_slice(&entry);
            modulus.multiply(&mut entry, &unit);
        }
        unit = entry;
    }
    table
}

/// A table of so many bases with so many digits altogether, modulo the square of n. `even`: bases are squares, so that
/// Jacobi's symbol, which anybody can compute, tells nothing of a digit.
pub fn table(n: &[u64], bases: usize, digits: usize, window: u32, even: bool, n_threads: usize) -> Vec<u64> {
    let modulus = squared(n);
    let of_base = |i: usize| {
        let mut base = modulus.power(&number(&mut generator(), &modulus), n);
        if even {
            modulus.square(&mut base);
        }
        powers(&modulus, base, digits / bases + usize::from(i < digits % bases), window)
    };
    threads::map(n_threads, (0..bases).collect(), of_base).concat()
}

/// The modulus of ciphertexts.
pub fn squared(n: &[u64]) -> Modulus {
    let n = big(n);
    Modulus::new(n.concatenating_mul(&n).as_words())
}

/// Multiplies `a` by a random product of the table's powers. `blind`: all entries are read for each.
pub fn multiply_random(
    modulus: &Modulus,
    table: &[u64],
    window: u32,
    blind: bool,
    rng: &mut ChaCha20Rng,
    a: &mut [u64],
) {
    let len = modulus.len();
    let mut picked = vec![0; len];
    for entries in table.chunks_exact(len << window) {
        let digit = rng.next_u32() & ((1 << window) - 1);
        if blind {
            pick(entries, u64::from(digit), &mut picked);
            modulus.multiply(a, &picked);
        } else {
            modulus.multiply(a, &entries[digit as usize * len..][..len]);
        }
    }
}

/// Multiplies each ciphertext by a random n-th power: from the table, or, without one, a fresh power each.
pub fn randomise(n: &[u64], table: &[u64], window: u32, blind: bool, sealed: &mut [u64], n_threads: usize) {
    let modulus = squared(n);
    for_shares(sealed, modulus.len(), n_threads, |_, share| {
        let mut rng = generator();
        for c in share.chunks_exact_mut(modulus.len()) {
            if table.is_empty() {
                let power = modulus.power(&number(&mut rng, &modulus), n);
                modulus.multiply(c, &power);
            } else {
                multiply_random(&modulus, table, window, blind, &mut rng, c);
            }
        }
    });
}

/// Shares numbers of `len` words out among threads; `work` gets the place of the first of its share, and the share.
pub fn for_shares(words: &mut [u64], len: usize, n_threads: usize, work: impl Fn(usize, &mut [u64]) + Sync) {
    let step = (words.len() / len).div_ceil(4 * n_threads).max(1);
    let shares = words.chunks_mut(step * len).enumerate().collect();
    threads::for_each(n_threads, shares, |(i, share): (usize, &mut [u64])| work(i * step, share));
}
