"""What is fixed before the first tree: labels and weights as numbers, what is known of them, and the first score."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.model import ClassLabel, class_numbers, places_among
from hedgerow.trees.fixedpoint import WIDE_BITS
from hedgerow.trees.losses import LabelFacts, Loss

MOST_WEIGHT = 1e30


def loss_of_classes(n_classes: int, average: bool) -> Loss:
    """The loss that tells so many classes apart, in boosted trees or (`average`) a random forest."""
    if average:
        return Loss("shares", n_classes=n_classes) if n_classes > 2 else Loss("squared")
    return Loss("softmax", n_classes=n_classes) if n_classes > 2 else Loss("logistic")


def used(table: Table) -> Table:
    """Rows with weight 0 are no rows: they must not even move a cut."""
    if table.weights is None or (table.weights > 0).all():
        return table
    return table.take(np.flatnonzero(table.weights > 0))


def left_out(table: Table, classes: Sequence[ClassLabel]) -> NDArray[np.bool_]:
    """Rows whose label is no declared class, or no number that fits: under differential privacy they are no rows.

    A refusal would tell others without noise that there is one; leaving it out is a rule of each row by itself. Labels
    that are text where numbers are learnt, or the other way round, are another matter: that is known of all rows.
    """
    labels, none = table.labels, np.zeros(table.n_rows, np.bool_)
    if labels is None:
        return none
    numbers = labels.dtype.kind in "iufb"
    if not classes:
        return np.abs(labels.astype(np.float64)) > np.finfo(np.float32).max if numbers else none
    return none if numbers == isinstance(classes[0], str) else places_among(labels, tuple(classes))[1]


def left_out_sentence(n: int) -> str:
    """What an owner is told of them, and nobody else."""
    which = "1 row has a label that is" if n == 1 else f"{n} rows have labels that are"
    return f"{which} none of the declared classes, or no number of 32 bits, and so left out (nobody else is told)."


def labels_of(table: Table, classes: Sequence[ClassLabel]) -> NDArray[np.float32]:
    """Labels as numbers: positions among the classes where there are any."""
    if table.labels is None:
        raise DataError("The table has no labels; name the label column.")
    if not classes:
        return numbers_of(table)
    return class_numbers(table.labels, tuple(classes)).astype(np.float32)


def numbers_of(table: Table) -> NDArray[np.float32]:
    """Labels that are numbers."""
    try:
        numbers = np.asarray(table.labels).astype(np.float64)
    except (TypeError, ValueError):
        raise DataError("The labels are text; a regression needs numbers (use a classifier for classes).") from None
    if np.abs(numbers).max(initial=0) > np.finfo(np.float32).max:
        raise DataError("Some labels are too large for a 32-bit float; scale them.")
    return numbers.astype(np.float32)


def within(labels: NDArray[np.float32], low: float, high: float) -> NDArray[np.float32]:
    """Labels beyond a declared range as its nearer end; no rounding of an end lets them lie beyond."""
    first, last = np.float32(low), np.float32(high)
    first = first if first >= low else np.nextafter(first, np.float32(np.inf))
    last = last if last <= high else np.nextafter(last, np.float32(-np.inf))
    return np.clip(labels, first, last)


def shares_of(
    table: Table, classes: Sequence[ClassLabel], label_range: tuple[float, float] | None
) -> NDArray[np.float64]:
    """Labels from 0 to 1: where they lie in a declared range, else whether they are the second class."""
    if label_range is None:
        return np.array(np.asarray(table.labels) == classes[1], np.float64)
    low, high = label_range
    return (within(numbers_of(table), low, high).astype(np.float64) - low) / (high - low)


def weights_of(table: Table, classes: Sequence[ClassLabel], scale_pos_weight: float) -> NDArray[np.float32]:
    """Weights of the rows, the one for the positive class included; empty if all are 1."""
    if table.weights is None and scale_pos_weight == 1:
        return np.empty(0, np.float32)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.copy()
    if scale_pos_weight != 1:
        if len(classes) != 2:
            raise ParameterError("scale_pos_weight needs exactly two classes.")
        weights[labels_of(table, classes) == 1] *= scale_pos_weight
    return as_float32(weights)


def own_weights(table: Table) -> NDArray[np.float32]:
    """Weights of the rows as they are; empty if all are 1."""
    return np.empty(0, np.float32) if table.weights is None else as_float32(table.weights)


def as_float32(weights: NDArray[np.float64]) -> NDArray[np.float32]:
    """Weights, if they are neither too large nor too small."""
    if len(weights) and (weights.max() > MOST_WEIGHT or weights.min() < 1 / MOST_WEIGHT):
        raise DataError(f"Some weights are above {MOST_WEIGHT:g} or below {1 / MOST_WEIGHT:g}; scale them.")
    return weights.astype(np.float32)


def check_first_score(loss: Loss, given: float | None) -> None:
    """Refuse a first score, given as a label or a probability, that the loss cannot have."""
    if given is None:
        return
    positive = loss.name in ("poisson", "tweedie")
    low, high = (0.0, 1.0) if loss.name == "logistic" else (0.0 if positive else -np.inf, np.inf)
    if isinstance(given, bool) or not isinstance(given, Real) or not low < float(given) < high:
        raise ParameterError(f"base_score must be a number above {low:g} and below {high:g} for the {loss.name} loss.")


BLOCK = 1 << 20
"""Rows that are summed at once."""


def moments(labels: NDArray[np.float32], weights: NDArray[np.float32], facts: LabelFacts) -> NDArray[np.int64]:
    """A table's share of the mean label: sums of labels and of weights, in units of the greatest."""
    parts = [slice(at, at + BLOCK) for at in range(0, len(labels), BLOCK)]
    return sum((_moments(labels[part], weights[part], facts) for part in parts), np.zeros(2, np.int64))


def _moments(labels: NDArray[np.float32], weights: NDArray[np.float32], facts: LabelFacts) -> NDArray[np.int64]:
    weight = weights.astype(np.float64) / facts.max_weight if len(weights) else np.ones(len(labels)) / facts.max_weight
    sums = np.rint(labels.astype(np.float64) / _unit(facts) * weight * 2**WIDE_BITS).astype(np.int64).sum()
    return np.array([sums, np.rint(weight * 2**WIDE_BITS).astype(np.int64).sum()])


def first_score(loss: Loss, sums: NDArray[np.int64], facts: LabelFacts) -> float:
    """The first score of every row, from the moments of all tables."""
    return float(np.float32(loss.base_score(float(sums[0] / sums[1] * _unit(facts)))))


def _unit(facts: LabelFacts) -> float:
    return max(abs(facts.low), abs(facts.high)) or 1.0
