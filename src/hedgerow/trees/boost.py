"""Rounds of trees: boosting and random forests are one loop, whoever holds the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees import forest as forests
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import Grown, Growth, NoMoreSums, Rows, RowsLost, grow
from hedgerow.trees.params import TreeParams
from hedgerow.trees.watched_metrics import Metric


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


T = TypeVar("T")
Callback = Callable[[Round], object]
"""Called after every round; training ends after the round in which one returns True."""


Kept = Callable[[Forest, Sequence[float]], None]


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
    resumed: tuple[float, ...] | None = None,
    kept: Kept | None = None,
    before_values: Callable[[Forest], None] | None = None,
) -> Boosted:
    """Grow `params.n_estimators` rounds of `n_trees` trees, continuing `start` where there is one.

    With `resumed`, the metric's history so far, the trees of `start` count among these rounds: training that was
    interrupted goes on as if it had not been. `before_values` is given the trees of every round before their
    values are added to any score, `kept` the same trees and the history afterwards.
    """
    parts = [start] if start is not None else []
    first = start.n_trees // n_trees if start is not None else 0
    done = first if resumed is not None else 0
    first -= done
    history = list(resumed or ())
    best = _best(stopping, history)
    patience = stopping.patience if stopping is not None else None
    for i in range(done, params.n_estimators):
        if patience is not None and best is not None and i - best > patience:
            break
        grow_round = partial(
            _round, rows, growth, params, scales, n_trees, round_=first + i, before_values=before_values
        )
        parts.append(_whatever_is_lost(grow_round, parts))
        if stopping is not None:
            value = _whatever_is_lost(partial(stopping.metric.value, rows, first + i + 1), parts)
            history[:] = heard(stopping.metric, history, value, i + 1)
            if best is None or stopping.metric.better(history[-1], history[best]):
                best = i
        if kept is not None:
            kept(parts[-1], history)
        if _ended(callbacks, stopping, history, best, i, first, params.n_estimators):
            break
    whole = forests.join(parts or [Forest.empty()])
    if best is not None and patience is not None:
        whole = whole.first((first + best + 1) * n_trees)
    return Boosted(whole, tuple(history))


def _whatever_is_lost(work: Callable[[], T], parts: Sequence[Forest]) -> T:
    """What comes of it; rows that are lost on the way are had again after the complete trees, and it begins anew."""
    while True:
        try:
            return work()
        except RowsLost as loss:
            loss.restore(forests.join([Forest.empty(), *parts]))


def heard(metric: Metric, history: Sequence[float], value: float, n_rounds: int) -> list[float]:
    """The metric after so many rounds; those before the first value heard get the next worse number, to be no best."""
    if history:
        return [*history, value]
    above, below = float(np.nextafter(value, np.inf)), float(np.nextafter(value, -np.inf))
    return [above if metric.better(value, above) else below] * (n_rounds - 1) + [value]


def _best(stopping: Stopping | None, history: Sequence[float]) -> int | None:
    best: int | None = None
    for i, value in enumerate(history):
        if best is None or (stopping is not None and stopping.metric.better(value, history[best])):
            best = i
    return best


def _round(
    rows: Rows,
    growth: Growth,
    params: TreeParams,
    scales: Scales,
    n_trees: int,
    round_: int,
    before_values: Callable[[Forest], None] | None,
) -> Forest:
    rows.start_round(round_)
    grown = grow(rows, n_trees, round_, growth)
    sums, units = _leaf_sums(rows, grown, scales)
    rate = 1.0 if params.average else params.learning_rate
    values = (_leaf_values(growth, grown, sums, units) * rate).astype(np.float32)
    covers = np.asarray(sums[:, 1] * units[1], np.float64)
    trees = Forest.of_round(grown, values, covers, growth.grid, scales.narrow[1])
    if before_values is not None:
        before_values(trees)
    rows.finish_round(grown.leaves, values)
    return trees


def _leaf_values(
    growth: Growth, grown: Grown, sums: NDArray[np.int64], units: tuple[float, float]
) -> NDArray[np.float64]:
    """The best values of the leaves; where cuts are given, a leaf without rows has that of the node above."""
    if growth.given is not None and not sums.any(axis=1).all():
        sums = np.where(sums.any(axis=1, keepdims=True), sums, grown.sums_above(sums, growth.dealing))
    return growth.rules.values(sums, units, grown.leaf_bounds)


def _leaf_sums(rows: Rows, grown: Grown, scales: Scales) -> tuple[NDArray[np.int64], tuple[float, float]]:
    """Sums of the leaves and their units; narrow ones where no more sums can be had."""
    try:
        if not grown.closed:
            return rows.leaf_sums(grown.leaves), scales.wide
    except NoMoreSums:
        pass
    return grown.known_sums(), scales.narrow


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
    return any(answers)
