"""Greedy trees of one table with noise in every sum, and FedTree's for comparison, which promise nothing."""

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.dp import DP
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.model import Model
from hedgerow.model.noised_releases import PooledReleases
from hedgerow.model.noised_terms import all_released
from hedgerow.model.train import Task, prepare
from hedgerow.privacy import noise
from hedgerow.privacy.accountant import Release, at_most
from hedgerow.trees.grow import Rows, Summed
from hedgerow.trees.noised.clipped import ClippedRows
from hedgerow.trees.noised.greedy import root_words
from hedgerow.trees.noised.greedy_rule import GreedySchedule
from hedgerow.trees.noised.growing import GreedyTrees, LaplaceTrees, Start, boost_noised
from hedgerow.trees.noised.laplace import CLIP, LaplaceSchedule
from hedgerow.trees.noised.rule import require
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Cuts, Nodes

I64 = NDArray[np.int64]


class PooledTrees(PooledReleases):
    """What greedy trees of one table are grown from."""

    trees: GreedySchedule | None = None

    def begin_trees(self, start: Start, schedule: GreedySchedule) -> None:
        """All other releases are known now, and planned."""
        self.ledger.plan(all_released(schedule.planned[len(self.opening.planned) :]))
        self.trees = schedule
        self.own.begin(start.grid, schedule.before, start.params.random_state)

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

    counts_every, subtracts = False, False

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


# FedTree's way, for comparison


def train_laplace(table: Table, params: TreeParams, task: Task, dp: DP) -> Model:
    """Trees with FedTree's noise; `dp.epsilon` is that of one histogram, and the model has none."""
    if task.loss.n_trees > 1 or params.average or task.start is not None:
        raise ParameterError(
            'DP(method="laplace") is FedTree\'s way for two classes and numbers, for comparison; use another method.'
        )
    trees = LaplaceTrees(LaplaceSchedule(dp.epsilon, params.n_estimators, params.max_depth, table.n_columns))
    ready = prepare(table, trees.params(params), task)
    start = Start(ready.fixed.grid, task.loss, ready.fixed.base, ready.params)
    rows = trees.own_rows(ready.rows.own.matrix, ready.fixed.labels, start, task.threads)
    done = boost_noised(trees, rows, start, noise.laplace, task.threads, task.callbacks)
    task.notes.extend(laplace_notes(trees.schedule, dp.delta))
    return ready.model(done, ready.columns)


def laplace_release(schedule: LaplaceSchedule) -> Release:
    """What is accounted for: a row is in one bin of every column, at every level of every tree."""
    return Release("histograms of gradients", "laplace", CLIP.units, schedule.scale, schedule.n_queries)


def laplace_notes(schedule: LaplaceSchedule, delta: float) -> list[str]:
    """What a user must know of this noise; said wherever it is used."""
    found = at_most([laplace_release(schedule)], delta)
    return [
        "No epsilon: FedTree's noise leaves numbers of rows, cut points and the first score as they are, so that "
        f"nothing is promised of the model. Its epsilon of {schedule.epsilon:g} is one histogram's. A row is in "
        f"{schedule.n_queries} of them; their noised gradients alone cost an epsilon of {found:.2f} together, by Renyi "
        f"divergences at a delta of {delta:g}.",
        "This method is for comparison only; for a promise that holds use DP(epsilon=1), in a run file epsilon = 1.",
    ]
