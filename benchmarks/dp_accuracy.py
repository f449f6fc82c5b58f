"""How well models learn with differential privacy, by epsilon: the rule `auto` beside DP-EBM and no privacy at all.

As five parties of which one may collude would have it: every sum has the noise of five shares, a quarter more than one
table alone needs. (Tests show that a federated run is the pooled one with the same noise.)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.dp_ebm import ebm_scores
from benchmarks.dp_sets import EPSILONS, Private
from benchmarks.dp_sets import SETS as SETS
from benchmarks.horizontal_rows import Line
from benchmarks.rows import AtLeast, Row
from benchmarks.settings import Request
from hedgerow.agreement.dp import DP
from hedgerow.data.table import Table
from hedgerow.model.noised_train import train_noised
from hedgerow.model.noised_trees import PooledTrees
from hedgerow.model.train import Task, train
from hedgerow.privacy import noise
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.rule import Planned
from hedgerow.trees.params import TreeParams

FULL = tuple(SETS)
QUICK = ("abalone", "credit1")
PARTIES, COLLUDERS = 5, 1
SEEDS, PEER_SEEDS = 5, 2
SHEET = "test AUC (abalone: RMSE) of auto, five parties, one may collude"


@dataclass(frozen=True)
class AtMost:
    """Ours alone is at most so much."""

    limit: float

    def holds(self, ours: float, peer: float | None) -> bool:  # noqa: ARG002 - this bar looks at ours alone
        """The peer has no part in it."""
        return ours <= self.limit

    def __str__(self) -> str:
        return f"<= {self.limit:.4f}"


class FiveParties(PooledTrees):
    """The noise of all parties' shares."""

    def noise(self, n: int, planned: Planned) -> NDArray[np.int64]:
        """Five shares, of which four are as much as is planned."""
        return noise.gaussian(n, PARTIES * noise.share_of(planned.variance, PARTIES, COLLUDERS))


def run(request: Request) -> Iterator[Row]:
    """A line for each set and epsilon."""
    for name in request.sets:
        private = SETS[name]
        tables, split = private.tables(), private.load()
        without = measured(private, predicted(private, tables, None, 0), tables[1])
        for place, epsilon in enumerate(EPSILONS):
            if request.quick and epsilon not in (0.1, 1.0):
                continue
            dp = DP(epsilon=epsilon, **private.declared)
            seeds = range(2 if request.quick else SEEDS)
            ours = [measured(private, predicted(private, tables, dp, seed), tables[1]) for seed in seeds]
            peers = [
                measured(private, found, tables[1])
                for seed in range(1 if request.quick else PEER_SEEDS)
                if (found := ebm_scores(private, split, epsilon, seed)) is not None
            ]
            yield _line(private, place, ours, fmean(peers) if peers else None, without)


def predicted(private: Private, tables: tuple[Table, Table], dp: DP | None, seed: int) -> NDArray[np.float64]:
    """Numbers, or the probability of the second class, of the test rows."""
    loss, classes = (Loss("squared"), ()) if private.numbers else (Loss("logistic"), (0, 1))
    params, task = TreeParams(random_state=seed), Task(loss, classes, threads=2)
    model = train(tables[0], params, task) if dp is None else train_noised(tables[0], params, task, dp, FiveParties)
    found = model.predict(tables[1], 2)
    return found if private.numbers else found[:, 1]


def measured(private: Private, found: NDArray[np.float64], test: Table) -> float:
    """The AUC, or the root of the mean squared error."""
    labels: Any = test.labels
    return float(np.sqrt(np.mean((found - labels) ** 2)) if private.numbers else roc_auc_score(labels, found))


def _line(private: Private, place: int, ours: list[float], peer: float | None, without: float) -> Line:
    bar, goal, mean = private.bars[place], private.goals[place], fmean(ours)
    reached = mean <= goal if private.numbers else mean >= goal
    figures = {
        "epsilon": EPSILONS[place],
        "auto": mean,
        "deviation": pstdev(ours),
        "bar": bar,
        "goal": goal,
        "goal reached": "yes" if reached else "no",
        "DP-EBM": peer,
        "no privacy": without,
    }
    name = f"{private.name}: epsilon {EPSILONS[place]:g}"
    return Line(name, "real", mean, peer, (AtMost if private.numbers else AtLeast)(bar), None, SHEET, figures)
