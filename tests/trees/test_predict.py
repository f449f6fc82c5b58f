from dataclasses import dataclass, replace

import numpy as np
import pytest
import strategies
import twins
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hedgerow import _native
from hedgerow.trees.bins import SparseRows

n_rows = st.one_of(st.integers(0, 40), st.sampled_from([127, 128, 129, 300]))


@dataclass
class Forest:
    """What the kernel reads of a forest."""

    columns: np.ndarray
    thresholds: np.ndarray
    missing_left: np.ndarray
    children: np.ndarray
    sets: np.ndarray
    category_sets: np.ndarray
    values: np.ndarray
    roots: np.ndarray


def grown(rng, n_columns, sizes, categorical):
    """Random trees with so many cuts each; children stand somewhere behind their parents, side by side."""
    columns, children, roots = [], [], [0]
    for n_cuts in sizes:
        leaves = [len(columns)]
        columns.append(-1)
        children.append(-1)
        for _ in range(n_cuts):
            at = leaves.pop(rng.integers(len(leaves)))
            columns[at], children[at] = rng.integers(n_columns), len(columns)
            leaves += [len(columns), len(columns) + 1]
            columns += [-1, -1]
            children += [-1, -1]
        roots.append(len(columns))
    n = len(columns)
    by_set = (np.array(columns) >= 0) & (rng.random(n) < categorical)
    return Forest(
        np.array(columns, np.int32),
        rng.integers(-3, 4, n).astype(np.float32),
        rng.random(n) < 0.5,
        np.array(children, np.int32),
        np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int32),
        rng.integers(0, 2**64, (by_set.sum(), 4), np.uint64),
        rng.normal(size=n).astype(np.float32),
        np.array(roots, np.int64),
    )


def forests(n_columns):
    sizes = st.lists(st.integers(0, 12), min_size=1, max_size=6)
    kinds = st.sampled_from([0.0, 0.3, 1.0])
    return st.builds(grown, strategies.generators, st.just(n_columns), sizes, kinds)


def table_of(rng, n, n_columns, odd):
    """Numbers around the thresholds, codes of categories, missing values, and odd ones."""
    values = np.where(
        rng.random((n, n_columns)) < 0.3, rng.integers(0, 300, (n, n_columns)), rng.normal(size=(n, n_columns)) * 3
    )
    values = np.where(rng.random(values.shape) < 0.1, rng.integers(-4, 5, values.shape), values)
    values = np.where(rng.random(values.shape) < 0.1, rng.choice(odd, values.shape), values)
    return values.astype(np.float32)


FINITE = [np.nan, -0.0, -1e-9, 255.5, 256.0, 1e30, np.finfo(np.float32).max]


def assert_places(forest, values, threads):
    found = _native.leaf_places(forest, values, threads)
    n_trees = len(forest.roots) - 1
    expected = [[twins.leaf_of(forest, t, row) - forest.roots[t] for t in range(n_trees)] for row in values]
    np.testing.assert_array_equal(found, np.array(expected).reshape(found.shape))


@given(st.data(), strategies.generators, n_rows, st.integers(1, 4), strategies.threads)
def test_rows_reach_the_leaves_of_the_specification(data, rng, n, n_columns, threads):
    assert_places(data.draw(forests(n_columns)), table_of(rng, n, n_columns, FINITE), threads)


@given(st.data(), strategies.generators, st.integers(1, 40), st.integers(1, 3))
def test_rows_with_infinite_values_reach_the_leaves_of_the_specification(data, rng, n, n_columns):
    assert_places(data.draw(forests(n_columns)), table_of(rng, n, n_columns, [np.inf, -np.inf]), 1)


def scores_of(forest, values, scores):
    """Every tree's value added in turn, in 32 bits."""
    out = scores.copy()
    for tree in range(len(forest.roots) - 1):
        for row, x in enumerate(values):
            out[row, tree % out.shape[1]] += forest.values[twins.leaf_of(forest, tree, x)]
    return out


@settings(max_examples=60)
@given(st.data(), strategies.generators, n_rows, st.integers(1, 4), strategies.threads, st.integers(1, 3))
def test_the_trees_values_are_added_in_turn(data, rng, n, n_columns, threads, n_classes):
    forest, values = data.draw(forests(n_columns)), table_of(rng, n, n_columns, FINITE)
    scores = rng.normal(size=(n, n_classes)).astype(np.float32)
    expected = scores_of(forest, values, scores)
    _native.add_scores(forest, values, n_columns, np.nan, scores, threads)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("absent", [0.0, np.nan])
@settings(max_examples=60)
@given(st.data(), strategies.generators, n_rows, st.integers(1, 4), strategies.threads)
def test_a_sparse_table_is_predicted_like_the_table_filled_in(absent, data, rng, n, n_columns, threads):
    forest, values = data.draw(forests(n_columns)), table_of(rng, n, n_columns, FINITE)
    stored = rng.random(values.shape) < 0.5
    rows = SparseRows.of(sparse.csr_array((values[stored], np.nonzero(stored)), values.shape))
    filled = np.where(stored, values, np.float32(absent))
    scores, expected = np.zeros((n, 1), np.float32), np.zeros((n, 1), np.float32)
    _native.add_scores(forest, rows, n_columns, absent, scores, threads)
    _native.add_scores(forest, filled, n_columns, absent, expected, 1)
    np.testing.assert_array_equal(scores, expected)


