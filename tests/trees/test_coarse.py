"""Bins made coarser until each has enough rows, against a twin that merges one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow.trees import bins
from hedgerow.trees.merge_bins import coarser, counts_of


def binned(values, n_categories, least, max_bin=255):
    values = np.ascontiguousarray(values, np.float32)
    found = bins.find(values, np.nan, np.array(n_categories, np.int64), max_bin, 1, 1)
    codes = _native.columns_of(bins.to_bins(*found, values, np.nan, 1), 1)
    grid = coarser(found[0], counts_of(codes, found[0]), least)
    fullest = bins.fullest_under(grid, values, np.nan, 1)
    return found[0], grid, counts_of(_native.columns_of(bins.to_bins(grid, fullest, values, np.nan, 1), 1), grid)


@given(st.integers(1, 40), st.integers(0, 2**32), st.floats(0, 0.5))
def test_no_bin_has_rows_but_fewer_than_the_least(least, seed, missing):
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.normal(size=120), rng.integers(0, 6, 120), rng.integers(0, 4, 120)])
    values[rng.random(values.shape) < missing] = np.nan
    fine, grid, counts = binned(values, [0, 0, 4], least)
    for column in counts:
        assert ((column == 0) | (column >= least)).all()
    assert set(grid.cuts.tolist()) <= set(fine.cuts.tolist())
    if least == 1:
        assert np.array_equal(grid.cuts, fine.cuts)


@pytest.mark.parametrize(
    ("rows", "least", "kept"),
    [
        ([3, 3, 3, 3], 3, [True, True, True]),
        ([1, 2, 3, 1], 3, [False, True, False]),
        ([5, 1, 1, 1], 3, [True, False, False]),
        ([5, 1, 1], 3, [False, False]),
        ([2, 2], 3, [False]),
    ],
)
def test_neighbours_are_merged_from_the_left_and_the_rest_goes_with_the_last(rows, least, kept):
    values = np.repeat(np.arange(len(rows)), rows)[:, None]
    fine, grid, _ = binned(values, [0], least)
    assert np.isin(fine.cuts, grid.cuts).tolist() == kept


def test_a_column_with_a_rare_category_or_few_missing_values_is_not_cut():
    values = np.column_stack([np.repeat([0, 1], [95, 5]), np.r_[np.full(97, 1.0), [np.nan] * 3]])
    values[:40, 1] = 0
    _, grid, counts = binned(values, [2, 0], 10)
    assert [len(column) for column in counts] == [1, 1]
    assert not grid.has_missing.any()
