//! Multiplication modulo an odd number in Montgomery form, where x stands as x R, with R = 2^(64 words).
//!
//! `crypto-bigint` finds the constants and is what this is tested against; its own product takes almost twice as long as
//! the one in `adx`, which is for CPUs that have the instructions. The one here is for all others: products are added up
//! column by column in three words, two chains at a time. No branch and no address depends on the numbers.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};

#[cfg(target_arch = "x86_64")]
use super::adx;
use crate::math::portable;

/// Words of the largest modulus: the square of a key of 4096 bits.
pub const MOST_WORDS: usize = 128;
/// Bits of an exponent that are taken at a time.
const WINDOW: usize = 5;

type Buffer = [u64; MOST_WORDS];

/// An odd modulus and what Montgomery's reduction needs to know of it.
pub struct Modulus {
    words: Vec<u64>,
    /// The highest word first: the order in which a column of products meets them.
    reversed: Vec<u64>,
    negated_inverse: u64,
    one: Vec<u64>,
    square: Vec<u64>,
}

pub fn big(words: &[u64]) -> BoxedUint {
    BoxedUint::from_words(words.iter().copied())
}

impl Modulus {
    pub fn new(words: &[u64]) -> Self {
        assert!((1..=MOST_WORDS).contains(&words.len()));
        let params = BoxedMontyParams::new(Odd::new(big(words)).expect("the modulus is odd"));
        let one = BoxedMontyForm::one(&params).to_montgomery();
        let square = BoxedMontyForm::new(one.clone(), &params).to_montgomery();
        // Five steps of Newton's double the three bits that an odd number and its inverse share.
        let low = words[0];
        let inverse = (0..5).fold(low, |x, _| x.wrapping_mul(2u64.wrapping_sub(low.wrapping_mul(x))));
        Self {
            words: words.to_vec(),
            reversed: words.iter().rev().copied().collect(),
            negated_inverse: inverse.wrapping_neg(),
            one: one.as_words().to_vec(),
            square: square.as_words().to_vec(),
        }
    }

    /// Words of a number.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// 1 in Montgomery form.
    pub fn one(&self) -> &[u64] {
        &self.one
    }

    /// `a` becomes a b / R; one factor must be below the modulus, the other may be any number of so many words.
    pub fn multiply(&self, a: &mut [u64], b: &[u64]) {
        assert!(a.len() == self.len() && b.len() == self.len());
        #[cfg(target_arch = "x86_64")]
        if self.quick() {
            // SAFETY: the CPU has the instructions.
            return unsafe { adx::multiply(a, b, &self.words, self.negated_inverse) };
        }
        multiply(a, b, &self.words, &self.reversed, self.negated_inverse);
    }

    /// `a` becomes a a / R.
    pub fn square(&self, a: &mut [u64]) {
        assert!(a.len() == self.len());
        #[cfg(target_arch = "x86_64")]
        if self.quick() {
            // SAFETY: the CPU has the instructions.
            return unsafe { adx::square(a, &self.words, self.negated_inverse) };
        }
        square(a, &self.words, &self.reversed, self.negated_inverse);
    }

    #[cfg(target_arch = "x86_64")]
    fn quick(&self) -> bool {
        self.len().is_multiple_of(adx::STEP) && portable::has_avx2() && adx::is_there()
    }

    /// Any number of so many words into Montgomery form.
    pub fn enter(&self, a: &mut [u64]) {
        self.multiply(a, &self.square);
    }

    /// Out of Montgomery form.
    pub fn leave(&self, a: &mut [u64]) {
        let mut one = [0; MOST_WORDS];
        one[0] = 1;
        self.multiply(a, &one[..self.len()]);
    }

    /// The Montgomery form of a number with twice as many words.
    pub fn enter_wide(&self, a: &[u64]) -> Vec<u64> {
        let (low, high) = a.split_at(self.len());
        let (mut low, mut high) = (low.to_vec(), high.to_vec());
        self.enter(&mut low);
        self.enter(&mut high);
        self.enter(&mut high);
        self.add(&mut low, &high);
        low
    }

    /// `a` becomes a + b; both below the modulus.
    pub fn add(&self, a: &mut [u64], b: &[u64]) {
        let mut carry = false;
        for (x, &y) in a.iter_mut().zip(b) {
            (*x, carry) = add_with(*x, y, carry);
        }
        reduce(a, u64::from(carry), &self.words);
    }

