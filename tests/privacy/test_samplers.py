"""Noise is exactly the discrete Gaussian or Laplace distribution that the accounting assumes, and shares add up to it.

Chances of single decisions, from every pattern of random bits, are compared in `native/src/noise/tests.rs`.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hedgerow import _native
from hedgerow.errors import PrivacyError
from hedgerow.privacy import noise
from injected_noise import give, leave_out, note, repeat, weaken
from statistics_of_noise import has_deviation

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native" / "src" / "noise"
DRAWS = 300_000
UNLIKELY = 1e-7


def gaussian_weights(variance, reach):
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-(x**2) / (2 * variance))
    return weights / weights.sum()


def laplace_weights(scale, reach):
    x = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(x) / scale)
    return weights / weights.sum()


def fit(drawn, weights):
    """How likely a chi-square finds these draws; numbers that are rarely drawn are counted together."""
    reach = len(weights) // 2
    counts = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=len(weights))
    rare = weights * len(drawn) < 20
    found = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(weights[~rare], weights[rare].sum()) * len(drawn)
    return stats.chisquare(found, wanted * found.sum() / wanted.sum()).pvalue


def two_samples(a, b):
    """How likely two samples are of one distribution, by a chi-square over forty places."""
    edges = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, 41)))[1:-1]
    table = [np.bincount(np.searchsorted(edges, x, side="right"), minlength=len(edges) + 1) for x in (a, b)]
    return stats.chi2_contingency(np.array(table)[:, np.sum(table, axis=0) > 0]).pvalue


def opendp_noise(make, distance, scale, n):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    return np.array(getattr(dp.m, make)(domain, getattr(dp, distance)(T="i64"), scale=scale)([0] * n))


# Distributions


@pytest.mark.parametrize("variance", [1, 2, 17, 1000])
def test_gaussian_draws_have_the_frequencies_of_the_discrete_gaussian(variance):
    weights = gaussian_weights(variance, 12 * math.isqrt(variance) + 12)
    assert fit(noise.gaussian(DRAWS, variance), weights) > UNLIKELY


@pytest.mark.parametrize("scale", [1, 3, 40])
def test_laplace_draws_have_the_frequencies_of_the_discrete_laplace(scale):
    assert fit(noise.laplace(DRAWS, scale), laplace_weights(scale, 40 * scale)) > UNLIKELY


def test_a_variance_or_scale_may_be_a_ratio():
    assert fit(_native.discrete_gaussian(DRAWS, 1, 3), gaussian_weights(1 / 3, 12)) > UNLIKELY
    assert fit(_native.discrete_laplace(DRAWS, 5, 2), laplace_weights(2.5, 100)) > UNLIKELY


def test_other_distributions_would_be_seen():
    """The sabotage: a rounded Gaussian, half the variance, and a Laplace in place of a Gaussian."""
    rng = np.random.default_rng(1)
    weights = gaussian_weights(2, 30)
    assert fit(np.rint(rng.normal(0, math.sqrt(2), DRAWS)).astype(np.int64), weights) < UNLIKELY
    assert fit(noise.gaussian(DRAWS, 1), weights) < UNLIKELY
    assert fit(noise.laplace(DRAWS, 1), weights) < UNLIKELY


@pytest.mark.parametrize("variance", [9, 250_000])
def test_gaussian_draws_agree_with_those_of_opendp(variance):
    theirs = opendp_noise("make_gaussian", "l2_distance", math.sqrt(variance), 20_000)
    assert two_samples(noise.gaussian(DRAWS, variance), theirs) > UNLIKELY
    assert two_samples(noise.gaussian(DRAWS, variance * 3 // 2), theirs) < UNLIKELY


@pytest.mark.parametrize("scale", [3, 500])
def test_laplace_draws_agree_with_those_of_opendp(scale):
    theirs = opendp_noise("make_laplace", "l1_distance", float(scale), 20_000)
    assert two_samples(noise.laplace(DRAWS, scale), theirs) > UNLIKELY
    assert two_samples(noise.laplace(DRAWS, scale * 3 // 2), theirs) < UNLIKELY


@pytest.mark.parametrize("variance", [4096**2, 2**42, noise.MOST_VARIANCE])
def test_large_variances_are_drawn_as_well(variance):
    drawn = noise.gaussian(DRAWS, variance)
    assert stats.kstest(drawn / math.sqrt(variance), "norm").pvalue > UNLIKELY
    assert stats.chisquare(np.bincount(drawn & 15, minlength=16)).pvalue > UNLIKELY


def test_draws_do_not_depend_on_those_before_them():
    drawn = noise.gaussian(DRAWS, 50)
    above = (drawn > 0).astype(int)
    pairs = np.bincount(2 * above[:-1] + above[1:], minlength=4).reshape(2, 2)
    assert stats.chi2_contingency(pairs).pvalue > UNLIKELY
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 6 / math.sqrt(DRAWS)


# Shares


@pytest.mark.parametrize(("n_parties", "colluders"), [(5, 1), (3, 0), (7, 3)])
def test_shares_of_those_who_do_not_collude_add_up_to_the_noise_asked_for(n_parties, colluders):
    variance, honest = 300, n_parties - colluders
    share = noise.share_of(variance, n_parties, colluders)
    assert share * honest >= variance > (share - 1) * honest
    total = sum(noise.gaussian(DRAWS, share) for _ in range(honest))
    assert fit(total, gaussian_weights(share * honest, 12 * math.isqrt(share * honest))) > UNLIKELY
    assert two_samples(total, noise.gaussian(DRAWS, share * honest)) > UNLIKELY


@pytest.mark.parametrize(("n_parties", "colluders"), [(1, 1), (3, 3), (3, 4), (3, -1), (0, 0)])
def test_shares_of_nobody_are_refused(n_parties, colluders):
    with pytest.raises(PrivacyError, match="tolerate fewer colluders or have more parties"):
        noise.share_of(100, n_parties, colluders)


@pytest.mark.parametrize("variance", [0.3, 0.5, 1.0])
def test_shares_are_as_near_to_one_gaussian_as_the_bound_says(variance):
    """Kairouz, Liu and Steinke (2021): the chances of a sum of n differ by a factor of e^t at most, t as below."""
    x = np.arange(-40, 41)
    one = gaussian_weights(variance, 40)
    for n in (2, 5):
        total = one
        for _ in range(n - 1):
            total = np.convolve(total, one)[40:-40]
        wanted = gaussian_weights(n * variance, 40)
        bound = 10 * sum(math.exp(-2 * math.pi**2 * variance * k / (k + 1)) for k in range(1, n))
        near = np.abs(x) <= 5 * math.sqrt(n * variance)
        factor = np.abs(np.log(total[near] / wanted[near])).max()
        assert 1e-6 < factor <= bound


# What cannot be asked for


@pytest.mark.parametrize("variance", [0, -4, 1.5, True, None, noise.MOST_VARIANCE + 1])
def test_no_variance_is_refused(variance):
    with pytest.raises(PrivacyError, match="variance of noise must be a whole number from 1"):
        noise.gaussian(3, variance)
    with pytest.raises(PrivacyError, match="variance of noise must be a whole number from 1"):
        noise.share_of(variance, 3, 1)


@pytest.mark.parametrize("scale", [0, -1, 2.0, noise.MOST_SCALE + 1])
def test_no_scale_is_refused(scale):
    with pytest.raises(PrivacyError, match="scale of noise must be a whole number from 1"):
        noise.laplace(3, scale)


def test_the_kernels_refuse_what_they_cannot_draw():
    for num, den in [(0, 1), (1, 0)]:
        with pytest.raises(ValueError, match="must be above 0"):
            _native.discrete_gaussian(1, num, den)
        with pytest.raises(ValueError, match="must be above 0"):
            _native.discrete_laplace(1, num, den)
    with pytest.raises(ValueError, match="too large"):
        _native.discrete_gaussian(1, 1 << 56)
    with pytest.raises(ValueError, match="below 2\\^48"):
        _native.discrete_laplace(1, 1 << 48)


def test_no_draws_are_an_empty_row():
    assert noise.gaussian(0, 5).shape == noise.laplace(0, 5).shape == (0,)
    assert noise.gaussian(1, 5).dtype == noise.laplace(1, 5).dtype == np.int64


def test_no_two_calls_draw_the_same():
    assert len({tuple(noise.gaussian(8, 2**40)) for _ in range(50)}) == 50


def test_the_samplers_have_no_floating_point_number():
    for name in ("mod", "coins", "gaussian", "laplace"):
        text = (NATIVE / f"{name}.rs").read_text("utf-8")
        code = re.sub(r"//.*", "", text)
        assert not re.search(r"f32|f64|\d\.\d|sqrt\(\)(?<!isqrt\(\))|\.ln\(|\.exp\(", code), name


# Noise that tests replace


def test_no_module_takes_the_samplers_for_itself():
    """So that `injected_noise` reaches every draw."""
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"from hedgerow\.privacy\.noise import", path.read_text("utf-8")), path


def test_right_noise_is_told_from_none_half_repeated_or_given_noise(monkeypatch):
    variance = 4096**2
    assert has_deviation(noise.gaussian(1000, variance), variance)
    for spoil in (leave_out, repeat, lambda patch: weaken(patch, 0.5), lambda patch: weaken(patch, 1.5)):
        with monkeypatch.context() as patch:
            spoil(patch)
            assert not has_deviation(noise.gaussian(1000, variance), variance)


def test_noise_of_several_parties_can_be_given_to_one_table(monkeypatch):
    with monkeypatch.context() as patch:
        noted = note(patch)
        shares = [[noise.gaussian(n, 100) for _ in range(3)] for n in (4, 7)]
    assert [variance for variance, _ in noted.drawn] == [100] * 6
    with monkeypatch.context() as patch:
        give(patch, noted.totals(3))
        for n, drawn in zip((4, 7), shares, strict=True):
            np.testing.assert_array_equal(noise.gaussian(n, 150), np.sum(drawn, axis=0))


def test_nothing_but_this_module_draws_noise():
    drawing = {path for path in (ROOT / "src").rglob("*.py") if "_native.discrete_" in path.read_text("utf-8")}
    assert drawing == {ROOT / "src" / "hedgerow" / "privacy" / "noise.py"}
