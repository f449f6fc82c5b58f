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
//!
//! `keys`, `sealing`, `answering` and `opening` do these in turn; here is where integers lie, and their wire form.

mod answering;
mod keys;
mod opening;
mod sealing;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

pub use answering::{Leaving, filter, sums};
pub use keys::{Public, is_proven, new_key, prove};
pub use opening::open;
pub use sealing::{seal, seal_public};

use super::pack;
use super::random::{Seed, Stream, Use, system_seed};
use super::ring::{Prime, Ring};
use super::slots_words as words;
pub use super::slots_words::{BYTES, N};
use crate::math::threads;

/// Ciphertexts worked on at a time: neighbouring entries of a row share cache lines, and 64 bits hold so many products.
const TILE: usize = 16;
/// Between two gathered ciphertexts, so that they do not compete for the same lines of the cache.
const STRIDE: usize = N + 32;

/// Plaintext primes of a table, at most.
pub const MOST_MODULI: usize = 3;

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

    fn tables() -> [Made; 5] {
        [
            Made::new(5, 7, 5, 7, &[65_537]),
            Made::new(3000, 5, 3000, 2, &[65_537]),
            Made::new(9000, 3, 4500, 1, &[114_689, 147_457]),
            Made::new(1, 40, 1, 40, &[132_612_097]),
            Made::new(700, 3, 700, 3, &[2_277_377, 2_424_833, 2_572_289]),
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
            let leaving = Leaving { flood_bits: 95, primes: 2 };
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
            let leaving = Leaving { flood_bits: 70, primes: 5 };
            let mut first = vec![0; made.layout.total() * leaving.bytes_each()];
            filter(made.sealed(), &choice, &made.layout, false, &made.public, leaving, &mut first, THREADS);
            let once = Sealed { bytes: &first, primes: 5, seed: None, transformed: false };
            let wanted: Vec<i64> = made.values.iter().zip(&choice).map(|(&v, &c)| v * i64::from(c)).collect();
            assert_eq!(made.opened(once), wanted);
            let again: Vec<bool> = (0..wanted.len()).map(|i| i % 4 != 2).collect();
            let leaving = Leaving { flood_bits: 85, primes: 2 };
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
