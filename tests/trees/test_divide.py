from dataclasses import replace

import numpy as np
import pytest
import strategies
import twins
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native

n_trees = st.integers(1, 3)
n_nodes = st.integers(0, 4)


def words(members):
    """A set of bins as four words."""
    total = sum(1 << int(b) for b in members)
    return [total >> 64 * i & (1 << 64) - 1 for i in range(4)]


def assert_divided_as_specified(table, rng, n_trees, n_nodes, threads):
    rows = strategies.placed(rng, n_trees, len(table.bins), n_nodes)
    columns = rng.integers(0, table.bins.shape[1], len(rows.places)).astype(np.int32)
    sets = [frozenset(np.flatnonzero(rng.random(256) < rng.random()).tolist()) for _ in columns]
    orders, spans, sizes = rows.orders.tolist(), rows.spans.copy(), []
    for i, (tree, begin, end) in enumerate(rows.places):
        bins = table.bins[:, columns[i]].tolist()
        orders[tree][begin:end], n = twins.divided(orders[tree][begin:end], bins, sets[i])
        spans[tree, rows.children[i]] = begin, begin + n
        spans[tree, rows.children[i] + 1] = begin + n, end
        sizes.append([n, end - begin - n])
    left_bins = np.array([words(s) for s in sets], np.uint64).reshape(-1, 4)
    found = _native.divide_rows(table.matrix, *rows.known, rows.children, columns, left_bins, threads)
    assert found.tolist() == sizes
    np.testing.assert_array_equal(rows.orders, np.array(orders).reshape(rows.orders.shape))
    np.testing.assert_array_equal(rows.spans, spans)


@given(strategies.binned(st.integers(1, 60)), strategies.generators, n_trees, n_nodes, strategies.threads)
def test_rows_are_divided_as_specified(table, rng, n_trees, n_nodes, threads):
    assert_divided_as_specified(table, rng, n_trees, n_nodes, threads)


@given(strategies.binned(st.just(0)), strategies.generators, n_trees, n_nodes, strategies.threads)
def test_no_rows_are_divided_into_two_empty_sides(table, rng, n_trees, n_nodes, threads):
    assert_divided_as_specified(table, rng, n_trees, n_nodes, threads)


@settings(max_examples=20)
@given(strategies.binned(st.sampled_from([2100, 25_000])), strategies.generators, n_trees, n_nodes, strategies.threads)
def test_many_rows_are_divided_as_specified(table, rng, n_trees, n_nodes, threads):
    assert_divided_as_specified(table, rng, n_trees, n_nodes, threads)


@pytest.mark.parametrize("n", [0, 1, 700, 70_000])
@settings(max_examples=15)
@given(strategies.generators, n_trees, n_nodes, strategies.threads, st.booleans())
def test_sums_of_leaves_are_those_of_the_specification(n, rng, n_trees, n_nodes, threads, extreme):
    pairs = strategies.wide_pairs(rng, n_trees, n, extreme)
    rows = strategies.placed(rng, n_trees, n, n_nodes)
    found = _native.leaf_sums(pairs, *rows.known, threads)
    np.testing.assert_array_equal(found, twins.leaf_sums(pairs, rows.orders, rows.places))


@pytest.mark.parametrize("n", [0, 1, 700, 70_000])
@settings(max_examples=15)
@given(strategies.generators, n_trees, n_nodes, strategies.threads)
def test_values_are_added_to_the_rows_of_their_nodes_alone(n, rng, n_trees, n_nodes, threads):
    rows = strategies.placed(rng, n_trees, n, n_nodes)
    scores = rng.normal(size=(n_trees, n)).astype(np.float32)
    values = rng.normal(size=len(rows.places)).astype(np.float32)
    expected = scores.copy()
    for (tree, begin, end), value in zip(rows.places, values, strict=True):
        expected[tree, rows.orders[tree, begin:end]] += value
    orders, spans, nodes = rows.known
    _native.add_values([(scores, [(orders, spans)], nodes, values)], threads)
    np.testing.assert_array_equal(scores, expected)


