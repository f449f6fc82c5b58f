"""Values as bins: where the cuts lie, and the table of bins laid out for summing.

Cuts are exact quantiles over the ordered bits of 32-bit floats (`native/src/trees/cuts.rs` has the rule), a function of
counts alone; `cut_search` finds the same cuts in a federation.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import DataError

if TYPE_CHECKING:
    from scipy import sparse

Values: TypeAlias = "NDArray[np.float32] | sparse.csr_array"
MOST_BINS = 255
SAMPLED_ROWS = 500
SPARSE_BELOW = 0.35
"""A column is kept sparse when a smaller share of its rows is outside its fullest bin."""

GREATEST = np.finfo(np.float32).max
TWICE_BELOW = 1 << 28
"""Tables with fewer cells are also kept by column (a byte a cell)."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Cuts of all columns. A value's bin is the number of cuts at most as large; a category's bin is its code."""

    cuts: NDArray[np.float32]
    cut_starts: NDArray[np.int64]
    has_missing: NDArray[np.bool_]
    """Whether a column keeps a bin, its last, for missing values. Without one they share the first bin and go left."""
    categorical: NDArray[np.bool_]

    def equals(self, other: "Grid") -> bool:
        """Whether all cuts are the same."""
        parts = ((grid.cuts, grid.cut_starts, grid.has_missing, grid.categorical) for grid in (self, other))
        return all(map(np.array_equal, *parts))

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.has_missing)

    @cached_property
    def n_values(self) -> NDArray[np.int64]:
        """Bins of each column, without the one for missing values."""
        return np.diff(self.cut_starts) + 1

    @cached_property
    def offsets(self) -> NDArray[np.uint32]:
        """Where each column's bins begin among all bins."""
        return np.concatenate([[0], np.cumsum(self.n_values + self.has_missing)]).astype(np.uint32)

    @cached_property
    def missing_bins(self) -> NDArray[np.uint8]:
        """The bin of a missing value in each column."""
        return np.where(self.has_missing, self.n_values, 0).astype(np.uint8)

    def thresholds(self, columns: NDArray[np.int32], bins: NDArray[np.int32]) -> NDArray[np.float32]:
        """Values below it are in bins up to the given one; the greatest float behind a column's last bin."""
        out = np.full(len(columns), GREATEST, np.float32)
        inside = (bins >= 0) & (bins < self.n_values[columns] - 1)
        out[inside] = self.cuts[self.cut_starts[columns[inside]] + bins[inside]]
        return out


@dataclass(frozen=True, eq=False)
class BinMatrix:
    """Bins of a table: a dense block (a byte a row), and a sparse one (bins other than the column's default)."""

    dense: NDArray[np.uint8]
    dense_columns: NDArray[np.uint32]
    starts: NDArray[np.int64]
    entries: NDArray[np.uint16] | NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    defaults: NDArray[np.int32]
    by_column: NDArray[np.uint8]
    """All columns a second time, one after the other, for dividing rows; no column where that would be too large."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.dense.shape[0])


def find(
    values: Values, absent: float, n_categories: NDArray[np.int64], max_bin: int, min_rows: int, threads: int
) -> tuple[Grid, NDArray[np.int32]]:
    """Cuts of every column, and its fullest bin where it pays to leave that out (-1 where not).

    `n_categories` is 0 for a numeric column. A categorical column has a bin for each category.
    """
    if int(n_categories.max(initial=0)) > MOST_BINS:
        raise DataError(
            f"A categorical column has {n_categories.max()} categories; at most {MOST_BINS} can be told apart."
        )
    if isinstance(values, np.ndarray):
        found = _native.find_cuts_dense(values, max_bin, min_rows, threads)
    else:
        by_column = values.tocsc()
        starts = by_column.indptr.astype(np.int64)
        found = _native.find_cuts_sparse(
            starts, by_column.data, values.shape[0], absent == 0, max_bin, min_rows, threads
        )
    cuts, cut_starts, counts = found
    count_starts = cut_starts + 2 * np.arange(len(cut_starts))
    has_missing = counts[count_starts[1:] - 1] > 0
    fullest = _fullest(values, absent, cuts, cut_starts, counts, count_starts)
    if n_categories.any():
        parts = [
            np.arange(1, n, dtype=np.float32) if n else cuts[cut_starts[c] : cut_starts[c + 1]]
            for c, n in enumerate(n_categories)
        ]
        cuts = np.concatenate(parts)
        cut_starts = np.concatenate([[0], np.cumsum([len(p) for p in parts])])
        fullest[n_categories > 0] = -1
        has_missing = has_missing | (n_categories > 0)
    return Grid(cuts, cut_starts, has_missing, n_categories > 0), fullest


def _fullest(
    values: Values,
    absent: float,
    cuts: NDArray[np.float32],
    cut_starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    count_starts: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Each column's fullest bin, or for a sparse table the bin of what is not stored; -1 where too many rows differ."""
    n_rows, n_columns = values.shape[0], len(cut_starts) - 1
    fullest = np.empty(n_columns, np.int32)
    for c in range(n_columns):
        column = counts[count_starts[c] : count_starts[c + 1]]
        if isinstance(values, np.ndarray):
            best = int(column.argmax())
        elif absent == 0:
            best = int(np.searchsorted(cuts[cut_starts[c] : cut_starts[c + 1]], 0, side="right"))
        else:
            best = len(column) - 1
        fullest[c] = best if n_rows - column[best] < SPARSE_BELOW * n_rows else -1
    return fullest


