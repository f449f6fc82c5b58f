"""A passive party's own cuts: kept round by round, and put together for its part of the model.

Nobody else sees them: a cut is a place among the own cut points, and a threshold leaves with nothing.

A party that is told the nodes of all rows sees every node that is cut, whoever's cut it is. So it can tell, for each of
its own cuts, the nearest of its own cuts above, and on which side of it. With that, a prediction is held to the path of
a row (`predict/passive`). Nobody else learns anything by it.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.protocols.session.stores import CutStore as CutStore
from hedgerow.protocols.session.stores import OwnCuts as OwnCuts
from hedgerow.trees.bins import Grid
from hedgerow.trees.grow import joined_cuts
from hedgerow.trees.splits import NO_CUTS, Cuts, Nodes

FIRST = -1
"""Of a cut with no own cut above it; of others, twice the number of that cut, and one more right of it."""


def cuts_of(kept: Sequence[OwnCuts], n_trees: int, first_trees: int) -> Cuts:
    """The cuts of the rounds that the first trees are of, `n_trees` a round; trees counted over all rounds."""
    found = ((own.round * n_trees, cuts) for own in kept for cuts in own.cuts)
    counted = (
        cuts._replace(nodes=Nodes(cuts.nodes.tree + first, cuts.nodes.node))
        for first, cuts in found
        if first < first_trees
    )
    return joined_cuts([NO_CUTS, *counted])


def grid_digest(grid: Grid) -> bytes:
    """A hash of a party's own cut points, by which its kept cuts are numbered; it stays with the party."""
    arrays = (grid.cuts, grid.cut_starts, grid.has_missing, grid.categorical)
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).digest()


class OwnPaths:
    """The own cuts of one round, numbered in the order in which they were told."""

    def __init__(self, n_trees: int) -> None:
        self.after: list[NDArray[np.int64]] = []
        """For the cuts of every request, what they come after."""
        self._n_cuts = 0
        self._below = np.full((n_trees, 64), FIRST, np.int64)
        """For every node, the nearest own cut above it, and the side."""
        self._number = np.full((n_trees, 64), -1, np.int64)
        """For every node that is cut by an own column, the number of the cut."""

    def cut(self, nodes: Nodes) -> None:
        """These nodes are cut by own columns."""
        self.after.append(self._below[nodes.tree, nodes.node])
        self._number[nodes.tree, nodes.node] = self._n_cuts + np.arange(len(nodes.tree))
        self._n_cuts += len(nodes.tree)

    def move(self, nodes: Nodes, child: NDArray[np.int64]) -> None:
        """These nodes are cut, by whomever; each has two children now."""
        self._widen(int(child.max(initial=0)) + 2)
        above, number = self._below[nodes.tree, nodes.node], self._number[nodes.tree, nodes.node]
        self._below[nodes.tree, child] = np.where(number >= 0, 2 * number, above)
        self._below[nodes.tree, child + 1] = np.where(number >= 0, 2 * number + 1, above)

    def _widen(self, width: int) -> None:
        n_trees, now = self._below.shape
        if width > now:
            more = np.full((n_trees, width), -1, np.int64)
            self._below, self._number = (np.concatenate([a, more], axis=1) for a in (self._below, self._number))


def after_of(kept: Sequence[OwnCuts], n_trees: int, first_trees: int) -> NDArray[np.int64] | None:
    """What each cut of the first trees comes after, numbered as `cuts_of` joins them; None if not all know."""
    found, before = [np.empty(0, np.int64)], 0
    for own in kept:
        if own.round * n_trees >= first_trees:
            continue
        if [len(after) for after in own.after] != [len(cuts.column) for cuts in own.cuts]:
            return None
        codes = np.concatenate([found[0][:0], *own.after])
        found.append(np.where(codes >= 0, codes + 2 * before, FIRST))
        before += len(codes)
    return np.concatenate(found)
