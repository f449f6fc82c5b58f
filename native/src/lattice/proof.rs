//! A proof that a public key (b, a) is b = e - a s with short s and e, without showing either.
//!
//! Why: what an answer hides rests on it. With a chosen b the key holder reads the randomness of the encryption of zero out
//! of c0, and then the whole selection out of c1.
//!
//! How (Benhamouda, Camenisch, Krenn, Lyubashevsky and Neven 2014; made non-interactive by hashing): in each of 15 rounds
//! the prover commits to w = y_e - a y_s for Gaussian masks y; the hash of everything gives each round a challenge, one of
//! the 512 powers of X^(n/256); it has z = y + challenge (s, e). All rounds together are thrown away and begun again
//! with a probability that makes z independent of (s, e).
//!
//! What makes it short: only w without its lowest bits, H, is hashed. Let r be those bits, x = w - z_e = -a z_s - challenge b,
//! which the verifier can compute, and r' the lowest bits of x. The prover sends z_s, and z_h = (H - (x - r')) / 2^bits in
//! place of z_e: some two bits a coefficient. The verifier adds 2^bits z_h to x, takes the lowest bits r' away, hashes and
//! compares. It checks that z_s is short, and 2^bits z_h - r', which is z_e - r, too. z_h follows from z, challenge and key, so it
//! tells nothing that z does not. (H is that of the sum as long as w - z_e does not pass 0 modulo q: but for 2^-70.)
//!
//! What follows: who answers two challenges of a round knows z, z' with (c - c') b = z_e - z_e' - a (z_s - z_s'), with
//! 2^bits z_h - r' for z_e, and 2 / (c - c') is a polynomial that lengthens others by at most 1 / sin(pi / 512) < 163. So
//! 2 b = e'' - a s'' with e'' and s'' short, which is why answers use twice an encryption of zero. Guessing all challenges
//! succeeds with 2^-135. `lattice/bounds` counts the lengths in the flood.

use sha2::{Digest, Sha256};

use super::gaussian::{deviation, sample};
use super::low_bits::{LowBits, centred};
use super::random::{Stream, Use, system_seed};
use super::rice::{Reader, Writer};
use super::ring::{Factor, Prime};
use super::seal::{add_residues, take_products};
use crate::math::threads;

/// Rounds, with a challenge of nine bits each.
pub const ROUNDS: usize = 15;
const CHALLENGE_BITS: usize = 9;
const CHALLENGES: usize = 1 << CHALLENGE_BITS;
/// Bits of the answers' coefficients, for secret and error, that are no part of their length.
const RAW: [u32; 2] = [11, 0];
/// An answer is at most so much longer than its mask is in the mean.
const SLACK: f64 = 1.1;
/// How far a mask may lie on the wrong side of the secret before it is refused in any case: 9 deviations, 2^-57.
const TAIL: f64 = 9.0;
const DOMAIN: &[u8] = b"hedgerow lattice key proof 2";

/// The public key in question: its wire form, and both halves of it, prime after prime, transformed.
pub struct Statement<'a> {
    pub primes: &'a [Prime],
    pub wire: &'a [&'a [u8]],
    pub b: Vec<u32>,
    pub a: Vec<u32>,
}

/// Factors of the last step of the masks of secret and error, which grow as their lengths do.
pub fn factors(n: usize) -> [i64; 2] {
    if n == 4096 { [7, 28] } else { [10, 40] }
}

/// Bits of a commitment that are not hashed.
fn low_bits(n: usize) -> u32 {
    if n == 4096 { 13 } else { 14 }
}

/// Root of the mean square of an answer's coefficients for secret and error; the lowest bits of a commitment are uniform.
fn deviations(n: usize) -> [f64; 2] {
    let [secret, error] = factors(n).map(deviation);
    [secret, error.hypot(f64::from(1 << low_bits(n)) / 12f64.sqrt())]
}

/// Bytes of a proof.
pub fn proof_len(n: usize) -> usize {
    32 + ROUNDS * answer_len(n)
}

