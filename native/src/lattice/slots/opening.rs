//! Tables and answers opened by the key holder.

use super::keys::Secret;
use super::{Layout, MOST_MODULI, N, Poly, Sealed, TILE, Tile, plain, primes_of};
use crate::lattice::ring::{self, Factor, Prime};
use crate::lattice::slots_words as words;
use crate::math::threads;

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
    let mut found = vec![[0u64; MOST_MODULI]; rows * columns];
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

/// Signed integers from their residues modulo each plaintext prime.
struct Signed {
    steps: Vec<Step>,
    whole: i128,
}

/// One prime t, the product of those before it, and its inverse modulo t.
struct Step {
    t: u64,
    before: u128,
    inverse: u64,
}

impl Signed {
    fn new(moduli: &[u32]) -> Signed {
        let mut before = 1;
        let step = |&t: &u32| {
            let inverse = u64::from(ring::inverse_of((before % u128::from(t)) as u32, t));
            let step = Step { t: u64::from(t), before, inverse };
            before *= u128::from(t);
            step
        };
        let steps = moduli.iter().map(step).collect();
        Signed { steps, whole: before as i128 }
    }

    /// The number nearest to zero; at the end of 64 bits if it does not fit them, as no sum of a plan does.
    fn number(&self, residues: [u64; MOST_MODULI]) -> i64 {
        let mut value = 0;
        for (Step { t, before, inverse }, residue) in self.steps.iter().zip(residues) {
            let missing = residue % t + t - (value % u128::from(*t)) as u64;
            value += before * u128::from(missing % t * inverse % t);
        }
        let value = value as i128;
        let centred = if value > self.whole / 2 { value - self.whole } else { value };
        centred.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_with_these_residues_nearest_to_zero() {
        let all = [2_277_377, 2_424_833, 2_572_289];
        for count in 1..=MOST_MODULI {
            let moduli = &all[..count];
            let signed = Signed::new(moduli);
            let half = (signed.whole / 2).min(1 << 62) as i64;
            for number in [0, 1, -1, 5_000, half, -half, half / 3, 1 - half] {
                let mut residues = [0; MOST_MODULI];
                residues.iter_mut().zip(moduli).for_each(|(r, &t)| *r = number.rem_euclid(i64::from(t)) as u64);
                assert_eq!(signed.number(residues), number);
            }
        }
        let wide = Signed::new(&ring::PRIMES[..3]);
        let ends = [i64::MIN, i64::MAX];
        assert!([1, 2, 3].map(|last| wide.number([0, 0, last])).iter().all(|number| ends.contains(number)));
    }
}