    /// `a` becomes a - b; both below the modulus.
    pub fn subtract(&self, a: &mut [u64], b: &[u64]) {
        let mut borrow = false;
        for (x, &y) in a.iter_mut().zip(b) {
            (*x, borrow) = sub_with(*x, y, borrow);
        }
        let mask = std::hint::black_box(u64::from(borrow).wrapping_neg());
        let mut carry = false;
        for (x, &m) in a.iter_mut().zip(&self.words) {
            (*x, carry) = add_with(*x, m & mask, carry);
        }
    }

    /// `a`, in Montgomery form, to the exponent: the same steps and the same addresses for all exponents of a length.
    pub fn power(&self, a: &[u64], exponent: &[u64]) -> Vec<u64> {
        let len = self.len();
        let mut powers = self.one.clone();
        for _ in 1..1 << WINDOW {
            let mut next = powers[powers.len() - len..].to_vec();
            self.multiply(&mut next, a);
            powers.extend(next);
        }
        let mut result = self.one.clone();
        let mut factor = vec![0; len];
        for digit in (0..(64 * exponent.len()).div_ceil(WINDOW)).rev() {
            (0..WINDOW).for_each(|_| self.square(&mut result));
            pick(&powers, bits_at(exponent, WINDOW * digit), &mut factor);
            self.multiply(&mut result, &factor);
        }
        result
    }
}

/// Five bits of a number, zero beyond its end.
fn bits_at(words: &[u64], at: usize) -> u64 {
    let word = |i: usize| words.get(i).copied().map_or(0, u128::from);
    let pair = word(at / 64) | word(at / 64 + 1) << 64;
    (pair >> (at % 64)) as u64 & ((1 << WINDOW) - 1)
}

/// Copies one of the numbers in a table; reads all of them, so that memory does not tell which.
pub fn pick(table: &[u64], which: u64, out: &mut [u64]) {
    out.fill(0);
    for (i, entry) in table.chunks_exact(out.len()).enumerate() {
        let differs = i as u64 ^ which;
        // All ones if they are equal, else zero.
        let mask = std::hint::black_box((differs | differs.wrapping_neg()) >> 63).wrapping_sub(1);
        for (x, &word) in out.iter_mut().zip(entry) {
            *x |= word & mask;
        }
    }
}

#[inline(always)]
pub fn add_with(x: u64, y: u64, carry: bool) -> (u64, bool) {
    let (sum, a) = x.overflowing_add(y);
    let (sum, b) = sum.overflowing_add(u64::from(carry));
    (sum, a | b)
}

#[inline(always)]
fn sub_with(x: u64, y: u64, borrow: bool) -> (u64, bool) {
    let (rest, a) = x.overflowing_sub(y);
    let (rest, b) = rest.overflowing_sub(u64::from(borrow));
    (rest, a | b)
}

/// Takes the modulus away once if the number, with `top` in front, is not below it.
#[inline(always)]
pub fn reduce(a: &mut [u64], top: u64, modulus: &[u64]) {
    let mut less = [0; MOST_WORDS];
    let mut borrow = false;
    for ((rest, &x), &m) in less.iter_mut().zip(a.iter()).zip(modulus) {
        (*rest, borrow) = sub_with(x, m, borrow);
    }
    let (_, below) = sub_with(top, 0, borrow);
    let keep = std::hint::black_box(u64::from(below).wrapping_neg());
    for (x, &rest) in a.iter_mut().zip(&less) {
        *x = (*x & keep) | (rest & !keep);
    }
}

/// A sum of products in three words.
#[derive(Clone, Copy, Default)]
struct Sum {
    low: u128,
    high: u64,
}

impl Sum {
    #[inline(always)]
    fn add(&mut self, product: u128) {
        let (sum, carry) = self.low.overflowing_add(product);
        self.low = sum;
        self.high += u64::from(carry);
    }

    #[inline(always)]
    fn join(&mut self, other: Self) {
        self.add(other.low);
        self.high += other.high;
    }

    #[inline(always)]
    fn doubled(self) -> Self {
        Self { low: self.low << 1, high: self.high << 1 | (self.low >> 127) as u64 }
    }

