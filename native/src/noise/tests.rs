use super::coins::MOST_WHOLE;
use super::gaussian::{self, Variance};
use super::laplace::{self, Scale};
use super::*;

/// The bits of one pattern; once they are used up, others, and then the draw does not count.
struct Pattern {
    bits: u64,
    left: u32,
    beyond: u64,
    spent: bool,
}

impl Bits for Pattern {
    fn draw(&mut self, n: u32) -> u64 {
        self.spent |= n > self.left;
        if self.spent {
            self.beyond = self.beyond.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            return self.beyond >> (64 - n);
        }
        self.left -= n;
        (self.bits >> self.left) & (u64::MAX >> (64 - n))
    }
}

/// Of all patterns of `LENGTH` bits the share that ends in each outcome, and the share of those that decide nothing. An
/// outcome's chance is not below its share, and above it by the undecided at most.
fn shares<const STEP: u32, const OUTCOMES: usize>(
    draw: impl Fn(&mut Coins<Pattern, STEP>) -> usize,
) -> ([f64; OUTCOMES], f64) {
    const LENGTH: u32 = 19;
    let (mut counts, mut spent) = ([0u32; OUTCOMES], 0u32);
    for bits in 0..1 << LENGTH {
        let mut coins = Coins(Pattern { bits, left: LENGTH, beyond: bits, spent: false });
        let outcome = draw(&mut coins);
        if coins.0.spent {
            spent += 1;
        } else {
            counts[outcome] += 1;
        }
    }
    let share = |n| f64::from(n) / f64::from(1u32 << LENGTH);
    (counts.map(share), share(spent))
}

fn assert_chances<const STEP: u32, const OUTCOMES: usize>(
    wanted: [f64; OUTCOMES],
    most_undecided: f64,
    draw: impl Fn(&mut Coins<Pattern, STEP>) -> usize,
) {
    let (found, undecided): ([_; OUTCOMES], _) = shares(draw);
    assert!(undecided < most_undecided, "{undecided}");
    for (found, wanted) in found.into_iter().zip(wanted) {
        assert!(found <= wanted + 1e-12 && wanted <= found + undecided + 1e-12, "{found} {wanted} {undecided}");
    }
}

/// The place of a draw in a list that begins with `low`; the ends take what lies beyond.
fn place(x: i64, low: i64, n: usize) -> usize {
    (x - low).clamp(0, n as i64 - 1) as usize
}

#[test]
fn of_all_patterns_of_bits_as_many_make_a_coin_fall_as_its_chance_says() {
    for (part, whole) in [(0, 1), (1, 1), (1, 3), (2, 7), (5, 7), (99, 100), (MOST_WHOLE / 3, MOST_WHOLE)] {
        let chance = (-(part as f64) / whole as f64).exp();
        assert_chances::<1, 2>([1.0 - chance, chance], 1e-2, |c| usize::from(c.exp_minus(part, whole)));
        assert_chances::<2, 2>([1.0 - chance, chance], 5e-2, |c| usize::from(c.exp_minus(part, whole)));
        assert_chances::<4, 2>([1.0 - chance, chance], 0.4, |c| usize::from(c.exp_minus(part, whole)));
    }
    // More than one: a product of coins.
    for (part, whole) in [(5, 2), (7, 3), (4, 1)] {
        let chance = (-(part as f64) / whole as f64).exp();
        assert_chances::<1, 2>([1.0 - chance, chance], 2e-2, |c| usize::from(c.exp_minus(part, whole)));
    }
}

#[test]
fn of_all_patterns_of_bits_as_many_give_a_number_as_its_chance_says() {
    for bound in [1u64, 2, 3, 5, 8] {
        let wanted = std::array::from_fn(|x| if (x as u64) < bound { 1.0 / bound as f64 } else { 0.0 });
        assert_chances::<1, 8>(wanted, 0.02, |c| c.below(bound) as usize);
    }
}

#[test]
fn of_all_patterns_of_bits_as_many_give_laplace_noise_as_its_chances_say() {
    for (t, s) in [(1, 1), (1, 2), (2, 1), (3, 2)] {
        let scale = Scale::of(t, s).unwrap();
        let chance = |x: i64| (-(x.abs() as f64) * s as f64 / t as f64).exp();
        let whole: f64 = (-500..=500).map(chance).sum();
        let tail: f64 = (3..=500).map(chance).sum();
        let wanted = [tail, chance(-2), chance(-1), 1.0, chance(1), chance(2), tail].map(|x| x / whole);
        assert_chances::<1, 7>(wanted, 0.35, |c| {
            let (size, negative) = scale.draw(c);
            place(if negative { -(size as i64) } else { size as i64 }, -3, 7)
        });
    }
}

