//! Results that are merged before they leave, by key switching. Everything here is public.
//!
//! Two results with wanted coefficients at multiples of M become one at multiples of M/2: with the automorphism
//! t: X -> X^(1 + 2n/M), which fixes X^M and negates X^(M/2), `(a + X^(M/2) b) + t(a - X^(M/2) b)` is twice a at the
//! multiples of M and twice b between them. What t leaves under the key t(s) is brought back to s by a switching key:
//! one digit a prime, the residue itself, because the number that is 1 modulo one prime and 0 modulo the others is all
//! that the digit has to be multiplied by.
//!
//! The last prime is dropped before anything is merged: results have room for that, and a digit less is to be switched.
//! Switching keys are modulo that prime, too, and hold t(s) times it: dropping it once more from what a switch adds
//! leaves 1 / 2^26 of the noise.

use super::pack::{pack, unpack};
use super::products::AT_ONCE;
use super::random::{Seed, Stream, Use, system_seed};
use super::ring::{Factor, Prime, Ring, below};
use super::seal::{N, PACKED, PRIMES, add_residues, lift_small, take_products};
use crate::math::portable::dispatched;
use crate::math::threads;

/// Primes of results that are merged: all but the last.
const DIGITS: usize = PRIMES - 1;
/// Words of one switching key: primes x digits x 2 x n.
pub const SWITCH: usize = PRIMES * DIGITS * 2 * N;
/// Bytes of one, packed, without its seeded halves.
pub const SWITCH_PACKED: usize = DIGITS * PRIMES * PACKED;

const _: () = assert!(DIGITS <= AT_ONCE);

/// For each coefficient of t(f) which one of f it is, the highest bit set where it changes its sign.
pub fn turning(step: usize) -> Vec<u32> {
    let k = 1 + 2 * N / step;
    let mut table = vec![0; N];
    for i in 0..N {
        let to = i * k % (2 * N);
        table[to % N] = if to < N { i as u32 } else { i as u32 | 1 << 31 };
    }
    table
}

fn turn(out: &mut [u32], from: &[u32], table: &[u32], p: u32) {
    for (out, &at) in out.iter_mut().zip(table) {
        let x = from[at as usize % N];
        *out = below(if at >> 31 == 1 { p - x } else { x }, p);
    }
}

fn stream_number(step: usize, digit: usize) -> u64 {
    (step * PRIMES + digit) as u64
}

/// Switching keys for merging at these steps: first halves packed, keys x digits x primes.
pub fn switch_halves(secret: &[u32], seed: &Seed, steps: &[usize], n_threads: usize) -> Vec<u8> {
    let own_seed = system_seed();
    let mut packed = vec![0; steps.len() * SWITCH_PACKED];
    let items = packed.chunks_mut(PRIMES * PACKED).enumerate().collect();
    let last = Ring::of_4096().primes[DIGITS].p;
    threads::for_each(n_threads, items, |(number, packed): (usize, &mut [u8])| {
        let (step, digit) = (steps[number / DIGITS], number % DIGITS);
        let mut errors = [0; N];
        Stream::new(&own_seed, Use::Secret, number as u64).errors(&mut errors);
        let mut expander = Stream::new(seed, Use::SwitchKey, stream_number(step, digit));
        let (mut a, mut x) = (vec![0; N], vec![0; N]);
        for (l, (prime, packed)) in Ring::of_4096().primes.iter().zip(packed.chunks_mut(PACKED)).enumerate() {
            let secret = &secret[2 * N * l..2 * N * (l + 1)];
            expander.uniform(prime, &mut a);
            lift_small(&mut x, &errors, prime.p);
            if l == digit {
                let mut turned = turned_secret(prime, secret, step);
                let times = Factor::new(prime.reduce(u64::from(last)), prime.p);
                turned.iter_mut().for_each(|s| *s = times.times(*s, prime.p));
                add_residues(&mut x, &turned, prime.p, false);
            }
            prime.transform(&mut x);
            take_products(&mut x, &a, secret, prime.p);
            pack(&x, packed);
        }
    });
    packed
}

fn turned_secret(prime: &Prime, secret: &[u32], step: usize) -> Vec<u32> {
    let (mut s, mut turned) = (secret[..N].to_vec(), vec![0; N]);
    prime.restore(&mut s);
    turn(&mut turned, &s, &turning(step), prime.p);
    turned
}

/// Switching keys, keys x primes x digits x 2 x n; none if a residue is not below its prime.
pub fn read_switch(packed: &[u8], seed: &Seed, steps: &[usize], n_threads: usize) -> Option<Vec<u32>> {
    let mut keys = vec![0; steps.len() * SWITCH];
    let items = keys.chunks_mut(SWITCH).zip(packed.chunks(SWITCH_PACKED)).zip(steps).collect();
    let read = |((key, packed), &step): ((&mut [u32], &[u8]), &usize)| {
        packed.chunks(PRIMES * PACKED).enumerate().all(|(digit, packed)| {
            let mut expander = Stream::new(seed, Use::SwitchKey, stream_number(step, digit));
            let primes = Ring::of_4096().primes.iter().zip(packed.chunks(PACKED)).enumerate();
            primes.fold(true, |fits, (l, (prime, packed))| {
                let at = 2 * N * (l * DIGITS + digit);
                let (first, second) = key[at..at + 2 * N].split_at_mut(N);
                expander.uniform(prime, second);
                unpack(packed, prime.p, first) && fits
            })
        })
    };
    threads::map(n_threads, items, read).into_iter().all(|fits| fits).then_some(keys)
}

