"""Whole trees in turn, which hybrid training is compared with (TFL in the HybridTree paper).

The active party and the passive ones grow one tree after the other, each over its own columns and its own rows, on what
all trees before it left. For that, passive parties are taken to have the labels of their rows, which in a hybrid run
they have not; whoever computes this holds all tables.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.hybrid_partition import HybridTables, places_of
from hedgerow.data.partition import numbered
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.model import dense
from hedgerow.model.prepare import growth_of
from hedgerow.model.train import Ready, Task, prepare
from hedgerow.trees.boost import boost
from hedgerow.trees.forest import Forest
from hedgerow.trees.params import TreeParams

Scores = NDArray[np.float32]
"""Rows x trees of a round."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Some of the active party's rows, by their places, with the columns of one party."""

    places: NDArray[np.intp]
    table: Table


def scores_in_turn(
    training: HybridTables, test: HybridTables, params: TreeParams, task: Task, *, own_rows: bool = False
) -> Scores:
    """Raw scores of the active party's test rows, by `params.n_estimators` rounds of trees.

    A passive party's tree is used for every row that any passive party holds, or (`own_rows`) for its own alone.
    """
    if params.average:
        raise ParameterError(
            "Trees in turn learn from the trees before them; a random forest's do not. Leave whole-trees out."
        )
    growers = list(_growers(training, params, task))
    used = [[_used(made, name, own_rows) for name in ("", *made.passive)] for made in (training, test)]
    base = growers[0].ready.fixed.base
    learnt, new = (np.full((made.active.n_rows, task.loss.n_trees), base, np.float32) for made in (training, test))
    for turn in range(params.n_estimators):
        at = turn % len(growers)
        if growers[at].rows.table.n_rows:
            trees = growers[at].grown(learnt)
            for scores, rows in zip((learnt, new), used, strict=True):
                _add(trees, rows[at], growers[at].ready, scores, task.threads)
    return new


class _Grower:
    """A party with its rows and labels, and its trees so far."""

    def __init__(self, rows: Rows, params: TreeParams, task: Task) -> None:
        self.rows, self.trees, self.n_trees = rows, Forest.empty(), task.loss.n_trees
        self.params = replace(params, n_estimators=1)
        if rows.table.n_rows:
            self.ready = prepare(rows.table, params, task)
            self.growth = growth_of(self.ready.fixed.grid, params, self.ready.fixed.scales, task.threads)

    def grown(self, scores: Scores) -> Forest:
        """One more round of trees, on what these scores leave."""
        ready = self.ready
        ready.rows.own.scores[:] = scores[self.rows.places].T
        start = self.trees if self.trees.n_trees else None
        self.trees = boost(ready.rows, self.growth, self.params, ready.fixed.scales, self.n_trees, start=start).forest
        return self.trees.part(self.trees.n_trees - self.n_trees, self.trees.n_trees)


def _growers(training: HybridTables, params: TreeParams, task: Task) -> Iterator[_Grower]:
    """The active party, then each passive one with copies of labels and weights."""
    active = training.active
    yield _Grower(Rows(np.arange(active.n_rows), active), params, task)
    for name in training.passive:
        rows = _used(training, name, own_rows=True)
        labels = None if active.labels is None else active.labels[rows.places]
        weights = None if active.weights is None else active.weights[rows.places]
        yield _Grower(replace(rows, table=replace(rows.table, labels=labels, weights=weights)), params, task)


def _used(made: HybridTables, party: str, own_rows: bool) -> Rows:
    """The rows that a party's trees are used for; of the active party, all."""
    if not party:
        return Rows(np.arange(made.active.n_rows), made.active)
    keys, own = numbered(made.active).row_keys(), made.passive[party]
    if own_rows:
        places = places_of(keys, party, own)
        rows = np.flatnonzero(places >= 0)
        return Rows(rows, replace(own.take(places[rows]), ids=None))
    having = [(name, table) for name, table in made.passive.items() if set(table.names) & set(own.names)]
    held = np.logical_or.reduce([places_of(keys, name, table) >= 0 for name, table in having])
    rows = np.flatnonzero(held)
    return Rows(rows, made.pooled().aligned(own.columns).take(rows))


def _add(trees: Forest, rows: Rows, ready: Ready, scores: Scores, threads: int) -> None:
    values = dense(rows.table.aligned(ready.columns))
    part = np.ascontiguousarray(scores[rows.places])
    trees.add_scores(values, float("nan"), part, threads)
    scores[rows.places] = part
