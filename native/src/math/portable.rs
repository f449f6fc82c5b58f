//! Arithmetic that gives the same bits on every CPU, and the choice of instruction set.
//!
//! `exp` and `log` use only additions, multiplications, divisions and bit moves, each rounded as IEEE 754 says, and no
//! fused operation; so the AVX2 and the plain build of a loop agree to the last bit.

use std::sync::atomic::{AtomicBool, Ordering};

static PORTABLE_ONLY: AtomicBool = AtomicBool::new(false);

/// Makes every later call take the plain path (for tests that compare both).
pub fn set_portable_only(on: bool) {
    PORTABLE_ONLY.store(on, Ordering::Relaxed);
}

#[cfg(target_arch = "x86_64")]
pub fn has_avx2() -> bool {
    !PORTABLE_ONLY.load(Ordering::Relaxed) && std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
pub fn has_avx2() -> bool {
    false
}

/// Defines `$name` twice from one body, for AVX2 and for any CPU, and picks at run time.
macro_rules! dispatched {
    ($(#[$doc:meta])* pub fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$doc])*
        pub fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn plain($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $ty),*) $(-> $ret)? {
                    plain($($arg),*)
                }
                if $crate::math::portable::has_avx2() {
                    // SAFETY: the CPU was just asked whether it has AVX2.
                    return unsafe { wide($($arg),*) };
                }
            }
            plain($($arg),*)
        }
    };
}
pub(crate) use dispatched;

const LOG2_E: f64 = std::f64::consts::LOG2_E;
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding and subtracting it rounds a small number to the nearest integer, ties to even.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The nearest integer, ties to even, for |x| < 2^31.
#[inline(always)]
pub fn nearest_integer(x: f64) -> i32 {
    (x + ROUNDER).to_bits() as i32
}

/// e to the x; at most 1e308 and at least 1e-308, so that no caller meets infinity.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let x = x.clamp(-708.0, 709.0);
    let k = x * LOG2_E + ROUNDER;
    let n = k - ROUNDER;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // Taylor series to r^13, |r| <= ln2/2: the first term left out is below 2^-60.
    let mut p = 1.605_904_383_682_161_3e-10;
    for c in [
        2.087_675_698_786_81e-9,
        2.505_210_838_544_172e-8,
        2.755_731_922_398_589_3e-7,
        2.755_731_922_398_589e-6,
        2.480_158_730_158_73e-5,
        1.984_126_984_126_984e-4,
        1.388_888_888_888_889e-3,
        8.333_333_333_333_333e-3,
        4.166_666_666_666_666_4e-2,
        1.666_666_666_666_666_6e-1,
        0.5,
        1.0,
        1.0,
    ] {
        p = p * r + c;
    }
    // The low bits of k hold n as an integer.
    let scale = f64::from_bits(k.to_bits().wrapping_add(1023).wrapping_shl(52));
    p * scale
}

/// Natural logarithm of a positive, normal number.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    let bits = x.to_bits();
    // Take the mantissa into [sqrt(1/2), sqrt(2)).
    let shifted = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let n = (shifted as i64 >> 52) as f64;
    let m = f64::from_bits(bits.wrapping_sub(shifted & 0xfff0_0000_0000_0000));
    // log m = 2 artanh(s), s = (m-1)/(m+1), |s| < .1716.
    let f = m - 1.0;
    let s = f / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 21.0;
    for c in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        p = p * z + 1.0 / c;
    }
    let half_square = 0.5 * f * f;
    let tail = s * (half_square + 2.0 * z * p) + n * LN2_LOW;
    n * LN2_HIGH + (f - (half_square - tail))
}

dispatched! {
    /// e to each number, in place.
    pub fn exp_all(values: &mut [f64]) {
        for v in values {
            *v = exp(*v);
        }
    }
}

dispatched! {
    /// The natural logarithm of each number, in place.
    pub fn log_all(values: &mut [f64]) {
        for v in values {
            *v = log(*v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ulps(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    #[test]
    fn exp_is_within_two_units_of_the_library() {
        for i in -70_000..70_000 {
            let x = f64::from(i) * 0.01 + 1e-5;
            assert!(ulps(exp(x), x.exp()) <= 2, "{x}: {} {}", exp(x), x.exp());
        }
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn log_is_within_two_units_of_the_library() {
        for i in 1..100_000 {
            let x = f64::from(i) * 0.037;
            assert!(ulps(log(x), x.ln()) <= 2 || (log(x) - x.ln()).abs() < 1e-17, "{x}: {} {}", log(x), x.ln());
        }
        assert_eq!(log(1.0), 0.0);
    }

    #[test]
    fn both_instruction_sets_give_the_same_bits() {
        let xs: Vec<f64> = (0..10_001).map(|i| f64::from(i) * 0.013 - 65.0).collect();
        let (mut a, mut b) = (xs.clone(), xs);
        exp_all(&mut a);
        for v in &mut b {
            *v = exp(*v);
        }
        assert!(a.iter().zip(&b).all(|(x, y)| x.to_bits() == y.to_bits()));
    }
}
