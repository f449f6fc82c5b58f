"""What hybrid training is compared with, by one word; whoever computes it holds all tables.

Nothing is encrypted: a run's forest is the same without. Alone and pooled are what the gap lies between that a hybrid
run may close, so `baselines` answers whether it pays, on a simulation or on a sample that all parties agreed to share.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Hybrid
from hedgerow.agreement.plan import Goal
from hedgerow.data.hybrid_partition import HybridTables, merged, pooled
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model import labels, quality
from hedgerow.model.model import Model, class_numbers, classes_of
from hedgerow.model.train import Task, train
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.run.simulation.hybrid_scores import hybrid_scores
from hedgerow.run.simulation.trees_in_turn import scores_in_turn
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams

Figures = dict[str, dict[str, float]]
"""Metrics by the name of what was measured."""


def _alone(made: HybridTables) -> dict[str, Table]:
    return {"alone": made.active}


def _two_party(made: HybridTables) -> dict[str, Table]:
    return {f"two-party {name}": pooled(made.active, {name: table}) for name, table in made.passive.items()}


def _merged(made: HybridTables) -> dict[str, Table]:
    return {"merged": pooled(made.active, {"merged": merged(made.passive)})}


def _pooled(made: HybridTables) -> dict[str, Table]:
    return {"pooled": made.pooled()}


TABLES: dict[str, Callable[[HybridTables], dict[str, Table]]] = {
    "alone": _alone, "two-party": _two_party, "merged": _merged, "pooled": _pooled,
}  # fmt: skip
"""Baselines of which each model is trained on one table."""
IN_TURN = {"whole-trees": False, "own-whole-trees": True}
"""Baselines of whole trees, and whether a passive party's are used for its own rows alone."""
RUN = "hybrid"
"""The hybrid run itself."""
ENDS = ("alone", "pooled")
"""What the gap lies between that hybrid training may close."""
BASELINES = ("alone", RUN, "two-party", *IN_TURN, "merged", "pooled")
QUESTION = ("alone", RUN, "pooled")
"""What answers whether hybrid training pays."""


def baseline_tables(word: str, made: HybridTables) -> dict[str, Table]:
    """The tables, by name, on each of which one model of the baseline is trained or measured."""
    if word not in TABLES:
        raise ParameterError(f"The baseline {word!r} is not of tables; {', '.join(TABLES)} are.")
    return TABLES[word](made)


def check_words(words: Sequence[str]) -> None:
    """Refuse words that are no baseline."""
    unknown = [word for word in words if word not in BASELINES]
    if unknown or not words:
        what = f"The baseline {unknown[0]!r} is unknown" if unknown else "No baseline is named"
        raise ParameterError(f"{what}; name some of {', '.join(BASELINES)}.")


class Pair(NamedTuple):
    """Training and test rows of the same parties."""

    training: HybridTables
    test: HybridTables


@dataclass(frozen=True, eq=False)
class Comparison:
    """What all baselines have in common."""

    params: TreeParams
    goal: Goal = Goal()  # noqa: RUF009  # frozen
    method: Hybrid = field(default_factory=Hybrid)
    threads: int = 1

    def task(self, active: Table) -> Task:
        """What is learnt from the active party's labels."""
        if active.labels is None:
            raise DataError("The active party's table has no labels; name the label column.")
        goal = self.goal
        classes = classes_of(active.labels) if goal.objective is None else ()
        loss = labels.loss_of_classes(len(classes), self.params.average)
        loss = loss if goal.objective is None else Loss(goal.objective, goal.parameter)
        return Task(loss, classes, goal.base_score, goal.scale_pos_weight, label=goal.label, threads=self.threads)


def baselines(
    training: HybridTables,
    test: HybridTables,
    words: Sequence[str] = QUESTION,
    params: TreeParams = TreeParams(),  # noqa: B008  # frozen
    *,
    goal: Goal = Goal(),  # noqa: B008  # frozen
    method: Hybrid = Hybrid(),  # noqa: B008  # frozen
    threads: int = 1,
    tell: Tell | None = None,
) -> Figures:
    """Train what the words name, and measure it on the active party's test rows.

    Words are `alone` (the active party's columns), `hybrid` (a run of `method`, without its encryption, which
    changes no tree), `two-party` (with each passive party by itself: as many figures), `whole-trees` and
    `own-whole-trees` (each party in turn, the passive ones with copied labels; a party's trees are used for all rows
    that passive parties hold, or for its own), `merged` (vertical, all passive parties being one) and `pooled`.
    `tell` hears a sentence after each.
    """
    check_words(words)
    pair, asked = Pair(training, test), Comparison(params, goal, method, threads)
    found: Figures = {}
    for word in dict.fromkeys(words):
        began = time.perf_counter()
        for name, metrics in _measured(word, pair, asked):
            found[name] = metrics
            (tell or silent)(f"{name}: {time.perf_counter() - began:.1f} s")
            began = time.perf_counter()
    return found


def recovered(figures: Mapping[str, Mapping[str, float]]) -> Figures:
    """Of each baseline and metric, the share of the gap between alone and pooled that is closed.

    A metric in which pooled is no better than alone has no gap, and is left out.
    """
    low, high = (figures[end] for end in ENDS)
    gaps = {name: high[name] - low[name] for name in low if _better(name, high[name], low[name])}
    return {of: {name: (found[name] - low[name]) / gap for name, gap in gaps.items()} for of, found in figures.items()}


def _better(metric: str, one: float, other: float) -> bool:
    return one < other if metric in quality.LESS_IS_BETTER else one > other


def _measured(word: str, pair: Pair, asked: Comparison) -> Iterator[tuple[str, dict[str, float]]]:
    task = asked.task(pair.training.active)
    if word == RUN:
        yield word, _quality(asked, task, *_hybrid_scores(pair, asked))
    elif word in IN_TURN:
        scores = scores_in_turn(*pair, asked.params, task, own_rows=IN_TURN[word])
        yield word, _quality(asked, task, scores, pair.test.active)
    else:
        rows = baseline_tables(word, pair.test)
        for name, table in baseline_tables(word, pair.training).items():
            model = train(table, asked.params, task)
            yield name, _quality(asked, task, model.scores(rows[name], asked.threads), rows[name])


def _hybrid_scores(pair: Pair, asked: Comparison) -> tuple[NDArray[np.float32], Table]:
    goal = replace(asked.goal, early_stopping_rounds=None, eval_metric=None, follow=False)
    return hybrid_scores(*pair, asked.method, goal, asked.params, asked.threads)


def _quality(asked: Comparison, task: Task, scores: NDArray[np.float32], test: Table) -> dict[str, float]:
    if test.labels is None:
        raise DataError("The active party's test rows have no labels to compare predictions with.")
    predicted = Model(Forest.empty(), (), task.loss, 0.0, asked.params, task.classes).means(scores)
    numbers = class_numbers(test.labels, task.classes) if task.classes else test.labels
    return quality.allowed(numbers, predicted, test.weights, len(task.classes))
