//! Keys, sealing of rows, opening. n = 4096, four primes; polynomials lie one after the other, transformed.
//!
//! A secret or public key is (primes x 2 x n) words: the secret's values and what Shoup's way needs of them; the public
//! key's two halves. Row j of a block stands at X^-j, times a scale; see `sums`.
//!
//! What handles the secret key does the same steps for every key and value: no branch and no look-up depends on them.

use super::pack::{pack, packed_len, unpack};
use super::proof::Statement;
use super::random::{Seed, Stream, Use, system_seed};
use super::ring::{Factor, Prime, Ring, below};
use crate::math::portable::dispatched;
use crate::math::threads;
use std::sync::Mutex;

pub const N: usize = 4096;
pub const PRIMES: usize = 4;
/// Words of a key.
pub const KEY: usize = PRIMES * 2 * N;
/// Bytes of a packed polynomial.
pub const PACKED: usize = N / 8 * 27;

/// Integers to residues times a scale.
#[derive(Clone, Copy)]
pub struct Encoder {
    low: Factor,
    high: Factor,
    offset: u32,
    p: u32,
}

impl Encoder {
    /// For a scale given modulo p.
    pub fn new(prime: &Prime, scale: u32) -> Self {
        let at = |bits: u32| prime.times(scale, prime.reduce(1 << bits));
        let offset = prime.p - at(62);
        Self { low: Factor::new(scale, prime.p), high: Factor::new(at(31), prime.p), offset, p: prime.p }
    }

    /// For |x| < 2^62.
    #[inline(always)]
    pub fn encode(self, x: i64) -> u32 {
        let shifted = (x + (1 << 62)) as u64;
        let low = self.low.lazy((shifted & 0x7fff_ffff) as u32, self.p);
        let high = self.high.lazy((shifted >> 31) as u32, self.p);
        below(below(below(low + high, 2 * self.p), self.p) + self.offset, self.p)
    }
}

pub fn encoders(scale: &[u32]) -> Vec<Encoder> {
    Ring::of_4096().primes.iter().zip(scale).map(|(prime, &scale)| Encoder::new(prime, scale)).collect()
}

fn lifted(prime: &Prime, small: &[i8]) -> Vec<u32> {
    let mut out = vec![0; small.len()];
    lift_small(&mut out, small, prime.p);
    out
}

dispatched! {
    /// Residues of small numbers.
    pub fn lift_small(out: &mut [u32], small: &[i8], p: u32) {
        for (out, &x) in out.iter_mut().zip(small) {
            let x = i32::from(x);
            *out = (x + (p as i32 & (x >> 31))) as u32;
        }
    }
}

dispatched! {
    /// Takes from x the products of a and a secret (n values, then n for Shoup's way).
    pub fn take_products(x: &mut [u32], a: &[u32], secret: &[u32], p: u32) {
        let (w, s) = secret.split_at(x.len());
        for (((x, &a), &w), &s) in x.iter_mut().zip(a).zip(w).zip(s) {
            *x = below(below(*x + 2 * p - Factor { w, s }.lazy(a, p), 2 * p), p);
        }
    }
}

dispatched! {
    /// Residues of integers times the encoder's scale, row j at X^-j, added to residues.
    pub fn place_rows(x: &mut [u32], values: &[i64], encoder: Encoder) {
        let Some((first, rest)) = values.split_first() else { return };
        x[0] += encoder.encode(*first);
        for (x, &value) in x.iter_mut().rev().zip(rest) {
            *x += encoder.encode(-value);
        }
    }
}

/// A fresh secret key: uniform in -1, 0, 1.
pub fn new_secret() -> Vec<u32> {
    let mut small = [0; N];
    Stream::new(&system_seed(), Use::Secret, 0).ternary(&mut small);
    let mut key = Vec::with_capacity(KEY);
    for prime in &Ring::of_4096().primes {
        let mut s = lifted(prime, &small);
        prime.transform(&mut s);
        let shoup: Vec<u32> = s.iter().map(|&w| Factor::new(w, prime.p).s).collect();
        key.extend(s);
        key.extend(shoup);
    }
    key
}

