//! Sums by slot and filters: 8192 integers modulo a small prime in each ciphertext, each under its own 0/1 choice.
//!
//! A plaintext is a polynomial modulo t; the integers are its values at the roots of X^8192 + 1 (the transform modulo t),
//! so that a product of polynomials multiplies slot by slot. The answering side writes its choices as such a polynomial,
//! multiplies, adds over the ciphertexts of a row's entries, and before anything leaves adds an encryption of zero, a
//! flood on all of the first half, and rounds away primes that opening does not need.
//!
//! Where a block has fewer rows than slots, several entries of a row lie side by side (lanes). Sums of single lanes would
//! tell more than the row's sum, so a sum leaves with random shares of zero added to the lanes of each row.
//!
//! What handles the secret key (sealing and opening) neither branches on it nor looks anything up by it. What is drawn by
//! rejection (shares of zero) takes a time that tells nothing about what was kept.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::pack;
use super::products::AT_ONCE;
use super::random::{Seed, Stream, Use, system_seed};
use super::ring::{self, Factor, Prime, Ring};
use super::slots_words as words;
pub use super::slots_words::{BYTES, N};
use crate::threads;

/// Ciphertexts worked on at a time: neighbouring entries of a row share cache lines, and 64 bits hold so many products.
const TILE: usize = 16;
/// Between two gathered ciphertexts, so that they do not compete for the same lines of the cache.
const STRIDE: usize = N + 32;

type Poly = Vec<u32>;

/// Where the integers of a table lie.
#[derive(Clone)]
pub struct Layout {
    pub rows: usize,
    pub entries: usize,
    pub block_rows: usize,
    pub lanes: usize,
    /// Plaintext primes.
    pub moduli: Vec<u32>,
}

impl Layout {
    pub fn blocks(&self) -> usize {
        self.rows.div_ceil(self.block_rows)
    }

    /// Ciphertexts of a block, under one plaintext prime.
    pub fn ciphertexts(&self) -> usize {
        self.entries.div_ceil(self.lanes)
    }

    pub fn total(&self) -> usize {
        self.moduli.len() * self.blocks() * self.ciphertexts()
    }

    /// The same rows once their entries are summed: one ciphertext a block, whose lanes add up to the sums.
    pub fn summed(&self) -> Layout {
        Layout { entries: self.lanes, ..self.clone() }
    }

    fn rows_of(&self, block: usize) -> Range<usize> {
        block * self.block_rows..((block + 1) * self.block_rows).min(self.rows)
    }

    /// For each entry in these ciphertexts: the number of the ciphertext among them, and the lane.
    fn places(&self, first: usize, n: usize) -> Vec<(usize, usize)> {
        let entries = first * self.lanes..((first + n) * self.lanes).min(self.entries);
        entries.map(|e| (e / self.lanes - first, e % self.lanes)).collect()
    }

    /// Slots of a tile's ciphertexts, each `STRIDE` after the last, from a row-major table.
    fn gather<T: Copy>(&self, table: &[T], tile: Tile, slot: impl Fn(T) -> u32) -> Vec<u32> {
        let mut slots = vec![0; tile.n * STRIDE];
        let places: Vec<usize> =
            self.places(tile.first, tile.n).iter().map(|&(i, lane)| i * STRIDE + lane * self.block_rows).collect();
        for (r, row) in self.rows_of(tile.block).enumerate() {
            let row = &table[row * self.entries + tile.first * self.lanes..][..places.len()];
            row.iter().zip(&places).for_each(|(&value, &place)| slots[place + r] = slot(value));
        }
        slots
    }

    /// Neighbouring ciphertexts, so many at a time, in the order of the wire form.
    fn tiles(&self, size: usize) -> Vec<Tile> {
        let mut tiles = Vec::new();
        for at in (0..self.moduli.len() * self.blocks()).map(|i| (i / self.blocks(), i % self.blocks())) {
            for first in (0..self.ciphertexts()).step_by(size) {
                tiles.push(Tile { modulus: at.0, block: at.1, first, n: size.min(self.ciphertexts() - first) });
            }
        }
        tiles
    }

    /// Tiles, and the part of the output that each of them fills.
    fn shares<'a>(&self, each: usize, out: &'a mut [u8]) -> Vec<(Tile, &'a mut [u8])> {
        assert_eq!(out.len(), self.total() * each);
        let mut rest = out;
        let mut share = |tile: Tile| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(tile.n * each);
            rest = after;
            (tile, part)
        };
        self.tiles(TILE).into_iter().map(&mut share).collect()
    }
}

