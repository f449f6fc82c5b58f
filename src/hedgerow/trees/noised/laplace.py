"""FedTree's noise (section 4.3 of its paper), for comparison only: it has no epsilon that holds for the model.

A gradient is cut to `R`, a hessian is 1, and every column's histogram of gradients at every node gets Laplace noise of
scale `2 R / epsilon`. That epsilon is one histogram's; a row is in one of each column, level and tree, and all of them
are released. Numbers of rows get no noise at all, so that over everything that is released there is no epsilon.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.grow import NoMoreSums, Rows, Summed
from hedgerow.trees.noised.clipped_rows import Clip
from hedgerow.trees.noised.rule import GRADIENT_UNITS
from hedgerow.trees.splits import Cuts, Nodes

I64 = NDArray[np.int64]
Draw = Callable[[int, int], I64]
"""So many draws of integer Laplace noise of a scale."""
CLIP = Clip(GRADIENT_UNITS, 1.0, 1.0)
"""FedTree's threshold R is 1, whatever the labels are, and its hessians are 1."""


@dataclass(frozen=True)
class LaplaceSchedule:
    """What FedTree releases."""

    epsilon: float
    """Of one histogram."""
    n_trees: int
    max_depth: int
    n_columns: int

    @property
    def scale(self) -> int:
        """Of the noise, in units."""
        return ceil(2 * CLIP.units / self.epsilon)

    @property
    def n_queries(self) -> int:
        """Histograms of gradients that one row is in."""
        return self.n_trees * self.max_depth * self.n_columns


def laplace_noise(schedule: LaplaceSchedule, n_nodes: int, width: int, draw: Draw) -> I64:
    """Noise for histograms of so many nodes (nodes x sums x 2): none on numbers of rows, none where nothing is told."""
    noise = np.zeros((n_nodes, width, 2), np.int64)
    noise[:, :-1, 0] = draw(n_nodes * (width - 1), schedule.scale).reshape(n_nodes, -1)
    return noise


class LaplaceRows:
    """Rows around others, whose sums of gradients get FedTree's noise here, or have it (no `draw`)."""

    counts_every = False

    def __init__(self, rows: Rows, grid: Grid, schedule: LaplaceSchedule, draw: Draw | None) -> None:
        self.rows, self.schedule, self.draw = rows, schedule, draw
        self.width = int(grid.offsets[-1]) + 1
        self.starts = grid.offsets[:-1].astype(np.int64)
        self.share = 1 / np.diff(grid.offsets).astype(np.float64)

    def start_round(self, round_: int) -> None:
        """As the rows do."""
        self.rows.start_round(round_)

    def histograms(self, nodes: Nodes) -> I64:
        """What becomes known of the rows: sums of gradients with noise, and without any how many rows a bin has."""
        sums = self.rows.histograms(nodes)
        if self.draw is not None:
            sums = sums + laplace_noise(self.schedule, len(nodes.tree), self.width, self.draw)
        columns = np.add.reduceat(sums[:, :-1], self.starts, axis=1)
        sums[:, -1, 0] = np.rint(columns[:, :, 0] @ self.share / self.share.sum())
        sums[:, -1, 1] = columns[:, 0, 1]
        return sums

    def leaf_sums(self, leaves: Nodes) -> I64:
        """Nothing: leaves have the sums of the histograms above them."""
        self.rows.leaf_sums(leaves)  # parties hear by which cuts they divide their rows; their answer is nothing
        raise NoMoreSums

    def divide(self, cuts: Cuts) -> None:
        """Sizes follow from the histograms."""
        self.rows.divide(cuts)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """As the rows do."""
        self.rows.finish_round(leaves, values)

    def node_sums(self, nodes: Nodes) -> None:
        """Not without another release."""

    def counts(self, nodes: Nodes) -> I64:
        """Rows of each bin, which hessians of 1 are."""
        raise NotImplementedError(f"rows of {len(nodes.tree)} nodes are in their histograms")

    def held_out_sums(self, metric: Summed, n_rounds: int) -> I64:
        """As the rows do; another release without noise."""
        return self.rows.held_out_sums(metric, n_rounds)
