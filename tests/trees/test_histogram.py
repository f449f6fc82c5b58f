from dataclasses import replace

import numpy as np
import pytest
import strategies
import twins
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native


def assert_as_specified(table, rng, n_trees, n_nodes, bits, threads, extreme):
    pairs = strategies.wide_pairs(rng, n_trees, len(table.bins), extreme)
    rows = strategies.placed(rng, n_trees, len(table.bins), n_nodes)
    found = _native.histograms(table.matrix, pairs, bits, *rows.known, threads)
    offsets = table.matrix.offsets
    expected = twins.histograms(table.bins, offsets, twins.narrow(pairs, bits), rows.orders, rows.places)
    np.testing.assert_array_equal(found, expected)


@given(
    strategies.binned(),
    strategies.generators,
    st.integers(1, 3),
    st.integers(0, 4),
    strategies.bits,
    strategies.threads,
    st.booleans(),
)
def test_sums_per_bin_are_those_of_the_specification(table, rng, n_trees, n_nodes, bits, threads, extreme):
    assert_as_specified(table, rng, n_trees, n_nodes, bits, threads, extreme)


@settings(max_examples=30)
@given(
    strategies.binned(strategies.many_rows),
    strategies.generators,
    st.integers(1, 2),
    st.integers(1, 3),
    st.sampled_from([2, 15, 16, 20, 21, 22, 31]),
    strategies.threads,
    st.booleans(),
)
def test_sums_over_many_rows_are_those_of_the_specification(table, rng, n_trees, n_nodes, bits, threads, extreme):
    assert_as_specified(table, rng, n_trees, n_nodes, bits, threads, extreme)


@settings(max_examples=60)
@given(
    strategies.binned(st.one_of(strategies.few_rows, strategies.many_rows)),
    strategies.generators,
    st.integers(1, 3),
    st.integers(0, 4),
    strategies.threads,
)
def test_rows_per_bin_are_those_of_the_specification(table, rng, n_trees, n_nodes, threads):
    rows = strategies.placed(rng, n_trees, len(table.bins), n_nodes)
    found = _native.count_rows(table.matrix, *rows.known, threads)
    np.testing.assert_array_equal(found, twins.count_rows(table.bins, table.matrix.offsets, rows.orders, rows.places))


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("bits", "n"),
    [(16, 65535), (16, 65536), (16, 140_000), (17, 70_000), (21, 2047), (21, 2048), (21, 9000), (22, 9000), (31, 9000)],
)
def test_sums_of_gradients_at_the_limit_do_not_overflow(bits, n, layout, sign):
    """All rows in one bin, every number as large as it can be, around the sizes at which words are full."""
    defaults = [-1, -1] if layout == "dense" else [-1, 2]
    bins = np.zeros((n, 2), np.uint8)
    matrix = twins.laid_out(bins, [3, 3], defaults)
    limit = strategies.LIMIT
    pairs = np.tile(np.array([sign * limit, limit], np.int32), (1, n, 1))
    rows = strategies.one_node(n)
    total = [sign * n * 2 ** (bits - 1), n * 2 ** (bits - 1)]
    for threads in (1, 2, 4):
        (found,) = _native.histograms(matrix, pairs, bits, *rows.known, threads).tolist()
        assert found == [total, [0, 0], [0, 0], total, [0, 0], [0, 0], total]


@given(strategies.binned(), strategies.generators, strategies.bits)
def test_a_node_less_one_child_is_the_other_child(table, rng, bits):
    pairs = strategies.wide_pairs(rng, 1, len(table.bins), extreme=False)
    rows = strategies.one_node(len(table.bins))
    a, b, c = np.sort(rng.integers(0, len(table.bins) + 1, 3))
    rows.spans[0] = [[a, c], [a, b], [b, c]]
    rows.nodes = (np.zeros(3, np.int64), np.arange(3))
    parent, left, right = np.split(_native.histograms(table.matrix, pairs, bits, *rows.known, 1), 3)
    _native.subtract([parent, left], np.array([[0, 0]], np.int32), np.array([[1, 0]], np.int32))
    np.testing.assert_array_equal(parent, right)


def test_subtracting_touches_only_the_places_named():
    rng = np.random.default_rng(0)
    parents, children = rng.integers(0, 100, (3, 5, 2)), rng.integers(0, 100, (2, 5, 2))
    expected = parents.copy()
    expected[2] -= children[0]
    expected[0] -= children[1]
    before = children.copy()
    places = np.array([[0, 2], [0, 0]], np.int32), np.array([[1, 0], [1, 1]], np.int32)
    _native.subtract([parents, children], *places)
    np.testing.assert_array_equal(parents, expected)
    np.testing.assert_array_equal(children, before)


def test_counts_are_subtracted_like_sums():
    parents, children = np.arange(10).reshape(2, 5), np.ones((1, 5), np.int64)
    _native.subtract([parents, children], np.array([[0, 1]], np.int32), np.array([[1, 0]], np.int32))
    assert parents.tolist() == [[0, 1, 2, 3, 4], [4, 5, 6, 7, 8]]


