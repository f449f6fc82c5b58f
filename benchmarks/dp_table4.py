"""FedTree's table 4: its noise regenerated, what that noise costs, and models with an honest epsilon beside.

FedTree's epsilon is that of one histogram. A row is in one for each column, level and tree; what their gradients cost
together stands beside, by Renyi divergences, and at epsilon 1 by privacy loss distributions too. Even that is not what
is told: numbers of rows have no noise, so that there is no epsilon of all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.dp_accuracy import FiveParties
from benchmarks.horizontal_rows import Figure, Line
from benchmarks.horizontal_runs import Recipe
from benchmarks.horizontal_sets import SETS as OTHERS
from benchmarks.horizontal_tables import ALPHA, FEDTREE, PARTIES
from benchmarks.rows import Row
from benchmarks.sets import Split
from benchmarks.settings import Request
from benchmarks.vertical_runs import dealt
from hedgerow.agreement.dp import DP
from hedgerow.agreement.options import Horizontal, NoPrivacy, Vertical
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.laplace_train import laplace_release
from hedgerow.model.model import Model
from hedgerow.model.noised_train import train_noised
from hedgerow.model.train import Task
from hedgerow.privacy.accountant import at_most, spent
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.laplace import LaplaceSchedule
from hedgerow.trees.params import TreeParams

EPSILONS, DELTA = (1.0, 2.0, 5.0), 1e-6
PUBLISHED = {
    "a9a": ((0.902, 0.792, 0.875, 0.890), (0.902, 0.811, 0.861, 0.888)),
    "abalone": ((0.079, 0.126, 0.103, 0.082), (0.078, 0.142, 0.097, 0.081)),
}
"""Horizontal and vertical, without noise and at each epsilon."""
DECLARED: dict[str, dict[str, Any]] = {
    "a9a": {"max_nonzero": 14, "classes": (0, 1)},
    "abalone": {"label_range": (0, 1)},
}
SETS = {name: OTHERS[name] for name in PUBLISHED}
FULL = QUICK = tuple(SETS)
SEEDS = 3
SHEET = (
    "FedTree's table 4 (AUC of a9a, RMSE of abalone); what so many histograms of that epsilon cost together; "
    "greedy and auto with that epsilon for everything. By columns: scores of leaves have no noise here, because the "
    "active party has the gradients anyway, which FedTree takes from noised histograms"
)


@dataclass(frozen=True, eq=False)
class Trial:
    """One set."""

    name: str
    split: Split
    recipe: Recipe
    seeds: int

    @property
    def table(self) -> Table:
        """The training rows; what a sparse one leaves out is 0."""
        return Table.of(self.split.X_train, self.split.y_train, absent="zero")

    @property
    def task(self) -> Task:
        """What is learnt."""
        classes = self.recipe.classes
        return Task(Loss("logistic") if classes else Loss("squared"), classes, threads=self.recipe.threads)

    def two_parties(self, epsilon: float) -> float:
        """FedTree's noise over two parties, each of which adds all of it."""
        federation = Horizontal(dp=DP(epsilon, DELTA, "laplace"))
        parties = partition.rows(self.table, n=PARTIES, how="quantity", alpha=ALPHA)
        return fmean(self.score(self.recipe.federated(parties, federation)) for _ in range(self.seeds))

    def by_columns(self, epsilon: float) -> float:
        """FedTree's noise on every histogram of two parties with columns; sealing would not change a sum."""
        federation = Vertical(NoPrivacy(i_accept_disclosure=True), dp=DP(epsilon, DELTA, "laplace"))
        parties = dealt(self.table, PARTIES)
        return fmean(self.score(self.recipe.federated(parties, federation)) for _ in range(self.seeds))

    def one_noise(self, epsilon: float) -> float:
        """FedTree's noise once on every histogram, as where each column lies with one party."""
        dp = DP(epsilon, DELTA, "laplace")
        models = (train_noised(self.table, self.recipe.params, self.task, dp) for _ in range(self.seeds))
        return fmean(map(self.score, models))

    def honest(self, method: str, epsilon: float) -> float:
        """An epsilon for everything, as five parties of which one may collude have it."""
        dp = DP(epsilon, DELTA, method, **DECLARED[self.name])  # type: ignore[arg-type]  # a word of those methods
        models = (train_noised(self.table, TreeParams(), self.task, dp, FiveParties) for _ in range(self.seeds))
        return fmean(map(self.score, models))

    def score(self, model: Model) -> float:
        """AUC, or the root of the mean squared error, on the test rows."""
        predicted, labels = model.predict(Table.of(self.split.X_test, absent="zero"), 2), self.split.y_test
        if self.recipe.classes:
            return float(roc_auc_score(labels, predicted[:, 1]))
        return float(np.sqrt(np.mean((predicted - labels) ** 2)))


def run(request: Request) -> Iterator[Row]:
    """A line for each set without noise, and for each of FedTree's epsilons."""
    for name in request.sets:
        split = SETS[name].load()
        recipe = Recipe.of(request.settings, split.y_train, **FEDTREE)
        trial = Trial(name, split, recipe, 1 if request.quick else SEEDS)
        theirs = PUBLISHED[name]
        without = trial.score(recipe.pooled(trial.table))
        yield _line(trial, "no noise", without, theirs[0][0], theirs[1][0], {})
        for epsilon, horizontal, vertical in zip(EPSILONS, theirs[0][1:], theirs[1][1:], strict=True):
            figures = {
                "by columns": trial.by_columns(epsilon),
                "one noise": trial.one_noise(epsilon),
                **costs(recipe.params, trial.table.n_columns, epsilon, exactly=epsilon == 1 and not request.quick),
                "greedy": trial.honest("greedy", epsilon),
                "auto": trial.honest("auto", epsilon),
            }
            yield _line(trial, f"epsilon {epsilon:g}", trial.two_parties(epsilon), horizontal, vertical, figures)


def costs(params: TreeParams, n_columns: int, epsilon: float, exactly: bool) -> dict[str, Figure]:
    """What FedTree's noise on gradients costs, all histograms together."""
    release = [laplace_release(LaplaceSchedule(epsilon, params.n_estimators, params.max_depth, n_columns))]
    return {
        "histo- grams": release[0].times,
        "by PLD": spent(release, DELTA).epsilon if exactly else None,
        "by RDP": at_most(release, DELTA),
    }


NONE: dict[str, Figure] = dict.fromkeys(
    (
        "by columns", "one noise", "histo- grams", "by PLD", "by RDP",
        "greedy", "auto",
    )
)  # fmt: skip


def _line(trial: Trial, what: str, ours: float, horizontal: float, vertical: float, figures: dict[str, Figure]) -> Line:
    shown = {"two parties": ours, "their horizontal": horizontal, "their vertical": vertical, **NONE, **figures}
    return Line(f"{trial.name}: {what}", SETS[trial.name].origin, ours, horizontal, None, None, SHEET, shown)