FOREST = Forest(
    np.array([0, -1, 1, -1, -1, -1], np.int32),
    np.zeros(6, np.float32),
    np.zeros(6, bool),
    np.array([1, -1, 3, -1, -1, -1], np.int32),
    np.array([-1, -1, 0, -1, -1, -1], np.int32),
    np.zeros((1, 4), np.uint64),
    np.arange(6, dtype=np.float32),
    np.array([0, 5, 6]),
)
TABLE = np.zeros((2, 2), np.float32)
ROWS = SparseRows(np.array([0, 1, 2]), np.array([0, 1], np.int32), np.ones(2, np.float32))


def changed(name, at, value):
    array = getattr(FOREST, name).copy()
    array[at] = value
    return {name: array}


DAMAGE = {
    "a missing threshold": {"thresholds": FOREST.thresholds[:5]},
    "a missing side for missing values": {"missing_left": FOREST.missing_left[:5]},
    "a missing child": {"children": FOREST.children[:5]},
    "a missing set": {"sets": FOREST.sets[:5]},
    "a missing value": {"values": FOREST.values[:5]},
    "a missing column": {"columns": FOREST.columns[:5]},
    "no roots": {"roots": FOREST.roots[:0]},
    "roots that begin late": changed("roots", 0, 1),
    "roots that end early": changed("roots", 2, 5),
    "roots that end late": changed("roots", 2, 7),
    "an empty tree": {"roots": np.array([0, 5, 5, 6])},
    "roots backwards": {"roots": np.array([0, 7, 6])},
    "a column that is not there": changed("columns", 0, 2),
    "a child that is its parent": changed("children", 2, 2),
    "a child before its parent": changed("children", 2, 1),
    "a child below zero": changed("children", 0, -1),
    "a child in the next tree": changed("children", 2, 4),
    "a child that is not there": changed("children", 2, 2**31 - 1),
    "a set that is not there": changed("sets", 2, 1),
    "sets of two words": {"category_sets": np.zeros((1, 2), np.uint64)},
    "sets of five words": {"category_sets": np.zeros((1, 5), np.uint64)},
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_forest_is_refused(damage):
    forest = replace(FOREST, **damage)
    with pytest.raises(ValueError, match=r"forest|set"):
        _native.leaf_places(forest, TABLE, 1)
    with pytest.raises(ValueError, match=r"forest|set"):
        _native.add_scores(forest, TABLE, 2, 0.0, np.zeros((2, 1), np.float32), 1)


@settings(max_examples=300)
@given(st.sampled_from(["columns", "children", "sets", "roots"]), st.integers(0, 5), st.integers(-3, 9))
def test_no_damage_of_one_number_makes_a_walk_go_astray(name, at, value):
    """Either it is refused, or every row still ends at a leaf of its tree."""
    forest = replace(FOREST, **changed(name, at % len(getattr(FOREST, name)), value))
    try:
        places = _native.leaf_places(forest, TABLE, 1)
    except ValueError:
        return
    ends = forest.roots[:-1] + places
    assert (ends < forest.roots[1:]).all()
    assert (forest.columns[ends] < 0).all()


@pytest.mark.parametrize(
    ("table", "n_columns", "shape"),
    [
        (TABLE, 3, (2, 1)),
        (TABLE, 2, (3, 1)),
        (TABLE, 2, (2, 0)),
        (ROWS, 2, (3, 1)),
        (ROWS, 1, (2, 1)),
        (replace(ROWS, indptr=np.array([0, 2, 1])), 2, (2, 1)),
        (replace(ROWS, indptr=np.array([0, 3, 2])), 2, (2, 1)),
        (replace(ROWS, indices=np.array([0, 2], np.int32)), 2, (2, 1)),
        (np.asfortranarray(TABLE), 2, (2, 1)),
        (np.zeros((2, 0), np.float32), 0, (2, 1)),
    ],
)
def test_a_table_that_does_not_fit_is_refused(table, n_columns, shape):
    with pytest.raises(ValueError, match=r"table|scores|forest|contiguous"):
        _native.add_scores(FOREST, table, n_columns, 0.0, np.zeros(shape, np.float32), 1)


def test_a_leaf_alone_needs_a_column_or_is_refused():
    leaf = Forest(
        *(getattr(FOREST, f)[5:] for f in ("columns", "thresholds", "missing_left", "children", "sets")),
        FOREST.category_sets[:0],
        FOREST.values[5:],
        np.array([0, 1]),
    )
    with pytest.raises(ValueError, match=r"column|table"):
        _native.leaf_places(leaf, np.zeros((2, 0), np.float32), 1)
    assert _native.leaf_places(leaf, TABLE, 1).tolist() == [[0], [0]]


def test_places_in_a_forest_without_trees_are_refused():
    none = Forest(
        *(getattr(FOREST, f)[:0] for f in ("columns", "thresholds", "missing_left", "children", "sets")),
        FOREST.category_sets[:0],
        FOREST.values[:0],
        np.zeros(1, np.int64),
    )
    with pytest.raises(ValueError, match="no tree"):
        _native.leaf_places(none, TABLE, 1)