/// Neighbouring ciphertexts of one block, under one plaintext prime.
#[derive(Clone, Copy)]
struct Tile {
    modulus: usize,
    block: usize,
    first: usize,
    n: usize,
}

impl Tile {
    /// The number of its first ciphertext among all.
    fn at(&self, layout: &Layout) -> usize {
        (self.modulus * layout.blocks() + self.block) * layout.ciphertexts() + self.first
    }
}

fn primes_of(n: usize) -> &'static [Prime] {
    &Ring::of_8192().primes[..n]
}

/// The transform modulo a plaintext prime; few are ever used, so they are kept.
fn plain(t: u32) -> Arc<Prime> {
    static KNOWN: Mutex<Vec<Arc<Prime>>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(prime) = known.iter().find(|prime| prime.p == t) {
        return Arc::clone(prime);
    }
    known.truncate(15);
    known.insert(0, Arc::new(Prime::new(t, N)));
    Arc::clone(&known[0])
}

/// Sealed integers in their wire form: for each ciphertext the first half, then the second unless a seed gives it; of
/// each half one polynomial a prime.
#[derive(Clone, Copy)]
pub struct Sealed<'a> {
    pub bytes: &'a [u8],
    pub primes: usize,
    pub seed: Option<&'a Seed>,
    /// Whether polynomials are given by their transforms (as sealed) or by coefficients (after a choice).
    pub transformed: bool,
}

impl Sealed<'_> {
    pub fn bytes_each(&self) -> usize {
        let halves = if self.seed.is_some() { 1 } else { 2 };
        halves * self.primes * BYTES
    }

    /// One polynomial of a ciphertext as it stands there.
    fn polynomial(&self, ciphertext: usize, half: usize, l: usize, out: &mut [u32]) {
        let prime = &primes_of(self.primes)[l];
        match self.seed {
            Some(seed) if half == 1 => expand(seed, Use::Slots, ciphertext, l, out),
            _ => {
                let at = ciphertext * self.bytes_each() + (half * self.primes + l) * BYTES;
                assert!(pack::unpack(&self.bytes[at..at + BYTES], prime.p, out), "checked when it was read");
            }
        }
    }

    fn transform(&self, ciphertext: usize, half: usize, l: usize, out: &mut [u32]) {
        self.polynomial(ciphertext, half, l, out);
        if !self.transformed {
            primes_of(self.primes)[l].transform(out);
        }
    }
}

/// A polynomial's residues from a seed that both sides know.
fn expand(seed: &Seed, what: Use, ciphertext: usize, l: usize, out: &mut [u32]) {
    Stream::new(seed, what, 8 * ciphertext as u64 + l as u64).uniform(&primes_of(l + 1)[l], out);
}

/// A generator of secrets, seeded by the system.
fn own_stream() -> Stream {
    Stream::new(&system_seed(), Use::Secret, 0)
}

/// Whether every residue is below its prime; polynomials follow one another, prime after prime.
pub fn well_formed(bytes: &[u8], primes: usize, n_threads: usize) -> bool {
    let parts = bytes.chunks(primes * BYTES).collect();
    let fine = threads::map(n_threads, parts, |part: &[u8]| {
        let mut x = vec![0; N];
        part.chunks(BYTES).zip(primes_of(primes)).all(|(part, prime)| pack::unpack(part, prime.p, &mut x))
    });
    fine.into_iter().all(|fine| fine)
}

/// A ternary secret's transforms, each with what Shoup's way needs of it.
struct Secret(Vec<(Poly, Poly)>);

impl Secret {
    fn new(own_secret: &[i8], primes: &[Prime]) -> Secret {
        let one = |prime: &Prime| {
            let mut s = vec![0; N];
            words::lift(own_secret, prime.p, &mut s);
            prime.transform(&mut s);
            let shoup = s.iter().map(|&s| Factor::new(s, prime.p).s).collect();
            (s, shoup)
        };
        Secret(primes.iter().map(one).collect())
    }

    /// x - a s
    fn subtract(&self, x: &mut [u32], a: &[u32], l: usize, p: u32) {
        words::subtract_products(x, a, &self.0[l].0, &self.0[l].1, p);
    }
}

