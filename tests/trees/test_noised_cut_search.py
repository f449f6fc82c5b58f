"""Cut points from noised counts: near quantiles as far as the noise lets them be known."""

from itertools import pairwise

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow.trees.noised.cut_search import NoisedSearch
from hedgerow.trees.noised.rule import ROW_UNITS, Terms, schedule
from hedgerow.trees.noised.sums import OwnRows, OwnSums


def cuts_of(values, mu=1e3, rng=None, **other):
    """Cut points of a table, with the planned noise if there is a generator."""
    values = np.ascontiguousarray(values, np.float32)
    terms = Terms("auto", mu, values.shape[1], values.shape[1], **other)
    plan = schedule(terms, float(len(values)))
    own = OwnSums(OwnRows(values, float("nan"), np.zeros(len(values), np.float32)), terms)
    search, levels = NoisedSearch(plan, np.arange(values.shape[1])), 0
    while len((asked := search.ask()).column):
        counts = own.counts(asked)
        if rng is not None:
            counts = counts + np.rint(rng.normal(0, np.sqrt(plan.opening.cuts.variance), len(counts))).astype(np.int64)
        search.tell(asked, counts)
        levels += 1
    assert levels <= 3
    cuts, starts = search.cuts(values.shape[1])
    return [cuts[a:b] for a, b in pairwise(starts.tolist())]


@pytest.mark.parametrize("spread", [1e-6, 1, 1e6])
def test_bins_have_about_equal_shares_whatever_the_unit(spread):
    values = np.random.default_rng(0).exponential(spread, 100_000)
    (cuts,) = cuts_of(values[:, None])
    shares = np.bincount(np.searchsorted(cuts, values, side="right")) / len(values)
    assert 20 <= len(shares) <= 32
    assert shares.max() < 0.09


def test_a_value_that_most_rows_share_takes_one_bin_and_the_others_are_told_apart():
    values = np.where(
        np.random.default_rng(0).random(100_000) < 0.8, 0, np.random.default_rng(1).normal(50, 9, 100_000)
    )
    (cuts,) = cuts_of(values[:, None])
    assert len(cuts) > 15
    assert 0 < cuts[0] < 25


def test_two_values_are_one_cut_and_one_is_none():
    ones = np.random.default_rng(0).integers(0, 2, 10_000)
    first, second = cuts_of(np.column_stack([ones, np.full(10_000, 7.0)]))
    assert len(first) == 1
    assert 0 < first[0] <= 1
    assert len(second) == 0


def test_noise_that_is_mistaken_for_values_never_makes_more_bins_than_planned():
    for seed in range(10):
        assert max(map(len, cuts_of(np.zeros((3000, 5)), 0.03, np.random.default_rng(seed)))) <= 7


def test_cuts_survive_the_noise_of_a_usual_budget():
    values = np.random.default_rng(3).normal(0, 1, (50_000, 1))
    (exact,), (noised,) = cuts_of(values), cuts_of(values, 0.2367, np.random.default_rng(0))
    shares = np.bincount(np.searchsorted(noised, values[:, 0], side="right")) / len(values)
    assert shares.max() < 0.15
    assert abs(len(exact) - len(noised)) <= 12


def test_where_nonzero_columns_are_declared_zero_has_a_bin_of_its_own():
    rng = np.random.default_rng(0)
    values = np.zeros((20_000, 6))
    values[np.arange(20_000), rng.integers(0, 6, 20_000)] = rng.choice([-3, 2, 5], 20_000)
    for cuts in cuts_of(values, max_nonzero=1):
        edges = np.searchsorted(cuts, [-3, 0, 2], side="right")
        assert len(set(edges.tolist())) == 3


@given(strategies.generators, st.integers(1, 400), st.floats(0.01, 10))
def test_cuts_are_in_order_and_never_more_than_bins(rng, n, mu):
    values = rng.normal(0, 10.0 ** rng.integers(-3, 4), (n, 2))
    for cuts in cuts_of(values, mu, rng):
        assert (np.diff(cuts) > 0).all() or len(cuts) < 2
        assert len(cuts) <= 3 * 8


def test_every_prefix_is_asked_for_once():
    values = np.random.default_rng(0).normal(0, 1, (5000, 2)).astype(np.float32)
    terms = Terms("auto", 1.0, 2, 2)
    search = NoisedSearch(schedule(terms, 5000.0), np.arange(2))
    own = OwnSums(OwnRows(values, float("nan"), np.zeros(5000, np.float32)), terms)
    while len((asked := search.ask()).column):
        places = set(zip(asked.column.tolist(), asked.prefix.tolist(), strict=True))
        assert len(places) == len(asked.column)
        counts = own.counts(asked)  # which refuses repeats
        assert counts.sum() <= 2 * 5000 * ROW_UNITS
        search.tell(asked, counts)


def test_no_cut_is_at_what_no_cell_holds_however_many_rows_noise_finds_there():
    """Prefixes of infinity and of what is no number are counted too, and have noise alone."""
    search = NoisedSearch(schedule(Terms("auto", 0.05, 1, 1), 500.0), np.arange(1))
    greatest = int(_native.sorted_keys([np.array([np.finfo(np.float32).max], np.float32)], 1)[0][0])
    while len((asked := search.ask()).column):
        ends = (asked.prefix.astype(np.int64) + 1) << asked.shift[0]
        search.tell(asked, np.where(ends > greatest, 10**7, 0))
    cuts, starts = search.cuts(1)
    assert starts.tolist() == [0, len(cuts)]
    assert (np.abs(cuts) < np.finfo(np.float32).max).all()
