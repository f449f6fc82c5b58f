"""Sums over trees that depend on no row, and gradients that no row can make longer than agreed on."""

from dataclasses import replace
from fractions import Fraction

import noised_twins
import numpy as np
import pytest
import strategies
import twins
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native

UNIT = 4096
FREE = int(3.3302 * UNIT)
"""Units of a logistic hessian that costs no privacy: sup of g^2 + s^2 h^2 is 1 for s up to phi^2.5."""
LOGISTIC = ("logistic", 0.0, 0.0)
LOSSES = [LOGISTIC, ("squared", 0.0, 1.0), ("squared", -3.5, 250.0)]
losses = st.sampled_from(LOSSES)
units = st.sampled_from([(UNIT, 0), (UNIT, FREE), (1, 1), (2**30, 2**30)])
radii = st.sampled_from([1, 614, 2458, UNIT, 2**30])


def norms(pairs):
    return [g * g + h * h for g, h in pairs.tolist()]


def clipped(loss, units, radius, scores, labels, threads=1):
    scores, labels = (np.ascontiguousarray(x, np.float32) for x in (scores, labels))
    return _native.clipped_pairs(loss, units, radius, scores, labels, threads)


# Clipping


@settings(max_examples=60)
@given(losses, units, radii, st.sampled_from([0, 1, 700, 40_000]), strategies.generators, strategies.threads)
def test_pairs_are_those_of_the_specification(loss, units, radius, n, rng, threads):
    scores, labels = rng.normal(0, 4, n).astype(np.float32), rng.integers(0, 2, n).astype(np.float32)
    some = slice(0, 700)
    found = clipped(loss, units, radius, scores, labels, threads)
    np.testing.assert_array_equal(
        found[some], noised_twins.clipped_pairs(loss, units, radius, scores[some], labels[some])
    )


@given(losses, units, radii, st.lists(st.tuples(strategies.floats, strategies.floats), max_size=50))
def test_no_row_whatever_it_holds_is_longer_than_the_radius(loss, units, radius, rows):
    scores, labels = np.array(rows, np.float32).reshape(-1, 2).T
    assert all(norm <= radius**2 for norm in norms(clipped(loss, units, radius, scores, labels)))


@pytest.mark.parametrize("radius", [614, 2458, UNIT])
def test_over_all_probabilities_pairs_stay_within_the_radius_and_keep_their_direction(radius):
    """The grid leaves nothing out: from one score to the next, each integer moves by one unit at most."""
    scores = np.linspace(-14, 14, 200_001).astype(np.float32)
    for label in (0, 1):
        labels = np.full(len(scores), label, np.float32)
        pairs, whole = (clipped(LOGISTIC, (UNIT, FREE), r, scores, labels) for r in (radius, 2**30))
        assert np.abs(np.diff(whole, axis=0)).max() <= 1
        assert max(norms(pairs)) <= radius**2
        beyond = np.array(norms(whole)) > radius**2
        assert (pairs[~beyond] == whole[~beyond]).all()
        wanted = whole[beyond] * (radius / np.sqrt(np.array(norms(whole))[beyond]))[:, None]
        assert (np.abs(pairs[beyond]) <= np.abs(whole[beyond])).all()
        assert np.abs(pairs[beyond] - wanted).max(initial=0) < 2


def test_a_free_hessian_is_hardly_ever_clipped_at_a_whole_unit():
    """What clipping takes at R = 1 is what rounding added."""
    scores = np.linspace(-14, 14, 100_001).astype(np.float32)
    pairs, whole = (clipped(LOGISTIC, (UNIT, FREE), r, scores, np.zeros_like(scores)) for r in (UNIT, 2**30))
    assert np.abs(pairs - whole).max() <= 2


def test_a_hessian_that_is_free_at_one_is_not_at_less():
    """An easy mistake: where gradients are held within R < 1 and hessians left alone, pairs are longer than R."""
    radius, scores = int(0.6 * UNIT), np.linspace(-14, 14, 100_001).astype(np.float32)
    whole = clipped(LOGISTIC, (UNIT, FREE), 2**30, scores, np.zeros_like(scores))
    apart = np.stack([np.clip(whole[:, 0], -radius, radius), whole[:, 1]], axis=1)
    assert max(norms(apart)) > 1.9 * radius**2
    assert max(norms(clipped(LOGISTIC, (UNIT, FREE), radius, scores, np.zeros_like(scores)))) <= radius**2


def test_without_hessians_gradients_alone_are_clipped():
    scores = np.linspace(-9, 9, 4001).astype(np.float32)
    pairs = clipped(LOGISTIC, (UNIT, 0), 614, scores, np.ones_like(scores))
    whole = clipped(LOGISTIC, (UNIT, 0), UNIT, scores, np.ones_like(scores))
    assert (pairs[:, 1] == 0).all()
    np.testing.assert_array_equal(pairs[:, 0], np.clip(whole[:, 0], -614, 614))