    /// Takes off the lowest word.
    #[inline(always)]
    fn next(&mut self) -> u64 {
        let word = self.low as u64;
        *self = Self { low: self.low >> 64 | u128::from(self.high) << 64, high: 0 };
        word
    }
}

/// Two sums of products side by side: a b, and c d. The longer one goes on alone.
#[inline(always)]
fn products(a: &[u64], b: &[u64], c: &[u64], d: &[u64]) -> (Sum, Sum) {
    let (mut first, mut second, mut more) = (Sum::default(), Sum::default(), Sum::default());
    let shared = a.len();
    let (c, c_rest) = c.split_at(shared);
    let (d, d_rest) = d.split_at(shared);
    for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
        first.add(u128::from(a) * u128::from(b));
        second.add(u128::from(c) * u128::from(d));
    }
    let ((c, c_last), (d, d_last)) = (c_rest.as_chunks::<2>(), d_rest.as_chunks::<2>());
    for (c, d) in c.iter().zip(d) {
        second.add(u128::from(c[0]) * u128::from(d[0]));
        more.add(u128::from(c[1]) * u128::from(d[1]));
    }
    for (&c, &d) in c_last.iter().zip(d_last) {
        more.add(u128::from(c) * u128::from(d));
    }
    second.join(more);
    (first, second)
}

/// Adds what makes the lowest word of a column's sum zero, and takes that word off; the factor that did it.
#[inline(always)]
fn quotient(sum: &mut Sum, negated_inverse: u64, lowest: u64) -> u64 {
    let factor = (sum.low as u64).wrapping_mul(negated_inverse);
    sum.add(u128::from(factor) * u128::from(lowest));
    sum.next();
    factor
}

/// a becomes a b / R.
fn multiply(a: &mut [u64], b: &[u64], modulus: &[u64], reversed: &[u64], negated_inverse: u64) {
    let len = a.len();
    let (mut x, mut y, mut q): (Buffer, Buffer, Buffer) = ([0; _], [0; _], [0; _]);
    x[..len].copy_from_slice(a);
    y[..len].iter_mut().zip(b.iter().rev()).for_each(|(to, &from)| *to = from);
    let (x, y, q) = (&x[..len], &y[..len], &mut q[..len]);
    let (lowest, mut sum) = (reversed[len - 1], Sum::default());
    for k in 0..len {
        let (left, first) = (len - 1 - k, len - 1);
        let (one, two) = products(&x[..k], &y[left..first], &q[..k], &reversed[left..first]);
        sum.join(one);
        sum.join(two);
        sum.add(u128::from(x[k]) * u128::from(y[first]));
        q[k] = quotient(&mut sum, negated_inverse, lowest);
    }
    for (k, word) in a.iter_mut().enumerate() {
        let right = len - 1 - k;
        let (one, two) = products(&x[k + 1..], &y[..right], &q[k + 1..], &reversed[..right]);
        sum.join(one);
        sum.join(two);
        *word = sum.next();
    }
    reduce(a, sum.next(), modulus);
}