BINS = np.array([[0, 1], [1, 0], [2, 1]], np.uint8)
MATRIX = twins.laid_out(BINS, [3, 2], [-1, 0])
PAIRS = np.ones((1, 3, 2), np.int32)
ORDERS, SPANS, NODES = strategies.one_node(3).known


def sums(matrix=MATRIX, pairs=PAIRS, bits=16, orders=ORDERS, spans=SPANS, nodes=NODES):
    return _native.histograms(matrix, pairs, bits, orders, spans, nodes, 1)


DAMAGE = {
    "too few offsets": {"offsets": np.array([0, 3], np.uint32)},
    "descending offsets": {"offsets": np.array([0, 6, 5], np.uint32)},
    "no columns and no offsets": {"offsets": np.empty(0, np.uint32), "defaults": np.empty(0, np.int32)},
    "a dense block too wide": {"dense": np.zeros((3, 2), np.uint8)},
    "a dense column that is not there": {"dense_columns": np.array([2], np.uint32)},
    "too few starts": {"starts": np.array([0, 2])},
    "starts that end late": {"starts": np.array([0, 1, 1, 3])},
    "starts that end below zero": {"starts": np.array([0, 1, 1, -1])},
    "no starts of the entries": {"starts": np.empty(0, np.int64)},
    "descending starts": {"starts": np.array([0, 2, 1, 2])},
    "a start below zero": {"starts": np.array([0, -1, 1, 2])},
    "a first start below zero": {"starts": np.array([-1, 1, 1, 2])},
    "an entry outside": {"entries": np.array([4, 5000], np.uint16)},
    "a long entry outside": {"entries": np.array([4, 2**32 - 1], np.uint32)},
    "a default outside its column": {"defaults": np.array([-1, 2], np.int32)},
    "a default far outside": {"defaults": np.array([-1, 70_000], np.int32)},
    "columns of another size": {"by_column": np.zeros((1, 3), np.uint8)},
}


@pytest.mark.parametrize("wrong", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_matrix_is_refused(wrong):
    damaged = replace(MATRIX, **wrong)
    with pytest.raises(ValueError, match=r"offsets|dense|sparse|columns|bin|entry"):
        sums(matrix=damaged)
    with pytest.raises(ValueError, match=r"offsets|dense|sparse|columns|bin|entry"):
        _native.count_rows(damaged, ORDERS, SPANS, NODES, 1)
    with pytest.raises(ValueError, match=r"offsets|dense|sparse|columns|bin"):
        _native.columns_of(damaged, 1)


WRONG = {
    "one bit": {"bits": 1},
    "too many bits": {"bits": 32},
    "too few gradients": {"pairs": PAIRS[:, :2].copy()},
    "gradients of more trees": {"pairs": np.ones((2, 3, 2), np.int32)},
    "pairs of three": {"pairs": np.ones((1, 3, 3), np.int32)},
    "pairs of one": {"pairs": np.ones((1, 3, 1), np.int32)},
    "pairs with gaps": {"pairs": np.ones((1, 3, 4), np.int32)[:, :, ::2]},
    **strategies.WRONG_ROWS,
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_gradients_rows_or_spans_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError, match=r"gradient|span|row|order|node|contiguous"):
        sums(**wrong)


def test_a_bin_outside_its_column_spoils_no_later_sum():
    """A damaged table may be refused or summed wrongly; it must not be remembered."""
    wide = twins.laid_out(np.zeros((1, 1), np.uint8), [200], [-1])
    pairs, rows = np.ones((1, 1, 2), np.int32) << 29, strategies.one_node(1)
    expected = _native.histograms(wide, pairs, 16, *rows.known, 1)
    damaged = twins.laid_out(np.full((1, 1), 99, np.uint8), [2], [-1])
    try:
        _native.histograms(damaged, pairs, 16, *rows.known, 1)
    except ValueError:
        return
    np.testing.assert_array_equal(_native.histograms(wide, pairs, 16, *rows.known, 1), expected)


SLABS = [np.zeros((2, 3, 2), np.int64), np.zeros((1, 3, 2), np.int64)]


@pytest.mark.parametrize(
    ("parent", "child"),
    [
        ([[0, 2]], [[1, 0]]),
        ([[0, 0]], [[1, 1]]),
        ([[2, 0]], [[1, 0]]),
        ([[-1, 0]], [[1, 0]]),
        ([[0, -1]], [[1, 0]]),
        ([[0, 0]], [[0, 1]]),
        ([[0, 0], [0, 1]], [[1, 0]]),
    ],
)
def test_places_outside_the_slabs_are_refused(parent, child):
    with pytest.raises(ValueError, match=r"slab|parents"):
        _native.subtract(SLABS, np.array(parent, np.int32), np.array(child, np.int32))


def test_slabs_of_different_widths_are_refused():
    slabs = [np.zeros((2, 3, 2), np.int64), np.zeros((1, 4, 2), np.int64)]
    with pytest.raises(ValueError, match="bins"):
        _native.subtract(slabs, np.array([[0, 0]], np.int32), np.array([[1, 0]], np.int32))