def test_labels_outside_the_declared_range_count_as_its_ends():
    scores, loss = np.zeros(4), ("squared", -2.0, 6.0)
    inside, outside = np.array([-2, 6, 0, 2]), np.array([-1e30, np.inf, 0, 2])
    assert clipped(loss, (UNIT, 1), 2**30, scores, outside).tolist() == [[1024, 1], [-3072, 1], [0, 1], [-1024, 1]]
    assert (clipped(loss, (UNIT, 1), UNIT, scores, inside) == clipped(loss, (UNIT, 1), UNIT, scores, outside)).all()


@given(st.integers(-(2**30), 2**30), st.integers(0, 2**30), st.integers(1, 2**30))
def test_the_rule_of_clipping_never_exceeds_the_radius(g, h, radius):
    """For every pair of integers: |x| radius / ceil(length), summed in squares, is at most the radius squared."""
    found = noised_twins.clipped((g, h), radius)
    assert sum(Fraction(x) ** 2 for x in found) <= radius**2


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": ("huber", 1.0, 0.0)},
        {"loss": ("squared", 1.0, 1.0)},
        {"loss": ("squared", 0.0, float("inf"))},
        {"loss": ("squared", float("nan"), 1.0)},
        {"units": (0, 1)},
        {"units": (1, 2**30 + 1)},
        {"radius": 0},
        {"radius": 2**30 + 1},
        {"labels": np.zeros(2)},
    ],
)
def test_clipping_refuses_what_does_not_fit_together(wrong):
    given = {"loss": LOGISTIC, "units": (UNIT, UNIT), "radius": UNIT, "scores": np.zeros(3), "labels": np.zeros(3)}
    clipped(**given)
    with pytest.raises(ValueError, match=r"loss|range|units|label"):
        clipped(**given | wrong)


# Sums and scores over bins


@settings(max_examples=60)
@given(
    strategies.binned(st.one_of(strategies.few_rows, st.sampled_from([2049, 6000]))),
    strategies.generators,
    st.sampled_from([1, UNIT, 2**21, 2**30]),
    strategies.threads,
)
def test_sums_of_all_bins_are_those_of_the_specification(table, rng, most, threads):
    n = len(table.bins)
    pairs = np.stack([rng.integers(-most, most + 1, n), rng.integers(0, most + 1, n)], axis=1).astype(np.int32)
    found = _native.bin_sums(table.matrix, pairs, threads)
    np.testing.assert_array_equal(found, noised_twins.bin_sums(table.bins, table.matrix.offsets, pairs))


def test_sums_of_many_rows_of_the_greatest_size_do_not_overflow():
    n = 530_000
    matrix = twins.laid_out(np.zeros((n, 2), np.uint8), [2, 3], [-1, 0])
    for most in (UNIT, 2**30):
        for sign in (-1, 1):
            pairs = np.full((n, 2), [sign * most, most], np.int32)
            assert _native.bin_sums(matrix, pairs, 1)[[0, 2]].tolist() == 2 * [[sign * most * n, most * n]]


def test_sums_of_all_bins_are_a_root_histogram_without_its_total():
    rng = np.random.default_rng(5)
    bins = rng.integers(0, 20, (500, 3)).astype(np.uint8)
    matrix = twins.laid_out(bins, [20, 20, 20], [-1, 3, -1])
    pairs = np.stack([rng.integers(-UNIT, UNIT, 500), rng.integers(0, UNIT, 500)], axis=1).astype(np.int32)
    rows = strategies.one_node(500)
    # Times 2^18 they are wide pairs, of which 13 bits are the pairs again.
    root = _native.histograms(matrix, np.ascontiguousarray(pairs[None] << 18), 13, *rows.known, 1)
    np.testing.assert_array_equal(_native.bin_sums(matrix, pairs, 1), root[0, :-1])


@settings(max_examples=60)
@given(
    strategies.binned(st.one_of(strategies.few_rows, st.sampled_from([6000, 20_000]))),
    strategies.generators,
    st.sampled_from([1e-9, 0.3, 1024.0]),
    strategies.threads,
)
def test_values_of_bins_are_added_as_specified(table, rng, size, threads):
    values = rng.uniform(-size, size, table.matrix.offsets[-1])
    scores = rng.normal(size=len(table.bins)).astype(np.float32)
    expected = noised_twins.add_bin_values(table.bins, table.matrix.offsets, values, scores)
    _native.add_bin_values(table.matrix, values, scores, threads)
    np.testing.assert_array_equal(scores, expected)


def test_what_bins_add_does_not_depend_on_how_a_table_is_laid_out():
    rng = np.random.default_rng(2)
    bins, values = rng.integers(0, 7, (3000, 12)).astype(np.uint8), rng.normal(size=84)
    layouts = [np.full(12, -1), np.zeros(12, int), rng.integers(-1, 7, 12)]
    found = []
    for defaults in layouts:
        scores = np.full(3000, 0.25, np.float32)
        _native.add_bin_values(twins.laid_out(bins, [7] * 12, defaults), values, scores, 2)
        found.append(scores)
    assert all((scores == found[0]).all() for scores in found)


