"""Greedy trees of one table with noise in every sum."""

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DataError
from hedgerow.model.noised_releases import PooledReleases
from hedgerow.model.noised_terms import all_released
from hedgerow.trees.grow import Rows, Summed
from hedgerow.trees.noised.clipped_rows import ClippedRows
from hedgerow.trees.noised.greedy import root_words
from hedgerow.trees.noised.greedy_rule import GreedySchedule
from hedgerow.trees.noised.growing import GreedyTrees, Start
from hedgerow.trees.noised.rule import require
from hedgerow.trees.splits import Cuts, Nodes

I64 = NDArray[np.int64]


class PooledTrees(PooledReleases):
    """What greedy trees of one table are grown from."""

    trees: GreedySchedule | None = None

    def begin_trees(self, start: Start, schedule: GreedySchedule) -> None:
        """All other releases are known now, and planned."""
        self.ledger.plan(all_released(schedule.planned[len(self.opening.planned) :]))
        self.trees = schedule
        self.own.begin(start.grid, schedule.before)

    def root(self) -> I64:
        """What becomes known: how many rows there are, and the sum of their labels, with noise."""
        return self.noised(require(require(self.trees).root), root_words(self.own.targets))

    def rows_at(self, start: Start) -> Rows:
        """Rows at the first score."""
        schedule, own = require(self.trees), self.own
        rows = GreedyTrees(schedule).own_rows(own.matrix, own.own.labels, start, own.threads)
        return PooledRows(rows, self, schedule)


class PooledRows:
    """Rows of one table, of whose sums each is released."""

    counts_every = False

    def __init__(self, rows: ClippedRows, releases: PooledReleases, schedule: GreedySchedule) -> None:
        self.rows, self.releases, self.schedule = rows, releases, schedule
        self.start_round, self.finish_round = rows.start_round, rows.finish_round
        self.counts = rows.counts

    def histograms(self, nodes: Nodes) -> I64:
        """What becomes known: gradients and hessians of each bin, with noise."""
        sums = self.rows.histograms(nodes)
        return self.releases.noised(self.schedule.level, sums.reshape(-1)).reshape(sums.shape)

    def leaf_sums(self, leaves: Nodes) -> I64:
        """What becomes known: gradients and hessians of each leaf, with noise."""
        return self.releases.noised(self.schedule.leaves, self.rows.leaf_sums(leaves).reshape(-1)).reshape(-1, 2)

    def divide(self, cuts: Cuts) -> None:
        """Nobody is told how many rows go where."""
        self.rows.divide(cuts)

    def node_sums(self, nodes: Nodes) -> None:
        """Not without another release."""

    def held_out_sums(self, metric: Summed, n_rounds: int) -> I64:
        """A metric that is followed is refused."""
        raise DataError(f"{type(metric).__name__} after {n_rounds} rounds would be told without noise.")