/// Bytes of the answers of one round: nine deviations more than their codes have in the mean.
fn answer_len(n: usize) -> usize {
    if n == 4096 { 7670 } else { 15520 }
}

/// One round: the polynomials for secret and error.
type Pair = [Vec<i32>; 2];

impl Statement<'_> {
    fn n(&self) -> usize {
        self.a.len() / self.primes.len()
    }

    /// Of e - a s, with `times` b taken away: the hash without its lowest bits, and these. `pair` is (s, e).
    fn commitment(&self, pair: &Pair, times: Option<(usize, &[Vec<u32>])>, low: &LowBits) -> ([u8; 32], Vec<i32>) {
        let n = self.n();
        let residues = self.primes.iter().enumerate().map(|(l, prime)| {
            let mut secret = lifted(&pair[0], prime);
            prime.transform(&mut secret);
            let shoup: Vec<u32> = secret.iter().map(|&w| Factor::new(w, prime.p).s).collect();
            secret.extend(shoup);
            let mut x = vec![0; n];
            take_products(&mut x, &self.a[n * l..n * (l + 1)], &secret, prime.p);
            prime.restore(&mut x);
            add_residues(&mut x, &lifted(&pair[1], prime), prime.p, false);
            if let Some((power, b)) = times {
                let moved: Vec<u32> = shifted(&b[l], power, prime.p).collect();
                add_residues(&mut x, &moved, prime.p, true);
            }
            x
        });
        let mut residues: Vec<Vec<u32>> = residues.collect();
        let lowest = low.take(&mut residues);
        let mut hash = Sha256::new();
        for x in residues {
            let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
            hash.update(bytes);
        }
        (hash.finalize().into(), lowest)
    }

    fn low_bits(&self) -> LowBits {
        LowBits::new(self.primes, low_bits(self.n()))
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
        let (b, low, powers) = (self.coefficients(), self.low_bits(), powers(told, n));
        let rounds = answers.chunks(answer_len(n)).zip(powers).collect();
        let commitments = threads::map(n_threads, rounds, |(packed, power): (&[u8], usize)| {
            let [secret, high] = unpack(packed, n)?;
            let pair = [secret, high.into_iter().map(|x| x << low_bits(n)).collect()];
            let (commitment, lowest) = self.commitment(&pair, Some((power, &b)), &low);
            is_short(&pair[0], &without(&pair[1], &lowest)).then_some(commitment)
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
        let (n, seed, low) = (self.n(), system_seed(), self.low_bits());
        let masked = threads::map(n_threads, (0..ROUNDS).collect(), |round: usize| {
            let mut stream = Stream::new(&seed, Use::Secret, round as u64);
            let mask = factors(n).map(|last| {
                let mut mask = vec![0; n];
                sample(&mut stream, last, &mut mask);
                mask
            });
            let (commitment, lowest) = self.commitment(&mask, None, &low);
            (mask, (commitment, lowest))
        });
        let (masks, committed): (Vec<Pair>, Vec<_>) = masked.into_iter().unzip();
        let (commitments, lowest): (Vec<[u8; 32]>, Vec<Vec<i32>>) = committed.into_iter().unzip();
        let told = self.challenges(&commitments);
        let moved: Vec<Pair> = powers(&told, n).map(|power| own.each_ref().map(|x| turned(x, power))).collect();
        let answers: Vec<Pair> = masks.into_iter().zip(&moved).map(|(mask, moved)| sum(mask, moved)).collect();
        let mut proof = told.to_vec();
        for ([secret, error], lowest) in answers.iter().zip(&lowest) {
            let rest = without(error, lowest);
            let packed = is_short(secret, &rest).then(|| pack(secret, &rest, n))?;
            proof.extend(packed?);
        }
        accepted(&answers, &moved, n).then_some(proof)
    }
}

/// The powers of X that are the challenges: nine bits each, from the lowest of the first byte on.
fn powers(told: &[u8], n: usize) -> impl Iterator<Item = usize> {
    (0..ROUNDS).map(move |round| {
        let bits = (0..CHALLENGE_BITS).map(|i| CHALLENGE_BITS * round + i).enumerate();
        let challenge: usize = bits.map(|(i, at)| usize::from(told[at / 8] >> (at % 8) & 1) << i).sum();
        challenge * (2 * n / CHALLENGES)
    })
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

/// The answer for the error, without what is not hashed of its commitment.
fn without(error: &[i32], lowest: &[i32]) -> Vec<i32> {
    error.iter().zip(lowest).map(|(x, y)| x - y).collect()
}

fn is_short(secret: &[i32], error: &[i32]) -> bool {
    let n = secret.len();
    [secret, error].into_iter().zip(deviations(n)).all(|(x, deviation)| {
        let most = SLACK * deviation;
        product(x, x) <= most * most * n as f64
    })
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

/// The answers of a round: for the secret as it is, for the error its multiple of 2^bits; none if they have no room.
fn pack(secret: &[i32], rest: &[i32], n: usize) -> Option<Vec<u8>> {
    let high: Vec<i32> = rest.iter().map(|&x| (x + centred(-x, low_bits(n))) >> low_bits(n)).collect();
    let mut writer = Writer::default();
    let fits = writer.put(secret, RAW[0]) && writer.put(&high, RAW[1]);
    fits.then(|| writer.finish(answer_len(n)))?
}

/// The only answers that are packed like this.
fn unpack(packed: &[u8], n: usize) -> Option<Pair> {
    let mut reader = Reader::new(packed);
    let pair = [reader.take(n, RAW[0])?, reader.take(n, RAW[1])?];
    reader.is_done().then_some(pair)
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
        let (own, b, low) = (statement.short(&secret), statement.coefficients(), statement.low_bits());
        let mut lean = 0.0;
        for _ in 0..40 {
            let proof = statement.prove(&secret, 2);
            for (packed, power) in proof[32..].chunks(answer_len(4096)).zip(powers(&proof, 4096)) {
                let [secret, high] = unpack(packed, 4096).unwrap();
                let mut answer = [secret, high.into_iter().map(|x| x << 13).collect()];
                let (_, lowest) = statement.commitment(&answer, Some((power, &b)), &low);
                answer[1] = without(&answer[1], &lowest);
                for ((z, v), deviation) in answer.iter().zip(&own).zip(deviations(4096)) {
                    let v = turned(v, power);
                    lean += product(z, &v) / deviation / product(&v, &v).sqrt();
                }
            }
        }
        // A sum of 40 x 15 x 2 standard normal numbers.
        assert!(lean.abs() < 6.0 * (1200f64).sqrt(), "{lean}");
    }

    /// Mean and mean square of how far short answers lean towards what moved them, in deviations; and how many are kept.
    fn lean_of_few(kept: impl Fn(&[Pair], &[Pair]) -> bool) -> (f64, f64, f64) {
        // As long, in deviations, as the secrets and errors of all rounds together.
        let moved: [Pair; 1] = [[vec![45; 16], vec![154; 32]]];
        let length: f64 = moved[0].iter().zip(factors(4096)).map(|(v, k)| product(v, v) / deviation(k).powi(2)).sum();
        let mut stream = Stream::new(&system_seed(), Use::Secret, 0);
        let (tried, mut leans) = (200_000, vec![]);
        for _ in 0..tried {
            let mask = factors(4096).map(|last| {
                let mut mask = vec![0; if last == 7 { 16 } else { 32 }];
                sample(&mut stream, last, &mut mask);
                mask
            });
            let answers = [sum(mask, &moved[0])];
            if kept(&answers, &moved) {
                let each = answers[0].iter().zip(&moved[0]).zip(factors(4096));
                leans.push(each.map(|((z, v), k)| product(z, v) / deviation(k).powi(2)).sum::<f64>() / length.sqrt());
            }
        }
        let mean = |power: i32| leans.iter().map(|x| x.powi(power)).sum::<f64>() / leans.len() as f64;
        (mean(1), mean(2), leans.len() as f64 / f64::from(tried))
    }

    #[test]
    fn what_is_kept_has_the_distribution_of_the_masks() {
        let (lean, square, kept) = lean_of_few(|answers, moved| accepted(answers, moved, 4096));
        // The mean of some 40 000 standard normal numbers.
        assert!((0.15..0.30).contains(&kept), "{kept}");
        assert!(lean.abs() < 6.0 * 0.005 && (square - 1.0).abs() < 6.0 * 0.0071, "{lean} {square}");
        // The sabotage: without rejection the secret would show.
        let (lean, ..) = lean_of_few(|_, _| true);
        assert!(lean > 0.1, "{lean}");
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

    /// A proof whose answers were chosen before its challenges.
    fn forged(statement: &Statement, answers: &[Pair]) -> Vec<u8> {
        let (b, low) = (statement.coefficients(), statement.low_bits());
        let mut told = [0; 32];
        // Commitments that fit the guessed challenges; the hash gives others, time after time.
        for _ in 0..3 {
            let commit = |(pair, power): (&Pair, usize)| statement.commitment(pair, Some((power, &b)), &low).0;
            let commitments: Vec<[u8; 32]> = answers.iter().zip(powers(&told, 4096)).map(commit).collect();
            told = statement.challenges(&commitments);
        }
        let mut proof = told.to_vec();
        answers.iter().for_each(|[secret, error]| proof.extend(pack(secret, error, 4096).unwrap()));
        proof
    }

    #[test]
    fn answers_that_were_chosen_first_prove_nothing() {
        let (secret, seed) = (seal::new_secret(), [10; 32]);
        let half = seal::public_half(&secret, &seed);
        let wire: [&[u8]; 2] = [&seed, &half];
        let statement = rows_statement(&wire, &seed);
        let answers: Vec<Pair> = (0..ROUNDS).map(|_| [vec![1; 4096], vec![0; 4096]]).collect();
        assert!(!statement.holds(&forged(&statement, &answers), 2));
    }

    #[test]
    fn bytes_that_are_no_proof_are_refused() {
        let (secret, seed) = (seal::new_secret(), [11; 32]);
        let half = seal::public_half(&secret, &seed);
        let wire: [&[u8]; 2] = [&seed, &half];
        let statement = rows_statement(&wire, &seed);
        let proof = statement.prove(&secret, 2);
        let mut own = Stream::new(&system_seed(), Use::Secret, 1);
        for round in 0..60usize {
            let (mut other, drawn) = (proof.clone(), own.draw(512).to_vec());
            let at = usize::from(u16::from_le_bytes([drawn[0], drawn[1]])) % (proof.len() - 300);
            let some = 1 + usize::from(drawn[2]);
            match round % 3 {
                0 => other[at..at + some].copy_from_slice(&drawn[256..256 + some.min(256)][..some.min(256)]),
                1 => other[at..at + some].fill(255),
                _ => other[at..].fill(0),
            }
            assert!(other == proof || !statement.holds(&other, 2), "{round}: {some} from {at}");
        }
        // Room that codes leave at the end of a round stays empty.
        for round in 1..=ROUNDS {
            let mut other = proof.clone();
            other[31 + round * answer_len(4096)] |= 128;
            assert!(!statement.holds(&other, 2), "round {round}");
        }
        assert!(!statement.holds(&[], 2) && !statement.holds(&vec![255; proof.len()], 2));
        assert!(!statement.holds(&[proof.as_slice(), &[0]].concat(), 2));
    }

    #[test]
    fn lengths_that_the_bounds_count_with() {
        assert_eq!(factors(4096).map(|k| deviation(k).round()), [1616.0, 6401.0]);
        assert_eq!(factors(8192).map(|k| deviation(k).round()), [2296.0, 9142.0]);
        assert_eq!(deviations(4096).map(f64::round), [1616.0, 6824.0]);
        assert_eq!(deviations(8192).map(f64::round), [2296.0, 10293.0]);
    }
}
