"""How a passive party's own cuts lie below each other in the trees of a round, as it saw them grow.

A party that is told the nodes of all rows sees every node that is cut, whoever's cut it is. So it can tell, for each of
its own cuts, the nearest of its own cuts above, and on which side of it. With that, a prediction is held to the path of
a row (`predict/passive`). Nobody else learns anything by it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.protocols.vertical.kept_cuts import OwnCuts
from hedgerow.trees.splits import Nodes

FIRST = -1
"""Of a cut with no own cut above it; of others, twice the number of that cut, and one more right of it."""


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
