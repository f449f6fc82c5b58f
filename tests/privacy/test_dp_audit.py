"""A small audit of differential privacy; the whole one is part of `make campaign`."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from campaign import dp_audit
from campaign.dp_audit import CASES, FORGOTTEN, NoiseOnACopy, additive, audited, greedy, half, opened_bins
from campaign.dp_bounds import least_mu

from hedgerow.privacy import noise

SOUND = next(case for case in CASES if (case.name, case.epsilon) == ("greedy tree", 1.0))


def test_a_sound_engine_stands():
    assert not audited(SOUND, 1000).refuted


def test_noise_on_a_copy_is_found_out_by_few_models():
    case = replace(SOUND, train=partial(additive, kind=NoiseOnACopy), sound=False, method="additive")
    assert audited(case, 200).refuted


def test_releases_that_nobody_counted_are_found_out():
    case = replace(SOUND, epsilon=4.0, train=partial(greedy, n_trees=FORGOTTEN), sound=False)
    assert audited(case, 300).refuted


def test_a_tenth_of_the_noise_is_found_out():
    case = replace(SOUND, train=partial(greedy, draw=lambda n, v: noise.gaussian(n, v // 100)), sound=False)
    assert audited(case, 400).refuted


def test_half_the_noise_in_a_thousand_opened_sums_is_seen_at_once():
    size, chance = opened_bins(noise.gaussian)
    assert 0.9 < size < 1.1
    assert chance > 1e-4
    size, chance = opened_bins(half)
    assert 0.4 < size < 0.6
    assert chance < 1e-9


def test_every_case_says_what_is_promised_of_it():
    assert {case.epsilon for case in CASES if case.sound} == {0.5, 1.0, 2.0}
    assert {case.epsilon for case in CASES if not case.sound} == {1.0}


@pytest.mark.parametrize(("mu", "n"), [(0.24, 15_000), (1.0, 2_000), (2.0, 2_000)])
def test_the_bound_is_below_mu_and_close_to_it(mu, n):
    rng = np.random.default_rng(0)
    found = [least_mu(rng.normal(mu, 1, n), rng.normal(0, 1, n), 0.05).least_mu for _ in range(40)]
    assert sum(bound > mu for bound in found) <= 3
    assert np.mean(found) > 0.7 * mu - 5 / np.sqrt(n)


def test_a_row_is_as_long_as_it_may_be_in_the_audited_tables():
    """Else a broken engine could hide behind rows that reach nowhere."""
    own = dp_audit.tables(dp_audit.Terms("greedy", 0.2, 1, 0))[0]
    assert own.own.labels.mean() == pytest.approx(0.5, abs=0.01)
    assert dp_audit.RADIUS == 2048