def test_bins_refuse_what_does_not_fit_the_table():
    matrix = twins.laid_out(np.zeros((3, 1), np.uint8), [4], [-1])
    with pytest.raises(ValueError, match="do not fit"):
        _native.bin_sums(matrix, np.zeros((4, 2), np.int32), 1)
    with pytest.raises(ValueError, match="below 0"):
        _native.bin_sums(matrix, np.full((3, 2), -1, np.int32), 1)
    for n_values, n_scores in [(5, 3), (4, 2)]:
        with pytest.raises(ValueError, match="a value a bin"):
            _native.add_bin_values(matrix, np.zeros(n_values), np.zeros(n_scores, np.float32), 1)
    for value in (1025, -1e300, np.nan, np.inf):
        with pytest.raises(ValueError, match="beyond 1024"):
            _native.add_bin_values(matrix, np.full(4, value, np.float64), np.zeros(3, np.float32), 1)
    damaged = replace(matrix, dense=np.full((3, 1), 4, np.uint8))
    with pytest.raises(ValueError, match="do not belong together"):
        _native.add_bin_values(damaged, np.zeros(4), np.zeros(3, np.float32), 1)


# Trees that are given


def words(members):
    total = sum(1 << int(b) for b in members)
    return [total >> 64 * i & (1 << 64) - 1 for i in range(4)]


def drawn_tree(rng, n_columns, most_nodes):
    """A tree of any shape: cuts in the order of their nodes, each with the next two numbers as children."""
    columns, children, sets = [], [], []
    n = 1
    while len(columns) < n:
        cut = n + 2 <= most_nodes and rng.random() < 0.7
        columns.append(rng.integers(n_columns) if cut else -1)
        children.append(n if cut else 0)
        sets.append(frozenset(np.flatnonzero(rng.random(256) < rng.random()).tolist()))
        n += 2 * cut
    arrays = np.array(columns, np.int32), np.array(children, np.int32), np.array([words(s) for s in sets], np.uint64)
    return arrays, sets


@settings(max_examples=60)
@given(
    strategies.binned(st.one_of(strategies.few_rows, st.sampled_from([25_000]))),
    strategies.generators,
    st.sampled_from([1, 3, 7, 31]),
    strategies.threads,
)
def test_rows_come_to_the_leaves_of_the_specification_and_are_summed_there(table, rng, most_nodes, threads):
    n = len(table.bins)
    (columns, children, left_bins), sets = drawn_tree(rng, table.bins.shape[1], most_nodes)
    found = _native.leaf_numbers(table.matrix, columns, children, left_bins, threads)
    some = slice(0, 500)
    expected = noised_twins.leaf_numbers(table.bins[some].tolist(), columns, children, sets)
    np.testing.assert_array_equal(found[some], expected)
    assert (columns[found] < 0).all()
    pairs = rng.integers(-(2**30), 2**30, (n, 2)).astype(np.int32)
    sums = _native.sums_by_number(pairs, found, len(columns), threads)
    np.testing.assert_array_equal(sums, noised_twins.sums_by_number(pairs, found, len(columns)))


def test_sums_of_many_rows_do_not_depend_on_threads():
    rng = np.random.default_rng(3)
    pairs, numbers = rng.integers(-9, 9, (300_000, 2)).astype(np.int32), rng.integers(0, 16, 300_000).astype(np.int32)
    found = [_native.sums_by_number(pairs, numbers, 16, threads) for threads in (1, 4)]
    np.testing.assert_array_equal(found[0], noised_twins.sums_by_number(pairs, numbers, 16))
    np.testing.assert_array_equal(found[0], found[1])


WRONG_TREES = {
    "no node": ([], []),
    "a column that is not there": ([2, -1, -1], [1, 0, 0]),
    "a child that is not there": ([0, -1], [1, 0]),
    "a child before its parent": ([0, -1, -1], [0, 0, 0]),
    "a child of two": ([0, 0, -1, -1, -1], [1, 1, 0, 0, 0]),
    "a node left out": ([0, -1, -1, -1], [2, 0, 0, 0]),
    "a child below zero": ([0, -1, -1], [-1, 0, 0]),
    "children of other lengths": ([0, -1, -1], [1, 0]),
}


@pytest.mark.parametrize("wrong", WRONG_TREES)
def test_trees_that_are_none_are_refused(wrong):
    matrix = twins.laid_out(np.zeros((3, 2), np.uint8), [4, 4], [-1, -1])
    columns, children = (np.array(part, np.int32) for part in WRONG_TREES[wrong])
    with pytest.raises(ValueError, match=r"arrays of the tree|a node of the tree"):
        _native.leaf_numbers(matrix, columns, children, np.zeros((len(columns), 4), np.uint64), 1)


def test_numbers_that_name_no_sum_are_refused():
    for number in (-1, 2):
        with pytest.raises(ValueError, match="not below the number of sums"):
            _native.sums_by_number(np.zeros((1, 2), np.int32), np.array([number], np.int32), 2, 1)
    with pytest.raises(ValueError, match="one pair and number"):
        _native.sums_by_number(np.zeros((1, 2), np.int32), np.zeros(2, np.int32), 2, 1)
