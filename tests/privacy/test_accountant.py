import builtins
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from hedgerow.errors import MissingExtra, ParameterError, PrivacyError
from hedgerow.privacy import accountant
from hedgerow.privacy.accountant import Release, Spent, calibrated, mu_of_budget, mu_of_releases, shared, spent, whole
from hedgerow.privacy.gaussian import epsilon_of, mu_of

UNITS = 2**24
PRINTED = 5e-6
"""Known answers have five decimals."""


def gaussian(sigma, times=1):
    return Release("sums", "gaussian", UNITS, sigma * UNITS, times)


def laplace(b, times=1):
    return Release("sums", "laplace", UNITS, b * UNITS, times)


KNOWN = [
    ([gaussian(1)], 1e-6, 4.88655, 5.22154),
    ([gaussian(1)], 1e-5, 4.37718, 4.72851),
    ([gaussian(0.5)], 1e-6, 10.99715, 11.68863),
    ([gaussian(10)], 1e-6, 0.39686, 0.42995),
    ([gaussian(2)], 1e-5, 1.99309, 2.16572),
    ([gaussian(36.30469)], 1e-6, 0.1, 0.11129),
    ([gaussian(8.05762)], 1e-6, 0.5, 0.54101),
    ([gaussian(4.224679)], 1e-6, 1, 1.07806),
    ([gaussian(2.230476)], 1e-6, 2, 2.14907),
    ([gaussian(0.980049)], 1e-6, 5, 5.34204),
    ([gaussian(0.541087)], 1e-6, 10, 10.63605),
    ([gaussian(18.89334, 20)], 1e-6, 1, 1.07806),
    ([gaussian(5, 10)], 1e-6, 2.92160, 3.13109),
    ([gaussian(50, 50)], 1e-6, 0.57506, 0.62170),
    ([gaussian(5), gaussian(3), gaussian(10)], 1e-6, 1.77232, 1.90473),
    ([laplace(1)], 1e-6, 1, 1.00508),
    ([laplace(10, 100)], 1e-6, 4.69267, 4.98417),
    ([laplace(5, 10)], 1e-6, 1.99898, 1.99898),
    ([laplace(10), gaussian(5)], 1e-6, 0.90404, 0.97098),
    ([gaussian(32.7242, 3), gaussian(30.6490), gaussian(19.5810, 20)], 1e-6, 1, 1.07806),
]


@pytest.mark.parametrize(("releases", "delta", "pld", "rdp"), KNOWN)
def test_known_answers_are_met_and_never_undercut(releases, delta, pld, rdp):
    found = spent(releases, delta)
    assert pld - PRINTED <= found.epsilon <= pld + 1e-3
    assert rdp - PRINTED <= found.rdp_epsilon <= rdp + 1e-3


@pytest.mark.parametrize("mu", [0.003, 0.03, 0.2, 1, 2])
def test_gaussians_never_cost_less_than_the_closed_form_says(mu):
    exact = epsilon_of(mu, 1e-6)
    found = spent([gaussian(math.sqrt(7) / mu, 7)], 1e-6).epsilon
    assert exact - 1e-9 <= found <= exact + 2e-4


def test_hundreds_of_small_queries_cost_what_convolving_their_losses_gives():
    """The campaign has all 36,900 queries of FedTree's "epsilon 1" on a9a, which take half a minute."""
    times, b, step = 900, 2, 1e-3
    density = np.exp(-np.abs(xs := np.arange(-60, 60, step / 10) + step / 20) / b)
    losses = np.rint((np.abs(xs - 1) - np.abs(xs)) / b / step).astype(int)  # of one query, on a grid
    size = 1 << math.ceil(math.log2(2 * times / b / step))
    mass = np.bincount(losses % size, density / density.sum(), size)
    total = np.fft.irfft(np.fft.rfft(mass) ** times, size)
    epsilons = np.arange(size) * step
    total[epsilons > times / b] = 0  # losses below 0
    found = spent([laplace(b, times)], 1e-6)
    above = epsilons > found.epsilon
    assert found.epsilon < found.rdp_epsilon
    assert (total * -np.expm1(found.epsilon - epsilons))[above].sum() == pytest.approx(1e-6, rel=0.01)


def test_known_answers_are_remembered(monkeypatch):
    first = spent([gaussian(3, 4)], 1e-6)
    monkeypatch.setattr(accountant, "_library", lambda: None)  # nothing is composed again
    monkeypatch.setattr(accountant, "_version", lambda: first.version)
    assert spent([gaussian(3), gaussian(3, 3)], 1e-6).epsilon == first.epsilon


