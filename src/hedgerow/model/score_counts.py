"""What a model predicts beside what is true, as counts: enough for every curve of its quality, and no row.

Rows are sorted by the probability that they were given and put together, at least `LEAST_ROWS` at a time; of each such
bin the mean probability and the weights of both classes are kept. For classes there is the table of what was taken for
what, for numbers the mean prediction and the mean label of each bin.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ModelError

VERSION = 1
LEAST_ROWS, MOST_BINS = 5, 200
MOST_CLASSES = 12
"""Beyond it there are no curves of single classes, and no table of what was taken for what."""

Floats = NDArray[np.float64]


class ScoreCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows in bins of rising probability of one class: its weight in each bin, and that of all others."""

    of: str
    """The class."""
    probability: tuple[float, ...]
    positives: tuple[float, ...]
    negatives: tuple[float, ...]

    def rates(self) -> tuple[Floats, Floats]:
        """The shares of negatives and of positives above each threshold, from the highest to below the lowest."""
        above = [np.concatenate([[0.0], np.cumsum(side[::-1])]) for side in (self.negatives, self.positives)]
        return above[0] / (above[0][-1] or 1.0), above[1] / (above[1][-1] or 1.0)

    def precisions(self) -> tuple[Floats, Floats]:
        """The recall and the precision at each threshold, from the highest on."""
        positive, negative = (np.cumsum(side[::-1]) for side in (self.positives, self.negatives))
        return positive / (positive[-1] or 1.0), positive / np.maximum(positive + negative, np.finfo(np.float64).tiny)

    @property
    def auc(self) -> float:
        """The area under the ROC curve; rows of one bin count as ties."""
        false, true = self.rates()
        return float(np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2))

    @property
    def average_precision(self) -> float:
        """The area under the precision-recall curve, as steps."""
        recall, precision = self.precisions()
        return float(np.sum(np.diff(recall, prepend=0.0) * precision))

    @property
    def ks(self) -> float:
        """The greatest distance between the distributions of the two sides."""
        false, true = self.rates()
        return float(np.max(true - false))

    @property
    def share(self) -> float:
        """The share of the positives."""
        both = sum(self.positives) + sum(self.negatives)
        return sum(self.positives) / both if both else 0.0

    def calibration(self, n_bins: int = 10) -> tuple[Floats, Floats]:
        """The mean probability and the share of positives in so many groups of about equal weight."""
        weight = np.add(self.positives, self.negatives)
        group = np.minimum((np.cumsum(weight) - weight / 2) / (weight.sum() or 1.0) * n_bins, n_bins - 1)
        numbers = group.astype(np.int64)
        total, said, true = (
            np.bincount(numbers, of, n_bins) for of in (weight, weight * self.probability, np.array(self.positives))
        )
        filled = total > 0
        return said[filled] / total[filled], true[filled] / total[filled]


class Judged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model predicted for some rows, beside their labels."""

    rows: str
    """Which rows: test, validation, training, or the name of a file."""
    n_rows: int
    classes: tuple[str, ...] = ()
    metrics: dict[str, float] = {}
    scores: tuple[ScoreCounts, ...] = ()
    """For two classes of the second, else of every class against all others."""
    confusion: tuple[tuple[float, ...], ...] = ()
    """Weights by the true class (a line each) and the likeliest one."""
    predicted: tuple[float, ...] = ()
    labels: tuple[float, ...] = ()
    """For numbers, the mean prediction and the mean label of bins of rising prediction."""
    remark: str = ""
    """What a reader must know of these predictions."""
    version: int = VERSION


def judged(
    labels: NDArray[Any],
    predicted: Floats,
    weights: Floats | None,
    classes: Sequence[object],
    *,
    rows: str,
    metrics: Mapping[str, float],
    least_rows: int = LEAST_ROWS,
) -> Judged:
    """Count; labels are numbers of classes where there are any, `predicted` the probability of every class."""
    weight = np.ones(len(labels)) if weights is None else np.asarray(weights, np.float64)
    named = tuple(str(one) for one in classes)
    told = Judged(rows, len(labels), named, {name: float(value) for name, value in metrics.items()})
    if not classes:
        means = _binned(predicted, (weight * predicted, weight * labels, weight), least_rows)
        first, second = (tuple((means[i] / means[2]).tolist()) for i in (0, 1))
        return msgspec.structs.replace(told, predicted=first, labels=second)
    if len(classes) > MOST_CLASSES:
        return told
    wanted = (1,) if len(classes) == 2 else range(len(classes))
    counts = tuple(_counts(named[k], predicted[:, k], labels == k, weight, least_rows) for k in wanted)
    table = np.zeros((len(classes), len(classes)))
    np.add.at(table, (labels.astype(np.int64), predicted.argmax(axis=1)), weight)
    confusion = tuple(tuple(line) for line in table.tolist())
    return msgspec.structs.replace(told, scores=counts, confusion=confusion)


def encoded(told: Judged) -> bytes:
    """A file's content."""
    return msgspec.json.format(msgspec.json.encode(told), indent=0) + b"\n"


def decoded(content: bytes, what: str) -> Judged:
    """What was counted, from a file's content; damaged or strange ones are refused."""
    try:
        told = msgspec.json.decode(content, type=Judged)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ModelError(f"{what} does not hold the curves of a model, or is damaged; leave it out.") from None
    sizes = {(len(s.probability), len(s.positives), len(s.negatives)) for s in told.scores}
    if told.version != VERSION or any(len(set(size)) > 1 for size in sizes) or len(told.predicted) != len(told.labels):
        raise ModelError(f"{what} does not fit this version of hedgerow, or is damaged; leave it out.")
    return told


def _counts(of: str, probability: Floats, positive: NDArray[np.bool_], weight: Floats, least_rows: int) -> ScoreCounts:
    sums = _binned(probability, (weight * probability, weight * positive, weight * ~positive), least_rows)
    means = sums[0] / np.maximum(sums[1] + sums[2], np.finfo(np.float64).tiny)
    return ScoreCounts(of, tuple(means.tolist()), tuple(sums[1].tolist()), tuple(sums[2].tolist()))


def _binned(by: Floats, sums: Sequence[Floats], least_rows: int) -> list[Floats]:
    """Sums over bins of rising `by`, each of at least so many rows; rows with the same value are never parted."""
    order = np.argsort(by, kind="stable")
    starts = np.flatnonzero(np.diff(by[order], prepend=-np.inf))
    size, kept, last = max(least_rows, -(-len(by) // MOST_BINS)), [], 0
    for start in starts.tolist():
        if start - last >= size and len(by) - start >= least_rows:
            kept.append(start)
            last = start
    return [np.add.reduceat(of[order], [0, *kept]) if len(by) else of for of in sums]
