"""The rule of noised trees: what all its releases spend together, and what it makes of public numbers."""

from dataclasses import replace
from math import floor, sqrt

import noised_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.privacy.accountant import Release as Event
from hedgerow.privacy.accountant import mu_of_budget, spent
from hedgerow.trees.noised.rule import DISCRETE, GRADIENT_UNITS, HESSIAN_UNITS, Terms, opening, schedule

GOLDEN = (1 + sqrt(5)) / 2


def squares(planned):
    return sum(one.times * one.sensitivity**2 / (one.variance - DISCRETE) for one in planned)


@settings(max_examples=200)
@given(
    st.sampled_from(cases.METHODS),
    st.floats(1e-3, 5),
    st.integers(1, 300),
    st.integers(0, 300),
    st.floats(-100, 1e8),
    st.sampled_from([1, 3, 10]),
    st.booleans(),
    st.integers(1, 4),
    st.one_of(st.none(), st.integers(1, 200)),
)
def test_all_releases_spend_mu_and_never_more(method, mu, columns, numeric, n, scores, numbers, per_id, nonzero):
    kind = {"label_range": (0, 1)} if numbers else {"n_scores": scores}
    terms = Terms(method, mu, columns, min(numeric, columns), **kind, rows_per_id=per_id, max_nonzero=nonzero)
    plan = schedule(terms, n)
    total = squares(plan.planned)
    assert total <= mu**2 * (1 + 1e-12)
    assert total > mu**2 * 0.99
    assert plan.planned[: len(plan.opening.planned)] == opening(terms).planned


def test_more_columns_without_more_noise_would_be_seen():
    """The sabotage: a release whose sensitivity was forgotten to grow."""
    plan = schedule(Terms("additive", 1.0, 100, 100), 1e5)
    wider = [replace(one, sensitivity=10 * one.sensitivity) for one in plan.planned if one.what == "additive round"]
    assert squares(wider) > 1.5


@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_the_accountant_agrees(epsilon):
    plan = schedule(Terms("auto", mu_of_budget(epsilon, 1e-6), 23, 20), 22_500)
    events = [Event(one.what, "gaussian", one.sensitivity, sqrt(one.variance), one.times) for one in plan.planned]
    assert 0.998 * epsilon < spent(events, 1e-6).epsilon <= epsilon


def test_hessians_are_free_up_to_a_power_of_the_golden_ratio():
    """Over all probabilities, (gradient, scaled hessian) is nowhere longer than 1; a hundredth more would be."""

    def longest(scale):
        return max((1 - p) ** 2 + (scale * p * (1 - p)) ** 2 for p in (i / 100_000 for i in range(100_001)))

    assert floor(GOLDEN**2.5 * GRADIENT_UNITS) == HESSIAN_UNITS
    assert longest(HESSIAN_UNITS / GRADIENT_UNITS) <= 1
    assert longest(1.01 * HESSIAN_UNITS / GRADIENT_UNITS) > 1


def test_rows_and_columns_choose_rounds_bins_and_stages():
    few = schedule(Terms("auto", 0.03, 20, 20), 3000)
    assert (few.max_bin, few.additive.rounds, few.trees) == (8, 10, None)
    many = schedule(Terms("auto", 0.24, 10, 10), 112_500)
    assert (many.max_bin, many.additive.rounds, many.trees.rounds, many.rounds) == (32, 20, 100, 120)
    numbers = schedule(Terms("auto", 0.24, 8, 7, label_range=(0, 1)), 1e7)
    assert (numbers.additive.rounds, numbers.trees) == (160, None)


def test_declared_nonzero_columns_and_declared_categories_lower_the_noise():
    plain, declared = (schedule(Terms("additive", 1.0, 123, 0, max_nonzero=k), 3e4) for k in (None, 14))
    assert declared.additive.gradients.variance < 0.13 * plain.additive.gradients.variance
    assert schedule(Terms("additive", 1.0, 123, 0, max_nonzero=122), 3e4).planned == plain.planned
    assert plain.opening.cuts is None
    assert opening(Terms("additive", 1.0, 123, 1)).cuts is not None


def test_a_person_with_several_rows_needs_their_multiple_of_noise():
    one, four = (schedule(Terms("auto", 0.3, 10, 10, rows_per_id=k), 1e6) for k in (1, 4))
    for single, several in zip(one.planned, four.planned, strict=True):
        assert several.sensitivity == 4 * single.sensitivity
        assert several.variance == pytest.approx(16 * single.variance, rel=1e-4)
