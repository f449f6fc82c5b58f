"""One forest in each way: pooled, and over parties in this process. Whatever a fit does is done in these calls."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.measure import score
from benchmarks.sets import Split
from benchmarks.settings import Settings
from hedgerow.agreement.options import LEAST_CUT_ROWS, Federation
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.corridor.wire import Listener
from hedgerow.data.table import Table
from hedgerow.model.labels import loss_of_classes
from hedgerow.model.model import ClassLabel, Model, classes_of
from hedgerow.model.train import Task, train
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.party_tables import settled, tables_of
from hedgerow.run.simulation.simulate import simulate
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams

Parties = Mapping[str, Table] | list[tuple[Any, Any]]


@dataclass(frozen=True)
class Recipe:
    """How a forest is grown, wherever its rows lie; without classes it predicts numbers."""

    params: TreeParams
    classes: tuple[ClassLabel, ...]
    threads: int

    @classmethod
    def of(cls, settings: Settings, labels: Any, **more: Any) -> "Recipe":
        """The benchmark's settings and the cut points of a federation, unless `more` says otherwise."""
        chosen = {
            "n_estimators": settings.trees,
            "max_depth": settings.depth,
            "learning_rate": settings.learning_rate,
            "max_bin": settings.bins,
            "reg_lambda": settings.reg_lambda,
            "min_child_weight": settings.min_child_weight,
            "gradient_bits": settings.gradient_bits,
            "min_cut_rows": LEAST_CUT_ROWS,
        }
        classes = () if labels.dtype.kind == "f" else classes_of(labels)
        return cls(TreeParams(**(chosen | more)), classes, settings.threads)

    def exact(self) -> "Recipe":
        """With a cut wherever the quantiles want one, as nobody need avoid on rows of one's own."""
        return replace(self, params=replace(self.params, min_cut_rows=1))

    def pooled(self, X: Any, y: Any = None) -> Model:
        """All rows in one table."""
        loss = loss_of_classes(len(self.classes), average=False) if self.classes else Loss("squared")
        return train(Table.of(X, y), self.params, Task(loss, self.classes, threads=self.threads))

    def federated(self, parties: Parties, federation: Federation, listeners: tuple[Listener, ...] = ()) -> Model:
        """Each party's rows, or columns, in a table of its own: identities, joining, cut points and trees."""
        tables = tables_of(parties)
        who, identities = members(list(tables))
        goal = Goal() if self.classes else Goal("squared")
        plan = Plan("benchmark", who, goal, self.params, settled(federation, tables, {}))
        simulation = Simulation(tables, threads=self.threads, listeners=listeners, identities=identities)
        return simulate(plan, simulation)[0]

    def score(self, model: Model, split: Split) -> float:
        """AUC for two classes, accuracy for more, RMSE for numbers, on the test rows."""
        predicted = model.predict(Table.of(split.X_test), self.threads)
        if self.classes:
            return score(split.y_test, predicted)
        return float(np.sqrt(np.mean((predicted - split.y_test) ** 2)))

    @property
    def metric(self) -> str:
        """The name of that score."""
        return "RMSE" if not self.classes else "AUC" if len(self.classes) == 2 else "accuracy"


def same(one: Model, other: Model) -> bool:
    """Whether two models are the same to the last bit."""
    return one.forest == other.forest and one.base_score == other.base_score


def blocks(split: Split, n: int) -> list[tuple[Any, Any]]:
    """The training rows in `n` equal blocks, one a party; a block of a dense table is no copy."""
    ends = [len(split.y_train) * i // n for i in range(n + 1)]
    return [(split.X_train[a:b], split.y_train[a:b]) for a, b in pairwise(ends)]


def beginning(split: Split, rows: int = 2000) -> Split:
    """The first rows, for a round that is not measured and loads and starts everything."""
    return Split(split.X_train[:rows], split.y_train[:rows], split.X_test[:rows], split.y_test[:rows])
