//! Answers: products with choices, and what every one of them gets before it leaves.

use super::keys::Public;
use super::sealing::Summand;
use super::{BYTES, Layout, N, Pair, STRIDE, Sealed, TILE, Tile, own_stream, plain, primes_of};
use crate::lattice::products::AT_ONCE;
use crate::lattice::random::Stream;
use crate::lattice::ring::{self, Factor, Prime};
use crate::lattice::slots_words as words;
use crate::math::threads;

/// What an answer does to its result before it leaves.
#[derive(Clone, Copy)]
pub struct Leaving {
    /// Bits of each of the three uniform integers of a flood: at least one.
    pub flood_bits: u32,
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
    let mut pair = pair.plus(Some(public.zero(primes, own, true)), primes);
    for (l, prime) in primes.iter().enumerate() {
        prime.restore(&mut pair.c0[l]);
        prime.restore(&mut pair.c1[l]);
        summand.add_to(&mut pair.c0[l], prime);
    }
    words::flood(&mut pair.c0, leaving.flood_bits, primes, own);
    words::drop_primes(&mut pair.c0, leaving.primes, primes);
    words::drop_primes(&mut pair.c1, leaving.primes, primes);
    pair.write(out);
}

fn residue(value: i64, t: u32) -> u32 {
    value.rem_euclid(i64::from(t)) as u32
}
