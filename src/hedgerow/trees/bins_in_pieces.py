"""Cut points and bins of a table whose values come in pieces: the same as of the whole table, to the last bit."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.bins import TWICE_BELOW, BinMatrix, Grid

Found = tuple[Grid, NDArray[np.int32]]
"""Cuts of columns, and their fullest bins."""
Blocks = Iterator[tuple[int, NDArray[np.float32]]]
"""Pieces of a table, each with the number of its first row."""


def joined(columns: Sequence[Found]) -> Found:
    """The cuts of all columns, from those of each."""
    grids = [grid for grid, _ in columns]
    starts = np.concatenate([[0], np.cumsum([len(grid.cuts) for grid in grids])]).astype(np.int64)
    cuts, missing, categorical = (
        np.concatenate(parts)
        for parts in zip(*((grid.cuts, grid.has_missing, grid.categorical) for grid in grids), strict=True)
    )
    return Grid(cuts, starts, missing, categorical), np.concatenate([fullest for _, fullest in columns])


def of_categories(n: int) -> Found:
    """The bins of a categorical column, which need no look at it."""
    one = np.ones(1, np.bool_)
    grid = Grid(np.arange(1, n, dtype=np.float32), np.array([0, max(n - 1, 0)], np.int64), one, one)
    return grid, np.full(1, -1, np.int32)


def to_bins(grid: Grid, fullest: NDArray[np.int32], blocks: Blocks, n_rows: int, threads: int) -> BinMatrix:
    """The bins of a dense table."""
    dense_columns = np.flatnonzero(fullest < 0).astype(np.uint32)
    dense = np.empty((n_rows, len(dense_columns)), np.uint8)
    lengths: list[NDArray[np.int64]] = []
    entries: list[NDArray[Any]] = []
    for at, block in blocks:
        found = _native.bin_dense(grid, block, dense_columns, grid.offsets, fullest, threads)
        dense[at : at + len(block)] = found[0]
        lengths.append(np.diff(found[1]))
        entries.append(found[2])
    starts = np.empty(0, np.int64)
    if len(dense_columns) < grid.n_columns:
        starts = np.concatenate([[0], *lengths])
        np.cumsum(starts, out=starts)
    none = np.empty((0, n_rows), np.uint8)
    matrix = BinMatrix(dense, dense_columns, starts, np.concatenate(entries), grid.offsets, fullest, none)
    if n_rows * grid.n_columns > TWICE_BELOW:
        return matrix
    return replace(matrix, by_column=_native.columns_of(matrix, threads))
