"""Random forests as estimators."""

from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from hedgerow.agreement.active_parties import Bagged
from hedgerow.agreement.options import Federation
from hedgerow.estimators.estimator import Classifier, Estimator, Regressor
from hedgerow.model.model import Model
from hedgerow.trees.boost import Callback
from hedgerow.trees.losses import LossName


class RandomForest(Estimator):
    """What both random forests have in common: each tree sees a drawn share of the rows, each node of the columns."""

    _average = True

    def __init__(
        self,
        n_estimators: int = 100,
        max_depth: int = 12,
        *,
        min_child_weight: float = 1.0,
        max_bin: int = 255,
        subsample: float = 0.632,
        colsample_bytree: float = 1.0,
        colsample_bynode: float | str = "sqrt",
        gamma: float = 0.0,
        reg_lambda: float = 0.0,
        gradient_bits: int | None = None,
        min_cut_rows: int | None = None,
        min_child_rows: int = 1,
        federation: Federation | Bagged | None = None,
        callbacks: Sequence[Callback] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        # more than 15 attributes: scikit-learn has one for each parameter
        self._take(locals())

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | str | None = None,
        categorical: Sequence[str | int] = (),
        ids: ArrayLike | str | None = None,
        init_model: "RandomForest | Model | None" = None,
    ) -> Self:
        """Train; `init_model` is a forest to which trees are added."""
        options = {"weights": sample_weight, "categorical": categorical, "ids": ids}
        return self._fit(X, y, {"eval_set": None, "init_model": init_model}, self._loss, options)


class ForestClassifier(RandomForest, Classifier):
    """A random forest for two or more classes: probabilities are the mean share of each class in the leaves.

    Each tree is grown from a drawn share of the rows (`subsample`, without replacement); each node chooses among a
    drawn share of the columns (`colsample_bynode`; "sqrt": as many as the square root of their number).
    """

    _two, _many = "squared", "shares"


class ForestRegressor(RandomForest, Regressor):
    """A random forest for numbers: the mean of the leaves. Parameters as for `ForestClassifier`."""

    def _objective(self) -> tuple[LossName | None, float]:
        return "squared", 0.0