def test_a_release_without_noise_has_no_epsilon():
    with pytest.raises(PrivacyError, match="The release 'row counts' has no noise, so no epsilon can be told"):
        spent([gaussian(5), Release("row counts", "none", 1, 0)], 1e-6)


@pytest.mark.parametrize("mechanism", ["sampled gaussian", "poisson gaussian", "amplified", "Shuffled laplace"])
def test_sampling_by_a_public_hash_claims_no_amplification(mechanism):
    with pytest.raises(PrivacyError, match=r"counts on sampling .* nothing is gained by it"):
        spent([replace(gaussian(5), mechanism=mechanism)], 1e-6)


@pytest.mark.parametrize("mechanism", ["uniform", "Laplace", ""])
def test_noise_that_is_not_known_is_refused(mechanism):
    with pytest.raises(PrivacyError, match=f"does not know the noise of the release 'sums', '{mechanism}'"):
        spent([replace(gaussian(5), mechanism=mechanism)], 1e-6)


WRONG = [{"times": 0}, {"times": 1.5}, {"times": True}, {"sensitivity": 0}, {"sensitivity": -1}, {"scale": math.nan}]


@pytest.mark.parametrize("wrong", [*WRONG, {"sensitivity": math.inf}])
def test_a_release_that_does_not_make_sense_is_refused(wrong):
    with pytest.raises(PrivacyError, match="does not say how often, or how far one row can move it"):
        spent([replace(gaussian(5), **wrong)], 1e-6)


def test_noise_of_a_few_units_is_refused():
    with pytest.raises(PrivacyError, match=r"is 7\.9 units, too coarse .* at least 8"):
        spent([Release("counts", "gaussian", 1, 7.9)], 1e-6)


def test_noise_in_shares_has_the_variance_of_the_honest_parties():
    assert shared("counts", 16.0, 100, 4, 3) == Release("counts", "gaussian", 16.0, 20.0, 3)


@pytest.mark.parametrize(("share", "honest"), [(63, 9), (0, 1), (1000, 0)])
def test_shares_that_do_not_add_up_to_one_gaussian_are_refused(share, honest):
    with pytest.raises(PrivacyError, match="Each party's share of the noise of the release 'counts' is"):
        shared("counts", 16, share, honest)


def test_two_shares_of_eight_units_are_one_gaussian():
    xs = np.arange(-200, 201)
    one = np.exp(-(xs**2) / (2 * 64.0))
    both = np.convolve(one / one.sum(), one / one.sum(), "same")
    wanted = np.exp(-(xs**2) / (2 * 128.0))
    near = np.abs(xs) < 60
    np.testing.assert_allclose(both[near], (wanted / wanted.sum())[near], rtol=1e-12)


@pytest.mark.parametrize("shift", [2, 4, 8, 16])
def test_discrete_gaussians_never_cost_more_than_is_accounted(shift):
    """The sabotage: as if the noise were continuous, four units of noise a row cost more than is said."""
    from dp_accounting.pld import privacy_loss_distribution as library

    sigma = 4.224679 * shift
    exact = library.from_discrete_gaussian_mechanism(sigma, shift, value_discretization_interval=1e-5)
    continuous = library.from_gaussian_mechanism(sigma / shift, value_discretization_interval=1e-5)
    found = spent([Release("counts", "gaussian", shift, sigma)], 1e-6).epsilon
    assert found >= exact.get_epsilon_for_delta(1e-6)
    assert exact.get_epsilon_for_delta(1e-6) > continuous.get_epsilon_for_delta(1e-6)


def test_rounding_a_continuous_gaussian_at_random_makes_the_discrete_one():
    """What the accountant counts on, by its probabilities: noise of variance v - 4, rounded with variance 4."""
    variance, moved = 81.0, 5
    ys, xs = np.arange(-80, 90), np.arange(-80, 90, 0.01)
    rounding = np.exp(-((ys[:, None] - xs) ** 2) / (2 * accountant.ROUNDED_VARIANCE))
    rounding /= rounding.sum(axis=0)
    before = np.exp(-((xs - moved) ** 2) / (2 * (variance - accountant.ROUNDED_VARIANCE)))
    made = rounding @ before
    wanted = np.exp(-((ys - moved) ** 2) / (2 * variance))
    np.testing.assert_allclose(made / made.sum(), wanted / wanted.sum(), atol=1e-15, rtol=1e-9)