/// A fresh secret, and its public half in wire form: e - a s for every prime, with a from the seed.
pub fn new_key(seed: &Seed, primes: usize) -> (Vec<i8>, Vec<u8>) {
    let mut own = own_stream();
    let (mut own_secret, mut own_error) = (vec![0; N], vec![0; N]);
    own.ternary(&mut own_secret);
    own.errors(&mut own_error);
    let mut bytes = vec![0; primes * BYTES];
    let (mut b, mut a) = (vec![0; N], vec![0; N]);
    let secret = Secret::new(&own_secret, primes_of(primes));
    for (l, (prime, out)) in primes_of(primes).iter().zip(bytes.chunks_mut(BYTES)).enumerate() {
        words::lift(&own_error, prime.p, &mut b);
        prime.transform(&mut b);
        expand(seed, Use::PublicKey, 0, l, &mut a);
        secret.subtract(&mut b, &a, l, prime.p);
        pack::pack(&b, out);
    }
    (own_secret, bytes)
}

/// Both halves of a ciphertext, a polynomial a prime.
struct Pair {
    c0: Vec<Poly>,
    c1: Vec<Poly>,
}

impl Pair {
    fn write(&self, out: &mut [u8]) {
        let halves = self.c0.iter().chain(&self.c1);
        out.chunks_mut(BYTES).zip(halves).for_each(|(out, x)| pack::pack(x, out));
    }

    fn plus(mut self, other: Option<Pair>, primes: &[Prime]) -> Pair {
        if let Some(other) = other {
            for (l, prime) in primes.iter().enumerate() {
                words::add(&mut self.c0[l], &other.c0[l], prime.p);
                words::add(&mut self.c1[l], &other.c1[l], prime.p);
            }
        }
        self
    }
}

/// The public key of the slot ring, its random half expanded here from the seed.
pub struct Public {
    b: Vec<Poly>,
    a: Vec<Poly>,
}

impl Public {
    pub fn read(bytes: &[u8], seed: &Seed, primes: usize) -> Public {
        let mut public = Public { b: vec![vec![0; N]; primes], a: vec![vec![0; N]; primes] };
        for (l, prime) in primes_of(primes).iter().enumerate() {
            assert!(
                pack::unpack(&bytes[l * BYTES..(l + 1) * BYTES], prime.p, &mut public.b[l]),
                "checked when it was read"
            );
            expand(seed, Use::PublicKey, 0, l, &mut public.a[l]);
        }
        public
    }

    /// Both halves by their coefficients, prime after prime.
    pub fn coefficients(&self) -> Vec<u32> {
        let mut out = Vec::new();
        for (l, prime) in primes_of(self.a.len()).iter().enumerate() {
            for half in [&self.b[l], &self.a[l]] {
                let mut half = half.clone();
                prime.restore(&mut half);
                out.extend(half);
            }
        }
        out
    }

    /// An encryption of zero, transformed: (b u + e0, a u + e1), with no e0 where a flood will follow.
    fn zero(&self, primes: &[Prime], own: &mut Stream, flooded: bool) -> Pair {
        let (mut u, mut e0, mut e1) = (vec![0i8; N], vec![0i8; N], vec![0i8; N]);
        own.ternary(&mut u);
        own.errors(&mut e1);
        if !flooded {
            own.errors(&mut e0);
        }
        let mut pair = Pair { c0: Vec::new(), c1: Vec::new() };
        let (mut x, mut e) = (vec![0; N], vec![0; N]);
        for (l, prime) in primes.iter().enumerate() {
            words::lift(&u, prime.p, &mut x);
            prime.transform(&mut x);
            for (half, key, error) in [(&mut pair.c0, &self.b, &e0), (&mut pair.c1, &self.a, &e1)] {
                words::lift(error, prime.p, &mut e);
                prime.transform(&mut e);
                words::add_products(&mut e, &x, &key[l], prime);
                half.push(e.clone());
            }
        }
        pair
    }
}

/// A plaintext to be added: for slots modulo t the coefficients r of q m modulo t, because (q m - r) / t, which is q m / t
/// rounded, is -r / t modulo every prime of q.
struct Summand {
    r: Vec<i32>,
    t: u32,
}

impl Summand {
    /// Rounded to the nearest.
    fn new(slots: &mut [u32], plain: &Prime, primes: &[Prime]) -> Summand {
        restore_scaled(slots, plain, primes);
        Summand { r: slots.iter().map(|&r| words::centred(r, plain.p)).collect(), t: plain.p }
    }

    /// Rounded up or down at random, so that it is right in the mean: what a product makes of it grows more slowly.
    fn at_random(slots: &mut [u32], plain: &Prime, primes: &[Prime], own: &mut Stream) -> Summand {
        restore_scaled(slots, plain, primes);
        let mut drawn = vec![0; N];
        own.uniform(&primes[0], &mut drawn);
        let mut r = vec![0; N];
        words::round_at_random(&mut r, slots, &drawn, plain.p, primes[0].p);
        Summand { r, t: plain.p }
    }

