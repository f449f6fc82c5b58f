//! Coins whose chance is a ratio of integers, or e to the power of minus one.

/// A source of independent, fair bits.
pub trait Bits {
    /// So many of them (1 to 64) as one number.
    fn draw(&mut self, n: u32) -> u64;
}

/// The greatest denominator of a ratio: it stays within 128 bits with a byte of a coin's bits and a count behind it.
pub const MOST_WHOLE: u128 = 1 << 112;
/// The coins of one `exp_minus`, of which the k-th falls with a chance of at most 1 / k: so many do once in 255! times.
const MOST_COINS: u64 = 256;

/// Coins that first look at `STEP` bits, then at half as many at a time.
pub struct Coins<B, const STEP: u32>(pub B);

/// A number from 0 to 1: 2^STEP times it is `high` and the part `rest` of a `whole`.
#[derive(Clone, Copy)]
struct Fraction {
    high: u64,
    rest: u128,
    whole: u128,
}

impl<B: Bits, const STEP: u32> Coins<B, STEP> {
    const ONE: Fraction = Fraction { high: 1 << STEP, rest: 0, whole: 1 };

    pub fn is_heads(&mut self) -> bool {
        self.0.draw(1) == 1
    }

    /// Uniform from 0 to below the bound: as many bits as that takes, thrown away where they are not below it.
    pub fn below(&mut self, bound: u64) -> u64 {
        let bits = 64 - (bound - 1).leading_zeros();
        if bits == 0 {
            return 0;
        }
        loop {
            let drawn = self.0.draw(bits);
            if drawn < bound {
                return drawn;
            }
        }
    }

    /// True with the chance part / whole: the ratio's binary digits, some at a time, against random ones.
    fn ratio(&mut self, part: u128, whole: u128) -> bool {
        let bits = STEP.div_ceil(2);
        let mut rest = part;
        loop {
            if rest == 0 || rest == whole {
                return rest != 0;
            }
            rest <<= bits;
            let (digits, drawn) = (rest / whole, u128::from(self.0.draw(bits)));
            if drawn != digits {
                return drawn < digits;
            }
            rest -= digits * whole;
        }
    }

    /// True with the chance fraction / k. A uniform number u, of which `drawn` are the first bits, is to be below it:
    /// (drawn + something below 1) k against high + rest / whole, which all but one value of `drawn` or two decide.
    fn divided(&mut self, fraction: Fraction, k: u64) -> bool {
        let Fraction { high, rest, whole } = fraction;
        let drawn = self.0.draw(STEP);
        if (drawn + 1) * k <= high {
            return true;
        }
        let taken = drawn * k;
        if taken > high {
            return false;
        }
        self.ratio(u128::from(high - taken) * whole + rest, whole * u128::from(k))
    }

    /// True with the chance e^-fraction: whether the first of the coins fraction / k that does not fall is an odd one.
    fn exp_minus_fraction(&mut self, fraction: Fraction) -> bool {
        let mut k = 1;
        while self.divided(fraction, k) {
            k += 1;
            assert!(k < MOST_COINS, "the source of random bits is broken");
        }
        k % 2 == 1
    }

    /// True with the chance 1 / e.
    pub fn exp_minus_one(&mut self) -> bool {
        self.exp_minus_fraction(Self::ONE)
    }

    /// True with the chance e^-(part / whole).
    pub fn exp_minus(&mut self, part: u128, whole: u128) -> bool {
        debug_assert!(whole <= MOST_WHOLE);
        let mut rest = part;
        while rest >= whole {
            if !self.exp_minus_one() {
                return false;
            }
            rest -= whole;
        }
        let wide = rest << STEP;
        let high = if wide <= u128::from(u64::MAX) && whole <= u128::from(u64::MAX) {
            wide as u64 / whole as u64
        } else {
            (wide / whole) as u64
        };
        self.exp_minus_fraction(Fraction { high, rest: wide - u128::from(high) * whole, whole })
    }
}
