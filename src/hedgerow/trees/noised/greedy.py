"""Greedy trees from noised sums: the ordinary growing loop over rows of which every release has noise.

Histograms of a level are one release, as its nodes share no row; the leaves of a round are another. What comes back is
made fit for the search of cuts: the columns of a node have the same total, sums that are not told follow from it, and
leaves of which little is known get little value. Siblings are not subtracted: that would add their noise.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.grow import Rows, Summed
from hedgerow.trees.noised.greedy_rule import GreedySchedule
from hedgerow.trees.noised.rule import GRADIENT_UNITS, Terms
from hedgerow.trees.noised.sums import zero_bins
from hedgerow.trees.splits import Cuts, Nodes

I64 = NDArray[np.int64]
Draw = Callable[[int, int], I64]
"""So many draws of integer noise of a variance."""


def untold_sums(grid: Grid, terms: Terms) -> I64:
    """Places among a node's sums that no row adds to: the total, or the bins of 0 where that tells less."""
    return zero_bins(grid) if terms.counts_nonzero else np.array([int(grid.offsets[-1])])


def root_words(targets: NDArray[np.float32]) -> I64:
    """How far labels (0 to 1) lie from the middle, and how many there are, each in halves of a unit gradient."""
    apart = np.trunc((np.clip(targets.astype(np.float64), 0, 1) - 0.5) * GRADIENT_UNITS).astype(np.int64)
    return np.array([apart.sum(), apart.size * (GRADIENT_UNITS // 2)])


def root_mean(noised_words: I64) -> float:
    """The mean label, from 0 to 1, that such words with noise show."""
    halves = max(2 * int(noised_words[1]), GRADIENT_UNITS)
    return float(np.clip(0.5 + noised_words[0] / halves, 0.001, 0.999))


class NoisedRows:
    """Rows around others, whose sums get noise here, or have it from the parties they come from (no `draw`)."""

    counts_every = False

    def __init__(self, rows: Rows, grid: Grid, schedule: GreedySchedule, draw: Draw | None) -> None:
        self.rows, self.schedule, self.draw = rows, schedule, draw
        self.settling = Settling(grid, schedule)

    def start_round(self, round_: int) -> None:
        """As the rows do."""
        self.rows.start_round(round_)

    def histograms(self, nodes: Nodes) -> I64:
        """What becomes known of the rows: these sums with noise."""
        return self.settling.level(self._noised(self.rows.histograms(nodes), self.schedule.level.variance))

    def leaf_sums(self, leaves: Nodes) -> I64:
        """What becomes known of the rows: these sums with noise."""
        return self.settling.leaves(self._noised(self.rows.leaf_sums(leaves), self.schedule.leaves.variance))

    def _noised(self, sums: I64, variance: int) -> I64:
        return sums if self.draw is None else sums + self.draw(sums.size, variance).reshape(sums.shape)

    def divide(self, cuts: Cuts) -> None:
        """Nobody is told how many rows go where."""
        self.rows.divide(cuts)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """As the rows do."""
        self.rows.finish_round(leaves, values)

    def node_sums(self, nodes: Nodes) -> None:
        """Not without another release."""

    def counts(self, nodes: Nodes) -> I64:
        """Never asked for: the rule that needs them is refused."""
        raise NotImplementedError(f"rows of {len(nodes.tree)} nodes would be counted without noise")

    def held_out_sums(self, metric: Summed, n_rounds: int) -> I64:
        """Never asked for: a metric that is followed is refused."""
        raise NotImplementedError(f"{type(metric).__name__} after {n_rounds} rounds would be summed without noise")


class Settling:
    """What is made of noised sums before anything is chosen by them; none of it needs the rows."""

    def __init__(self, grid: Grid, schedule: GreedySchedule) -> None:
        self.schedule = schedule
        self.untold = untold_sums(grid, schedule.terms)
        self.starts = grid.offsets[:-1].astype(np.int64)
        self.sizes = np.diff(grid.offsets).astype(np.int64)
        self.by_category = np.repeat(grid.categorical, self.sizes)

    def level(self, sums: I64) -> I64:
        """Histograms whose columns all have the node's total: that told, or the best guess from all columns."""
        out = sums.astype(np.float64)
        if self.schedule.terms.counts_nonzero:
            out[:, self.untold] = 0
            out[:, self.untold] = out[:, -1:] - self._totals(out)
        else:
            share = 1 / self.sizes
            totals = self._totals(out)
            out[:, -1] = np.einsum("ncp,c->np", totals, share) / share.sum()
            lacking = (out[:, -1:] - totals) * share[None, :, None]
            out[:, :-1] += np.repeat(lacking, self.sizes, axis=1)
        if self.by_category.any():  # they are ordered by gradient over hessian
            known = out[:, :-1][:, self.by_category]
            known[:, :, 1] = np.maximum(known[:, :, 1], self.schedule.level.variance**0.5)
            out[:, :-1][:, self.by_category] = known
        return np.rint(out).astype(np.int64)

    def _totals(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(sums[:, :-1], self.starts, axis=1)

    def leaves(self, sums: I64) -> I64:
        """Gradients drawn towards 0 by how little is known of their leaf; hessians of at least their noise."""
        rule, (unit, heavy) = self.schedule, self.schedule.clip.scales.wide
        g, h = sums[:, 0].astype(np.float64), sums[:, 1] * heavy
        least = np.maximum(h, rule.leaves.variance**0.5 * heavy)
        noise = rule.leaves.variance * unit**2 / rule.n_trees**0.5
        known = least / (least + (noise + least) / (rule.prior**2 * (least + 1)))
        drawn: I64 = np.rint(np.stack([g * known * (h > 0), least / heavy], axis=1)).astype(np.int64)
        return drawn
