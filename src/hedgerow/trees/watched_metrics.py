"""Metrics on held-out rows while training: from integer sums alone, so that every layout stops at the same round.

A row's loss becomes an integer in units of a public bound; AUC comes from a fixed histogram of scores.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import DataError, ParameterError
from hedgerow.trees.grow import Rows
from hedgerow.trees.losses import LabelFacts, Loss, power

Floats = NDArray[np.float64]
AUC_BINS = 1 << 14
AUC_REACH = 16.0
UNIT_BITS = 30
WEIGHT_BITS = 16

OWN = {
    "squared": "rmse",
    "logistic": "logloss",
    "softmax": "mlogloss",
    "shares": "merror",
    "poisson": "poisson-nloglik",
    "tweedie": "tweedie-nloglik",
    "huber": "mphe",
}
"""The metric that measures each loss itself, by XGBoost's name; `merror` for a forest of class shares."""


NAMES = tuple(sorted({*OWN.values(), "auc", "error", "mae"}))


def check_name(given: object) -> None:
    """Refuse what is no name of one metric; whether it can be computed, `Metric` decides."""
    if given is not None and not isinstance(given, str):
        raise ParameterError(f"eval_metric must be the name of one metric, of {', '.join(NAMES)}; it is {given!r}.")


@dataclass(frozen=True)
class Metric:
    """A metric of one loss, in sums of integers."""

    name: str
    loss: Loss
    facts: LabelFacts

    def __post_init__(self) -> None:
        known = {OWN[self.loss.name]}
        if self.loss.name in ("softmax", "shares"):
            known |= {"merror"}
        elif self.loss.name == "logistic":
            known |= {"auc", "error"}
        elif self.loss.name == "squared":
            known |= {"auc", "error", "rmse", "mae"}
        else:
            known |= {"rmse", "mae"}
        if self.name not in known:
            raise ParameterError(
                f"eval_metric {self.name!r} cannot be computed for the {self.loss.name} loss; use one of "
                f"{', '.join(sorted(known))}."
            )

    @property
    def n_sums(self) -> int:
        """How many integers `sums` gives."""
        return 2 * AUC_BINS if self.name == "auc" else 2

    def better(self, a: float, b: float) -> bool:
        """Whether value `a` beats value `b`."""
        return a > b if self.name == "auc" else a < b

    def sums(
        self, scores: NDArray[np.float32], labels: NDArray[np.float32], weights: NDArray[np.float32]
    ) -> NDArray[np.int64]:
        """A table's share of the metric: integers that are added over tables. Scores are trees x rows."""
        weight = weights.astype(np.float64) if len(weights) else np.ones(len(labels))
        relative = weight / self.facts.max_weight
        if self.name == "auc":
            return self._auc_counts(scores[0], labels, relative)
        per_row = self._per_row(scores.astype(np.float64), labels.astype(np.float64)) / self._bound
        units = np.rint(np.clip(per_row, -1, 1) * relative * 2**UNIT_BITS).astype(np.int64)
        return np.array([units.sum(), np.rint(relative * 2**UNIT_BITS).astype(np.int64).sum()])

    def of_sums(self, sums: NDArray[np.int64]) -> float:
        """The metric from the sums over all tables."""
        if self.name == "auc":
            return _auc(sums.reshape(2, -1))
        mean = float(sums[0] / max(int(sums[1]), 1) * self._bound)
        return float(np.sqrt(mean)) if self.name == "rmse" else mean

    def value(self, rows: Rows, n_rounds: int) -> float:
        """The metric on the held-out rows after so many rounds."""
        return self.of_sums(rows.held_out_sums(self, n_rounds))

    @property
    def _bound(self) -> float:
        spread = (self.facts.high - self.facts.low) or 1.0
        greatest = max(abs(self.facts.high), 1.0)
        return {
            "rmse": 4 * spread * spread,
            "mae": 2 * spread,
            "logloss": 64.0,
            "mlogloss": 64.0,
            "mphe": 2 * spread * self.loss.parameter,
            "poisson-nloglik": 64 * greatest,
            "tweedie-nloglik": 256 * power(greatest, 2 - self.loss.parameter)
            if self.name == "tweedie-nloglik"
            else 0.0,
        }.get(self.name, 1.0)

    def _per_row(self, scores: Floats, y: Floats) -> Floats:
        s = scores[0]
        if self.name in ("mlogloss", "merror"):
            return _class_losses(self.name, scores, y)
        if self.name == "logloss":
            return np.asarray(np.maximum(s, 0) - y * s + _native.log(1 + _native.exp(-np.abs(s))))
        if self.name == "error":
            return np.asarray((s > (0 if self.loss.name == "logistic" else 0.5)) != (y > 0.5), np.float64)
        if self.name == "mphe":
            slope = self.loss.parameter
            return np.asarray(slope**2 * (np.sqrt(1 + ((s - y) / slope) ** 2) - 1))
        if self.name == "poisson-nloglik":
            return np.asarray(_native.exp(s) - y * s)
        if self.name == "tweedie-nloglik":
            p = self.loss.parameter
            return _native.exp((2 - p) * s) / (2 - p) - y * _native.exp((1 - p) * s) / (1 - p)
        mean = _native.exp(s) if self.loss.name in ("poisson", "tweedie") else s
        return (mean - y) ** 2 if self.name == "rmse" else np.abs(mean - y)

    def _auc_counts(self, s: NDArray[np.float32], labels: NDArray[np.float32], relative: Floats) -> NDArray[np.int64]:
        spread = (self.facts.high - self.facts.low) or 1.0
        logistic = self.loss.name == "logistic"
        low, reach = (-AUC_REACH, 2 * AUC_REACH) if logistic else (self.facts.low - spread, 3 * spread)
        place = np.clip((s.astype(np.float64) - low) / reach * AUC_BINS, 0, AUC_BINS - 1).astype(np.int64)
        place += AUC_BINS * (labels > 0.5)
        counts = np.zeros(2 * AUC_BINS, np.int64)
        np.add.at(counts, place, np.rint(relative * 2**WEIGHT_BITS).astype(np.int64))
        return counts


def _class_losses(name: str, scores: Floats, y: Floats) -> Floats:
    if name == "merror":
        return np.asarray(scores.argmax(axis=0) != y, np.float64)
    top = scores.max(axis=0)
    total = np.zeros(len(y))
    for score in scores:
        total += _native.exp(score - top)
    own = scores[y.astype(np.int64), np.arange(len(y))]
    return np.asarray(_native.log(total) + top - own)


def _auc(counts: NDArray[np.int64]) -> float:
    negative, positive = counts.astype(object)  # Python integers: products may exceed 64 bits
    total = sum(negative) * sum(positive)
    if not total:
        raise DataError("eval_metric auc needs held-out rows of both classes; they hold one class only.")
    below = np.cumsum(negative) - negative
    return float(sum(positive * (2 * below + negative)) / (2 * total))
