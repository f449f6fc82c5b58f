//! Keys that their holder reveals for an audit, and what was sealed under them, entry by entry.
//!
//! Nothing here hides anything: a revealed key is no secret any more. What an honest key holder seals has small errors
//! (`random`), so that whatever stands further from a multiple of the scale was not sealed as agreed.

use super::ring::{Factor, Prime, Ring, below};
use super::seal::{KEY, N, PRIMES, Sealed, lift_small};
use crate::math::threads;

/// The largest error of an honest sealing: of 21 coins less 21 coins.
pub const ERROR: i128 = 21;
/// In the place of an integer that nobody can have sealed as agreed.
pub const FALSE: i64 = i64::MIN;

/// The coefficients of a secret key, -1, 0 or 1.
pub fn coefficients(secret: &[u32]) -> Vec<i8> {
    let prime = &Ring::of_4096().primes[0];
    let mut s = secret[..N].to_vec();
    prime.restore(&mut s);
    s.iter().map(|&x| if x + 1 == prime.p { -1 } else { x as i8 }).collect()
}

/// The secret key with these coefficients; none if one is not -1, 0 or 1.
pub fn secret_of(small: &[i8]) -> Option<Vec<u32>> {
    if small.len() != N || small.iter().any(|x| !(-1..=1).contains(x)) {
        return None;
    }
    let mut key = Vec::with_capacity(KEY);
    let mut s = vec![0; N];
    for prime in &Ring::of_4096().primes {
        lift_small(&mut s, small, prime.p);
        prime.transform(&mut s);
        key.extend(&s);
        key.extend(s.iter().map(|&w| Factor::new(w, prime.p).s));
    }
    Some(key)
}

/// Whether a public key (`seal::read_public`) is one of this secret: its two halves leave an honest error.
pub fn belongs(secret: &[u32], public: &[u32]) -> bool {
    phases(secret, |l| &public[2 * N * l..2 * N * (l + 1)]).iter().all(|x| x.abs() <= ERROR)
}

/// How integers are written: as multiples of a scale, or modulo t as the nearest integers to q x / t.
#[derive(Clone, Copy)]
pub struct Written {
    scale: i128,
    /// 0: multiples of the scale.
    modulus: i128,
    q: i128,
}

impl Written {
    /// The integer that is written an honest error away from x.
    fn nearest(self, x: i128) -> i64 {
        let value = (2 * x + self.scale).div_euclid(2 * self.scale);
        let place = match self.modulus {
            0 => value * self.scale,
            t => (2 * self.q * value + t).div_euclid(2 * t),
        };
        if (x - place).abs() <= ERROR { i64::try_from(value).unwrap_or(FALSE) } else { FALSE }
    }
}

/// For each ciphertext its n integers, those of X^-j at place j; `FALSE` where that was not sealed as agreed.
pub fn open_rows(secret: &[u32], sealed: Sealed, scale: &[u32], modulus: u32, n_threads: usize) -> Vec<i64> {
    let q = Ring::of_4096().primes.iter().map(|prime| i128::from(prime.p)).product();
    let written = Written { scale: joined(|l| scale[l]), modulus: i128::from(modulus), q };
    let mut rows = vec![0; sealed.count() * KEY];
    let alone = Sealed { lanes: 1, ..sealed };
    alone.read(&mut rows, 2 * N, n_threads);
    let items = rows.chunks(KEY).collect();
    threads::map(n_threads, items, |pair: &[u32]| open_one(secret, pair, written)).into_iter().flatten().collect()
}

fn open_one(secret: &[u32], pair: &[u32], written: Written) -> Vec<i64> {
    let opened: Vec<i64> =
        phases(secret, |l| &pair[2 * N * l..2 * N * (l + 1)]).into_iter().map(|x| written.nearest(x)).collect();
    let turned = |j: usize| if opened[N - j] == FALSE { FALSE } else { -opened[N - j] };
    (0..N).map(|j| if j == 0 { opened[0] } else { turned(j) }).collect()
}

/// First half plus second half times the secret, the integers nearest to zero; `halves` gives both for each prime.
fn phases<'a>(secret: &[u32], halves: impl Fn(usize) -> &'a [u32]) -> Vec<i128> {
    let ring = Ring::of_4096();
    let parts: Vec<Vec<u32>> =
        ring.primes.iter().enumerate().map(|(l, prime)| phase(secret, l, prime, halves(l))).collect();
    let q: i128 = ring.primes.iter().map(|prime| i128::from(prime.p)).product();
    (0..N)
        .map(|i| {
            let x = joined(|l| parts[l][i]);
            if 2 * x > q { x - q } else { x }
        })
        .collect()
}

fn phase(secret: &[u32], l: usize, prime: &Prime, halves: &[u32]) -> Vec<u32> {
    let (first, second) = halves.split_at(N);
    let (w, s) = secret[2 * N * l..2 * N * (l + 1)].split_at(N);
    let products = second.iter().zip(w).zip(s).map(|((&a, &w), &s)| Factor { w, s }.times(a, prime.p));
    let mut x: Vec<u32> = first.iter().zip(products).map(|(&c, y)| below(c + y, prime.p)).collect();
    prime.restore(&mut x);
    x
}

/// The number below the product of all primes that has these residues.
fn joined(residue: impl Fn(usize) -> u32) -> i128 {
    let ring = Ring::of_4096();
    let (mut x, mut product) = (0u128, 1u128);
    for (l, prime) in ring.primes[..PRIMES].iter().enumerate() {
        let mut k = below(residue(l) + prime.p - prime.reduce_wide(x), prime.p);
        for of in 0..l {
            k = ring.inverse(l, of).times(k, prime.p);
        }
        x += product * u128::from(k);
        product *= u128::from(prime.p);
    }
    x as i128
}

#[cfg(test)]
mod tests {
    use super::super::random::system_seed;
    use super::super::seal::{PACKED, new_secret, public_half, read_public, seal_rows};
    use super::*;

    #[test]
    fn a_key_comes_back_and_belongs_to_its_public_key_alone() {
        let (secret, other, seed) = (new_secret(), new_secret(), system_seed());
        assert_eq!(secret_of(&coefficients(&secret)), Some(secret.clone()));
        let public = read_public(&public_half(&secret, &seed), &seed).unwrap();
        assert!(belongs(&secret, &public));
        assert!(!belongs(&other, &public));
        let mut wrong = coefficients(&secret);
        wrong[7] = 2;
        assert_eq!(secret_of(&wrong), None);
    }

    #[test]
    fn rows_open_one_by_one_and_others_are_false() {
        let (secret, seed) = (new_secret(), system_seed());
        let values: Vec<i64> = (0..5000).map(|i| (i * i) % 1000 - 500).collect();
        let q: u128 = Ring::of_4096().primes.iter().map(|prime| u128::from(prime.p)).product();
        let scale: Vec<u32> = Ring::of_4096().primes.iter().map(|prime| prime.reduce_wide(q / 65537)).collect();
        let mut payload = vec![0; 2 * PRIMES * PACKED];
        seal_rows(&secret, &seed, &values, 1, N, &scale, &mut payload, 2);
        let sealed = Sealed { payload: &payload, seed: Some(seed), lanes: 1 };
        let opened = open_rows(&secret, sealed, &scale, 0, 2);
        assert_eq!(&opened[..5000], &values);
        assert!(opened[5000..].iter().all(|&x| x == 0));
        let other = open_rows(&new_secret(), sealed, &scale, 0, 1);
        assert!(other.iter().filter(|&&x| x == FALSE).count() > 8000);
    }
}
