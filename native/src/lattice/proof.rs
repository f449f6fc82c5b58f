//! A proof that a public key (b, a) is b = e - a s with short s and e, without showing either.
//!
//! Why: what an answer hides rests on it. With a chosen b the key holder reads the randomness of the encryption of zero out
//! of c0, and then the whole selection out of c1.
//!
//! How (Benhamouda, Camenisch, Krenn, Lyubashevsky and Neven 2014; made non-interactive by hashing): in each of 16 rounds
//! the prover commits to w = y_e - a y_s for Gaussian masks y; the hash of everything gives each round a challenge, one of
//! the 256 powers of X^(n/128); it answers z = y + challenge (s, e). All rounds together are thrown away and begun again
//! with a probability that makes z independent of (s, e). The verifier computes w = z_e - a z_s - challenge b, hashes and
//! compares, and checks that z is short.
//!
//! What follows: who answers two challenges of a round knows z, z' with (c - c') b = z_e - z_e' - a (z_s - z_s'), and
//! 2 / (c - c') is a polynomial that lengthens others by at most 1 / sin(pi / 256) < 81.5. So 2 b = e'' - a s'' with e'' and s''
//! short, which is why answers use twice an encryption of zero. Guessing all challenges succeeds with 2^-128.
//! `lattice/bounds` counts the lengths in the flood.

use sha2::{Digest, Sha256};

use super::gaussian::{deviation, sample};
use super::random::{Stream, Use, system_seed};
use super::ring::{Factor, Prime};
use super::seal::take_products;
use crate::math::threads;

/// Rounds, with a challenge of eight bits each.
pub const ROUNDS: usize = 16;
const CHALLENGES: usize = 256;
/// Bits of an answer's coefficients, sign included, for the secret and the error.
const WIDTHS: [u32; 2] = [16, 18];
/// An answer is at most so much longer than its mask is in the mean.
const SLACK: f64 = 1.1;
/// How far a mask may lie on the wrong side of the secret before it is refused in any case: 9 deviations, 2^-57.
const TAIL: f64 = 9.0;
const DOMAIN: &[u8] = b"hedgerow lattice key proof 1";

/// The public key in question: its wire form, and both halves of it, prime after prime, transformed.
pub struct Statement<'a> {
    pub primes: &'a [Prime],
    pub wire: &'a [&'a [u8]],
    pub b: Vec<u32>,
    pub a: Vec<u32>,
}

/// Factors of the last step of the masks of secret and error, which grow as their lengths do.
pub fn factors(n: usize) -> [i64; 2] {
    if n == 4096 { [15, 61] } else { [22, 87] }
}

/// Bytes of a proof.
pub fn proof_len(n: usize) -> usize {
    32 + ROUNDS * answer_len(n)
}

fn answer_len(n: usize) -> usize {
    n * (WIDTHS[0] + WIDTHS[1]) as usize / 8
}

/// One round: the polynomials for secret and error.
type Pair = [Vec<i32>; 2];

