from dataclasses import dataclass, replace

import numpy as np
import pytest
import strategies
import twins
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hedgerow import _native
from hedgerow.trees import bins
from hedgerow.trees.bins import Grid, SparseRows

LARGE = 2.0**127  # tables refuse the greatest float, which stands for no threshold


@dataclass
class Case:
    """Cuts, a table, and how its bins shall be laid out; `sizes` may leave room for bins that no value has."""

    grid: Grid
    values: np.ndarray
    sizes: np.ndarray
    defaults: np.ndarray
    threads: int

    @property
    def plan(self):
        offsets = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.uint32)
        return np.flatnonzero(self.defaults < 0).astype(np.uint32), offsets, self.defaults, self.threads

    @property
    def expected(self):
        rows = [[self.bin(c, v) for c, v in enumerate(row)] for row in self.values]
        return np.array(rows, np.uint8).reshape(self.values.shape)

    def bin(self, column, value):
        cuts = self.grid.cuts[self.grid.cut_starts[column] : self.grid.cut_starts[column + 1]]
        return twins.bin_of(value, cuts, self.grid.missing_bins[column])

    @property
    def laid_out(self):
        return twins.laid_out(self.expected, self.sizes, self.defaults)


@st.composite
def cases(draw, n_rows=strategies.few_rows, odd=(-0.0, 1e38, -1e38)):
    rng, n, n_columns = draw(strategies.generators), draw(n_rows), draw(st.integers(1, 6))
    n_cuts = rng.choice([0, 1, 2, 3, 60, 254], n_columns)
    cuts = [np.unique(rng.integers(-300, 300, k)).astype(np.float32) for k in n_cuts]
    starts = np.concatenate([[0], np.cumsum([len(c) for c in cuts])])
    grid = Grid(np.concatenate(cuts), starts, rng.random(n_columns) < 0.5, np.zeros(n_columns, bool))
    values = rng.choice([-310, 310, 0.5], (n, n_columns)) + rng.integers(-10, 10, (n, n_columns))
    values = np.where(rng.random(values.shape) < 0.2, np.nan, values).astype(np.float32)
    values[rng.random(values.shape) < 0.05] = rng.choice(odd)
    size = 30_000 if draw(st.booleans()) else 0
    sizes = np.maximum(grid.n_values + grid.has_missing, size)
    dense = rng.random(n_columns) < draw(st.sampled_from([0, 0.5, 1]))
    defaults = np.where(dense, -1, rng.integers(0, grid.n_values)).astype(np.int32)
    return Case(grid, values, sizes, defaults, draw(strategies.threads))


def assert_blocks(found, expected):
    for array, name in zip(found, ("dense", "starts", "entries"), strict=True):
        assert array.dtype == getattr(expected, name).dtype or not array.size
        np.testing.assert_array_equal(array, getattr(expected, name))


@given(cases())
def test_a_dense_table_is_laid_out_as_specified(case):
    assert_blocks(_native.bin_dense(case.grid, case.values, *case.plan), case.laid_out)


@given(cases(odd=(np.inf, -np.inf)))
def test_infinite_values_lie_behind_the_last_and_before_the_first_cut(case):
    assert_blocks(_native.bin_dense(case.grid, case.values, *case.plan), case.laid_out)


@settings(max_examples=15)
@given(cases(st.integers(2040, 4100)))
def test_a_table_of_several_blocks_is_laid_out_as_specified(case):
    assert_blocks(_native.bin_dense(case.grid, case.values, *case.plan), case.laid_out)


@given(cases(), st.sampled_from([0.0, np.nan]), strategies.generators)
def test_a_sparse_table_is_laid_out_like_the_table_filled_in(case, absent, rng):
    stored = rng.random(case.values.shape) < 0.5
    case.values = np.where(stored, case.values, np.float32(absent))
    absent_bins = bins.absent_bins(case.grid, absent)
    assert absent_bins.tolist() == [case.bin(c, absent) for c in range(len(absent_bins))]
    case.defaults = np.where(case.defaults < 0, -1, absent_bins.astype(np.int32))
    rows = SparseRows.of(sparse.csr_array((case.values[stored], np.nonzero(stored)), case.values.shape))
    dense, starts, entries = _native.bin_sparse(case.grid, rows, absent_bins, *case.plan)
    if not len(case.laid_out.starts):
        assert not starts.any()
        starts = starts[:0]
    assert_blocks((dense, starts, entries), case.laid_out)


@given(cases())
def test_every_layout_reads_back_the_bins(case):
    dense, starts, entries = _native.bin_dense(case.grid, case.values, *case.plan)
    matrix = replace(case.laid_out, dense=dense, starts=starts, entries=entries)
    read = [[twins.bin_at(matrix, r, c) for c in range(len(case.sizes))] for r in range(len(case.values))]
    np.testing.assert_array_equal(np.array(read).reshape(case.values.shape), case.expected)


@given(strategies.binned(st.one_of(strategies.few_rows, st.just(3000))), strategies.threads)
def test_columns_kept_a_second_time_hold_the_same_bins(table, threads):
    np.testing.assert_array_equal(_native.columns_of(table.matrix, threads), table.bins.T)