/// a becomes a a / R: products of two different words count twice and are made once.
fn square(a: &mut [u64], modulus: &[u64], reversed: &[u64], negated_inverse: u64) {
    let len = a.len();
    let (mut x, mut y, mut q): (Buffer, Buffer, Buffer) = ([0; _], [0; _], [0; _]);
    x[..len].copy_from_slice(a);
    y[..len].iter_mut().zip(a.iter().rev()).for_each(|(to, &from)| *to = from);
    let (x, y, q) = (&x[..len], &y[..len], &mut q[..len]);
    let (lowest, mut sum) = (reversed[len - 1], Sum::default());
    for k in 0..len {
        let (left, half) = (len - 1 - k, k.div_ceil(2));
        let (one, two) = products(&x[..half], &y[left..left + half], &q[..k], &reversed[left..len - 1]);
        sum.join(one.doubled());
        sum.join(two);
        if k % 2 == 0 {
            sum.add(u128::from(x[k / 2]) * u128::from(x[k / 2]));
        }
        q[k] = quotient(&mut sum, negated_inverse, lowest);
    }
    for (k, word) in a.iter_mut().enumerate() {
        let (right, half) = (len - 1 - k, (len - 1 - k) / 2);
        let (one, two) = products(&x[k + 1..k + 1 + half], &y[..half], &q[k + 1..], &reversed[..right]);
        sum.join(one.doubled());
        sum.join(two);
        if right % 2 == 1 {
            sum.add(u128::from(x[(k + len) / 2]) * u128::from(x[(k + len) / 2]));
        }
        *word = sum.next();
    }
    reduce(a, sum.next(), modulus);
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::{Rng, SeedableRng};

    /// Random words, of which some numbers have long rows of ones or zeros.
    fn number(rng: &mut ChaCha20Rng, len: usize) -> Vec<u64> {
        let kind = rng.next_u32() % 4;
        let word = |_| match kind {
            0 => [0, u64::MAX][rng.next_u32() as usize % 2],
            1 => u64::MAX - u64::from(rng.next_u32() % 3),
            _ => rng.next_u64(),
        };
        (0..len).map(word).collect()
    }

    fn below(rng: &mut ChaCha20Rng, modulus: &[u64]) -> Vec<u64> {
        let nonzero = crypto_bigint::NonZero::new(big(modulus)).unwrap();
        big(&number(rng, modulus.len())).rem_vartime(&nonzero).as_words().to_vec()
    }

    #[test]
    fn products_squares_and_powers_of_both_kernels_are_those_of_crypto_bigint() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for round in 0..1400 {
            let len = [1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 48, 64, 127, 128][round % 14];
            let mut words = number(&mut rng, len);
            words[0] |= 1;
            words[len - 1] |= 1 << 63;
            let modulus = Modulus::new(&words);
            let params = BoxedMontyParams::new(Odd::new(big(&words)).unwrap());
            let (a, b) = (below(&mut rng, &words), below(&mut rng, &words));
            let form = |x: &[u64]| BoxedMontyForm::from_montgomery(big(x), &params);
            let mut found = a.clone();
            modulus.multiply(&mut found, &b);
            assert_eq!(found, (form(&a) * form(&b)).as_montgomery().as_words(), "{len} words");
            let mut plain = a.clone();
            multiply(&mut plain, &b, &words, &modulus.reversed, modulus.negated_inverse);
            assert_eq!(plain, found, "{len} words on any CPU");
            let mut found = a.clone();
            modulus.square(&mut found);
            assert_eq!(found, form(&a).square().as_montgomery().as_words(), "{len} words");
            let mut plain = a.clone();
            square(&mut plain, &words, &modulus.reversed, modulus.negated_inverse);
            assert_eq!(plain, found, "{len} words on any CPU");
            let mut found = a.clone();
            modulus.add(&mut found, &b);
            assert_eq!(found, (form(&a) + form(&b)).as_montgomery().as_words());
            modulus.subtract(&mut found, &b);
            assert_eq!(found, a);
            modulus.enter(&mut found);
            assert_eq!(found, BoxedMontyForm::new(big(&a), &params).as_montgomery().as_words());
            modulus.leave(&mut found);
            assert_eq!(found, a);
            if len <= 8 {
                let exponent = number(&mut rng, 3);
                let expected = form(&a).pow(&big(&exponent));
                assert_eq!(modulus.power(&a, &exponent), expected.as_montgomery().as_words());
            }
        }
    }

    #[test]
    fn any_factor_of_so_many_words_may_meet_one_that_is_reduced() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        for len in [1, 2, 16, 32, 64] {
            let mut words = number(&mut rng, len);
            words[0] |= 1;
            words[len - 1] = words[len - 1] >> 1 | 1 << 62;
            let modulus = Modulus::new(&words);
            let nonzero = crypto_bigint::NonZero::new(big(&words)).unwrap();
            for _ in 0..20 {
                let wide = number(&mut rng, 2 * len);
                let mut found = modulus.enter_wide(&wide);
                modulus.leave(&mut found);
                assert_eq!(found, big(&wide).rem_vartime(&nonzero).as_words()[..len]);
            }
            let mut most = vec![u64::MAX; len];
            modulus.enter(&mut most);
            modulus.leave(&mut most);
            assert_eq!(most, big(&vec![u64::MAX; len]).rem_vartime(&nonzero).as_words());
        }
    }

    #[test]
    fn pick_takes_the_entry_that_was_asked_for() {
        let table: Vec<u64> = (0..96).collect();
        let mut out = [0; 3];
        for which in 0..32 {
            pick(&table, which, &mut out);
            assert_eq!(out, [3 * which, 3 * which + 1, 3 * which + 2]);
        }
    }
}