/// The first half of the public key whose second half is that of `seed`, packed.
pub fn public_half(secret: &[u32], seed: &Seed) -> Vec<u8> {
    let mut errors = [0; N];
    Stream::new(&system_seed(), Use::Secret, 0).errors(&mut errors);
    let mut packed = vec![0; PRIMES * PACKED];
    let mut expander = Stream::new(seed, Use::PublicKey, 0);
    let mut a = vec![0; N];
    for (l, prime) in Ring::of_4096().primes.iter().enumerate() {
        expander.uniform(prime, &mut a);
        let mut x = lifted(prime, &errors);
        prime.transform(&mut x);
        take_products(&mut x, &a, &secret[2 * N * l..2 * N * (l + 1)], prime.p);
        pack(&x, &mut packed[PACKED * l..PACKED * (l + 1)]);
    }
    packed
}

/// A public key from its first half and the seed of the second; none if a residue is not below its prime.
pub fn read_public(packed: &[u8], seed: &Seed) -> Option<Vec<u32>> {
    let mut key = vec![0; KEY];
    let mut expander = Stream::new(seed, Use::PublicKey, 0);
    for ((prime, halves), packed) in Ring::of_4096().primes.iter().zip(key.chunks_mut(2 * N)).zip(packed.chunks(PACKED))
    {
        let (first, second) = halves.split_at_mut(N);
        expander.uniform(prime, second);
        if !unpack(packed, prime.p, first) {
            return None;
        }
    }
    Some(key)
}

/// What a proof of the public key is about: `wire` are its seed and its packed half.
pub fn statement<'a>(wire: &'a [&'a [u8]], public: &[u32]) -> Statement<'a> {
    let half = |first: usize| public[first..].chunks(N).step_by(2).flatten().copied().collect();
    Statement { primes: &Ring::of_4096().primes, wire, b: half(0), a: half(N) }
}

/// The rows of one ciphertext: lane and block of `values` (lanes x rows).
fn rows_of(values: &[i64], lanes: usize, step: usize, number: usize) -> &[i64] {
    let (rows, block, lane) = (values.len() / lanes, number / lanes, number % lanes);
    &values[lane * rows + block * step..lane * rows + rows.min((block + 1) * step)]
}

/// Seals lanes x rows, `step` rows a block: first halves packed, block after block, lane after lane; the second halves
/// are streams of the seed.
pub fn seal_rows(
    secret: &[u32],
    seed: &Seed,
    values: &[i64],
    lanes: usize,
    step: usize,
    scale: &[u32],
    payload: &mut [u8],
    n_threads: usize,
) {
    let (encoders, own_seed) = (encoders(scale), system_seed());
    let items = payload.chunks_mut(PRIMES * PACKED).enumerate().collect();
    threads::for_each(n_threads, items, |(number, packed): (usize, &mut [u8])| {
        let (mut errors, mut a, mut x) = ([0; N], [0; N], [0; N]);
        Stream::new(&own_seed, Use::Secret, number as u64).errors(&mut errors);
        let mut expander = Stream::new(seed, Use::Rows, number as u64);
        for (l, prime) in Ring::of_4096().primes.iter().enumerate() {
            expander.uniform(prime, &mut a);
            lift_small(&mut x, &errors, prime.p);
            place_rows(&mut x, rows_of(values, lanes, step, number), encoders[l]);
            prime.transform(&mut x);
            take_products(&mut x, &a, &secret[2 * N * l..2 * N * (l + 1)], prime.p);
            pack(&x, &mut packed[PACKED * l..PACKED * (l + 1)]);
        }
    });
}

/// The same under a public key: both halves, one after the other, of each block and lane.
pub fn seal_rows_publicly(
    public: &[u32],
    values: &[i64],
    lanes: usize,
    step: usize,
    scale: &[u32],
    payload: &mut [u8],
    n_threads: usize,
) {
    let (encoders, own_seed) = (encoders(scale), system_seed());
    let items = payload.chunks_mut(2 * PRIMES * PACKED).enumerate().collect();
    threads::for_each(n_threads, items, |(number, packed): (usize, &mut [u8])| {
        let (mut u, mut errors, mut x) = ([0; N], [[0; N]; 2], [0; N]);
        let mut own = Stream::new(&own_seed, Use::Secret, number as u64);
        own.ternary(&mut u);
        errors.iter_mut().for_each(|e| own.errors(e));
        for (l, prime) in Ring::of_4096().primes.iter().enumerate() {
            let mut hidden = lifted(prime, &u);
            prime.transform(&mut hidden);
            for half in 0..2 {
                lift_small(&mut x, &errors[half], prime.p);
                if half == 0 {
                    place_rows(&mut x, rows_of(values, lanes, step, number), encoders[l]);
                }
                prime.transform(&mut x);
                for ((x, &u), &k) in x.iter_mut().zip(&hidden).zip(&public[N * (2 * l + half)..]) {
                    *x = prime.reduce(u64::from(u) * u64::from(k) + u64::from(*x));
                }
                pack(&x, &mut packed[PACKED * (PRIMES * half + l)..PACKED * (PRIMES * half + l + 1)]);
            }
        }
    });
}

/// Sealed rows in their wire form: both halves of each block and lane, or the first halves and a seed.
#[derive(Clone, Copy)]
pub struct Sealed<'a> {
    pub payload: &'a [u8],
    pub seed: Option<Seed>,
    pub lanes: usize,
}