impl Statement<'_> {
    fn n(&self) -> usize {
        self.a.len() / self.primes.len()
    }

    /// The hash of e - a s, in one round's place: `pair` is (s, e), with `times` b taken away.
    fn commitment(&self, pair: &Pair, times: Option<(usize, &[Vec<u32>])>) -> [u8; 32] {
        let n = self.n();
        let mut hash = Sha256::new();
        for (l, prime) in self.primes.iter().enumerate() {
            let mut x = lifted(&pair[1], prime);
            if let Some((power, b)) = times {
                x.iter_mut().zip(shifted(&b[l], power, prime.p)).for_each(|(x, b)| *x += prime.p - b);
            }
            prime.transform(&mut x);
            let mut secret = lifted(&pair[0], prime);
            prime.transform(&mut secret);
            let shoup: Vec<u32> = secret.iter().map(|&w| Factor::new(w, prime.p).s).collect();
            secret.extend(shoup);
            take_products(&mut x, &self.a[n * l..n * (l + 1)], &secret, prime.p);
            let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
            hash.update(bytes);
        }
        hash.finalize().into()
    }

    /// The challenges that follow from the key and all commitments.
    fn challenges(&self, commitments: &[[u8; 32]]) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update((self.n() as u64).to_le_bytes());
        self.wire.iter().for_each(|part| hash.update(part));
        commitments.iter().for_each(|c| hash.update(c));
        hash.finalize().into()
    }

    /// b by its coefficients.
    fn coefficients(&self) -> Vec<Vec<u32>> {
        let halves = self.primes.iter().zip(self.b.chunks(self.n()));
        halves.map(|(prime, b)| restored(b, prime)).collect()
    }

    /// Whether this proves the key.
    pub fn holds(&self, proof: &[u8], n_threads: usize) -> bool {
        let n = self.n();
        if proof.len() != proof_len(n) {
            return false;
        }
        let (told, answers) = proof.split_at(32);
        let b = self.coefficients();
        let rounds = answers.chunks(answer_len(n)).zip(told).collect();
        let commitments = threads::map(n_threads, rounds, |(packed, &challenge): (&[u8], &u8)| {
            let pair = unpack(packed, n);
            is_short(&pair).then(|| self.commitment(&pair, Some((power(challenge, n), &b))))
        });
        let commitments: Option<Vec<[u8; 32]>> = commitments.into_iter().collect();
        commitments.is_some_and(|commitments| self.challenges(&commitments) == told)
    }

    /// A proof of the key, from the transform of its secret for the first prime.
    pub fn prove(&self, secret: &[u32], n_threads: usize) -> Vec<u8> {
        let own = self.short(secret);
        loop {
            if let Some(proof) = self.attempt(&own, n_threads) {
                return proof;
            }
        }
    }

    /// Secret and error by their coefficients.
    fn short(&self, secret: &[u32]) -> Pair {
        let (n, prime) = (self.n(), &self.primes[0]);
        let error: Vec<u32> =
            (0..n).map(|i| prime.reduce(u64::from(self.a[i]) * u64::from(secret[i]) + u64::from(self.b[i]))).collect();
        let centred = |x: u32| x as i32 - (prime.p as i32 & (((prime.p / 2) as i32 - x as i32) >> 31));
        [&secret[..n], &error].map(|values| restored(values, prime).into_iter().map(centred).collect())
    }

    fn attempt(&self, own: &Pair, n_threads: usize) -> Option<Vec<u8>> {
        let (n, seed) = (self.n(), system_seed());
        let masked = threads::map(n_threads, (0..ROUNDS).collect(), |round: usize| {
            let mut stream = Stream::new(&seed, Use::Secret, round as u64);
            let mask = factors(n).map(|last| {
                let mut mask = vec![0; n];
                sample(&mut stream, last, &mut mask);
                mask
            });
            let commitment = self.commitment(&mask, None);
            (mask, commitment)
        });
        let (masks, commitments): (Vec<Pair>, Vec<[u8; 32]>) = masked.into_iter().unzip();
        let told = self.challenges(&commitments);
        let moved: Vec<Pair> = told[..ROUNDS].iter().map(|&c| own.each_ref().map(|x| turned(x, power(c, n)))).collect();
        let answers: Vec<Pair> = masks.into_iter().zip(&moved).map(|(mask, moved)| sum(mask, moved)).collect();
        let fits = answers.iter().all(|pair| is_short(pair) && fits_widths(pair));
        (fits && accepted(&answers, &moved, n)).then(|| {
            let mut proof = told.to_vec();
            answers.iter().for_each(|pair| pack(pair, &mut proof));
            proof
        })
    }
}

/// The power of X of a challenge.
fn power(challenge: u8, n: usize) -> usize {
    usize::from(challenge) * (2 * n / CHALLENGES)
}

fn lifted(x: &[i32], prime: &Prime) -> Vec<u32> {
    x.iter().map(|&x| prime.lift(x)).collect()
}

fn restored(values: &[u32], prime: &Prime) -> Vec<u32> {
    let mut x = values.to_vec();
    prime.restore(&mut x);
    x
}

/// Residues times a power of X.
fn shifted(x: &[u32], power: usize, p: u32) -> impl Iterator<Item = u32> + '_ {
    let n = x.len();
    (0..n).map(move |i| {
        let from = i + 2 * n - power;
        let value = x[from % n];
        if (from / n).is_multiple_of(2) || value == 0 { value } else { p - value }
    })
}

/// Integers times a power of X; every step is the same whatever they are.
fn turned(x: &[i32], power: usize) -> Vec<i32> {
    let n = x.len();
    (0..n)
        .map(|i| i + 2 * n - power)
        .map(|from| if (from / n).is_multiple_of(2) { x[from % n] } else { -x[from % n] })
        .collect()
}

fn sum(mut pair: Pair, other: &Pair) -> Pair {
    pair.iter_mut().zip(other).for_each(|(x, y)| x.iter_mut().zip(y).for_each(|(x, y)| *x += y));
    pair
}

fn product(x: &[i32], y: &[i32]) -> f64 {
    x.iter().zip(y).map(|(&x, &y)| i64::from(x) * i64::from(y)).sum::<i64>() as f64
}

fn is_short(pair: &Pair) -> bool {
    pair.iter().zip(factors(pair[0].len())).all(|(x, last)| {
        let most = SLACK * deviation(last);
        product(x, x) <= most * most * x.len() as f64
    })
}

fn fits_widths(pair: &Pair) -> bool {
    pair.iter().zip(WIDTHS).all(|(x, bits)| x.iter().all(|x| (-(1 << (bits - 1))..1 << (bits - 1)).contains(x)))
}

/// Rejection sampling: what is kept has the distribution of the masks alone, wherever the secret moved them to.
fn accepted(answers: &[Pair], moved: &[Pair], n: usize) -> bool {
    let (mut exponent, mut length) = (0.0, 0.0);
    for (answer, moved) in answers.iter().zip(moved) {
        for ((z, v), last) in answer.iter().zip(moved).zip(factors(n)) {
            let variance = deviation(last).powi(2);
            exponent += (product(v, v) - 2.0 * product(z, v)) / (2.0 * variance);
            length += product(v, v) / variance;
        }
    }
    let most = TAIL * length.sqrt() + length / 2.0;
    let mut drawn = [0; 8];
    getrandom::fill(&mut drawn).expect("the system has random numbers");
    let uniform = (u64::from_le_bytes(drawn) >> 11) as f64 / (1u64 << 53) as f64;
    uniform < (exponent - most).exp()
}