def fullest_under(grid: Grid, values: Values, absent: float, threads: int) -> NDArray[np.int32]:
    """Each column's fullest bin under given cuts, by a sample of the rows; how bins are stored, never what they are."""
    if not isinstance(values, np.ndarray):
        share = 1 - np.bincount(values.indices, minlength=grid.n_columns) / max(values.shape[0], 1)
        best = absent_bins(grid, absent).astype(np.int32)
    else:
        some = np.ascontiguousarray(values[:: max(1, len(values) // SAMPLED_ROWS)])
        none = np.full(grid.n_columns, -1, np.int32)
        every = np.arange(grid.n_columns, dtype=np.uint32)
        dense, _, _ = _native.bin_dense(grid, some, every, grid.offsets, none, threads)
        counts = [np.bincount(column, minlength=1) for column in dense.T]
        best = np.array([c.argmax() for c in counts], np.int32)
        share = np.array([c.max() for c in counts]) / max(len(some), 1)
    return np.where((1 - share < SPARSE_BELOW) & ~grid.categorical, best, -1).astype(np.int32)


def to_bins(grid: Grid, fullest: NDArray[np.int32], values: Values, absent: float, threads: int) -> BinMatrix:
    """The table's bins under these cuts."""
    if values.shape[1] != grid.n_columns:
        raise DataError(f"The table has {values.shape[1]} columns, the cuts were made for {grid.n_columns}.")
    if not isinstance(values, np.ndarray):
        # A sparse table can leave out only what it does not store.
        fullest = np.where(fullest == absent_bins(grid, absent), fullest, -1).astype(np.int32)
    dense_columns = np.flatnonzero(fullest < 0).astype(np.uint32)
    if isinstance(values, np.ndarray):
        blocks = _native.bin_dense(grid, values, dense_columns, grid.offsets, fullest, threads)
    else:
        blocks = _native.bin_sparse(
            grid, SparseRows.of(values), absent_bins(grid, absent), dense_columns, grid.offsets, fullest, threads
        )
    none = np.empty((0, values.shape[0]), np.uint8)
    matrix = BinMatrix(blocks[0], dense_columns, blocks[1], blocks[2], grid.offsets, fullest, none)
    if values.shape[0] * values.shape[1] > TWICE_BELOW:
        return matrix
    return replace(matrix, by_column=_native.columns_of(matrix, threads))


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse table by rows, in the number types of the kernels."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float32]

    @classmethod
    def of(cls, values: "sparse.csr_array") -> "SparseRows":
        """The same table; copied only where a type differs."""
        return cls(values.indptr.astype(np.int64, copy=False), values.indices.astype(np.int32, copy=False), values.data)


def absent_bins(grid: Grid, absent: float) -> NDArray[np.uint8]:
    """The bin, in each column, of an entry that a sparse table does not store."""
    if absent != 0:
        return grid.missing_bins
    at_most_zero = np.concatenate([[0], np.cumsum(grid.cuts <= 0)])
    return np.asarray(at_most_zero[grid.cut_starts[1:]] - at_most_zero[grid.cut_starts[:-1]], np.uint8)
