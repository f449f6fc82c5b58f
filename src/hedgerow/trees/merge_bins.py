"""Bins that hold enough rows: a data owner's own cut points, made coarser."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid


def counts_of(codes: NDArray[np.uint8], grid: Grid) -> list[NDArray[np.int64]]:
    """How many rows each bin of each column has; codes are columns x rows."""
    n = grid.n_values + grid.has_missing
    return [np.bincount(column, minlength=int(k)).astype(np.int64) for column, k in zip(codes, n, strict=True)]


def coarser(grid: Grid, counts: list[NDArray[np.int64]], least: int) -> Grid:
    """The same columns with fewer cuts, so that no bin has rows but fewer than `least`.

    Neighbouring bins of numbers are merged. A column that still has a small bin, of missing values or of a category,
    keeps no cut at all.
    """
    parts, has_missing = [], grid.has_missing.copy()
    for column, rows in enumerate(counts):
        cuts = grid.cuts[grid.cut_starts[column] : grid.cut_starts[column + 1]]
        kept = np.ones(len(cuts), np.bool_)
        if not grid.categorical[column]:
            kept = _kept(rows[: len(cuts) + 1], least)
        merged = np.add.reduceat(rows, np.flatnonzero(np.r_[True, kept, [True] * bool(has_missing[column])]))
        if ((merged > 0) & (merged < least)).any():
            kept[:], has_missing[column] = False, False
        parts.append(cuts[kept])
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return replace(
        grid, cuts=np.concatenate([np.empty(0, np.float32), *parts]), cut_starts=starts, has_missing=has_missing
    )


def _kept(rows: NDArray[np.int64], least: int) -> NDArray[np.bool_]:
    """Which cuts between these bins stay: those with enough rows since the last one that did, and behind them."""
    kept, since, behind = np.zeros(len(rows) - 1, np.bool_), 0, int(rows.sum())
    for cut, n in enumerate(rows[:-1].tolist()):
        since, behind = since + n, behind - n
        if since >= least and behind >= least:
            kept[cut], since = True, 0
    return kept