/// A result: of each prime the coefficients of c0 that may be wanted, at multiples of a step, and all of c1. Those of the
/// last prime mean nothing any more once results are merged.
#[derive(Clone, Default)]
pub struct Part {
    pub c0: [Vec<u32>; PRIMES],
    pub c1: [Vec<u32>; PRIMES],
}

dispatched! {
    /// Halves of a merge: a becomes a + X^shift b; returns a - X^shift b in `difference`.
    pub fn cross(a: &mut [u32], b: &[u32], difference: &mut [u32], shift: usize, p: u32) {
        let (low, high) = a.split_at_mut(shift);
        let (low_difference, high_difference) = difference.split_at_mut(shift);
        let (first, last) = b.split_at(b.len() - shift);
        for ((a, &b), d) in low.iter_mut().zip(last).zip(low_difference) {
            (*a, *d) = (below(*a + p - b, p), below(*a + b, p));
        }
        for ((a, &b), d) in high.iter_mut().zip(first).zip(high_difference) {
            (*a, *d) = (below(*a + b, p), below(*a + p - b, p));
        }
    }
}

impl Part {
    /// Without the last prime.
    pub fn drop_last(&mut self) {
        drop_last(&mut self.c0, PRIMES - 1);
        drop_last(&mut self.c1, PRIMES - 1);
    }
}

/// Room for merging, to be used again.
pub struct Bench {
    difference: Vec<u32>,
    digits: Vec<u32>,
    lazy: Vec<u32>,
    sums: Vec<u32>,
    last: Vec<u32>,
}

impl Default for Bench {
    fn default() -> Self {
        let [difference, digits, lazy, sums, last] = [1, DIGITS, DIGITS, 2, 1].map(|k| vec![0; k * N]);
        Self { difference, digits, lazy, sums, last }
    }
}

/// Merges b into a: wanted coefficients at multiples of `step` before, of half the step after. Without b, a alone.
pub fn merge(a: &mut Part, b: Option<&Part>, step: usize, table: &[u32], key: &[u32], bench: &mut Bench) {
    let ring = Ring::of_4096();
    for (l, digit) in bench.digits.chunks_mut(N).enumerate() {
        let p = ring.primes[l].p;
        match b {
            Some(b) => {
                cross(&mut a.c1[l], &b.c1[l], &mut bench.difference, step / 2, p);
                turn(digit, &bench.difference, table, p);
            }
            None => turn(digit, &a.c1[l], table, p),
        }
    }
    // The last prime first: it is dropped from what is switched modulo the others.
    let last_c0 = switch(DIGITS, step / 2, key, bench);
    bench.last.copy_from_slice(&bench.sums[N..]);
    for l in 0..DIGITS {
        let (prime, top, inverse) = (&ring.primes[l], ring.primes[DIGITS].p, ring.inverse(l, DIGITS));
        let mut c0 = switch(l, step / 2, key, bench);
        let second = &mut bench.sums[N..];
        drop_prime(second, &bench.last, prime.p, top, inverse);
        add_residues(&mut a.c1[l], second, prime.p, false);
        drop_prime(&mut c0, &last_c0, prime.p, top, inverse);
        for (i, c) in c0.iter_mut().enumerate() {
            let from = if i % 2 == 0 { a.c0[l][i / 2] } else { b.map_or(0, |b| b.c0[l][i / 2]) };
            *c = prime.reduce(u64::from(*c) + 2 * u64::from(from));
        }
        a.c0[l] = c0;
    }
}

/// The digits times a switching key, modulo one prime: all of c1 in the second half of `sums`, of c0 what may be wanted.
fn switch(l: usize, step: usize, key: &[u32], bench: &mut Bench) -> Vec<u32> {
    let prime = &Ring::of_4096().primes[l];
    for (digit, lazy) in bench.digits.chunks(N).zip(bench.lazy.chunks_mut(N)) {
        prime.transform_to(digit, lazy);
    }
    let mut pairs = [&[][..]; DIGITS];
    let own = key[SWITCH / PRIMES * l..SWITCH / PRIMES * (l + 1)].chunks(2 * N);
    pairs.iter_mut().zip(own).for_each(|(pair, own)| *pair = own);
    bench.sums.fill(0);
    prime.accumulate(&mut bench.sums, &bench.lazy, &pairs);
    let (first, second) = bench.sums.split_at_mut(N);
    let scale = prime.accumulated_scale(1);
    prime.restore_times(second, scale);
    prime.restore_some(first, step, scale)
}

dispatched! {
    /// Drops the last of some primes from residues modulo two of them: x becomes the nearest integer to x / top.
    pub fn drop_prime(x: &mut [u32], last: &[u32], p: u32, top: u32, inverse: Factor) {
        let half = top / 2;
        for (x, &last) in x.iter_mut().zip(last) {
            let shifted = below(last + half, top);
            *x = inverse.times(*x + half + 2 * p - shifted, p);
        }
    }
}

/// Leaves in the residues of the primes before `last` those of x / that prime, rounded.
pub fn drop_last(residues: &mut [Vec<u32>; PRIMES], last: usize) {
    let ring = Ring::of_4096();
    let (rest, dropped) = residues.split_at_mut(last);
    for (l, x) in rest.iter_mut().enumerate() {
        drop_prime(x, &dropped[0], ring.primes[l].p, ring.primes[last].p, ring.inverse(l, last));
    }
}
