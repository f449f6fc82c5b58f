"""Rows under trees whose cuts are all drawn: of them nothing is in the model but sums of leaves, with noise.

A node is cut whether it has rows or not, and what a cut is worth is not told, so that the shape of a tree is known
before anybody's rows are.
"""

from dataclasses import replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.grow import Rows, Summed
from hedgerow.trees.local import LocalRows
from hedgerow.trees.noised.clipped_rows import ClippedRows
from hedgerow.trees.noised.drawn_rule import CLIP, PRIOR, DrawnSchedule
from hedgerow.trees.noised.label_rows import I64, Release
from hedgerow.trees.splits import Cuts, Nodes


def clipped_rows(rows: LocalRows) -> ClippedRows:
    """The same rows with gradients and hessians as integers of a bounded length."""
    settings = replace(rows.settings, scales=CLIP.scales)
    return ClippedRows(rows.own, settings, rows.threads, CLIP.units, np.empty(0, np.int64))


class DrawnNoisedRows:
    """Rows around those of all parties, whose leaves alone are told, with noise."""

    counts_every = False

    def __init__(self, rows: Rows, schedule: DrawnSchedule, release: Release) -> None:
        self.rows, self.schedule, self.release = rows, schedule, release
        self._round = -1

    def start_round(self, round_: int) -> None:
        """As the rows do."""
        self._round = round_
        self.rows.start_round(round_)

    def divide(self, cuts: Cuts) -> None:
        """Nobody is told how many rows go where, nor that there are none."""
        self.rows.divide(cuts)

    def leaf_sums(self, leaves: Nodes) -> I64:
        """What the model is made of: these sums with noise; drawn towards 0 by how little is known of a leaf."""
        exact = self.rows.leaf_sums(leaves)
        told = sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in leaves)).digest()
        planned, units = self.schedule.leaves, CLIP.scales.wide
        noised = self.release(f"leaves of round {self._round}", planned, told, exact.reshape(-1)).reshape(exact.shape)
        h = np.maximum(noised[:, 1] * units[1], units[1])
        noise = planned.variance * units[0] ** 2 / self.schedule.n_rounds**0.5
        known = h * (h + 1) / (h * (h + 1) + (noise + h) / PRIOR**2)
        gradients = np.rint(noised[:, 0] * known).astype(np.int64)
        return np.stack([gradients, np.maximum(noised[:, 1], 1)], axis=1)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """As the rows do."""
        self.rows.finish_round(leaves, values)

    def node_sums(self, nodes: Nodes) -> None:
        """Not without another release."""

    def histograms(self, nodes: Nodes) -> I64:
        """Never asked for: no cut is searched for."""
        raise NotImplementedError(f"rows of {len(nodes.tree)} nodes would be summed without noise")

    def counts(self, nodes: Nodes) -> I64:
        """Never asked for: the rule that needs them is refused."""
        raise NotImplementedError(f"rows of {len(nodes.tree)} nodes would be counted without noise")

    def held_out_sums(self, metric: Summed, n_rounds: int) -> I64:
        """Never asked for: a metric that is followed is refused."""
        raise NotImplementedError(f"{type(metric).__name__} after {n_rounds} rounds would be summed without noise")