@pytest.mark.parametrize("scale", [8, 20, 55])
@pytest.mark.parametrize("shift", [1, 4, 16])
def test_discrete_laplace_noise_is_never_easier_to_tell_apart_than_is_accounted(scale, shift):
    """At every epsilon; the sabotage: with the sensitivity as it is, it sometimes is."""
    xs = np.arange(-60 * scale, 60 * scale)
    mass = np.exp(-np.abs(xs) / scale) * math.tanh(1 / (2 * scale))
    moved = np.exp(-np.abs(xs - shift) / scale) * math.tanh(1 / (2 * scale))

    def continuous(epsilon, by):
        return max(0.0, 1 - math.exp((epsilon - by / scale) / 2))

    worse = []
    for epsilon in np.linspace(0, shift / scale, 50):
        delta = np.maximum(mass - math.exp(epsilon) * moved, 0).sum()
        assert delta <= continuous(epsilon, shift + accountant.ROUNDED_SHIFT) + 1e-12
        worse.append(delta > continuous(epsilon, shift) + 1e-12)
    assert any(worse)


@pytest.mark.parametrize("epsilon", [0.05, 1, 5])
def test_the_noise_that_is_calibrated_costs_at_most_the_epsilon_and_nearly_all_of_it(epsilon):
    def schedule(mu):
        shares = {"cut points": (3, 0.05), "counts": (1, 0.019), "additive round": (20, 0.931)}
        return [
            Release(what, "gaussian", 200.0, math.sqrt(math.ceil((200.0 / mu) ** 2 * n / share)), n)
            for what, (n, share) in shares.items()
        ]

    mu = calibrated(schedule, epsilon, 1e-6)
    found = spent(schedule(mu), 1e-6).epsilon
    assert found <= epsilon
    assert found > epsilon * 0.995
    assert mu <= mu_of(epsilon, 1e-6)
    assert (mu * 2**30).is_integer()


@pytest.mark.parametrize("epsilon", [0.02, 1, 5])
def test_gaussians_that_are_planned_one_after_the_other_cost_at_most_the_budget(epsilon):
    """Whatever shares of the square of mu they take, with variances in whole units and four more."""
    mu, rng = mu_of_budget(epsilon, 1e-6), np.random.default_rng(3)
    assert mu == pytest.approx(mu_of(epsilon, 1e-6), rel=1e-6)
    for shares in rng.dirichlet(np.ones(5), 3):
        releases = [
            Release("sums", "gaussian", 16, math.sqrt(math.ceil(256 * n / (share * mu**2)) + 4), n)
            for share, n in zip(shares, (1, 2, 20, 100, 3), strict=True)
        ]
        assert mu_of_releases(releases) <= mu * (1 + 1e-12)
        assert spent(releases, 1e-6).epsilon <= epsilon
    assert spent([whole(mu)], 1e-6).epsilon <= epsilon


def test_one_event_for_all_gaussians_is_what_the_library_composes_of_single_ones():
    import dp_accounting as dp

    for theirs, name in ((dp.pld.PLDAccountant(), "epsilon"), (dp.rdp.RdpAccountant(), "rdp_epsilon")):
        events = [dp.GaussianDpEvent(7), dp.SelfComposedDpEvent(dp.GaussianDpEvent(20), 30), dp.LaplaceDpEvent(6)]
        theirs.compose(dp.ComposedDpEvent(events))
        found = getattr(spent([gaussian(7), gaussian(20, 30), laplace(6)], 1e-6), name)
        assert found == pytest.approx(theirs.get_epsilon(1e-6), abs=1e-5)


def test_a_schedule_that_cannot_be_calibrated_is_refused():
    with pytest.raises(PrivacyError, match="No noise was found"):
        calibrated(lambda mu: [gaussian(3)], 1, 1e-6)


@pytest.mark.parametrize("delta", [0, 1, 1e-16, math.nan])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(ParameterError, match="delta must be a number"):
        spent([gaussian(5)], delta)


def test_what_was_spent_says_whose_presence_is_hidden_and_by_which_accountant():
    found = spent([gaussian(5)], 1e-6, unit="person")
    assert isinstance(found, Spent)
    assert (found.unit, found.neighbours) == ("person", "add or remove one")
    assert found.accountant == "PLD accountant dp-accounting"
    assert found.version[0].isdigit()
    assert found.releases == (gaussian(5),)


def test_nothing_released_costs_nothing():
    assert spent([], 1e-6).epsilon == 0


def test_without_the_accountants_library_one_sentence_says_what_to_install(monkeypatch):
    normal = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("dp_accounting"):
            raise ImportError(name)
        return normal(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "dp_accounting", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'hedgerow\[dp\]'"):
        spent([gaussian(5.5)], 1e-6)
