"""Cut points from counts of prefixes alone: what a federation asks for, all columns together, a few bits a round.

A value is the key of its 32-bit float (`native/src/trees/cuts.rs` finds the same cuts). Only prefixes that may hold a
value more frequent than a bin, or a wanted quantile, are refined; one with fewer than `min_rows` rows never is, so that
its boundary is the finest thing known of it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native

DIGIT_BITS = 4
KEY_BITS = 32

I64 = NDArray[np.int64]


class Prefixes(NamedTuple):
    """Prefixes to be counted: keys of a column with `shift` low bits left off."""

    column: NDArray[np.int32]
    prefix: NDArray[np.uint32]
    shift: NDArray[np.uint8]


class _Cells(NamedTuple):
    """What is known so far: cells ordered by column and key, with the low bits left open and the rows."""

    column: I64
    start: I64
    bits: I64
    rows: I64

    def at(self, which: NDArray[np.bool_] | I64) -> "_Cells":
        return _Cells(*(part[which] for part in self))


class CutSearch:
    """Cuts of several columns; `present` is how many rows have a value in each."""

    def __init__(self, present: I64, max_bin: int, min_rows: int) -> None:
        self.n_columns, self.max_bin, self.min_rows = len(present), max_bin, min_rows
        column = np.flatnonzero(present)
        zero = np.zeros_like(column)
        self.cells = _Cells(column, zero, zero + KEY_BITS, np.asarray(present[column], np.int64))
        self.wanted = self._wanted()
        self.asked = digits(self.cells.at(zero[:0]))
        """What was asked for last."""

    def ask(self) -> Prefixes:
        """The prefixes to be counted next; none when all is known."""
        self.asked = digits(self.cells.at(self.wanted))
        return self.asked

    def fits(self, counts: I64) -> bool:
        """Whether the rows of every cell that was asked for are those counted of its parts."""
        return _adds_up(counts, self.cells.rows[self.wanted])

    def tell(self, counts: I64) -> None:
        """What was counted of what was asked for last, in the same order."""
        asked = self.asked
        shift = asked.shift.astype(np.int64)
        parts = _Cells(asked.column.astype(np.int64), asked.prefix.astype(np.int64) << shift, shift, counts)
        whole = [np.concatenate(pair) for pair in zip(self.cells.at(~self.wanted), parts.at(counts > 0), strict=True)]
        order = np.argsort((whole[0] << KEY_BITS) + whole[1], kind="stable")  # two ordered parts: no more than a merge
        self.cells = _Cells(*(part[order] for part in whole))
        self.wanted = self._wanted()

    def cuts(self) -> tuple[NDArray[np.float32], I64]:
        """All cuts, and where each column's begin."""
        known = self._known()
        cut = _native.cut_cells(known, self.max_bin)
        starts = np.concatenate([[0], np.cumsum(cut)])[known[0]]
        return _native.key_values(self.cells.start[cut].astype(np.uint32)), starts

    def _known(self) -> tuple[I64, I64, NDArray[np.bool_]]:
        """Where each column's cells begin, their rows, and which can be refined."""
        cells = self.cells
        can = (cells.bits > 0) & (cells.rows >= self.min_rows)
        return np.searchsorted(cells.column, np.arange(self.n_columns + 1)), cells.rows, can

    def _wanted(self) -> NDArray[np.bool_]:
        """Which cells to refine: that may hide a value more frequent than a bin; else that a bin's edge touches."""
        return _native.wanted_cells(self._known(), self.max_bin)


def _adds_up(counts: I64, rows: I64) -> bool:
    """Whether counts of every value of the next digit are those of cells with so many rows."""
    return np.array_equal(counts.reshape(-1, 1 << DIGIT_BITS).sum(axis=1), rows)


def digits(cells: _Cells) -> Prefixes:
    """The next digit of each cell, every value it can take."""
    every = np.arange(1 << DIGIT_BITS)
    shift = cells.bits - DIGIT_BITS
    prefix = (cells.start >> shift)[:, None] + every
    repeat = len(every)
    return Prefixes(
        np.repeat(cells.column, repeat).astype(np.int32),
        prefix.reshape(-1).astype(np.uint32),
        np.repeat(shift, repeat).astype(np.uint8),
    )


class RangeSearch:
    """The least and the greatest value of a column that is not cut: labels and weights."""

    def __init__(self, column: int) -> None:
        self.column, self.ends, self.bits = column, [0], KEY_BITS
        self.rows: I64 | None = None
        """Of both ends, once they are known."""

    def ask(self) -> Prefixes:
        """The prefixes to be counted next; none when both ends are known."""
        ends = np.array(self.ends if self.bits else [], np.int64)
        return digits(_Cells(np.full_like(ends, self.column), ends, np.full_like(ends, self.bits), ends))

    def fits(self, counts: I64) -> bool:
        """Whether the rows of both ends are those counted of their parts; anything fits at first."""
        return self.rows is None or _adds_up(counts, self.rows)

    def tell(self, counts: I64) -> None:
        """Keeps the first and the last prefix that any row has."""
        asked = self.ask()
        found = np.flatnonzero(counts)
        self.bits -= DIGIT_BITS
        starts = asked.prefix[found].astype(np.int64) << self.bits
        self.ends = sorted({int(starts[0]), int(starts[-1])}) if len(found) else []
        self.rows = counts[np.unique(found[[0, -1]])] if len(found) else counts[:0]

    def range(self) -> tuple[float, float] | None:
        """The least and the greatest value; None where no row has one."""
        if not self.ends:
            return None
        low, high = _native.key_values(np.array([self.ends[0], self.ends[-1]], np.uint32))
        return float(low), float(high)
