"""A passive party's own cuts: kept round by round, and put together for its part of the model.

Nobody else sees them: a cut is a place among the own cut points, and a threshold leaves with nothing.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.splits import Cuts


class OwnCuts(NamedTuple):
    """A party's own cuts in the trees of one round."""

    round: int
    cuts: tuple[Cuts, ...]


class Keeps(Protocol):
    """Where a party keeps its own cuts, so that they survive the process."""

    def read(self) -> list[OwnCuts]:
        """The cuts of all complete rounds."""

    def append(self, own: OwnCuts) -> None:
        """One more round; returns when it survives a loss of power."""


class PartCuts(NamedTuple):
    """Cuts as a part of a model has them."""

    tree: NDArray[np.int64]
    node: NDArray[np.int64]
    column: NDArray[np.int32]
    threshold: NDArray[np.float32]
    missing_left: NDArray[np.bool_]
    sets: NDArray[np.uint64]
    """Categories that go left; none at a numeric cut, which its threshold tells."""

    def at(self, which: NDArray[np.bool_]) -> "PartCuts":
        """These alone."""
        threshold, missing_left = self.threshold[which], self.missing_left[which]
        return PartCuts(
            self.tree[which], self.node[which], self.column[which], threshold, missing_left, self.sets[which]
        )


def joined_cuts(kept: Sequence[OwnCuts], n_trees: int, grid: Grid, first_trees: int) -> PartCuts:
    """Those of the first trees, `n_trees` of them in a round."""
    found = [(own.round * n_trees, cuts) for own in kept for cuts in own.cuts]
    every = PartCuts(
        np.concatenate([np.empty(0, np.int64), *(cuts.nodes.tree + first for first, cuts in found)]),
        np.concatenate([np.empty(0, np.int64), *(cuts.nodes.node for _, cuts in found)]),
        np.concatenate([np.empty(0, np.int32), *(cuts.column for _, cuts in found)]),
        np.concatenate([np.empty(0, np.float32), *(_thresholds(cuts, grid) for _, cuts in found)]),
        np.concatenate([np.empty(0, np.bool_), *(cuts.missing_left for _, cuts in found)]),
        np.concatenate([np.empty((0, 4), np.uint64), *(_sets(cuts) for _, cuts in found)]),
    )
    return every.at(every.tree < first_trees)


def _thresholds(cuts: Cuts, grid: Grid) -> NDArray[np.float32]:
    return np.where(cuts.bin < 0, np.float32(0), grid.thresholds(cuts.column, cuts.bin))


def _sets(cuts: Cuts) -> NDArray[np.uint64]:
    return np.where((cuts.bin < 0)[:, None], cuts.left_bins, np.uint64(0))


def grid_digest(grid: Grid) -> bytes:
    """A hash of a party's own cut points, by which its kept cuts are numbered; it stays with the party."""
    arrays = (grid.cuts, grid.cut_starts, grid.has_missing, grid.categorical)
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).digest()
