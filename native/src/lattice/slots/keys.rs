//! The keys of the slot ring.

use super::{BYTES, N, Pair, Poly, expand, own_stream, primes_of};
use crate::lattice::pack;
use crate::lattice::proof::Statement;
use crate::lattice::random::{Seed, Stream, Use};
use crate::lattice::ring::{Factor, Prime};
use crate::lattice::slots_words as words;

/// A ternary secret's transforms, each with what Shoup's way needs of it.
pub(super) struct Secret(Vec<(Poly, Poly)>);

impl Secret {
    pub(super) fn new(own_secret: &[i8], primes: &[Prime]) -> Secret {
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
    pub(super) fn subtract(&self, x: &mut [u32], a: &[u32], l: usize, p: u32) {
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

/// A proof of the key that this secret and its public half are.
pub fn prove(own_secret: &[i8], half: &[u8], seed: &Seed, n_threads: usize) -> Vec<u8> {
    let primes = primes_of(half.len() / BYTES);
    let secret = Secret::new(own_secret, &primes[..1]);
    Public::read(half, seed, primes.len()).statement(&[seed, half]).prove(&secret.0[0].0, n_threads)
}

/// Whether a public half is proven.
pub fn is_proven(half: &[u8], seed: &Seed, proof: &[u8], n_threads: usize) -> bool {
    Public::read(half, seed, half.len() / BYTES).statement(&[seed, half]).holds(proof, n_threads)
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

    fn statement<'a>(&self, wire: &'a [&'a [u8]]) -> Statement<'a> {
        Statement { primes: primes_of(self.a.len()), wire, b: self.b.concat(), a: self.a.concat() }
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

    /// An encryption of zero, transformed: (b u + e0, a u + e1); where a flood will follow twice that, because a proven key
    /// is known to be well formed only when doubled, and without e0.
    pub(super) fn zero(&self, primes: &[Prime], own: &mut Stream, flooded: bool) -> Pair {
        let (mut u, mut e0, mut e1) = (vec![0i8; N], vec![0i8; N], vec![0i8; N]);
        own.ternary(&mut u);
        own.errors(&mut e1);
        if flooded {
            u.iter_mut().chain(&mut e1).for_each(|x| *x *= 2);
        } else {
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