impl Sealed<'_> {
    /// Bytes of one ciphertext.
    pub fn one(&self) -> usize {
        PRIMES * PACKED * if self.seed.is_some() { 1 } else { 2 }
    }

    /// Whether every residue is below its prime.
    pub fn is_well_formed(&self, n_threads: usize) -> bool {
        let check = |packed: &[u8]| {
            let primes = packed.chunks(PACKED).zip(Ring::of_4096().primes.iter().cycle());
            let mut out = [0; N];
            primes.fold(true, |fits, (packed, prime)| unpack(packed, prime.p, &mut out) && fits)
        };
        threads::map(n_threads, self.payload.chunks(self.one()).collect(), check).into_iter().all(|fits| fits)
    }

    /// How many ciphertexts there are.
    pub fn count(&self) -> usize {
        self.payload.len() / self.one()
    }

    /// Residues, blocks x primes x lanes x (2 x n, and room up to `apart`).
    pub fn read(&self, rows: &mut [u32], apart: usize, n_threads: usize) {
        let blocks = rows.chunks_mut(self.lanes * PRIMES * apart);
        let items = blocks.zip(self.payload.chunks(self.lanes * self.one())).enumerate();
        threads::for_each(n_threads, items.collect(), |(block, (rows, packed)): (usize, (&mut [u32], &[u8]))| {
            for (lane, packed) in packed.chunks(self.one()).enumerate() {
                self.read_one(block * self.lanes + lane, packed, rows, apart, lane);
            }
        });
    }

    fn read_one(&self, number: usize, packed: &[u8], rows: &mut [u32], apart: usize, lane: usize) {
        let mut expander = self.seed.map(|seed| Stream::new(&seed, Use::Rows, number as u64));
        for (l, prime) in Ring::of_4096().primes.iter().enumerate() {
            let at = apart * (l * self.lanes + lane);
            let (first, second) = rows[at..at + 2 * N].split_at_mut(N);
            let read = |i: usize, out: &mut [u32]| {
                assert!(unpack(&packed[PACKED * i..PACKED * (i + 1)], prime.p, out), "checked when it came in");
            };
            read(l, first);
            match &mut expander {
                Some(expander) => expander.uniform(prime, second),
                None => read(PRIMES + l, second),
            }
        }
    }
}

/// Words that are used again and again, so that the system need not clear fresh pages for every call.
pub fn with_room<R>(words: usize, work: impl FnOnce(&mut [u32]) -> R) -> R {
    static ROOM: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    match ROOM.try_lock() {
        Ok(mut room) if words <= MOST_ROOM => {
            let missing = words.saturating_sub(room.len());
            room.extend(std::iter::repeat_n(0, missing));
            work(&mut room[..words])
        }
        _ => work(&mut vec![0; words]),
    }
}

