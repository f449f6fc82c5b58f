"""Sides of rows by their numbers: put there in one party's order, taken in another's."""

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native


def rows_at(rows, tree, begin, end, numbers):
    """The table's rows that lie at a node, in order."""
    own = rows.orders[tree, begin:end]
    return own if numbers is None else numbers[own]


def put(rows, numbers, left, by_row):
    """The naive twin."""
    rest = list(left)
    for tree, begin, end in rows.places:
        for row in rows_at(rows, tree, begin, end, numbers):
            by_row[tree, row] = rest.pop(0)


def take(rows, numbers, by_row):
    """The naive twin."""
    places = (
        (tree, row) for tree, begin, end in rows.places for row in rows_at(rows, tree, begin, end, numbers).tolist()
    )
    return np.array([by_row[place] for place in places], np.bool_)


def assert_as_specified(rng, n_trees, n_table, n_own, linked, threads):
    rows = strategies.placed(rng, n_trees, n_own if linked else n_table, int(rng.integers(0, 5)))
    numbers = rng.permutation(n_table)[:n_own].astype(np.uint32) if linked else None
    told = np.empty(0, np.uint32) if numbers is None else numbers
    left = rng.random(sum(end - begin for _, begin, end in rows.places)) < 0.5
    by_row = rng.random((n_trees, n_table)) < 0.5
    expected = by_row.copy()
    put(rows, numbers, left, expected)
    _native.put_sides(*rows.known, told, left, by_row, threads)
    np.testing.assert_array_equal(by_row, expected)
    np.testing.assert_array_equal(_native.take_sides(*rows.known, told, by_row, threads), left)
    others = rng.random(by_row.shape) < 0.5
    found = _native.take_sides(*rows.known, told, others, threads)
    np.testing.assert_array_equal(found, take(rows, numbers, others))


@given(strategies.generators, st.integers(1, 3), st.integers(0, 90), st.booleans(), strategies.threads)
def test_sides_are_put_and_taken_as_specified(rng, n_trees, n_table, linked, threads):
    assert_as_specified(rng, n_trees, n_table, int(rng.integers(0, n_table + 1)), linked, threads)


@settings(max_examples=5, deadline=None)
@given(strategies.generators, strategies.threads)
def test_sides_of_many_rows_are_put_and_taken_as_specified(rng, threads):
    assert_as_specified(rng, 2, 70_000, 50_000, True, threads)


@pytest.mark.parametrize("numbers", [[0, 1, 5], [0, 1]])
def test_rows_that_are_not_in_the_table_are_refused(numbers):
    rows, told = strategies.one_node(3), np.array(numbers, np.uint32)
    with pytest.raises(ValueError, match="do not belong together"):
        _native.take_sides(*rows.known, told, np.zeros((1, 5), np.bool_), 1)
    with pytest.raises(ValueError, match="do not belong together"):
        _native.put_sides(*rows.known, told, np.zeros(3, np.bool_), np.zeros((1, 5), np.bool_), 1)


def test_there_is_one_side_a_row():
    rows = strategies.one_node(3)
    with pytest.raises(ValueError, match="one side a row"):
        _native.put_sides(*rows.known, np.empty(0, np.uint32), np.zeros(2, np.bool_), np.zeros((1, 3), np.bool_), 1)
