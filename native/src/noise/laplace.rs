//! The discrete Laplace distribution: x with a chance in proportion to e^-(|x| / scale).

use super::coins::{Bits, Coins};

/// The greatest scale.
pub const MOST_SCALE: u64 = 1 << 48;

/// A scale as a ratio of integers.
#[derive(Clone, Copy)]
pub struct Scale {
    t: u64,
    s: u64,
}

impl Scale {
    /// The scale t / s, or what is wrong with it.
    pub fn of(t: u64, s: u64) -> Result<Self, &'static str> {
        if t == 0 || s == 0 {
            return Err("the scale of noise must be above 0, and its denominator too");
        }
        // Then even 2^15 scales are within 64 bits.
        if t / s >= MOST_SCALE || t > 1 << 60 {
            return Err("the scale of noise must be below 2^48, and its numerator at most 2^60");
        }
        Ok(Self { t, s })
    }

    /// One draw: its size, and whether it is below zero (Algorithm 2).
    #[inline]
    pub fn draw<B: Bits, const STEP: u32>(self, coins: &mut Coins<B, STEP>) -> (u64, bool) {
        let Self { t, s } = self;
        loop {
            let u = coins.below(t);
            if !coins.exp_minus(u.into(), t.into()) {
                continue;
            }
            // How many scales are added is geometric: 2^15 once in e^32768 times.
            let mut v = 0u64;
            while coins.exp_minus_one() {
                v += 1;
            }
            let size = ((u128::from(t) * u128::from(v) + u128::from(u)) / u128::from(s)) as u64;
            let negative = coins.is_heads();
            if size > 0 || !negative {
                return (size, negative);
            }
        }
    }
}

/// So many independent draws.
pub fn sample(n: usize, scale: Scale) -> Vec<i64> {
    let mut coins = super::system_coins();
    let one = |_| {
        let (size, negative) = scale.draw(&mut coins);
        if negative { -(size as i64) } else { size as i64 }
    };
    (0..n).map(one).collect()
}