    fn add_to(&self, x: &mut [u32], prime: &Prime) {
        let factor = Factor::new(prime.p - ring::inverse_of(self.t, prime.p), prime.p);
        words::add_lifted(x, &self.r, factor, prime.p);
    }
}

/// Slots modulo t to the coefficients of q times their polynomial.
fn restore_scaled(slots: &mut [u32], plain: &Prime, primes: &[Prime]) {
    let q = primes.iter().fold(1, |q, prime| plain.times(q, prime.p % plain.p));
    plain.restore_times(slots, plain.scale_by(q));
}

fn residue(value: i64, t: u32) -> u32 {
    value.rem_euclid(i64::from(t)) as u32
}

/// Seals a table (rows x entries) with the secret key: first halves only, the second ones are the seed's.
pub fn seal(
    table: &[i64],
    layout: &Layout,
    own_secret: &[i8],
    seed: &Seed,
    n_primes: usize,
    out: &mut [u8],
    n_threads: usize,
) {
    let primes = primes_of(n_primes);
    let secret = Secret::new(own_secret, primes);
    threads::for_each(n_threads, layout.shares(n_primes * BYTES, out), |(tile, part)| {
        let mut own = own_stream();
        let plain = plain(layout.moduli[tile.modulus]);
        let mut slots = layout.gather(table, tile, |value| plain.lift_wide(value));
        let (mut error, mut x, mut a) = (vec![0i8; N], vec![0; N], vec![0; N]);
        for (i, out) in part.chunks_mut(n_primes * BYTES).enumerate() {
            let summand = Summand::at_random(&mut slots[i * STRIDE..][..N], &plain, primes, &mut own);
            own.errors(&mut error);
            for (l, (prime, out)) in primes.iter().zip(out.chunks_mut(BYTES)).enumerate() {
                words::lift(&error, prime.p, &mut x);
                summand.add_to(&mut x, prime);
                prime.transform(&mut x);
                expand(seed, Use::Slots, tile.at(layout) + i, l, &mut a);
                secret.subtract(&mut x, &a, l, prime.p);
                pack::pack(&x, out);
            }
        }
    });
}

/// Seals a table with the public key: both halves, transformed.
pub fn seal_public(table: &[i64], layout: &Layout, public: &Public, n_primes: usize, out: &mut [u8], n_threads: usize) {
    let primes = primes_of(n_primes);
    threads::for_each(n_threads, layout.shares(2 * n_primes * BYTES, out), |(tile, part)| {
        let mut own = own_stream();
        let plain = plain(layout.moduli[tile.modulus]);
        let mut slots = layout.gather(table, tile, |value| plain.lift_wide(value));
        for (i, out) in part.chunks_mut(2 * n_primes * BYTES).enumerate() {
            let summand = Summand::at_random(&mut slots[i * STRIDE..][..N], &plain, primes, &mut own);
            let mut pair = public.zero(primes, &mut own, false);
            for (prime, c0) in primes.iter().zip(&mut pair.c0) {
                let mut x = vec![0; N];
                summand.add_to(&mut x, prime);
                prime.transform(&mut x);
                words::add(c0, &x, prime.p);
            }
            pair.write(out);
        }
    });
}

/// What an answer does to its result before it leaves.
#[derive(Clone, Copy)]
pub struct Leaving {
    /// Bits of each of the three uniform integers of a flood; 0 only in tests of what happens without.
    pub flood_bits: u32,
    /// Whether an encryption of zero is added; false only in tests of what happens without.
    pub zero: bool,
    /// Primes that stay.
    pub primes: usize,
}

impl Leaving {
    pub fn bytes_each(&self) -> usize {
        2 * self.primes * BYTES
    }
}

/// Choices as coefficients modulo t, each ciphertext's `STRIDE` after the last.
fn chosen(choice: &[bool], layout: &Layout, tile: Tile, plain: &Prime) -> Vec<u32> {
    let mut slots = layout.gather(choice, tile, u32::from);
    slots.chunks_mut(STRIDE).for_each(|slots| plain.restore(&mut slots[..N]));
    slots
}

