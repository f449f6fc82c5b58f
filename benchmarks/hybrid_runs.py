"""Scores of hybrid forms and of what they are compared with, on parties of one process.

Forms whose forest is that of one table are trained there (`hybrid_twin`), and HybridTree itself by `hybrid_separate`:
no protocol changes a tree, and accuracy over many seeds costs little so. `SameForest` rows look whether that is so.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from benchmarks.hybrid_separate import separate_scores
from benchmarks.hybrid_sets import HybridSet, Pair
from benchmarks.hybrid_twin import train_by
from benchmarks.settings import Request
from hedgerow.agreement.options import LEAST_CUT_ROWS, Hybrid, NoPrivacy
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.data.table import Table
from hedgerow.model.model import Model
from hedgerow.model.train import Task, train
from hedgerow.run.simulation.hybrid_baselines import baseline_tables
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.party_tables import settled
from hedgerow.run.simulation.simulate import simulate
from hedgerow.run.simulation.trees_in_turn import scores_in_turn
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams

TREES, DEPTH, BINS, PASSIVE_LEVELS = 50, 7, 32, 2
"""As the paper has them: of seven levels two are the passive parties'. Its number of bins it does not say."""
MOST_TWO_PARTY = 10
FROM_ZERO = 0.5
"""Its trees begin at a score of 0, which is a probability of a half; ours at the mean label."""

Scores = NDArray[np.float64]


def params_of(request: Request, **more: Any) -> TreeParams:
    """The paper's settings, with the cut points of a federation."""
    del request
    chosen = {"n_estimators": TREES, "max_depth": DEPTH, "learning_rate": 0.1, "reg_lambda": 1.0, "max_bin": BINS}
    return TreeParams(**(chosen | {"min_cut_rows": LEAST_CUT_ROWS} | more))


@dataclass(frozen=True, eq=False)
class Trial:
    """One pair of training and test rows, cut into parties, and how forests are grown."""

    data: HybridSet
    pair: Pair
    params: TreeParams
    task: Task

    @classmethod
    def of(cls, data: HybridSet, pair: Pair, request: Request, base: float | None = None, **more: Any) -> "Trial":
        """With the benchmark's settings; trees begin at the mean label unless `base` says where."""
        task = Task(Loss("logistic"), (0, 1), base_score=base, threads=request.settings.threads)
        return cls(data, pair, params_of(request, **more), task)

    @cached_property
    def pooled_tables(self) -> tuple[Table, Table]:
        """All columns in one table, of training and of test rows."""
        return self.pair.train.pooled(), self.pair.test.pooled()

    def alone(self) -> float:
        """The active party with its own columns."""
        return self.score(self._scores(train(self.pair.train.active, self.params, self.task), self.pair.test.active))

    def pooled(self) -> float:
        """Everything in one table: a vertical run, with all passive parties merged, has this forest."""
        return self.by("J" * self.params.max_depth)

    def shared(self) -> float:
        """Passive parties share their columns, by the levels that hybrid runs have by default."""
        return self.score(self.shared_scores())

    def shared_scores(self, *tables: Table) -> Scores:
        """Of the test rows; `tables` stand in the place of the pooled ones."""
        return self.by_scores(Hybrid().scheduled(self.params.max_depth).levels, *tables)

    def random(self) -> float:
        """Passive parties share their columns, whose cuts are random, by the levels that such runs have by default."""
        return self.score(self.random_scores())

    def random_scores(self, *tables: Table, spans: tuple[tuple[int, int], ...] = ()) -> Scores:
        """Of the test rows; `tables` stand in the place of the pooled ones, `spans` are the columns of each owner."""
        whole, test = tables or self.pooled_tables
        n_own = self.pair.train.active.n_columns
        levels = Hybrid(passive_cuts="random").scheduled(self.params.max_depth).levels
        drawn = spans or ((n_own, whole.n_columns),)
        return self._scores(train_by(whole, self.params, self.task, levels, n_own, drawn), test)

    def by(self, levels: str) -> float:
        """Passive parties share their columns, by any levels."""
        return self.score(self.by_scores(levels))

    def by_scores(self, levels: str, *tables: Table) -> Scores:
        """Of the test rows."""
        whole, test = tables or self.pooled_tables
        return self._scores(train_by(whole, self.params, self.task, levels, self.pair.train.active.n_columns), test)

    def separate(self) -> float:
        """HybridTree: each passive party's own subtrees below the levels of the active party."""
        return self.score(self.separate_scores())

    def separate_scores(self) -> Scores:
        """Of the test rows."""
        return separate_scores(*self.pair, self.params, self.task, PASSIVE_LEVELS)

    def two_party(self) -> list[float]:
        """The active party with each passive party by itself, or with the first `MOST_TWO_PARTY` of many."""
        names = list(self.pair.train.passive)[:MOST_TWO_PARTY]
        made = [some._replace(passive={name: some.passive[name] for name in names}) for some in self.pair]
        tables, tests = (baseline_tables("two-party", some) for some in made)
        return [self.score(self._scores(train(tables[n], self.params, self.task), tests[n])) for n in tables]

    def whole_trees(self, own_rows: bool) -> float:
        """Each party's trees in turn, with copied labels, used for all rows that passive parties hold or its own."""
        return self.score(
            scores_in_turn(*self.pair, self.params, self.task, own_rows=own_rows)[:, 0].astype(np.float64)
        )

    def from_zero(self) -> "Trial":
        """The same from a score of 0."""
        return replace(self, task=replace(self.task, base_score=FROM_ZERO))

    def federated(self, method: Hybrid) -> Model:
        """A real run in this process, without encryption: linkage, cut points, all messages."""
        tables = {"active": self.pair.train.active, **self.pair.train.passive}
        who, identities = members(list(tables))
        plan = Plan("benchmark", who, Goal(), self.params, settled(method, tables, {}))
        return simulate(plan, Simulation(tables, threads=self.task.threads, identities=identities))[0]

    def twin_is_run(self) -> bool:
        """Whether the forest trained here in one table is that of a real run that shares columns."""
        method = Hybrid(NoPrivacy(i_accept_disclosure=True), active="active", align="given", shared=True)
        method = method.scheduled(self.params.max_depth)
        whole, n_own = self.pair.train.pooled(), self.pair.train.active.n_columns
        return self.federated(method).forest == train_by(whole, self.params, self.task, method.levels, n_own).forest

    def score(self, scores: Scores) -> float:
        """Accuracy, or the area under the precision-recall curve, of the test rows."""
        labels = np.asarray(self.pair.test.active.labels)
        if self.data.metric == "AUPRC":
            return float(average_precision_score(labels, scores))
        return float(((scores > 0) == labels).mean())

    def _scores(self, model: Model, test: Table) -> Scores:
        return model.scores(test, self.task.threads)[:, 0].astype(np.float64)


def recovered(ours: float, alone: float, pooled: float) -> float:
    """The share of the gap between alone and pooled that is closed."""
    return (ours - alone) / (pooled - alone)
