"""Trees whose structure is public: drawn by the hash that everybody knows, from the seed and the numbers of bins.

A drawn tree is full: a node is cut whether any row reaches it or not, so the structure tells nothing of the rows.
Nodes are numbered as in a heap, the leaves of the last level from left to right.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.bins import BinMatrix, Grid
from hedgerow.trees.drawn_cuts import OpenBins, OwnDraws, Places
from hedgerow.trees.noised.rule import DEPTH, N_LEAVES
from hedgerow.trees.splits import Nodes

N_CUTS = N_LEAVES - 1
HEAP = np.arange(N_CUTS + N_LEAVES)
CHILDREN = np.where(HEAP < N_CUTS, 2 * HEAP + 1, -1).astype(np.int32)
"""Left children; right ones stand behind them."""


@dataclass(frozen=True, eq=False)
class PublicTree:
    """The cuts of a full tree, in the order of a heap."""

    places: Places

    def leaves_of(self, matrix: BinMatrix, threads: int) -> NDArray[np.int32]:
        """The leaf of each row, from 0 on."""
        columns = np.full(len(HEAP), -1, np.int32)
        columns[:N_CUTS] = self.places.column
        sets = np.zeros((len(HEAP), 4), np.uint64)
        sets[:N_CUTS] = self.places.left_bins
        return _native.leaf_numbers(matrix, columns, CHILDREN, sets, threads) - np.int32(N_CUTS)


@lru_cache(maxsize=256)  # the parties of one process draw the same trees; nothing of any row is in them
def drawn(grid: Grid, seed: int, round_: int) -> PublicTree:
    """The tree of a round."""
    own = OwnDraws.of(grid, seed)
    several = grid.n_values > 1
    if several.any():  # else a column with a single value would be cut from what is missing
        own = replace(own, has_missing=own.has_missing & several)
    open_, levels = OpenBins(own), []
    for depth in range(DEPTH):
        node = np.arange((1 << depth) - 1, (2 << depth) - 1)
        nodes = Nodes(np.zeros_like(node), node)
        places = own.places(round_, nodes, open_)
        halves = (places.bin < 0) & (own.n_values[places.column] == 2)  # two categories are told apart once
        open_.follow(nodes, 2 * node + 1, places.column, np.where(halves, 0, places.bin).astype(np.int32))
        levels.append(places)
    return PublicTree(Places(*map(np.concatenate, zip(*levels, strict=True))))
