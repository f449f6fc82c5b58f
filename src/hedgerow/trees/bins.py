"""Values as bins: where the cuts lie, and the table of bins laid out for summing.

Cuts are exact quantiles over the ordered bits of 32-bit floats (see `native/src/cuts.rs` for the rule), a function of
counts alone. `find_by_counts` finds the same cuts by asking for counts of prefixes only, a few bits a round: what a
federation does with sums over its parties.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hedgerow import _native
from hedgerow.errors import DataError

Values = NDArray[np.float32] | sparse.csr_array
MOST_BINS = 255
DIGIT_BITS = 4
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
    def of(cls, values: sparse.csr_array) -> "SparseRows":
        """The same table; copied only where a type differs."""
        return cls(values.indptr.astype(np.int64, copy=False), values.indices.astype(np.int32, copy=False), values.data)


def absent_bins(grid: Grid, absent: float) -> NDArray[np.uint8]:
    """The bin, in each column, of an entry that a sparse table does not store."""
    if absent != 0:
        return grid.missing_bins
    at_most_zero = np.concatenate([[0], np.cumsum(grid.cuts <= 0)])
    return np.asarray(at_most_zero[grid.cut_starts[1:]] - at_most_zero[grid.cut_starts[:-1]], np.uint8)


Counter = Callable[[NDArray[np.uint32], int], NDArray[np.int64]]
"""Answers how many rows have each of these key prefixes; the second argument is how many low bits are left off."""


def find_by_counts(count: Counter, max_bin: int, min_rows: int = 1) -> NDArray[np.float32]:
    """The cuts of one column, found from counts of prefixes alone.

    Only prefixes that may hold a value more frequent than a bin, or a wanted quantile, are refined; one with fewer than
    `min_rows` rows never is, so that its boundary is the finest thing known of it.
    """
    cells = _Cells(count, min_rows)
    while wanted := cells.wanted(max_bin):
        cells.refine(wanted)
    starts = np.array([start for start, _, _ in cells.cells], np.uint32)
    bins = cells.bins(max_bin)
    return _native.key_values(starts[1:][bins[1:] != bins[:-1]])


class _Cells:
    """What is known so far of one column: ordered cells of (least key, low bits left open, rows)."""

    def __init__(self, count: Counter, min_rows: int) -> None:
        self.count, self.min_rows = count, min_rows
        rows = count(np.array([0, 1], np.uint32), 31)
        self.cells = [(0, 32, int(rows.sum()))] if rows.sum() else []

    def open(self, cell: tuple[int, int, int]) -> bool:
        return cell[1] > 0 and cell[2] >= self.min_rows

    def refine(self, wanted: list[int]) -> None:
        chosen = [self.cells[i] for i in wanted]
        parts = []
        for start, bits, _ in chosen:
            shift = bits - DIGIT_BITS
            prefixes = (start >> shift) + np.arange(1 << DIGIT_BITS)
            rows = self.count(prefixes.astype(np.uint32), shift)
            parts += [(int(p) << shift, shift, int(n)) for p, n in zip(prefixes, rows, strict=True) if n]
        kept = [c for i, c in enumerate(self.cells) if i not in set(wanted)]
        self.cells = sorted(kept + parts)

    def wanted(self, max_bin: int) -> list[int]:
        """Cells to be refined: those that may hide a frequent value; then those that a bin's edge touches."""
        open_cells = [i for i, c in enumerate(self.cells) if self.open(c)]
        if len(self.cells) <= max_bin:
            return open_cells
        light, bins = self.level(max_bin)
        frequent = [i for i in open_cells if self.cells[i][2] * bins >= light]
        if frequent:
            return frequent
        edges, before, last = [], 0, 0
        for i, (_, _, rows) in enumerate(self.cells):
            mass = min(rows * bins, light)
            bin_ = (2 * before + mass) // (2 * light)
            # Its rows may belong to two bins, or it begins a bin, whose cut is its least key.
            if self.open(self.cells[i]) and (before // light != (before + mass) // light or bin_ != last):
                edges.append(i)
            before, last = before + mass, bin_
        return edges

    def level(self, max_bin: int) -> tuple[int, int]:
        rows = [n for _, _, n in self.cells]
        light, bins = sum(rows), max_bin
        while True:
            heavy = [n for n in rows if n * bins >= light]
            after = sum(rows) - sum(heavy), max_bin - len(heavy)
            if after == (light, bins):
                return after
            light, bins = after

    def bins(self, max_bin: int) -> NDArray[np.int64]:
        if len(self.cells) <= max_bin:
            return np.arange(len(self.cells))
        light, bins = self.level(max_bin)
        mass = np.array([min(n * bins, light) for _, _, n in self.cells], np.int64)
        before = np.cumsum(mass) - mass
        return np.asarray((2 * before + mass) // (2 * light))
