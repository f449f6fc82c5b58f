//! The discrete Gaussian distribution: x with a chance in proportion to e^-(x^2 / (2 variance)).

use super::coins::{Bits, Coins, MOST_WHOLE};
use super::laplace::Scale;

/// A variance as a ratio of integers, and what follows from it.
#[derive(Clone, Copy)]
pub struct Variance {
    num: u64,
    den: u64,
    /// The greatest integer of at most the deviation, plus one: the scale of proposals.
    t: u64,
    proposals: Scale,
    whole: u128,
}

impl Variance {
    /// The variance num / den, or what is wrong with it.
    pub fn of(num: u64, den: u64) -> Result<Self, &'static str> {
        if num == 0 || den == 0 {
            return Err("the variance of noise must be above 0, and its denominator too");
        }
        let t = (num / den).isqrt() + 1;
        let whole = [num, den, t, t].iter().try_fold(2u128, |whole, &x| whole.checked_mul(x.into()));
        match whole.filter(|&whole| whole <= MOST_WHOLE) {
            Some(whole) => Ok(Self { num, den, t, proposals: Scale::of(t, 1)?, whole }),
            None => Err("the variance of noise is too large: a whole number of at most 2^55 is not"),
        }
    }

    /// One draw (Algorithm 3).
    #[inline]
    pub fn draw<B: Bits, const STEP: u32>(self, coins: &mut Coins<B, STEP>) -> i64 {
        loop {
            let (size, negative) = self.proposals.draw(coins);
            if self.keeps(size, coins) {
                return if negative { -(size as i64) } else { size as i64 };
            }
        }
    }

    /// Whether a Laplace proposal is kept: with the chance e^-((size - variance / t)^2 / (2 variance)).
    #[inline]
    pub fn keeps<B: Bits, const STEP: u32>(self, size: u64, coins: &mut Coins<B, STEP>) -> bool {
        // The exponent is this distance, squared, over `whole` = 2 num den t^2.
        let distance = (u128::from(size) * u128::from(self.t * self.den)).abs_diff(self.num.into());
        // Where the square is beyond 128 bits the exponent is above 2^16, and the chance no chance.
        distance.checked_mul(distance).is_some_and(|square| coins.exp_minus(square, self.whole))
    }
}

/// So many independent draws.
pub fn sample(n: usize, variance: Variance) -> Vec<i64> {
    let mut coins = super::system_coins();
    (0..n).map(|_| variance.draw(&mut coins)).collect()
}
