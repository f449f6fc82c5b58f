//! What everybody can do with ciphertexts: check them, add to them, and multiply those that a selection takes, which adds
//! up their plaintexts.
//!
//! Time depends on the selection: rows in no group cost nothing. Nothing here is random; what leaves is randomised then.

use crypto_bigint::{BoxedUint, ConcatenatingMul, Gcd, Odd};

use super::fields;
use super::monty::{Modulus, big};
use super::random::{for_shares, squared};
use crate::math::threads;

/// Rows that a task should at least have for each sum it starts, so that joining the sums of tasks costs little.
const LEAST_ROWS_A_SUM: usize = 16;

/// What is wrong with a ciphertext.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// Not below the square of n.
    TooLarge = 1,
    /// 0 or 1, which no sealing gives.
    Trivial = 2,
    /// It shares a factor with n.
    SharesFactor = 3,
}

/// Checks plain ciphertexts that came in, and brings them into Montgomery form.
pub fn entered(n: &[u64], plain: &[u64], n_threads: usize) -> Result<Vec<u64>, Wrong> {
    let modulus = squared(n);
    let len = modulus.len();
    let bad = |c: &[u64]| {
        let trivial = c[0] <= 1 && c[1..].iter().all(|&word| word == 0);
        let below = c.iter().rev().lt(modulus.words().iter().rev());
        if trivial { Some(Wrong::Trivial) } else { (!below).then_some(Wrong::TooLarge) }
    };
    if let Some(wrong) = plain.chunks_exact(len).find_map(bad) {
        return Err(wrong);
    }
    let share = |share: &[u64]| {
        let (mut words, mut product) = (share.to_vec(), modulus.one().to_vec());
        for c in words.chunks_exact_mut(len) {
            modulus.enter(c);
            modulus.multiply(&mut product, c);
        }
        (words, product)
    };
    let step = (plain.len() / len).div_ceil(4 * n_threads).max(1);
    let (words, products): (Vec<_>, Vec<_>) =
        threads::map(n_threads, plain.chunks(step * len).collect(), share).into_iter().unzip();
    // A factor that one shares with n, their product shares too.
    let mut product = modulus.one().to_vec();
    products.iter().for_each(|part| modulus.multiply(&mut product, part));
    let shared = big(&product).gcd_vartime(&big(n));
    if shared == BoxedUint::one() { Ok(words.concat()) } else { Err(Wrong::SharesFactor) }
}

/// Plain ciphertexts again.
pub fn left(n: &[u64], sealed: &[u64], n_threads: usize) -> Vec<u64> {
    let modulus = squared(n);
    let mut plain = sealed.to_vec();
    for_shares(&mut plain, modulus.len(), n_threads, |_, share| {
        share.chunks_exact_mut(modulus.len()).for_each(|c| modulus.leave(c));
    });
    plain
}

/// Adds plain integers, so many a ciphertext as there are widths.
pub fn add_plain(n: &[u64], sealed: &mut [u64], values: &[i64], widths: &[u32], n_threads: usize) {
    let each = |i: usize| fields::packed(&values[i * widths.len()..(i + 1) * widths.len()], widths, n);
    add_each(n, sealed, each, n_threads);
}

/// Adds numbers below n, one a ciphertext.
pub fn add_numbers(n: &[u64], sealed: &mut [u64], numbers: &[u64], n_threads: usize) {
    add_each(n, sealed, |i| numbers[i * n.len()..(i + 1) * n.len()].to_vec(), n_threads);
}

fn add_each(n: &[u64], sealed: &mut [u64], each: impl Fn(usize) -> Vec<u64> + Sync, n_threads: usize) {
    let modulus = squared(n);
    let len = modulus.len();
    let n_big = big(n);
    for_shares(sealed, len, n_threads, |begin, share| {
        for (i, c) in share.chunks_exact_mut(len).enumerate() {
            let plain = each(begin + i);
            let mut factor = n_big.concatenating_mul(&big(&plain)).wrapping_add(BoxedUint::one()).as_words().to_vec();
            modulus.enter(&mut factor);
            modulus.multiply(c, &factor);
        }
    });
}

/// Multiplies each ciphertext by another: adds their plaintexts.
pub fn multiply(n: &[u64], sealed: &mut [u64], others: &[u64], n_threads: usize) {
    let modulus = squared(n);
    let len = modulus.len();
    for_shares(sealed, len, n_threads, |begin, share| {
        for (c, other) in share.chunks_exact_mut(len).zip(others[begin * len..].chunks_exact(len)) {
            modulus.multiply(c, other);
        }
    });
}

