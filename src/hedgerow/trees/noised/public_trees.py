"""Trees whose structure is public: drawn by the hash that everybody knows, from the seed and the numbers of bins.

A drawn tree is full: a node is cut whether any row reaches it or not, so the structure tells nothing of the rows.
Nodes are numbered as in a heap, the leaves of the last level from left to right.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.drawn_cuts import N_BINS, OpenBins, OwnDraws, Places
from hedgerow.trees.noised.rule import DEPTH, N_LEAVES
from hedgerow.trees.splits import Nodes

N_CUTS = N_LEAVES - 1


@dataclass(frozen=True, eq=False)
class PublicTree:
    """The cuts of a full tree, in the order of a heap."""

    places: Places

    def leaves_of(self, by_column: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The leaf of each row, from the rows' bins (columns x rows)."""
        sets = self.places.left_bins
        left = np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
        every = np.arange(by_column.shape[1])
        place = np.zeros(by_column.shape[1], np.int64)
        for _ in range(DEPTH):
            goes_left = left[place, by_column[self.places.column[place], every]]
            place = 2 * place + np.where(goes_left, 1, 2)
        return (place - N_CUTS).astype(np.uint8)


def drawn(grid: Grid, seed: int, round_: int) -> PublicTree:
    """The tree of a round."""
    own = OwnDraws.of(grid, seed)
    open_, levels = OpenBins(own), []
    for depth in range(DEPTH):
        node = np.arange((1 << depth) - 1, (2 << depth) - 1)
        nodes = Nodes(np.zeros_like(node), node)
        places = own.places(round_, nodes, open_)
        open_.follow(nodes, 2 * node + 1, places.column, places.bin)
        levels.append(places)
    return PublicTree(Places(*map(np.concatenate, zip(*levels, strict=True))))