#[test]
fn of_all_patterns_of_bits_as_many_give_gaussian_noise_as_its_chances_say() {
    for (num, den) in [(1, 4), (1, 2), (1, 1), (5, 2)] {
        let variance = Variance::of(num, den).unwrap();
        let chance = |x: i64| (-((x * x) as f64) * den as f64 / (2.0 * num as f64)).exp();
        let whole: f64 = (-100..=100).map(chance).sum();
        let tail: f64 = (2..=100).map(chance).sum();
        let wanted = [tail, chance(-1), 1.0, chance(1), tail].map(|x| x / whole);
        let t = (num / den).isqrt() + 1;
        for size in 0..6 {
            let distance = size as f64 - num as f64 / (den * t) as f64;
            let kept = (-distance * distance * den as f64 / (2.0 * num as f64)).exp();
            assert_chances::<1, 2>([1.0 - kept, kept], 0.05, |c| usize::from(variance.keeps(size, c)));
        }
        assert_chances::<1, 5>(wanted, 0.65, |c| place(variance.draw(c), -2, 5));
    }
}

/// How far counts are from their chances, in deviations of chi-square around its mean.
fn surprise(x: &[i64], low: i64, chances: &[f64]) -> f64 {
    let mut counts = vec![0.0; chances.len()];
    x.iter().for_each(|&x| counts[place(x, low, chances.len())] += 1.0);
    let n = x.len() as f64;
    let chi: f64 = counts.iter().zip(chances).map(|(found, p)| (found - n * p).powi(2) / (n * p)).sum();
    let freedom = chances.len() as f64 - 1.0;
    (chi - freedom) / (2.0 * freedom).sqrt()
}

/// The chances of numbers from -reach to reach, the rest at the ends.
fn chances(reach: i64, weight: impl Fn(i64) -> f64) -> Vec<f64> {
    let whole: f64 = (-40 * reach..=40 * reach).map(&weight).sum();
    let tail: f64 = (reach..=40 * reach).map(&weight).sum();
    (-reach..=reach).map(|x| if x.abs() == reach { tail } else { weight(x) } / whole).collect()
}

#[test]
fn half_a_million_draws_have_the_frequencies_they_should() {
    for (num, den) in [(1u64, 3u64), (2, 1), (50, 1), (1 << 12, 3)] {
        let variance = num as f64 / den as f64;
        let reach = (3.0 * variance.sqrt()).ceil() as i64;
        let wanted = chances(reach, |x| (-((x * x) as f64) / (2.0 * variance)).exp());
        let found = surprise(&gaussian::sample(500_000, Variance::of(num, den).unwrap()), -reach, &wanted);
        assert!(found.abs() < 6.0, "{num}/{den}: {found}");
    }
    for (t, s) in [(1, 2), (2, 1), (40, 3)] {
        let reach = (4 * t / s) as i64 + 2;
        let wanted = chances(reach, |x| (-(x.abs() as f64) * s as f64 / t as f64).exp());
        let found = surprise(&laplace::sample(500_000, Scale::of(t, s).unwrap()), -reach, &wanted);
        assert!(found.abs() < 6.0, "{t}/{s}: {found}");
    }
}

#[test]
fn the_greatest_scales_are_drawn_at() {
    let n = 100_000;
    for variance in [1u64 << 54, 1 << 55] {
        let x = gaussian::sample(n, Variance::of(variance, 1).unwrap());
        let unit = (variance as f64).sqrt();
        let moment = |power| x.iter().map(|&x| (x as f64 / unit).powi(power)).sum::<f64>() / n as f64;
        assert!(moment(1).abs() < 0.02 && (moment(2) - 1.0).abs() < 0.03, "{} {}", moment(1), moment(2));
        assert!((moment(4) - 3.0).abs() < 0.3, "{}", moment(4));
        let odd = x.iter().filter(|&x| x & 1 == 1).count() as f64 / n as f64;
        assert!((odd - 0.5).abs() < 0.01, "{odd}");
    }
    let scale = laplace::MOST_SCALE - 1;
    let x = laplace::sample(n, Scale::of(scale, 1).unwrap());
    let mean = x.iter().map(|x| x.abs() as f64 / scale as f64).sum::<f64>() / n as f64;
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
}

#[test]
fn scales_that_are_none_or_too_large_are_refused() {
    assert!(Variance::of(0, 1).is_err() && Variance::of(1, 0).is_err());
    assert!(Variance::of(1 << 56, 1).is_err() && Variance::of(u64::MAX, u64::MAX).is_err());
    assert!(Variance::of(1, u64::MAX).is_ok());
    assert!(Scale::of(0, 1).is_err() && Scale::of(1, 0).is_err() && Scale::of(laplace::MOST_SCALE, 1).is_err());
}

#[test]
fn two_calls_share_nothing() {
    let variance = Variance::of(1 << 40, 1).unwrap();
    assert_ne!(gaussian::sample(20, variance), gaussian::sample(20, variance));
}
