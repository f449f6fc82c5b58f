"""A passive party's own cuts: kept round by round, and put together for its part of the model.

Nobody else sees them: a cut is a place among the own cut points, and a threshold leaves with nothing.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from hedgerow.protocols.session.stores import CutStore as CutStore
from hedgerow.protocols.session.stores import OwnCuts as OwnCuts
from hedgerow.trees.bins import Grid
from hedgerow.trees.grow import joined_cuts
from hedgerow.trees.splits import NO_CUTS, Cuts, Nodes


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