/// Appends the coefficients of an answer, two's complement, lowest bits first.
fn pack(pair: &Pair, out: &mut Vec<u8>) {
    for (x, bits) in pair.iter().zip(WIDTHS) {
        let (mut word, mut filled) = (0u64, 0);
        for &x in x {
            word |= (u64::from(x as u32) & ((1 << bits) - 1)) << filled;
            filled += bits;
            while filled >= 8 {
                out.push(word as u8);
                word >>= 8;
                filled -= 8;
            }
        }
    }
}

fn unpack(packed: &[u8], n: usize) -> Pair {
    let mut bytes = packed.iter();
    WIDTHS.map(|bits| {
        let (mut word, mut filled) = (0u64, 0);
        (0..n)
            .map(|_| {
                while filled < bits {
                    word |= u64::from(*bytes.next().expect("as long as it must be")) << filled;
                    filled += 8;
                }
                let x = (word as u32) << (32 - bits);
                word >>= bits;
                filled -= bits;
                x as i32 >> (32 - bits)
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::super::random::Seed;
    use super::super::{seal, slots};
    use super::*;

    fn rows_statement<'a>(wire: &'a [&'a [u8]], seed: &Seed) -> Statement<'a> {
        seal::statement(wire, &seal::read_public(wire[1], seed).unwrap())
    }

    #[test]
    fn keys_are_proven_and_nothing_else_is() {
        let (secret, seed) = (seal::new_secret(), [5; 32]);
        let half = seal::public_half(&secret, &seed);
        let wire: [&[u8]; 2] = [&seed, &half];
        let statement = rows_statement(&wire, &seed);
        let proof = statement.prove(&secret, 2);
        assert_eq!(proof.len(), proof_len(4096));
        assert!(statement.holds(&proof, 2));
        for at in [0, 15, 31, 32, 5000, proof.len() - 1] {
            let mut other = proof.clone();
            other[at] ^= 1;
            assert!(!statement.holds(&other, 2), "byte {at}");
        }
        assert!(!statement.holds(&proof[1..], 2));
        // Another key, and a key with one coefficient changed.
        let other = seal::public_half(&secret, &seed);
        let wire: [&[u8]; 2] = [&seed, &other];
        assert!(!rows_statement(&wire, &seed).holds(&proof, 2));
        let mut other = half.clone();
        other[7] ^= 1;
        let wire: [&[u8]; 2] = [&seed, &other];
        assert!(!rows_statement(&wire, &seed).holds(&proof, 2));
    }

    #[test]
    fn keys_of_the_slot_ring_are_proven_too() {
        let seed = [6; 32];
        let (secret, half) = slots::new_key(&seed, 8);
        let proof = slots::prove(&secret, &half, &seed, 2);
        assert!(slots::is_proven(&half, &seed, &proof, 2));
        assert!(!slots::is_proven(&half, &[7; 32], &proof, 2));
        assert!(!slots::is_proven(&slots::new_key(&seed, 8).1, &seed, &proof, 2));
    }

    #[test]
    fn answers_do_not_lean_towards_the_secret() {
        let (secret, seed) = (seal::new_secret(), [8; 32]);
        let half = seal::public_half(&secret, &seed);
        let wire: [&[u8]; 2] = [&seed, &half];
        let statement = rows_statement(&wire, &seed);
        let own = statement.short(&secret);
        let mut lean = 0.0;
        for _ in 0..40 {
            let proof = statement.prove(&secret, 2);
            for (packed, &challenge) in proof[32..].chunks(answer_len(4096)).zip(&proof) {
                let answer = unpack(packed, 4096);
                for ((z, v), last) in answer.iter().zip(&own).zip(factors(4096)) {
                    let v = turned(v, power(challenge, 4096));
                    lean += product(z, &v) / deviation(last) / product(&v, &v).sqrt();
                }
            }
        }
        // A sum of 40 x 16 x 2 standard normal numbers; without rejection it would be near 40 x 16 x 2 x .015 = 19 off.
        assert!(lean.abs() < 6.0 * (1280f64).sqrt(), "{lean}");
    }

    #[test]
    fn a_longer_secret_finds_no_short_answers() {
        let (secret, seed) = (seal::new_secret(), [9; 32]);
        let half = seal::public_half(&secret, &seed);
        let wire: [&[u8]; 2] = [&seed, &half];
        let statement = rows_statement(&wire, &seed);
        let long = statement.short(&secret).map(|x| x.into_iter().map(|x| 5000 * x).collect());
        assert!((0..5).all(|_| statement.attempt(&long, 2).is_none()));
    }

    #[test]
    fn lengths_that_the_bounds_count_with() {
        assert_eq!(factors(4096).map(|k| deviation(k).round()), [3435.0, 13939.0]);
        assert_eq!(factors(8192).map(|k| deviation(k).round()), [5032.0, 19878.0]);
    }
}
