"""Cut points from noised counts: quantiles over the ordered bits of floats, at three levels of prefixes.

All prefixes of a level are disjoint, so that a row is counted once a column and level. A prefix is refined where its
noised count is well above the noise and it would fill half a bin.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.bins import GREATEST
from hedgerow.trees.cut_search import KEY_BITS, Prefixes
from hedgerow.trees.noised.rule import CUT_BITS, ROW_UNITS, Schedule
from hedgerow.trees.noised.sums import ZERO_KEY

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
CERTAIN, LIKELY, LEAST_BIN = 3.0, 2.0, 1.0
"""Standard deviations of the noise: a prefix with more rows may be refined, one of the first level is taken to have
rows at all, a bin is worth a cut."""


class _Cells(NamedTuple):
    """Cells known so far, by column and key, each with its noised rows."""

    column: I64
    start: I64
    rows: F64

    def at(self, which: NDArray[np.bool_]) -> "_Cells":
        return _Cells(self.column[which], self.start[which], self.rows[which])


class NoisedSearch:
    """Cuts of the numeric columns: ask and tell level after level, then take the cuts."""

    def __init__(self, schedule: Schedule, numeric: I64) -> None:
        cuts = schedule.opening.cuts
        self.schedule, self.numeric = schedule, numeric
        self.sigma = 0.0 if cuts is None else float(np.sqrt(cuts.variance)) / ROW_UNITS
        self.level, self.bits_left = 0, KEY_BITS
        zero = np.zeros(len(numeric), np.int64)
        self.open = _Cells(numeric, zero, zero.astype(np.float64))
        self.closed: list[_Cells] = []

    def ask(self) -> Prefixes:
        """The prefixes to be counted next, those of all cells that are open; none behind the last level."""
        if self.level == len(CUT_BITS) or not len(self.open.column):
            none = np.empty(0, np.int32)
            return Prefixes(none, none.astype(np.uint32), none.astype(np.uint8))
        bits = CUT_BITS[self.level]
        shift = self.bits_left - bits
        prefix = (self.open.start >> shift)[:, None] + np.arange(1 << bits)
        column = np.repeat(self.open.column, 1 << bits)
        return Prefixes(
            column.astype(np.int32), prefix.reshape(-1).astype(np.uint32), np.full(len(column), shift, np.uint8)
        )

    def tell(self, asked: Prefixes, noised: I64) -> None:
        """The counts with noise of what was asked for last, in row units."""
        rows = noised / ROW_UNITS
        self.bits_left -= CUT_BITS[self.level]
        self.level += 1
        cells = _Cells(asked.column.astype(np.int64), asked.prefix.astype(np.int64) << int(asked.shift[0]), rows)
        refine = rows > max(CERTAIN * self.sigma, self.schedule.n_rows / (2 * self.schedule.max_bin))
        if self.level == len(CUT_BITS):
            refine[:] = False
        self.open = cells.at(refine)
        likely = ~refine & (rows > (LIKELY * self.sigma if self.level == 1 else 0.0))
        self.closed.append(cells.at(likely))

    def cuts(self, n_columns: int) -> tuple[NDArray[np.float32], I64]:
        """All cuts, and where each column's begin: bins of equal mass, as far as the noise lets them be known."""
        if not self.closed:
            return np.empty(0, np.float32), np.zeros(n_columns + 1, np.int64)
        column, start, rows = (np.concatenate(part) for part in zip(*self.closed, strict=True))
        if self.schedule.terms.counts_nonzero:
            column, start, rows = self._with_zeros(column, start, rows)
        # Noise may find rows in cells that begin at what no cell of a table holds: infinity, or no number at all.
        real = np.abs(_native.key_values(start.astype(np.uint32))) < GREATEST
        column, start, rows = column[real], start[real], rows[real]
        order = np.lexsort((start, column))
        column, start, rows = column[order], start[order], rows[order]
        ends = np.searchsorted(column, np.arange(n_columns + 1))
        parts = [self._bins_of(start[a:b], rows[a:b]) for a, b in pairwise(ends.tolist())]
        keys = np.concatenate(parts).astype(np.uint32)
        return _native.key_values(keys), np.concatenate([[0], np.cumsum([len(part) for part in parts])])

    def _bins_of(self, start: I64, rows: F64) -> I64:
        """The least keys of a column's bins but the first: each bin has its share of rows, and more than noise."""
        least = LEAST_BIN * self.sigma
        limit = max(_limit(rows, self.schedule.max_bin), least)
        begins = _begins(start, rows, limit, least)
        while len(begins) >= self.schedule.max_bin:  # heavy cells beside each other may end bins early
            limit *= 1.25
            begins = _begins(start, rows, limit, least)
        return np.array(begins, np.int64)

    def _with_zeros(self, column: I64, start: I64, rows: F64) -> tuple[I64, I64, F64]:
        """With a cell of its own for 0, which was not counted: what is missing to all rows."""
        start = np.where(start == ZERO_KEY, ZERO_KEY + 1, start)
        seen = np.bincount(column, rows, int(self.numeric.max(initial=0)) + 1)
        zeros = np.maximum(self.schedule.n_rows - seen[self.numeric], 1.0)
        return (
            np.concatenate([column, self.numeric]),
            np.concatenate([start, np.full(len(zeros), ZERO_KEY)]),
            np.concatenate([rows, zeros]),
        )


def _begins(start: I64, rows: F64, limit: float, least: float) -> list[int]:
    """Where bins begin that end with so many rows, none with fewer than the least."""
    begins, mass = [], 0.0
    for key, count in zip(start.tolist(), rows.tolist(), strict=True):
        if mass >= limit or (count >= limit and mass >= least):
            begins.append(key)
            mass = 0.0
        mass += count
    if begins and mass < least:
        begins.pop()
    return begins


def _limit(rows: F64, n_bins: int) -> float:
    """The share of a bin, where every cell with more than a share has a bin of its own."""
    light, bins = float(rows.sum()), n_bins
    while bins > 1:
        heavy = rows[rows >= light / bins]
        left = float(rows.sum() - heavy.sum()), n_bins - len(heavy)
        if left == (light, bins) or left[1] < 1:
            break
        light, bins = left
    return light / max(bins, 1)