/// 128 MiB are kept at most.
const MOST_ROOM: usize = 1 << 25;

/// a + b or a - b: both halves of each block and lane, packed.
pub fn add_rows(a: Sealed, b: Sealed, subtract: bool, payload: &mut [u8], n_threads: usize) {
    let (lanes, one) = (a.lanes, 2 * PRIMES * PACKED);
    let (mut sum, mut other) = (vec![0; a.count() * KEY], vec![0; b.count() * KEY]);
    a.read(&mut sum, 2 * N, n_threads);
    b.read(&mut other, 2 * N, n_threads);
    for (i, (sum, other)) in sum.chunks_mut(2 * lanes * N).zip(other.chunks(2 * lanes * N)).enumerate() {
        add_residues(sum, other, Ring::of_4096().primes[i % PRIMES].p, subtract);
    }
    let items = payload.chunks_mut(lanes * one).zip(sum.chunks(lanes * KEY)).collect();
    threads::for_each(n_threads, items, |(packed, rows): (&mut [u8], &[u32])| {
        for (i, polynomial) in rows.chunks(N).enumerate() {
            let (half, lane, l) = (i % 2, i / 2 % lanes, i / 2 / lanes);
            let at = lane * one + PACKED * (PRIMES * half + l);
            pack(polynomial, &mut packed[at..at + PACKED]);
        }
    });
}

dispatched! {
    /// Adds residues to residues, or takes them away.
    pub fn add_residues(a: &mut [u32], b: &[u32], p: u32, subtract: bool) {
        for (a, &b) in a.iter_mut().zip(b) {
            let b = if subtract { p - b } else { b };
            *a = below(*a + b, p);
        }
    }
}

/// What a return is: how far apart its wanted coefficients lie, and how to open them.
pub struct Opener {
    /// Distance of coefficients that may be wanted.
    pub step: usize,
    /// What a coefficient is multiplied by, and shifted right after that.
    pub factor: u64,
    pub shift: u32,
}

/// Bytes of a return with so many wanted coefficients.
pub fn return_len(wanted: usize) -> usize {
    2 * PACKED + 2 * packed_len(wanted)
}

/// Opens one return: the integers at the wanted places (multiples of the step). None if a residue is not below its prime.
pub fn open_return(secret: &[u32], packed: &[u8], wanted: &[u32], opener: &Opener) -> Option<Vec<i64>> {
    let ring = Ring::of_4096();
    let first = packed_len(wanted.len());
    let mut parts = vec![];
    for (l, prime) in ring.primes[..2].iter().enumerate() {
        let (mut x, mut zero, mut c0) = (vec![0; N], vec![0; N], vec![0; wanted.len()]);
        let fits = unpack(&packed[PACKED * l..PACKED * (l + 1)], prime.p, &mut x);
        if !(fits && unpack(&packed[2 * PACKED + first * l..2 * PACKED + first * (l + 1)], prime.p, &mut c0)) {
            return None;
        }
        prime.transform(&mut x);
        // Minus the product with the secret, and minus that below.
        take_products(&mut zero, &x, &secret[2 * N * l..2 * N * (l + 1)], prime.p);
        let products = prime.restore_some(&mut zero, opener.step, prime.scale_by(1));
        c0.iter_mut().zip(wanted).for_each(|(c, &at)| *c = below(*c + prime.p - products[at as usize], prime.p));
        parts.push(c0);
    }
    Some(parts[0].iter().zip(&parts[1]).map(|(&a, &b)| open_one(ring, a, b, opener)).collect())
}

/// The integer of a coefficient given modulo two primes.
fn open_one(ring: &Ring, a: u32, b: u32, opener: &Opener) -> i64 {
    let (p, r) = (ring.primes[0].p, ring.primes[1].p);
    let k = ring.inverse(1, 0).times(b + 2 * r - a, r);
    let q = i64::from(p) * i64::from(r);
    let x = i64::from(a) + i64::from(p) * i64::from(k);
    let centred = x - (q & ((q / 2 - x) >> 63));
    ((i128::from(centred) * i128::from(opener.factor) + (1 << (opener.shift - 1))) >> opener.shift) as i64
}