@given(st.lists(strategies.columns(300), min_size=1, max_size=5), st.integers(2, 255), strategies.threads)
def test_bins_found_and_laid_out_by_the_library_count_the_cuts_below(columns, max_bin, threads):
    n = min(len(c) for c in columns)
    values = np.stack([c[:n] for c in columns], axis=1)
    grid, fullest = bins.find(values, np.nan, np.zeros(len(columns), np.int64), max_bin, 1, threads)
    matrix = bins.to_bins(grid, fullest, values, np.nan, threads)
    case = Case(grid, values, np.diff(grid.offsets), fullest, threads)
    read = [[twins.bin_at(matrix, r, c) for c in range(len(columns))] for r in range(n)]
    np.testing.assert_array_equal(np.array(read).reshape(values.shape), case.expected)
    np.testing.assert_array_equal(matrix.by_column, case.expected.T)


@given(st.lists(st.floats(-LARGE, LARGE, width=32), min_size=1), st.integers(2, 9))
def test_a_value_is_below_the_threshold_of_a_bin_exactly_if_its_bin_is_at_most_that(values, max_bin):
    column = np.array(values, np.float32)[:, None]
    grid, fullest = bins.find(column, np.nan, np.zeros(1, np.int64), max_bin, 1, 1)
    found = bins.to_bins(grid, fullest, column, np.nan, 1).by_column[0]
    every = np.arange(grid.n_values[0], dtype=np.int32)
    thresholds = grid.thresholds(np.zeros_like(every), every)
    np.testing.assert_array_equal(column < thresholds, found[:, None] <= every)


GRID = Grid(np.array([1, 2, 3], np.float32), np.array([0, 2, 3]), np.array([True, False]), np.zeros(2, bool))
TABLE = np.zeros((4, 2), np.float32)
DENSE = np.arange(2, dtype=np.uint32)
NONE = np.full(2, -1, np.int32)
ROWS = SparseRows(np.array([0, 1, 1, 2, 2]), np.array([0, 1], np.int32), np.ones(2, np.float32))
ABSENT = np.zeros(2, np.uint8)


def of_dense(grid=GRID, values=TABLE, dense=DENSE, offsets=GRID.offsets, defaults=NONE):
    return _native.bin_dense(grid, values, dense, offsets, defaults, 1)


def of_sparse(grid=GRID, rows=ROWS, absent=ABSENT, dense=DENSE, offsets=GRID.offsets, defaults=NONE):
    return _native.bin_sparse(grid, rows, absent, dense, offsets, defaults, 1)


NO_COLUMNS = np.empty(0, np.uint32)
WRONG = {
    "too few starts of cuts": {"grid": replace(GRID, cut_starts=np.array([0, 2]))},
    "starts of cuts that begin late": {"grid": replace(GRID, cut_starts=np.array([1, 2, 3]))},
    "starts of cuts that end late": {"grid": replace(GRID, cut_starts=np.array([0, 2, 4]))},
    "descending starts of cuts": {"grid": replace(GRID, cut_starts=np.array([0, 4, 3]))},
    "too many cuts": {"grid": replace(GRID, cuts=np.zeros(256, np.float32), cut_starts=np.array([0, 256, 256]))},
    "a column that is not there": {"dense": np.array([0, 2], np.uint32)},
    "too few defaults": {"dense": NO_COLUMNS, "defaults": NONE[:1]},
    "too few offsets": {"dense": NO_COLUMNS, "defaults": NONE + 1, "offsets": GRID.offsets[:2]},
    "descending offsets": {
        "dense": NO_COLUMNS,
        "defaults": NONE + 2,
        "offsets": np.array([99_999, 0, 6], np.uint32),
    },
}


@pytest.mark.parametrize("call", [of_dense, of_sparse])
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_cuts_or_a_layout_that_do_not_fit_are_refused(call, wrong):
    with pytest.raises(ValueError, match=r"cuts|layout"):
        call(**wrong)


@pytest.mark.parametrize("values", [TABLE[:, :1], np.zeros((4, 3), np.float32), np.zeros((4, 4), np.float32)[:, ::2]])
def test_a_dense_table_of_another_width_or_with_gaps_is_refused(values):
    with pytest.raises(ValueError, match=r"columns|contiguous"):
        of_dense(values=values)


def test_a_dense_table_laid_column_after_column_is_refused():
    with pytest.raises(ValueError, match="contiguous"):
        of_dense(values=np.asfortranarray(TABLE))


@pytest.mark.parametrize(
    "wrong",
    [
        {"indptr": np.array([0, 1, 1, 2, 3])},
        {"indptr": np.array([1, 1, 1, 2, 2])},
        {"indptr": np.array([0, 2, 1, 2, 2])},
        {"indptr": np.array([], np.int64)},
        {"indices": np.array([0, 2], np.int32)},
        {"indices": np.array([-1, 1], np.int32)},
        {"indices": np.array([0], np.int32)},
    ],
)
def test_a_damaged_sparse_table_is_refused(wrong):
    with pytest.raises(ValueError, match="sparse table is damaged"):
        of_sparse(rows=replace(ROWS, **wrong))


def test_as_many_absent_bins_as_columns_are_needed():
    with pytest.raises(ValueError, match="layout"):
        of_sparse(absent=ABSENT[:1])
