"""How good predictions are. Computed exactly, where labels and predictions lie together.

Names are those of the command line; each takes labels, predictions and optional weights. For the metrics of classes a
prediction is the probability of every class (one column for each), or of the second of two classes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DataError

Floats = NDArray[np.float64]
Measure = Callable[[NDArray[np.generic], Floats, Floats | None], float]


def _scikit_learn() -> Any:
    from sklearn import metrics  # slow to import

    return metrics


def _second(probability: Floats) -> Floats:
    if probability.ndim == 1:
        return probability
    if probability.shape[1] != 2:
        raise DataError(f"This metric needs two classes; the model has {probability.shape[1]}.")
    return probability[:, 1]


def _both(y: NDArray[np.generic]) -> None:
    if len(np.unique(y)) < 2:
        raise DataError("This metric needs rows of both classes; the labels hold one class only.")


def auc(y: NDArray[np.generic], probability: Floats, weights: Floats | None = None) -> float:
    """Area under the ROC curve; for more than two classes the mean over classes against the rest."""
    _both(y)
    if probability.ndim == 2 and probability.shape[1] > 2:
        if len(np.unique(y)) < probability.shape[1]:
            raise DataError("The AUC of several classes needs rows of each class; some class has none.")
        return float(_scikit_learn().roc_auc_score(y, probability, sample_weight=weights, multi_class="ovr"))
    return float(_scikit_learn().roc_auc_score(y, _second(probability), sample_weight=weights))


def auprc(y: NDArray[np.generic], probability: Floats, weights: Floats | None = None) -> float:
    """Area under the precision-recall curve, as average precision."""
    _both(y)
    return float(_scikit_learn().average_precision_score(y, _second(probability), sample_weight=weights))


def ks(y: NDArray[np.generic], probability: Floats, weights: Floats | None = None) -> float:
    """Kolmogorov-Smirnov: the greatest distance between the score distributions of the two classes."""
    _both(y)
    false, true, _ = _scikit_learn().roc_curve(y, _second(probability), sample_weight=weights)
    return float(np.max(true - false))


def accuracy(y: NDArray[np.generic], probability: Floats, weights: Floats | None = None) -> float:
    """Share of rows whose likeliest class is right."""
    likeliest = probability.argmax(axis=1) if probability.ndim == 2 else (probability > 0.5)
    return float(_scikit_learn().accuracy_score(y, likeliest.astype(np.int64), sample_weight=weights))


def log_loss(y: NDArray[np.generic], probability: Floats, weights: Floats | None = None) -> float:
    """Mean negative log probability of the right class."""
    n_classes = probability.shape[1] if probability.ndim == 2 else 2
    return float(_scikit_learn().log_loss(y, probability, sample_weight=weights, labels=np.arange(n_classes)))


def rmse(y: NDArray[np.generic], predicted: Floats, weights: Floats | None = None) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(_scikit_learn().mean_squared_error(y, predicted, sample_weight=weights)))


def mae(y: NDArray[np.generic], predicted: Floats, weights: Floats | None = None) -> float:
    """Mean absolute error."""
    return float(_scikit_learn().mean_absolute_error(y, predicted, sample_weight=weights))


OF_CLASSES: dict[str, Measure] = {
    "auc": auc, "auprc": auprc, "ks": ks, "accuracy": accuracy, "log loss": log_loss,
}  # fmt: skip
OF_NUMBERS: dict[str, Measure] = {"rmse": rmse, "mae": mae}
LESS_IS_BETTER = ("log loss", *OF_NUMBERS)
ONLY_TWO_CLASSES = ("auprc", "ks")
NEED_ALL_CLASSES = ("auc", "auprc", "ks")


def of_classes(y: NDArray[np.generic], probability: Floats, weights: Floats | None = None) -> dict[str, float]:
    """Every metric that goes with these probabilities; labels are class numbers."""
    two = probability.ndim == 1 or probability.shape[1] == 2
    return {
        name: measure(y, probability, weights)
        for name, measure in OF_CLASSES.items()
        if two or name not in ONLY_TWO_CLASSES
    }


def of_numbers(y: NDArray[np.generic], predicted: Floats, weights: Floats | None = None) -> dict[str, float]:
    """Every metric that goes with predicted numbers."""
    return {name: measure(y, predicted, weights) for name, measure in OF_NUMBERS.items()}


def allowed(
    y: NDArray[np.generic], predicted: Floats, weights: Floats | None = None, n_classes: int = 0
) -> dict[str, float]:
    """Every metric that these labels allow; without classes they are numbers, else numbers of classes."""
    if not n_classes:
        return of_numbers(y, predicted, weights)
    if len(np.unique(y)) == n_classes:
        return of_classes(y, predicted, weights)
    return {
        name: measure(y, predicted, weights) for name, measure in OF_CLASSES.items() if name not in NEED_ALL_CLASSES
    }