/// The sum over neighbouring ciphertexts of each times its choices, transformed.
fn product(sealed: Sealed, choices: &[u32], t: u32, first: usize, n: usize) -> Pair {
    let mut pair = Pair { c0: Vec::new(), c1: Vec::new() };
    let mut lazy = vec![0; AT_ONCE * N];
    let mut halves = [0; AT_ONCE].map(|_| vec![0; 2 * N]);
    for (l, prime) in primes_of(sealed.primes).iter().enumerate() {
        let mut sums = vec![0; 2 * N];
        for begin in (0..n).step_by(AT_ONCE) {
            let some = begin..n.min(begin + AT_ONCE);
            for (i, (x, halves)) in some.clone().zip(lazy.chunks_mut(N).zip(&mut halves)) {
                words::lift_residues(&choices[i * STRIDE..][..N], t, prime.p, x);
                prime.transform_lazily(x);
                halves.chunks_mut(N).enumerate().for_each(|(half, c)| sealed.transform(first + i, half, l, c));
            }
            let pairs: Vec<&[u32]> = halves[..some.len()].iter().map(|halves| &halves[..]).collect();
            prime.accumulate(&mut sums, &lazy, &pairs);
        }
        words::times(&mut sums, Factor::new(ring::power(2, 32, prime.p), prime.p), prime.p);
        pair.c1.push(sums.split_off(N));
        pair.c0.push(sums);
    }
    pair
}

/// Each chosen integer as it is, zero for the others: both halves, coefficients. `summed` tables keep lanes that tell
/// nothing by themselves.
pub fn filter(
    sealed: Sealed,
    choice: &[bool],
    layout: &Layout,
    summed: bool,
    public: &Public,
    leaving: Leaving,
    out: &mut [u8],
    n_threads: usize,
) {
    threads::for_each(n_threads, layout.shares(leaving.bytes_each(), out), |(tile, part)| {
        let mut own = own_stream();
        let plain = plain(layout.moduli[tile.modulus]);
        let choices = chosen(choice, layout, tile, &plain);
        for (i, out) in part.chunks_mut(leaving.bytes_each()).enumerate() {
            let product = product(sealed, &choices[i * STRIDE..], plain.p, tile.at(layout) + i, 1);
            let mut slots = vec![0; N];
            if summed {
                share_zero(&mut slots, layout, tile.block, &plain, &mut own);
            }
            leave(product, &mut slots, &plain, public, leaving, &mut own, out);
        }
    });
}

/// Each row's sum of chosen entries, `plus` (one a row, or none) added: one ciphertext a block, coefficients.
pub fn sums(
    sealed: Sealed,
    choice: &[bool],
    plus: &[i64],
    layout: &Layout,
    public: &Public,
    leaving: Leaving,
    out: &mut [u8],
    n_threads: usize,
) {
    let mut totals = products(sealed, choice, layout, n_threads);
    let parts: Vec<_> = out.chunks_mut(leaving.bytes_each()).zip(totals.drain(..)).enumerate().collect();
    threads::for_each(n_threads, parts, |(i, (out, total))| {
        let (modulus, block) = (i / layout.blocks(), i % layout.blocks());
        let plain = plain(layout.moduli[modulus]);
        let mut own = own_stream();
        let mut slots = vec![0; N];
        share_zero(&mut slots, layout, block, &plain, &mut own);
        for (slot, row) in slots.iter_mut().zip(layout.rows_of(block)) {
            let plus = plus.get(row).map_or(0, |&plus| residue(plus, plain.p));
            *slot = plain.reduce(u64::from(*slot) + u64::from(plus));
        }
        let total = total.expect("no block is empty");
        leave(total, &mut slots, &plain, public, leaving, &mut own, out);
    });
}

/// For each plaintext prime and block, the sum over all ciphertexts of each times its choices, transformed.
fn products(sealed: Sealed, choice: &[bool], layout: &Layout, n_threads: usize) -> Vec<Option<Pair>> {
    let primes = primes_of(sealed.primes);
    let share = layout.ciphertexts().div_ceil(4 * n_threads).next_multiple_of(TILE);
    let jobs = layout.tiles(share);
    let parts = threads::map(n_threads, jobs.clone(), |job| {
        let plain = plain(layout.moduli[job.modulus]);
        let mut total = None;
        for first in (job.first..job.first + job.n).step_by(TILE) {
            let tile = Tile { first, n: TILE.min(job.first + job.n - first), ..job };
            let choices = chosen(choice, layout, tile, &plain);
            total = Some(product(sealed, &choices, plain.p, tile.at(layout), tile.n).plus(total, primes));
        }
        total
    });
    let mut totals: Vec<Option<Pair>> = (0..layout.moduli.len() * layout.blocks()).map(|_| None).collect();
    for (job, part) in jobs.iter().zip(parts) {
        let total = &mut totals[job.modulus * layout.blocks() + job.block];
        *total = part.map(|part| part.plus(total.take(), primes));
    }
    totals
}

