"""What training does with a table that is read in pieces: cut points column by column, then the bins of all rows."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.pieces import PiecedTable
from hedgerow.errors import DataError
from hedgerow.trees import bins, bins_in_pieces
from hedgerow.trees.bins import MOST_BINS, BinMatrix, Grid
from hedgerow.trees.bins_in_pieces import Blocks, Found

AT_ONCE = 4
"""Columns that are here at once, at most: each takes eight bytes a row or more while its cut points are found."""


def own_cuts(table: PiecedTable, max_bin: int, min_rows: int, threads: int) -> tuple[Grid, NDArray[np.int32]]:
    """The first pass: each column is read once, by itself."""
    numbers, done = range(table.n_columns), itertools.count(1)

    def cuts_of(number: int) -> Found:
        n = len(table.columns[number].categories)
        if n > MOST_BINS:
            raise DataError(f"A categorical column has {n} categories; at most {MOST_BINS} can be told apart.")
        if table.columns[number].kind == "categorical" and n:
            found = bins_in_pieces.of_categories(n)
        else:
            none = np.zeros(1, np.int64)
            found = bins.find(table.column(number)[:, None], table.absent, none, max_bin, min_rows, 1)
        table.told("cut points", next(done), table.n_columns)
        return found

    with ThreadPoolExecutor(min(threads, AT_ONCE)) as pool:
        return bins_in_pieces.joined(list(pool.map(cuts_of, numbers)))


def binned(table: PiecedTable, grid: Grid, fullest: NDArray[np.int32], threads: int) -> BinMatrix:
    """The second pass: all rows, piece by piece."""

    def told() -> Blocks:
        for at, block in table.blocks():
            yield at, block
            table.told("bins", at + len(block), table.n_rows)

    return bins_in_pieces.to_bins(grid, fullest, told(), table.n_rows, threads)
