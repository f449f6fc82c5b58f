"""Rounds of trees: boosting and random forests are one loop, whoever holds the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.trees import forest as forests
from hedgerow.trees.evaluate import Metric
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import Growth, Rows, grow
from hedgerow.trees.params import TreeParams


@dataclass(frozen=True)
class Round:
    """What a callback is told after each round."""

    number: int
    """Counted from 1, trees of a continued model included."""
    n_rounds: int
    metric: str | None
    value: float | None
    """The metric on the held-out rows."""
    best: int | None
    """The round with the best value so far."""


Callback = Callable[[Round], object]
"""Called after every round; training ends after the round in which one returns True."""


@dataclass(frozen=True)
class Stopping:
    """When to end early: no better value of the metric on the held-out rows for `patience` rounds (None: never)."""

    metric: Metric
    patience: int | None


@dataclass(frozen=True)
class Boosted:
    """A forest, and how the metric went."""

    forest: Forest
    history: tuple[float, ...]


def boost(
    rows: Rows,
    growth: Growth,
    params: TreeParams,
    scales: Scales,
    n_trees: int,
    stopping: Stopping | None = None,
    callbacks: Sequence[Callback] = (),
    start: Forest | None = None,
) -> Boosted:
    """Grow `params.n_estimators` rounds of `n_trees` trees, continuing `start` where there is one."""
    parts = [start] if start is not None else []
    first = start.n_trees // n_trees if start is not None else 0
    history: list[float] = []
    best: int | None = None
    for i in range(params.n_estimators):
        parts.append(_round(rows, growth, params, scales, n_trees, first + i))
        if stopping is not None:
            history.append(stopping.metric.value(rows, first + i + 1))
            if best is None or stopping.metric.better(history[-1], history[best]):
                best = i
        if _ended(callbacks, stopping, history, best, i, first, params.n_estimators):
            break
    whole = forests.join(parts)
    if best is not None and stopping is not None and stopping.patience is not None:
        whole = whole.first((first + best + 1) * n_trees)
    return Boosted(whole, tuple(history))


def _round(rows: Rows, growth: Growth, params: TreeParams, scales: Scales, n_trees: int, round_: int) -> Forest:
    rows.start_round(round_)
    grown = grow(rows, n_trees, round_, growth)
    sums = rows.leaf_sums(grown.leaves)
    rate = 1.0 if params.average else params.learning_rate
    values = (growth.rules.values(sums, scales.wide, grown.leaf_bounds) * rate).astype(np.float32)
    rows.finish_round(grown.leaves, values)
    return Forest.of_round(
        grown, values, np.asarray(sums[:, 1] * scales.wide[1], np.float64), growth.grid, scales.narrow[1]
    )


def _ended(
    callbacks: Sequence[Callback],
    stopping: Stopping | None,
    history: list[float],
    best: int | None,
    i: int,
    first: int,
    n_rounds: int,
) -> bool:
    name = stopping.metric.name if stopping is not None else None
    told = Round(
        first + i + 1,
        first + n_rounds,
        name,
        history[-1] if history else None,
        None if best is None else first + best + 1,
    )
    answers = [callback(told) for callback in callbacks]  # every one is told, whatever another answers
    patience = stopping.patience if stopping is not None else None
    return any(answers) or (patience is not None and best is not None and i - best >= patience)