/// Adds to the lanes of every row random shares of zero: what a single lane holds tells nothing then.
fn share_zero(slots: &mut [u32], layout: &Layout, block: usize, plain: &Prime, own: &mut Stream) {
    let rows = layout.rows_of(block).len();
    // Sums of numbers of 120 bits are uniform modulo t up to 2^-93.
    let mut wide = vec![0; rows * (layout.lanes - 1)];
    own.wide(120, &mut wide);
    let drawn: Vec<u32> = wide.into_iter().map(|wide| plain.reduce_wide(wide)).collect();
    for (lane, drawn) in drawn.chunks(rows).enumerate() {
        words::add(&mut slots[(lane + 1) * layout.block_rows..][..rows], drawn, plain.p);
        words::subtract(&mut slots[..rows], drawn, plain.p);
    }
}

/// Sanitises a result and writes it: an encryption of zero, what is added, a flood, then fewer primes.
fn leave(
    pair: Pair,
    slots: &mut [u32],
    plain: &Prime,
    public: &Public,
    leaving: Leaving,
    own: &mut Stream,
    out: &mut [u8],
) {
    let primes = primes_of(pair.c0.len());
    let summand = Summand::new(slots, plain, primes);
    let zero = leaving.zero.then(|| public.zero(primes, own, true));
    let mut pair = pair.plus(zero, primes);
    for (l, prime) in primes.iter().enumerate() {
        prime.restore(&mut pair.c0[l]);
        prime.restore(&mut pair.c1[l]);
        summand.add_to(&mut pair.c0[l], prime);
    }
    if leaving.flood_bits > 0 {
        words::flood(&mut pair.c0, leaving.flood_bits, primes, own);
    }
    words::drop_primes(&mut pair.c0, leaving.primes, primes);
    words::drop_primes(&mut pair.c1, leaving.primes, primes);
    pair.write(out);
}

/// The sum or difference of two sealed tables: both halves, in the form that both have.
pub fn combine(a: Sealed, b: Sealed, subtract: bool, out: &mut [u8], n_threads: usize) {
    assert!(a.primes == b.primes && a.transformed == b.transformed);
    let parts: Vec<_> = out.chunks_mut(2 * a.primes * BYTES).enumerate().collect();
    threads::for_each(n_threads, parts, |(i, out)| {
        let (mut x, mut y) = (vec![0; N], vec![0; N]);
        for (k, out) in out.chunks_mut(BYTES).enumerate() {
            let (half, l) = (k / a.primes, k % a.primes);
            a.polynomial(i, half, l, &mut x);
            b.polynomial(i, half, l, &mut y);
            let p = primes_of(a.primes)[l].p;
            if subtract {
                words::subtract(&mut x, &y, p)
            } else {
                words::add(&mut x, &y, p)
            }
            pack::pack(&x, out);
        }
    });
}

/// Opens a table: rows x entries, or one sum a row if the lanes are to be added.
pub fn open(sealed: Sealed, layout: &Layout, summed: bool, own_secret: &[i8], out: &mut [i64], n_threads: usize) {
    let secret = Secret::new(own_secret, primes_of(sealed.primes));
    let width = if summed { 1 } else { layout.entries };
    let tiles: Vec<Tile> = layout.tiles(TILE).into_iter().filter(|tile| tile.modulus == 0).collect();
    for tiles in tiles.chunks(4 * n_threads) {
        let opened = threads::map(n_threads, tiles.to_vec(), |tile| open_tile(sealed, layout, tile, summed, &secret));
        for (tile, opened) in tiles.iter().zip(opened) {
            let rows = layout.rows_of(tile.block);
            let columns = opened.len() / rows.len();
            for (row, opened) in rows.zip(opened.chunks(columns)) {
                let begin = row * width + if summed { 0 } else { tile.first * layout.lanes };
                out[begin..begin + columns].copy_from_slice(opened);
            }
        }
    }
}