/// Inverses of ciphertexts: their plaintexts' negatives. One inversion a share, and three products each.
pub fn invert(n: &[u64], sealed: &mut [u64], n_threads: usize) {
    let modulus = squared(n);
    let len = modulus.len();
    let odd = Odd::new(big(modulus.words())).expect("the modulus is odd");
    for_shares(sealed, len, n_threads, |_, share| {
        let mut before = Vec::with_capacity(share.len());
        let mut product = modulus.one().to_vec();
        for c in share.chunks_exact(len) {
            before.extend_from_slice(&product);
            modulus.multiply(&mut product, c);
        }
        modulus.leave(&mut product);
        let inverse = big(&product).invert_odd_mod_vartime(&odd).expect("ciphertexts were checked");
        let mut inverse = inverse.as_words().to_vec();
        modulus.enter(&mut inverse);
        for (c, before) in share.chunks_exact_mut(len).zip(before.chunks_exact(len)).rev() {
            let mut found = inverse.clone();
            modulus.multiply(&mut found, before);
            modulus.multiply(&mut inverse, c);
            c.copy_from_slice(&found);
        }
    });
}

/// A choice: in each column the group of each row, and the rows of each node.
pub struct Choice<'a> {
    /// Columns x rows.
    pub codes: &'a [u8],
    pub widths: &'a [usize],
    pub rows: &'a [usize],
    pub starts: &'a [usize],
}

/// One column and some rows of one node.
struct Task<'a> {
    codes: &'a [u8],
    width: usize,
    rows: &'a [usize],
}

/// Products of some ciphertexts for each group, those of a row's `parts` side by side; none where a group is empty.
type Groups = Vec<Option<Vec<u64>>>;

/// For each node and group, the products of its rows' ciphertexts, of which each row has `parts`.
pub fn group_sums(n: &[u64], sealed: &[u64], parts: usize, choice: &Choice, n_threads: usize) -> Vec<u64> {
    let modulus = squared(n);
    let size = parts * modulus.len();
    let nodes: Vec<&[usize]> = choice.starts.windows(2).map(|ends| &choice.rows[ends[0]..ends[1]]).collect();
    let cells = (nodes.len() * choice.widths.len()).max(1);
    let splits = (4 * n_threads).div_ceil(cells);
    let n_rows = sealed.len() / size;
    let mut tasks = Vec::new();
    for rows in &nodes {
        for (column, &width) in choice.widths.iter().enumerate() {
            let codes = &choice.codes[column * n_rows..][..n_rows];
            let step = rows.len().div_ceil(splits).max(LEAST_ROWS_A_SUM * width);
            let shares = rows.chunks(step).map(|rows| Task { codes, width, rows });
            tasks.push(shares.collect::<Vec<_>>());
        }
    }
    let counts: Vec<usize> = tasks.iter().map(Vec::len).collect();
    let flat = tasks.into_iter().flatten().collect();
    let mut done = threads::map(n_threads, flat, |task| products(&modulus, sealed, size, &task)).into_iter();
    let empty = modulus.one().repeat(parts);
    let mut sums = Vec::new();
    for (cell, count) in counts.into_iter().enumerate() {
        let mut groups: Groups = vec![None; choice.widths[cell % choice.widths.len()]];
        for share in done.by_ref().take(count) {
            for (group, part) in groups.iter_mut().zip(share) {
                if let Some(part) = part {
                    join(&modulus, group, &part);
                }
            }
        }
        groups.iter().for_each(|group| sums.extend_from_slice(group.as_deref().unwrap_or(&empty)));
    }
    sums
}

fn products(modulus: &Modulus, sealed: &[u64], size: usize, task: &Task) -> Groups {
    let mut groups: Groups = vec![None; task.width];
    for &row in task.rows {
        if let Some(group) = groups.get_mut(usize::from(task.codes[row])) {
            join(modulus, group, &sealed[row * size..][..size]);
        }
    }
    groups
}

fn join(modulus: &Modulus, group: &mut Option<Vec<u64>>, row: &[u64]) {
    let len = modulus.len();
    match group {
        None => *group = Some(row.to_vec()),
        Some(product) => {
            product.chunks_exact_mut(len).zip(row.chunks_exact(len)).for_each(|(c, other)| modulus.multiply(c, other));
        }
    }
}

/// Puts `per` plaintexts into each ciphertext, one beside the other at a distance of so many bits.
pub fn pack(n: &[u64], sealed: &[u64], per: usize, distance: u32, n_threads: usize) -> Vec<u64> {
    let modulus = squared(n);
    let len = modulus.len();
    let one = |share: &[u64]| {
        let mut several = share.chunks_exact(len).rev();
        let mut packed = several.next().expect("a share is not empty").to_vec();
        for c in several {
            (0..distance).for_each(|_| modulus.square(&mut packed));
            modulus.multiply(&mut packed, c);
        }
        packed
    };
    threads::map(n_threads, sealed.chunks(per * len).collect(), one).concat()
}

#[cfg(test)]
mod tests {
    use super::super::own::{Own, primes};
    use super::super::random;
    use super::*;

    const WIDTHS: [u32; 2] = [20, 30];

