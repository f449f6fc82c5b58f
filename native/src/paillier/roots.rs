//! Roots that prove a modulus: whoever has its primes extracts them, everybody else raises them again.

use crypto_bigint::{BoxedUint, Odd};

use super::monty::{Modulus, big};
use super::own::{Half, Own, joined, nonzero};
use super::random::for_shares;
use crate::math::threads;

impl Half {
    /// The exponent that undoes 4n among the squares modulo the prime, of which there are (p - 1) / 2: an odd number.
    fn root_exponent(&self, other: &BoxedUint) -> Vec<u64> {
        let order = big(&self.exponent).shr(1);
        let modulus = nonzero(&order);
        // p is 1 modulo the order, so n is the other prime there.
        let mut quadruple = other.rem(&modulus);
        for _ in 0..2 {
            quadruple = quadruple.add_mod(&quadruple, &modulus);
        }
        let odd = Odd::new(order).expect("both primes are 3 modulo 4");
        quadruple.invert_odd_mod(&odd).expect("n and the order share no factor").as_words().to_vec()
    }

    /// The root of a number or of its negative, whichever is a square: modulo the prime, itself a square.
    fn root(&self, number: &[u64], exponent: &[u64]) -> Vec<u64> {
        let mut x = self.prime.enter_wide(number);
        self.prime.square(&mut x);
        let mut root = self.prime.power(&x, exponent);
        self.prime.leave(&mut root);
        root
    }
}

impl Own {
    /// For each number the square whose 2n-th power is that number or its negative; only if its Jacobi symbol is 1.
    pub fn roots(&self, numbers: &[u64], n_threads: usize) -> Vec<u64> {
        let [p, q] = &self.halves;
        let exponents = [p.root_exponent(&big(q.prime.words())), q.root_exponent(&big(p.prime.words()))];
        let one = |number: &[u64]| {
            let (first, second) = (p.root(number, &exponents[0]), q.root(number, &exponents[1]));
            joined(&p.prime, &first, &self.inverse, q.prime.words(), &second)
        };
        threads::map(n_threads, numbers.chunks_exact(self.n.len()).collect(), one).concat()
    }
}

/// The 2n-th power of each number, modulo n.
pub fn raised(n: &[u64], numbers: &[u64], n_threads: usize) -> Vec<u64> {
    let modulus = Modulus::new(n);
    let mut powers = numbers.to_vec();
    for_shares(&mut powers, n.len(), n_threads, |_, share| {
        for x in share.chunks_exact_mut(n.len()) {
            modulus.enter(x);
            let mut power = modulus.power(x, n);
            modulus.square(&mut power);
            modulus.leave(&mut power);
            x.copy_from_slice(&power);
        }
    });
    powers
}
