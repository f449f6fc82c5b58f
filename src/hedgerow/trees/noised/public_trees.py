"""Trees whose structure is public: drawn by the hash that everybody knows, from the seed and the numbers of bins.

A drawn tree is full: a node is cut whether any row reaches it or not, so the structure tells nothing of the rows.
Nodes are numbered as in a heap, the leaves of the last level from left to right. Trees of many rounds are drawn level
by level together.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.bins import BinMatrix, Grid
from hedgerow.trees.drawn_cuts import Draws, OwnDraws, Places, drawn_at
from hedgerow.trees.noised.rule import DEPTH, N_LEAVES
from hedgerow.trees.splits import Nodes

N_CUTS = N_LEAVES - 1
HEAP = np.arange(N_CUTS + N_LEAVES)
CHILDREN = np.where(HEAP < N_CUTS, 2 * HEAP + 1, -1).astype(np.int32)
"""Left children; right ones stand behind them."""
TOGETHER = 100
"""Rounds whose trees are drawn at once, or fewer: so many bins of single columns are held at most."""
MOST_HELD = 1 << 21


@dataclass(frozen=True, eq=False)
class PublicTrees:
    """The drawn trees of a run, each drawn when it is first needed: a party and whoever it hands them to draw once."""

    grid: Grid
    seed: int
    _drawn: dict[int, Places] = field(default_factory=dict)

    def places(self, round_: int) -> Places:
        """The cuts of a round's tree, in the order of a heap."""
        part, at = divmod(round_, self._together)
        if part not in self._drawn:
            self._drawn[part] = self._draw(range(part * self._together, (part + 1) * self._together))
        here = slice(at * N_CUTS, (at + 1) * N_CUTS)
        column, bin_, left, sets = self._drawn[part]
        return Places(column[here], bin_[here], left[here], sets[here])

    def leaves_of(self, round_: int, matrix: BinMatrix, threads: int) -> NDArray[np.int32]:
        """The leaf of each row in a round's tree, from 0 on."""
        columns, sets = np.full(len(HEAP), -1, np.int32), np.zeros((len(HEAP), 4), np.uint64)
        places = self.places(round_)
        columns[:N_CUTS], sets[:N_CUTS] = places.column, places.left_bins
        return _native.leaf_numbers(matrix, columns, CHILDREN, sets, threads) - np.int32(N_CUTS)

    @property
    def _together(self) -> int:
        return max(1, min(TOGETHER, MOST_HELD // (N_LEAVES * self.grid.n_columns)))

    @cached_property
    def _own(self) -> OwnDraws:
        own, several = OwnDraws.of(self.grid, self.seed), self.grid.n_values > 1
        if several.any():  # else a column with a single value would be cut from what is missing
            own = replace(own, has_missing=own.has_missing & several)
        return own

    def _draw(self, rounds: range) -> Places:
        """The trees of these rounds, one behind the other."""
        heap = Nodes(np.zeros(N_CUTS, np.int64), np.arange(N_CUTS))
        drawn: Draws = np.stack([drawn_at(self.seed, round_, heap) for round_ in rounds])
        low = np.zeros((len(rounds), self.grid.n_columns), np.int64)
        high = np.tile(np.maximum(self._own.n_values - 1, 0), (len(rounds), 1))
        levels = []
        for depth in range(DEPTH):
            here = drawn[:, (1 << depth) - 1 : (2 << depth) - 1].reshape(-1, drawn.shape[2])
            places = self._own.placed(here, low, high)
            low, high = self._below(places, low, high)
            levels.append(places)
        column, bin_, left, sets = (_by_tree(each, len(rounds)) for each in zip(*levels, strict=True))
        return Places(column, bin_, left, sets)

    def _below(self, places: Places, low: NDArray[np.int64], high: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """First and last open bins at the children, left and right of each node in turn."""
        halves = (places.bin < 0) & (self._own.n_values[places.column] == 2)  # two categories are told apart once
        bin_ = np.where(halves, 0, places.bin)
        cut = np.flatnonzero(bin_ >= 0)
        column, at = places.column[cut], bin_[cut].astype(np.int64)
        low, high = np.repeat(low, 2, axis=0), np.repeat(high, 2, axis=0)
        high[2 * cut, column] = np.minimum(high[2 * cut, column], at)
        low[2 * cut + 1, column] = np.maximum(low[2 * cut + 1, column], at + 1)
        return low, high


def _by_tree(levels: tuple[NDArray[Any], ...], n_trees: int) -> NDArray[Any]:
    """Levels of all trees as trees of all levels."""
    parts = [level.reshape(n_trees, -1, *level.shape[1:]) for level in levels]
    whole = np.concatenate(parts, axis=1)
    return whole.reshape(-1, *whole.shape[2:])
