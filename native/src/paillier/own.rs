//! What the holder of the two primes does: sealing and opening modulo their squares, four times as quick as without them.
//!
//! No branch and no address depends on the primes, on digits of the randomness or on what is sealed, with two exceptions:
//! the search for primes, whose time tells how many candidates failed, and opened integers, which are clear from there on.

use crypto_bigint::{BoxedUint, ConcatenatingMul, NonZero, Odd};
use crypto_primes::hazmat::{SetBits, SmallFactorsSieveFactory};
use crypto_primes::{Flavor, is_prime, sieve_and_find};

use super::fields;
use super::monty::{Modulus, big};
use super::random::{for_shares, generator, multiply_random, number, powers};
use crate::math::threads;

/// Two primes of half as many bits, neither equal nor close, whose product has exactly `bits` bits; and the product. Both
/// are 3 modulo 4, so that the negative of a number is a square modulo a prime where the number is none.
pub fn primes(bits: u32, n_threads: usize) -> (Vec<u64>, Vec<u64>) {
    let one = |_| -> BoxedUint {
        let sieve = SmallFactorsSieveFactory::new(Flavor::Any, bits / 2, SetBits::TwoMsb).expect("the length is sound");
        let wanted = |candidate: &BoxedUint| candidate.as_words()[0] % 4 == 3 && is_prime(Flavor::Any, candidate);
        let found = sieve_and_find(&mut generator(), sieve, |_, candidate| wanted(candidate));
        found.expect("candidates can be drawn").expect("there are primes of this length")
    };
    loop {
        let pair = threads::map(n_threads, vec![0, 1], one);
        let (p, q) = (&pair[0], &pair[1]);
        let apart = if p > q { p.wrapping_sub(q) } else { q.wrapping_sub(p) };
        if apart.bits() > bits / 2 - 100 {
            let n = p.concatenating_mul(q);
            return ([p.as_words(), q.as_words()].concat(), n.as_words().to_vec());
        }
    }
}

/// One prime, and what is computed modulo it and its square.
pub(super) struct Half {
    pub(super) prime: Modulus,
    square: Modulus,
    /// The prime less 1.
    pub(super) exponent: Vec<u64>,
    /// n, in Montgomery form modulo the square.
    n: Vec<u64>,
    /// The prime's inverse modulo 2 to the number of its bits.
    inverse: BoxedUint,
    /// The inverse of the other prime's negative modulo this one, in Montgomery form.
    scale: Vec<u64>,
}

impl Half {
    fn new(prime: &BoxedUint, other: &BoxedUint) -> Self {
        let square = Modulus::new(prime.concatenating_mul(prime).as_words());
        let mut n = prime.concatenating_mul(other).as_words().to_vec();
        square.enter(&mut n);
        let modulus = Modulus::new(prime.as_words());
        let scale = inverse(&modulus, &prime.wrapping_sub(other.rem(&nonzero(prime))));
        let inverse = prime.invert_mod2k(prime.bits_precision()).0;
        let exponent = prime.wrapping_sub(BoxedUint::one()).as_words().to_vec();
        Self { prime: modulus, square, exponent, n, inverse, scale }
    }

    /// A base whose powers are n-th powers modulo the square, and even ones; and its powers.
    fn table(&self, digits: usize, window: u32) -> Vec<u64> {
        let base = number(&mut generator(), &self.square);
        let mut base = self.square.power(&base, self.prime.words());
        self.square.square(&mut base);
        powers(&self.square, base, digits, window)
    }

    /// A plaintext, sealed modulo the square.
    fn sealed(&self, plain: &[u64], table: &[u64], window: u32, rng: &mut chacha20::ChaCha20Rng) -> Vec<u64> {
        let mut c = plain.to_vec();
        self.square.multiply(&mut c, &self.n);
        let mut one = vec![0; c.len()];
        one[0] = 1;
        self.square.add(&mut c, &one);
        multiply_random(&self.square, table, window, true, rng, &mut c);
        c
    }

    /// The plaintext modulo the prime.
    fn opened(&self, sealed: &[u64]) -> Vec<u64> {
        let mut power = self.square.power(&self.square.enter_wide(sealed), &self.exponent);
        self.square.leave(&mut power);
        // The power is 1 more than a multiple of the prime; dividing by it is multiplying with its inverse modulo 2^k.
        let multiple = big(&power).wrapping_sub(BoxedUint::one());
        let len = self.prime.len();
        let mut plain = big(&multiple.as_words()[..len]).wrapping_mul(&self.inverse).as_words().to_vec();
        self.prime.multiply(&mut plain, &self.scale);
        plain
    }
}

pub(super) fn nonzero(x: &BoxedUint) -> NonZero<BoxedUint> {
    NonZero::new(x.clone()).expect("primes are not zero")
}

