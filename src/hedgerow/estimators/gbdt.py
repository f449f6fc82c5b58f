"""Gradient-boosted trees as estimators."""

from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from hedgerow.agreement.active_parties import Bagged
from hedgerow.agreement.dp import DP
from hedgerow.agreement.options import Federation
from hedgerow.errors import ParameterError
from hedgerow.estimators.estimator import Classifier, Estimator, Regressor
from hedgerow.estimators.inputs import EvalSet
from hedgerow.model.model import Model
from hedgerow.trees.boost import Callback
from hedgerow.trees.losses import LossName


class Boosted(Estimator):
    """What both boosted estimators have in common."""

    _average = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | str | None = None,
        eval_set: EvalSet | None = None,
        categorical: Sequence[str | int] = (),
        ids: ArrayLike | str | None = None,
        init_model: "Boosted | Model | None" = None,
    ) -> Self:
        """Train. `eval_set` holds rows to stop early by, `init_model` is a model whose training goes on."""
        task = {
            "eval_set": eval_set,
            "init_model": init_model,
            "scale_pos_weight": self.get_params().get("scale_pos_weight", 1.0),
            "eval_metric": self.eval_metric,
            "early_stopping_rounds": self.early_stopping_rounds,
            "base_score": self.base_score,
        }
        options = {"weights": sample_weight, "categorical": categorical, "ids": ids}
        return self._fit(X, y, task, self._loss, options)


class GBDTClassifier(Boosted, Classifier):
    """Gradient-boosted trees for two or more classes.

    Parameters are XGBoost's by name and meaning. `gradient_bits` is the precision of the sums that choose cuts (None:
    20, in an encrypted vertical federation 8 if all rows weigh the same), `constant_hessian` counts every row as 1
    instead of its second derivative, `min_cut_rows` keeps cuts from telling values apart that fewer rows share
    (None: 1, in a horizontal or vertical federation 50), `min_child_rows` is the least number of rows of a child.
    `random_state=None` is 0: the same call gives the same forest. With a `federation`, `fit` takes the parties' tables.
    With `dp=DP(epsilon=1)` the model tells little of any one row: its noise is new in every call, and its rule sets how
    trees are grown, so that the parameters of trees must be left as they are.
    """

    _two, _many = "logistic", "softmax"

    def __init__(
        self,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        *,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        gamma: float = 0.0,
        min_child_weight: float = 1.0,
        max_bin: int = 255,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        colsample_bynode: float = 1.0,
        scale_pos_weight: float = 1.0,
        monotone_constraints: Sequence[int] | None = None,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] | None = None,
        base_score: float | None = None,
        gradient_bits: int | None = None,
        constant_hessian: bool = False,
        min_cut_rows: int | None = None,
        min_child_rows: int = 1,
        federation: Federation | Bagged | None = None,
        dp: DP | None = None,
        callbacks: Sequence[Callback] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        # more than 15 attributes: scikit-learn has one for each parameter
        self._take(locals())


class GBDTRegressor(Boosted, Regressor):
    """Gradient-boosted trees for numbers; `objective` is the loss: squared, poisson, tweedie or huber.

    Other parameters as for `GBDTClassifier`; `tweedie_variance_power` and `huber_slope` belong to their losses. `dp`
    needs the range of labels, declared without a look at them: DP(epsilon=1, label_range=(0, 100)).
    """

    def __init__(
        self,
        n_estimators: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        *,
        objective: str = "squared",
        tweedie_variance_power: float = 1.5,
        huber_slope: float = 1.0,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        gamma: float = 0.0,
        min_child_weight: float = 1.0,
        max_bin: int = 255,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        colsample_bynode: float = 1.0,
        monotone_constraints: Sequence[int] | None = None,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] | None = None,
        base_score: float | None = None,
        gradient_bits: int | None = None,
        constant_hessian: bool = False,
        min_cut_rows: int | None = None,
        min_child_rows: int = 1,
        federation: Federation | Bagged | None = None,
        dp: DP | None = None,
        callbacks: Sequence[Callback] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        # more than 15 attributes: scikit-learn has one for each parameter
        self._take(locals())

    def _objective(self) -> tuple[LossName | None, float]:
        if self.objective not in ("squared", "poisson", "tweedie", "huber"):
            raise ParameterError(f"objective must be squared, poisson, tweedie or huber; it is {self.objective!r}.")
        parameter = {"tweedie": self.tweedie_variance_power, "huber": self.huber_slope}.get(self.objective, 0.0)
        return self.objective, parameter
