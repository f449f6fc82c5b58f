"""What is minimised: derivatives (in the native part), their bounds, the first score, and what a score means."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import DataError, ParameterError

LossName = Literal["squared", "logistic", "softmax", "shares", "poisson", "tweedie", "huber"]
LOSSES: tuple[LossName, ...] = ("squared", "logistic", "softmax", "shares", "poisson", "tweedie", "huber")
PER_CLASS = ("softmax", "shares")
LEAST_MEAN = 1e-6


def exp(x: float) -> float:
    """Of e, the power x, the same on every CPU."""
    return float(_native.exp(np.array([x]))[0])


def log(x: float) -> float:
    """The natural logarithm, the same on every CPU."""
    return float(_native.log(np.array([x]))[0])


def power(x: float, y: float) -> float:
    """A positive number to any power, the same on every CPU."""
    return exp(y * log(x))


@dataclass(frozen=True)
class LabelFacts:
    """What must be known of the labels before training: agreed on in a federation, never read from one party alone."""

    low: float
    high: float
    max_weight: float = 1.0


@dataclass(frozen=True)
class Loss:
    """A loss: its name, its one parameter where it has one, and the number of classes where it has a tree for each."""

    name: LossName
    parameter: float = 0.0
    n_classes: int = 1

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            raise ParameterError(f"The loss must be one of {', '.join(LOSSES)}; it is {self.name!r}.")
        if self.name == "tweedie" and not 1 < self.parameter < 2:
            raise ParameterError(f"The Tweedie variance power must lie between 1 and 2; it is {self.parameter}.")
        if self.name == "huber" and not 0 < self.parameter < float("inf"):
            raise ParameterError(f"The Huber slope must be above 0; it is {self.parameter}.")
        if self.n_classes < 1 or (self.n_classes > 1) != (self.name in PER_CLASS):
            raise ParameterError(f"The loss {self.name!r} does not go with {self.n_classes} classes.")

    @property
    def n_trees(self) -> int:
        """Trees grown in one round."""
        return self.n_classes

    def check_labels(self, facts: LabelFacts) -> None:
        """Refuse labels the loss is not defined for."""
        if self.name in ("poisson", "tweedie") and facts.low < 0:
            raise DataError(f"The {self.name} loss needs labels of at least 0; some are below.")
        if self.name == "poisson" and facts.high == 0:
            raise DataError("The poisson loss needs a label above 0; all are 0.")

    def bounds(self, facts: LabelFacts, base: float, constant_hessian: bool = False) -> tuple[float, float]:
        """The greatest gradient and hessian that are not clipped; `base` is the first score."""
        spread = (max(facts.high, base) - min(facts.low, base)) or 1.0
        greatest = max(facts.high, 1.0)
        tweedie = 1.0
        if self.name == "tweedie":
            tweedie = max(greatest * exp((1 - self.parameter) * base), power(greatest, 2 - self.parameter))
        gradient, hessian = {
            "squared": (spread, 1.0),
            "logistic": (1.0, 0.25),
            "softmax": (1.0, 0.5),
            "shares": (1.0, 1.0),
            "poisson": (greatest, greatest),
            "tweedie": (tweedie, tweedie),
            "huber": (self.parameter, 1.0),
        }[self.name]
        return gradient * facts.max_weight, (1.0 if constant_hessian else hessian) * facts.max_weight

    def base_score(self, mean: float) -> float:
        """The first score of every row, from the mean label."""
        if self.name in PER_CLASS:
            return 0.0
        if self.name == "logistic":
            mean = min(max(mean, LEAST_MEAN), 1 - LEAST_MEAN)
            return log(mean / (1 - mean))
        if self.name in ("poisson", "tweedie"):
            return log(max(mean, LEAST_MEAN))
        return mean

    def transform(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """What scores mean (rows x trees): probabilities of all classes, or expected labels."""
        if self.name == "softmax":
            return _native.softmax(np.ascontiguousarray(scores.T))
        if self.name == "shares":
            shares = np.maximum(scores.astype(np.float64), 1e-12)
            return np.asarray(shares / shares.sum(axis=1, keepdims=True))
        flat = np.ascontiguousarray(scores[:, 0])
        if self.name == "logistic":
            return _native.logistic(flat)
        if self.name in ("poisson", "tweedie"):
            return _native.exp(flat.astype(np.float64))
        return flat.astype(np.float64)