/// The inverse of a number below the modulus, in Montgomery form.
fn inverse(modulus: &Modulus, x: &BoxedUint) -> Vec<u64> {
    let odd = Odd::new(big(modulus.words())).expect("primes are odd");
    let mut words = x.invert_odd_mod(&odd).expect("primes do not share factors").as_words().to_vec();
    modulus.enter(&mut words);
    words
}

/// Finds the number below the product from its rests: that of `small` is itself below it, as that of `modulus` is.
pub(super) fn joined(modulus: &Modulus, at: &[u64], inverse: &[u64], small: &[u64], rest: &[u64]) -> Vec<u64> {
    let (mut difference, mut reduced) = (at.to_vec(), rest.to_vec());
    modulus.multiply(&mut reduced, modulus.one());
    modulus.subtract(&mut difference, &reduced);
    modulus.multiply(&mut difference, inverse);
    let above = big(small).concatenating_mul(&big(&difference));
    above.wrapping_add(big(rest)).as_words().to_vec()
}

/// A secret key: both primes and how to join what is found modulo each.
pub struct Own {
    pub(super) halves: [Half; 2],
    pub(super) n: Vec<u64>,
    n_square: Modulus,
    /// Inverses modulo the first prime and its square of the second and of its.
    pub(super) inverse: Vec<u64>,
    inverse_square: Vec<u64>,
}

impl Own {
    /// From both primes, one behind the other.
    pub fn new(primes: &[u64]) -> Self {
        let (p, q) = primes.split_at(primes.len() / 2);
        let (p, q) = (big(p), big(q));
        let halves = [Half::new(&p, &q), Half::new(&q, &p)];
        let inverse_of_q = inverse(&halves[0].prime, &q.rem(&nonzero(&p)));
        let square = big(halves[0].square.words());
        let other = big(halves[1].square.words());
        let inverse_square = inverse(&halves[0].square, &other.rem(&nonzero(&square)));
        let n = p.concatenating_mul(&q);
        let n_square = Modulus::new(n.concatenating_mul(&n).as_words());
        Self { halves, n: n.as_words().to_vec(), n_square, inverse: inverse_of_q, inverse_square }
    }

    /// Tables for sealing, one for each prime.
    pub fn tables(&self, digits: usize, window: u32, n_threads: usize) -> Vec<u64> {
        threads::map(n_threads, self.halves.iter().collect(), |half| half.table(digits, window)).concat()
    }

    /// Seals integers, so many a ciphertext as there are widths.
    pub fn seal(&self, tables: &[u64], window: u32, values: &[i64], widths: &[u32], n_threads: usize) -> Vec<u64> {
        let len = self.n_square.len();
        let (first, second) = tables.split_at(tables.len() / 2);
        let mut sealed = vec![0; values.len() / widths.len() * len];
        for_shares(&mut sealed, len, n_threads, |begin, share| {
            let mut rng = generator();
            let values = values[begin * widths.len()..].chunks_exact(widths.len());
            for (c, values) in share.chunks_exact_mut(len).zip(values) {
                let plain = fields::packed(values, widths, &self.n);
                let one = self.halves[0].sealed(&plain, first, window, &mut rng);
                let two = self.halves[1].sealed(&plain, second, window, &mut rng);
                let square = self.halves[1].square.words();
                c.copy_from_slice(&joined(&self.halves[0].square, &one, &self.inverse_square, square, &two));
                self.n_square.enter(c);
            }
        });
        sealed
    }

    /// The integers of each ciphertext; none if one holds more than the widths have room for.
    pub fn open(&self, sealed: &[u64], widths: &[u32], n_threads: usize) -> Option<Vec<i64>> {
        let one = |c: &[u64]| fields::unpacked(&self.number(c), widths, &self.n);
        let each = sealed.chunks_exact(self.n_square.len()).collect();
        let opened: Option<Vec<_>> = threads::map(n_threads, each, one).into_iter().collect();
        Some(opened?.concat())
    }

    /// The plaintext of each ciphertext, as long as n.
    pub fn open_numbers(&self, sealed: &[u64], n_threads: usize) -> Vec<u64> {
        let each = sealed.chunks_exact(self.n_square.len()).collect();
        threads::map(n_threads, each, |c: &[u64]| self.number(c)).concat()
    }

    fn number(&self, sealed: &[u64]) -> Vec<u64> {
        let mut c = sealed.to_vec();
        self.n_square.leave(&mut c);
        let (first, second) = (self.halves[0].opened(&c), self.halves[1].opened(&c));
        joined(&self.halves[0].prime, &first, &self.inverse, self.halves[1].prime.words(), &second)
    }
}