/// Rows x columns of one tile, over all plaintext primes.
fn open_tile(sealed: Sealed, layout: &Layout, tile: Tile, summed: bool, secret: &Secret) -> Vec<i64> {
    let rows = layout.rows_of(tile.block).len();
    let places = layout.places(tile.first, tile.n);
    let columns = if summed { 1 } else { places.len() };
    let mut found = vec![[0u64; 2]; rows * columns];
    for (modulus, &t) in layout.moduli.iter().enumerate() {
        let plain = plain(t);
        let first = Tile { modulus, ..tile }.at(layout);
        let slots: Vec<Poly> = (first..first + tile.n).map(|i| open_one(sealed, i, &plain, secret)).collect();
        for r in 0..rows {
            for (column, &(i, lane)) in places.iter().enumerate() {
                found[r * columns + column % columns][modulus] += u64::from(slots[i][lane * layout.block_rows + r]);
            }
        }
    }
    let signed = Signed::new(&layout.moduli);
    found.into_iter().map(|residues| signed.number(residues)).collect()
}

/// The slots of one ciphertext modulo t.
fn open_one(sealed: Sealed, ciphertext: usize, plain: &Prime, secret: &Secret) -> Poly {
    let primes = primes_of(sealed.primes);
    let (mut x, mut c1) = (vec![0; N], vec![0; N]);
    let mut steps = vec![0f64; N];
    for (l, prime) in primes.iter().enumerate() {
        let (p, mut masked) = (prime.p, vec![0; N]);
        sealed.transform(ciphertext, 1, l, &mut c1);
        secret.subtract(&mut masked, &c1, l, p);
        sealed.polynomial(ciphertext, 0, l, &mut x);
        if sealed.transformed {
            words::subtract(&mut x, &masked, p);
            prime.restore(&mut x);
        } else {
            prime.restore(&mut masked);
            words::subtract(&mut x, &masked, p);
        }
        // The number with these residues is the sum of y q / p less a multiple of q, with y the residue over q / p; so
        // t / q times it is the sum of y t / p, modulo t.
        let rest = primes.iter().filter(|other| other.p != p).fold(1, |rest, other| prime.times(rest, other.p % p));
        let factor = Factor::new(ring::inverse_of(rest, p), p);
        words::add_steps(&mut steps, &x, factor, p, f64::from(plain.p) / f64::from(p));
    }
    let mut slots: Poly = steps.iter().map(|&x| plain.reduce((x + 0.5) as u64)).collect();
    plain.transform(&mut slots);
    slots
}

/// One half of a ciphertext by its coefficients, prime after prime.
pub fn coefficients(sealed: Sealed, ciphertext: usize, half: usize) -> Vec<u32> {
    let mut out = vec![0; sealed.primes * N];
    for (l, out) in out.chunks_mut(N).enumerate() {
        sealed.polynomial(ciphertext, half, l, out);
        if sealed.transformed {
            primes_of(sealed.primes)[l].restore(out);
        }
    }
    out
}

/// Signed integers from their residues modulo one plaintext prime or two.
struct Signed {
    t: u64,
    /// The second prime, and the inverse of the first modulo it.
    other: Option<(u64, u64)>,
}

impl Signed {
    fn new(moduli: &[u32]) -> Signed {
        let t = moduli[0];
        let other = moduli.get(1).map(|&u| (u64::from(u), u64::from(ring::inverse_of(t % u, u))));
        Signed { t: u64::from(t), other }
    }

