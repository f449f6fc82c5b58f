"""A passive party's own cuts: kept round by round, and put together for its part of the model.

Nobody else sees them: a cut is a place among the own cut points, and a threshold leaves with nothing.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.grow import joined_cuts
from hedgerow.trees.splits import NO_CUTS, Cuts, Nodes


class OwnCuts(NamedTuple):
    """A party's own cuts in the trees of one round."""

    round: int
    cuts: tuple[Cuts, ...]
    after: tuple[NDArray[np.int64], ...] = ()
    """How the cuts lie below each other, as `vertical/paths` has it; none where the party is not told."""


class CutStore(Protocol):
    """Where a party keeps its own cuts, so that they survive the process."""

    def read(self) -> list[OwnCuts]:
        """The cuts of all complete rounds."""

    def append(self, own: OwnCuts) -> None:
        """One more round; returns when it survives a loss of power."""


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