    fn key(bits: u32) -> (Own, Vec<u64>, Vec<u64>) {
        let (primes, n) = primes(bits, 2);
        let own = Own::new(&primes);
        let tables = own.tables(8, 4, 2);
        (own, n, tables)
    }

    #[test]
    fn what_either_key_seals_opens_and_sums_are_sums() {
        for bits in [256, 384, 512, 1024] {
            let (own, n, tables) = key(bits);
            let values: Vec<i64> = (0..40).map(|i| (i * 7919) % 301 - 150).collect();
            let sealed = own.seal(&tables, 4, &values, &WIDTHS, 2);
            assert_eq!(own.open(&sealed, &WIDTHS, 2), Some(values.clone()));
            let mut public = squared(&n).one().repeat(20);
            add_plain(&n, &mut public, &values, &WIDTHS, 2);
            random::randomise(&n, &random::table(&n, 1, 8, 4, true, 2), 4, true, &mut public, 2);
            assert_eq!(own.open(&public, &WIDTHS, 1), Some(values.clone()));
            assert_eq!(entered(&n, &left(&n, &public, 2), 3).as_ref(), Ok(&public));
            invert(&n, &mut public, 2);
            multiply(&n, &mut public, &sealed, 2);
            assert_eq!(own.open(&public, &WIDTHS, 2), Some(vec![0; 40]));
        }
    }

    #[test]
    fn group_sums_do_not_depend_on_threads_and_leave_out_other_codes() {
        let (own, n, tables) = key(256);
        let rows = 300;
        let values: Vec<i64> = (0..2 * rows).map(|i| (i * 31) as i64 % 1001 - 500).collect();
        let sealed = own.seal(&tables, 4, &values, &WIDTHS, 2);
        let codes: Vec<u8> = (0..2 * rows).map(|i| (i * 7 % 5) as u8).collect();
        let places: Vec<usize> = (0..rows).rev().collect();
        let choice = Choice { codes: &codes, widths: &[3, 2], rows: &places, starts: &[0, 10, 10, 300] };
        let sums = group_sums(&n, &sealed, 1, &choice, 3);
        assert_eq!(sums, group_sums(&n, &sealed, 1, &choice, 1));
        let mut expected = Vec::new();
        for node in choice.starts.windows(2) {
            for (column, width) in [3u8, 2].into_iter().enumerate() {
                for group in 0..width {
                    let taken = places[node[0]..node[1]].iter().filter(|&&r| codes[column * rows + r] == group);
                    let both = taken.fold([0, 0], |s, &r| [s[0] + values[2 * r], s[1] + values[2 * r + 1]]);
                    expected.extend(both);
                }
            }
        }
        assert_eq!(own.open(&sums, &WIDTHS, 2), Some(expected.clone()));
        let packed = pack(&n, &sums, 4, 50, 2);
        let opened = own.open(&packed, &WIDTHS.repeat(4), 2).unwrap();
        assert_eq!(opened[..expected.len()], expected);
        assert!(opened[expected.len()..].iter().all(|&x| x == 0));
    }

    #[test]
    fn ciphertexts_are_randomised_with_and_without_a_table() {
        let (own, n, tables) = key(256);
        let sealed = own.seal(&tables, 4, &[1, 2, 3, 4], &WIDTHS, 1);
        for table in [vec![], random::table(&n, 5, 12, 4, false, 2)] {
            let (mut one, mut two) = (sealed.clone(), sealed.clone());
            random::randomise(&n, &table, 4, false, &mut one, 2);
            random::randomise(&n, &table, 4, false, &mut two, 2);
            assert!(one.iter().zip(&two).zip(&sealed).all(|((a, b), c)| a != b && a != c));
            assert_eq!(own.open(&one, &WIDTHS, 1), Some(vec![1, 2, 3, 4]));
        }
    }

    #[test]
    fn ciphertexts_that_no_sealing_gives_are_refused() {
        let (primes, n) = primes(256, 2);
        let square = squared(&n);
        let check = |c: &[u64]| {
            let mut good = vec![0; 8];
            good[0] = 2;
            entered(&n, &[good.clone(), c.to_vec(), good].concat(), 2)
        };
        let (mut zero, mut one, mut prime) = (vec![0; 8], vec![0; 8], vec![0; 8]);
        one[0] = 1;
        prime[..2].copy_from_slice(&primes[..2]);
        assert_eq!(check(&zero), Err(Wrong::Trivial));
        assert_eq!(check(&one), Err(Wrong::Trivial));
        assert_eq!(check(square.words()), Err(Wrong::TooLarge));
        assert_eq!(check(&[u64::MAX; 8]), Err(Wrong::TooLarge));
        assert_eq!(check(&prime), Err(Wrong::SharesFactor));
        zero[..4].copy_from_slice(&n);
        assert_eq!(check(&zero), Err(Wrong::SharesFactor));
    }
}