    fn number(&self, residues: [u64; 2]) -> i64 {
        let first = residues[0] % self.t;
        let (value, whole) = match self.other {
            None => (first, self.t),
            Some((u, inverse)) => {
                let steps = (residues[1] % u + u - first % u) % u * inverse % u;
                (first + self.t * steps, self.t * u)
            }
        };
        value as i64 - if value > whole / 2 { whole as i64 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: usize = 2;

    struct Made {
        layout: Layout,
        values: Vec<i64>,
        own_secret: Vec<i8>,
        public: Public,
        seed: Seed,
        bytes: Vec<u8>,
    }

    impl Made {
        /// A table whose integers are at most 1000, sealed under six primes.
        fn new(rows: usize, entries: usize, block_rows: usize, lanes: usize, moduli: &[u32]) -> Made {
            let layout = Layout { rows, entries, block_rows, lanes, moduli: moduli.to_vec() };
            let values: Vec<i64> = (0..rows * entries).map(|i| (i as i64 * 7919) % 2001 - 1000).collect();
            let seed = system_seed();
            let (own_secret, b) = new_key(&seed, 8);
            let mut bytes = vec![0; layout.total() * 6 * BYTES];
            let seal_seed = system_seed();
            seal(&values, &layout, &own_secret, &seal_seed, 6, &mut bytes, THREADS);
            let public = Public::read(&b, &seed, 6);
            Made { layout, values, own_secret, public, seed: seal_seed, bytes }
        }

        fn sealed(&self) -> Sealed<'_> {
            Sealed { bytes: &self.bytes, primes: 6, seed: Some(&self.seed), transformed: true }
        }

        fn opened(&self, sealed: Sealed) -> Vec<i64> {
            let mut out = vec![0; self.values.len()];
            open(sealed, &self.layout, false, &self.own_secret, &mut out, THREADS);
            out
        }

        fn choice(&self) -> Vec<bool> {
            (0..self.values.len()).map(|i| i % 3 != 1).collect()
        }
    }

    fn tables() -> [Made; 4] {
        [
            Made::new(5, 7, 5, 7, &[65_537]),
            Made::new(3000, 5, 3000, 2, &[65_537]),
            Made::new(9000, 3, 4500, 1, &[114_689, 147_457]),
            Made::new(1, 40, 1, 40, &[132_612_097]),
        ]
    }

    #[test]
    fn what_was_sealed_opens() {
        for made in tables() {
            assert!(well_formed(&made.bytes, 6, THREADS));
            assert_eq!(made.opened(made.sealed()), made.values);
        }
    }

    #[test]
    fn sums_are_those_of_the_chosen_entries() {
        for made in tables() {
            let (choice, entries) = (made.choice(), made.layout.entries);
            let plus: Vec<i64> = (0..made.layout.rows as i64).map(|row| row - 5).collect();
            let leaving = Leaving { flood_bits: 95, zero: true, primes: 2 };
            let mut back = vec![0; made.layout.summed().total() * leaving.bytes_each()];
            sums(made.sealed(), &choice, &plus, &made.layout, &made.public, leaving, &mut back, THREADS);
            let returned = Sealed { bytes: &back, primes: 2, seed: None, transformed: false };
            let mut found = vec![0; made.layout.rows];
            open(returned, &made.layout.summed(), true, &made.own_secret, &mut found, THREADS);
            let chosen: Vec<i64> = made.values.iter().zip(&choice).map(|(&v, &c)| v * i64::from(c)).collect();
            let wanted = chosen.chunks(entries).zip(&plus).map(|(row, plus)| row.iter().sum::<i64>() + plus);
            assert!(wanted.eq(found));
        }
    }

    #[test]
    fn filters_keep_the_chosen_and_serve_a_second_choice() {
        for made in tables() {
            let choice = made.choice();
            let leaving = Leaving { flood_bits: 70, zero: true, primes: 5 };
            let mut first = vec![0; made.layout.total() * leaving.bytes_each()];
            filter(made.sealed(), &choice, &made.layout, false, &made.public, leaving, &mut first, THREADS);
            let once = Sealed { bytes: &first, primes: 5, seed: None, transformed: false };
            let wanted: Vec<i64> = made.values.iter().zip(&choice).map(|(&v, &c)| v * i64::from(c)).collect();
            assert_eq!(made.opened(once), wanted);
            let again: Vec<bool> = (0..wanted.len()).map(|i| i % 4 != 2).collect();
            let leaving = Leaving { flood_bits: 85, zero: true, primes: 2 };
            let mut second = vec![0; made.layout.total() * leaving.bytes_each()];
            filter(once, &again, &made.layout, false, &made.public, leaving, &mut second, THREADS);
            let twice = Sealed { bytes: &second, primes: 2, seed: None, transformed: false };
            let wanted: Vec<i64> = wanted.iter().zip(&again).map(|(&v, &c)| v * i64::from(c)).collect();
            assert_eq!(made.opened(twice), wanted);
        }
    }

    #[test]
    fn tables_sealed_by_either_key_add_up() {
        for made in tables() {
            let whole = made.layout.total() * 12 * BYTES;
            let (mut other, mut both) = (vec![0; whole], vec![0; whole]);
            seal_public(&made.values, &made.layout, &made.public, 6, &mut other, THREADS);
            let other = Sealed { bytes: &other, primes: 6, seed: None, transformed: true };
            assert_eq!(made.opened(other), made.values);
            for (subtract, times) in [(false, 2), (true, 0)] {
                combine(made.sealed(), other, subtract, &mut both, THREADS);
                let both = Sealed { bytes: &both, primes: 6, seed: None, transformed: true };
                let wanted: Vec<i64> = made.values.iter().map(|v| times * v).collect();
                assert_eq!(made.opened(both), wanted);
            }
        }
    }
}
