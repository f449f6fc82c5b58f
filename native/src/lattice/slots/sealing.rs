//! Tables sealed, with the secret key or the public one.

use super::keys::{Public, Secret};
use super::{BYTES, Layout, N, STRIDE, expand, own_stream, plain, primes_of};
use crate::lattice::pack;
use crate::lattice::random::{Seed, Stream, Use};
use crate::lattice::ring::{self, Factor, Prime};
use crate::lattice::slots_words as words;
use crate::math::threads;

/// A plaintext to be added: for slots modulo t the coefficients r of q m modulo t, because (q m - r) / t, which is q m / t
/// rounded, is -r / t modulo every prime of q.
pub(super) struct Summand {
    r: Vec<i32>,
    t: u32,
}

impl Summand {
    /// Rounded to the nearest.
    pub(super) fn new(slots: &mut [u32], plain: &Prime, primes: &[Prime]) -> Summand {
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

    pub(super) fn add_to(&self, x: &mut [u32], prime: &Prime) {
        let factor = Factor::new(prime.p - ring::inverse_of(self.t, prime.p), prime.p);
        words::add_lifted(x, &self.r, factor, prime.p);
    }
}

/// Slots modulo t to the coefficients of q times their polynomial.
fn restore_scaled(slots: &mut [u32], plain: &Prime, primes: &[Prime]) {
    let q = primes.iter().fold(1, |q, prime| plain.times(q, prime.p % plain.p));
    plain.restore_times(slots, plain.scale_by(q));
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