TABLE = np.array([[0, 1], [1, 0], [2, 1]], np.uint8)
MATRIX = twins.laid_out(TABLE, [3, 2], [-1, 0])
ORDERS, SPANS, NODES = strategies.one_node(3).known
CHILD = np.array([1])
COLUMNS = np.array([1], np.int32)
SETS = np.ones((1, 4), np.uint64)
PAIRS = np.ones((1, 3, 2), np.int32)


def divide(matrix=MATRIX, orders=ORDERS, spans=SPANS, nodes=NODES, child=CHILD, columns=COLUMNS, sets=SETS):
    return _native.divide_rows(matrix, orders.copy("K"), spans.copy("K"), nodes, child, columns, sets, 1)


def sums(pairs=PAIRS, orders=ORDERS, spans=SPANS, nodes=NODES):
    return _native.leaf_sums(pairs, orders, spans, nodes, 1)


def add(scores=(1, 3), orders=ORDERS, spans=SPANS, nodes=NODES, n_values=1):
    tables = [(np.zeros(scores, np.float32), [(orders, spans)], nodes, np.zeros(n_values, np.float32))]
    _native.add_values(tables, 1)


@pytest.mark.parametrize("call", [divide, sums, add])
@pytest.mark.parametrize("wrong", strategies.WRONG_ROWS.values(), ids=strategies.WRONG_ROWS)
def test_rows_or_nodes_that_do_not_fit_are_refused(call, wrong):
    with pytest.raises(ValueError, match=r"row|span|order|node|contiguous"):
        call(**wrong)


@pytest.mark.parametrize("call", [divide, sums, add])
def test_orders_laid_row_after_row_are_refused(call):
    what = {divide: {}, sums: {"pairs": np.ones((2, 3, 2), np.int32)}, add: {"scores": (2, 3)}}[call]
    with pytest.raises(ValueError, match="contiguous"):
        call(**what, orders=np.asfortranarray(ORDERS.repeat(2, axis=0)))


@pytest.mark.parametrize("call", [sums, add])
def test_a_row_that_only_the_next_tree_has_is_refused(call):
    """Two trees of three rows each: row 3 of the first must not be read as row 0 of the second."""
    what = {"pairs": np.ones((2, 3, 2), np.int32)} if call is sums else {"scores": (2, 3)}
    with pytest.raises(ValueError, match=r"row|order"):
        call(**what, orders=np.array([[0, 1, 3], [0, 1, 2]], np.uint32))


WRONG = {
    "a column that is not there": {"columns": np.array([2], np.int32)},
    "a column below zero": {"columns": np.array([-1], np.int32)},
    "too few columns": {"columns": COLUMNS[:0]},
    "too few sets": {"sets": SETS[:0]},
    "sets of eight words": {"sets": np.ones((1, 8), np.uint64)},
    "sets of two words": {"sets": np.ones((2, 2), np.uint64)},
    "too few children": {"child": CHILD[:0]},
    "a child without room": {"child": np.array([2])},
    "a child below zero": {"child": np.array([-1])},
    "spans that overlap": {
        "spans": np.array([[[0, 2], [1, 3], [0, 0]]]),
        "nodes": (np.array([0, 0]), np.array([0, 1])),
        "child": np.array([1, 1]),
        "columns": np.zeros(2, np.int32),
        "sets": np.ones((2, 4), np.uint64),
    },
    "no entries of a sparse column": {
        "matrix": replace(MATRIX, starts=np.empty(0, np.int64), entries=MATRIX.entries[:0])
    },
    "descending starts": {"matrix": replace(MATRIX, starts=np.array([0, 2, 1, 2]))},
    "columns of another size": {"matrix": replace(MATRIX, by_column=np.zeros((2, 2), np.uint8))},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_columns_or_sets_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError, match=r"column|set|sparse|overlap|child"):
        divide(**wrong)


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (sums, {"pairs": np.ones((2, 3, 2), np.int32)}),
        (sums, {"pairs": np.ones((1, 3, 1), np.int32)}),
        (sums, {"pairs": np.ones((1, 3, 3), np.int32)}),
        (add, {"scores": (2, 3)}),
        (add, {"scores": (1, 2)}),
        (add, {"n_values": 2}),
    ],
)
def test_gradients_or_scores_that_do_not_fit_the_rows_are_refused(call, wrong):
    with pytest.raises(ValueError, match=r"gradients|scores|value|row|pair"):
        call(**wrong)
