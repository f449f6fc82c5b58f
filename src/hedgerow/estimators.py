"""The scikit-learn face: boosted trees and random forests as estimators."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from hedgerow.agreement.options import (
    FEW_BITS,
    LEAST_CUT_ROWS,
    Federation,
    Horizontal,
    NoPrivacy,
    Vertical,
    check_federation,
)
from hedgerow.agreement.plan import Goal
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.file import save
from hedgerow.model.model import Model, absent_of, classes_of
from hedgerow.model.train import Task, train
from hedgerow.run.folder.recorder import Spoken
from hedgerow.run.simulation.fit import fit_parties
from hedgerow.run.simulation.predict import predict_parties
from hedgerow.run.simulation.simulate import tables_of
from hedgerow.threads import threads_of
from hedgerow.trees.boost import Callback
from hedgerow.trees.forest import ImportanceKind
from hedgerow.trees.losses import Loss, LossName
from hedgerow.trees.params import TreeParams
from hedgerow.trees.watched_metrics import check_name

EvalSet = tuple[Any, Any] | Sequence[tuple[Any, Any]]


class _Estimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What all four have in common."""

    _average: ClassVar[bool]
    _by_name = False
    """Whether columns of a frame are found by name, because the fit was on tables, in whatever order."""
    model_: Model
    notes_: list[str]

    def _objective(self) -> tuple[LossName | None, float]:
        """The loss for numbers and its parameter, or None for classes."""
        return None, 0.0

    def _params(self, n_columns: int, few_bits: bool = False) -> TreeParams:
        """The parameters of the trees, from the attributes of the same names."""
        own = self.get_params()
        names = {n for n in TreeParams.__dataclass_fields__ if n in own} - {"random_state", "monotone_constraints"}
        share, constraints = own["colsample_bynode"], own.get("monotone_constraints")
        chosen: dict[str, Any] = {n: own[n] for n in names}
        if own["min_cut_rows"] is None:
            chosen["min_cut_rows"] = LEAST_CUT_ROWS if isinstance(own["federation"], Horizontal | Vertical) else 1
        if own["gradient_bits"] is None:
            chosen["gradient_bits"] = FEW_BITS if few_bits else TreeParams.gradient_bits
        chosen["colsample_bynode"] = min(1.0, np.sqrt(n_columns) / n_columns) if share == "sqrt" else share
        return TreeParams(
            **chosen,
            monotone_constraints=() if constraints is None else tuple(constraints),
            random_state=_seed(self.random_state),
            average=self._average,
        )

    def _few_bits(self, tables: Mapping[str, Table], task: Mapping[str, Any]) -> bool:
        """Whether gradients are sealed, and of classes whose rows weigh the same."""
        federation = self.federation
        sealed = isinstance(federation, Vertical) and not isinstance(federation.privacy, NoPrivacy)
        weighted = task.get("scale_pos_weight", 1.0) != 1 or any(t.weights is not None for t in tables.values())
        return sealed and self._objective()[0] is None and not weighted

    def _fit(self, X: Any, y: Any, task: dict[str, Any], loss: Any, options: dict[str, Any]) -> Self:
        """Train on one table, or on several parties' where there is a federation."""
        check_federation(self.federation)
        check_name(task.get("eval_metric"))
        spoken = Spoken(self.verbose)
        if self.federation is not None:
            self._fit_parties(X, y, task, options, spoken)
        else:
            self._fit_table(X, y, task, loss, options, spoken)
        spoken.end(self.notes_)
        return self

    def _callbacks(self, spoken: Spoken) -> list[Callback]:
        return [*(self.callbacks or ()), *([spoken.after_round] if spoken.verbose else [])]

    def _fit_table(
        self, X: Any, y: Any, task: dict[str, Any], loss: Any, options: dict[str, Any], spoken: Spoken
    ) -> None:
        if isinstance(X, Mapping) and any(isinstance(part, Table) for part in X.values()):
            raise ParameterError(
                "These are several parties' tables; say how they learn together: federation=Horizontal()."
            )
        if y is None and not (isinstance(X, Table) and X.labels is not None):
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        table = Table.of(X, y if y is None or isinstance(y, str) else column_or_1d(y, warn=True), **options)
        if not isinstance(X, Table):
            # Without the columns that were named as labels, weights or ids.
            features = X[list(table.names)] if hasattr(X, "columns") and len(X.columns) != table.n_columns else X
            validate_data(self, features, skip_check_array=True)
        if table.labels is None:
            raise DataError("There are no labels.")
        start = task.pop("init_model")
        start = getattr(start, "model_", start)
        loss, task["classes"] = loss(table.labels if start is None or not start.classes else np.array(start.classes))
        held_out = task.pop("eval_set")
        if held_out is not None:
            task["held_out"] = _held_out(held_out, options["categorical"], table)
        threads = threads_of(self.n_jobs)
        whole = Task(loss, start=start, threads=threads, callbacks=self._callbacks(spoken), **task)
        self.model_ = train(table, self._params(table.n_columns), whole)
        self.notes_ = whole.notes
        self.n_features_in_ = table.n_columns
        self._by_name = isinstance(X, Table)
        if self._by_name:
            self._name_features(table.names)

    def _name_features(self, names: Sequence[str]) -> None:
        """scikit-learn's attributes after a fit on tables; arrays have no names but the automatic ones."""
        self.n_features_in_ = len(names)
        if all(name[:1] == "f" and name[1:].isdigit() for name in names):
            self.__dict__.pop("feature_names_in_", None)
        else:
            self.feature_names_in_ = np.array(names, object)

    def _fit_parties(self, parties: Any, y: Any, task: dict[str, Any], options: dict[str, Any], spoken: Spoken) -> None:
        """Train over several parties' tables."""
        eval_set, start = task.pop("eval_set"), task.pop("init_model")
        given = [name for name, value in options.items() if value is not None and len(value)]
        if y is not None or given:
            what = "y" if y is not None else given[0]
            raise ParameterError(f"With a federation, {what} belongs into each party's table; pass the tables alone.")
        if start is not None:
            raise ParameterError("init_model cannot be continued by a federation; leave it out.")
        self.notes_ = []
        threads, callbacks = threads_of(self.n_jobs), self._callbacks(spoken)
        tables = tables_of(parties)
        widths = [table.n_columns for table in tables.values()]
        width = sum(widths) if isinstance(self.federation, Vertical) else min(widths)
        params = self._params(width, self._few_bits(tables, task))
        goal = Goal(*self._objective(), **task)
        learns = (tables, eval_set, self.federation, goal, params)
        self.model_ = fit_parties(*learns, threads, callbacks, self.notes_, spoken.say)
        self._by_name = True
        self._name_features(self.model_.names)
        if self.model_.classes:
            self.classes_ = np.array(self.model_.classes)

    def _table(self, X: Any) -> Table:
        check_is_fitted(self)
        if isinstance(X, Table):
            return X
        table = Table.of(X, categorical=_categorical_in(X, self.model_), absent=self.model_.absent)
        if not (self._by_name and hasattr(X, "columns")):  # a frame's columns are found by their names
            validate_data(self, X, reset=False, skip_check_array=True)
        return table

    def _scores(self, X: Any) -> NDArray[np.float32]:
        """Raw scores of a table's rows, or by the parties of a vertical model asking each other."""
        check_is_fitted(self)
        if _are_parties(X):
            return self.model_.scores_at(self.apply(X))
        return self.model_.scores(self._table(X), threads_of(self.n_jobs))

    def _means(self, X: Any) -> NDArray[np.float64]:
        """Expected numbers, or the probability of every class."""
        scores = self._scores(X)
        return self.model_.means(scores)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each column's share of the total gain."""
        return self.importances("gain")

    def importances(self, kind: ImportanceKind = "gain") -> NDArray[np.float64]:
        """Each column's share of the forest's gain, number of cuts (`split`) or cover."""
        check_is_fitted(self)
        return self.model_.forest.importances(len(self.model_.columns), kind)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The node at which each row ends, counted from the root of its tree (rows x trees)."""
        check_is_fitted(self)
        if _are_parties(X):
            return predict_parties(self.model_, _parties_of(X))
        table = self._table(X)
        return self.model_.leaves(table, threads_of(self.n_jobs))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file that `hedgerow.load_model` and the command line read."""
        check_is_fitted(self)
        save(self.model_, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def _are_parties(X: Any) -> bool:
    """Whether these are several parties' tables, by name or in a list, and not one table."""
    parts = X.values() if isinstance(X, Mapping) else X if isinstance(X, list | tuple) else ()
    return any(isinstance(part, Table) for part in parts)


def _parties_of(X: Any) -> dict[str, Table | None]:
    """Tables by party; None stays, for a party that is absent."""
    named = X if isinstance(X, Mapping) else {f"party{i + 1}": table for i, table in enumerate(X)}
    present = tables_of({name: table for name, table in named.items() if table is not None})
    return {str(name): present.get(str(name)) for name in named}


def _categorical_in(X: Any, model: Model) -> list[str | int]:
    """The model's categorical columns that are in X, by name in a frame, else by position."""
    columns = [(i, c.name) for i, c in enumerate(model.columns) if c.kind == "categorical"]
    if hasattr(X, "columns"):
        return [name for _, name in columns if name in list(getattr(X, "column_names", X.columns))]
    return [i for i, _ in columns]


def _held_out(eval_set: Any, categorical: Sequence[str | int], like: Table) -> Table:
    """The rows to stop early by: a pair of table and labels, or the last of several pairs."""
    pair = eval_set if isinstance(eval_set, tuple) else eval_set[-1] if len(eval_set) else None
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ParameterError("eval_set must be a pair (X, y), or a list of such pairs.")
    if isinstance(pair[0], Table):
        return Table.of(*pair)
    return Table.of(*pair, categorical=categorical, absent=absent_of(like))


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


class _Classifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """What both classifiers have in common."""

    _two: ClassVar[str]
    _many: ClassVar[str]

    def _loss(self, labels: NDArray[np.generic]) -> tuple[Loss, tuple[Any, ...]]:
        check_classification_targets(labels)
        classes = classes_of(labels)
        self.classes_ = np.array(classes, labels.dtype if labels.dtype != object else None)
        many = len(classes) > 2
        return (Loss(self._many, n_classes=len(classes)) if many else Loss(self._two)), classes  # type: ignore[arg-type]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of every class (rows x classes, in the order of `classes_`)."""
        return self._means(X)

    def predict(self, X: Any) -> NDArray[np.generic]:
        """The likeliest class of each row."""
        means = self._means(X)
        return np.asarray(self.classes_[means.argmax(axis=1)])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Raw scores: one a row for two classes, else one a class."""
        scores = self._scores(X).astype(np.float64)
        return scores[:, 0] - (0.5 if self._average else 0.0) if scores.shape[1] == 1 else scores


class _Regressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """What both regressors have in common."""

    def _loss(self, labels: NDArray[np.generic]) -> tuple[Loss, tuple[Any, ...]]:  # noqa: ARG002  # as a classifier's
        name, parameter = self._objective()
        return Loss(name or "squared", parameter), ()

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The expected label of each row."""
        return self._means(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = False
        return tags


class _Boosted(_Estimator):
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
        init_model: "_Boosted | Model | None" = None,
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


class GBDTClassifier(_Boosted, _Classifier):
    """Gradient-boosted trees for two or more classes.

    Parameters are XGBoost's by name and meaning. `gradient_bits` is the precision of the sums that choose cuts (None:
    20, in an encrypted vertical federation 8 if all rows weigh the same), `constant_hessian` counts every row as 1
    instead of its second derivative, `min_cut_rows` keeps cuts from telling values apart that fewer rows share
    (None: 1, in a horizontal or vertical federation 50), `min_child_rows` is the least number of rows of a child.
    `random_state=None` is 0: the same call gives the same forest. With a `federation`, `fit` takes the parties' tables.
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
        eval_metric: str | None = None,
        base_score: float | None = None,
        gradient_bits: int | None = None,
        constant_hessian: bool = False,
        min_cut_rows: int | None = None,
        min_child_rows: int = 1,
        federation: Federation | None = None,
        callbacks: Sequence[Callback] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.max_bin = max_bin
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.colsample_bynode = colsample_bynode
        self.scale_pos_weight = scale_pos_weight
        self.monotone_constraints = monotone_constraints
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.base_score = base_score
        self.gradient_bits = gradient_bits
        self.constant_hessian = constant_hessian
        self.min_cut_rows = min_cut_rows
        self.min_child_rows = min_child_rows
        self.federation = federation
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBDTRegressor(_Boosted, _Regressor):
    """Gradient-boosted trees for numbers; `objective` is the loss: squared, poisson, tweedie or huber.

    Other parameters as for `GBDTClassifier`; `tweedie_variance_power` and `huber_slope` belong to their losses.
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
        eval_metric: str | None = None,
        base_score: float | None = None,
        gradient_bits: int | None = None,
        constant_hessian: bool = False,
        min_cut_rows: int | None = None,
        min_child_rows: int = 1,
        federation: Federation | None = None,
        callbacks: Sequence[Callback] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.objective = objective
        self.tweedie_variance_power = tweedie_variance_power
        self.huber_slope = huber_slope
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.max_bin = max_bin
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.colsample_bynode = colsample_bynode
        self.monotone_constraints = monotone_constraints
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.base_score = base_score
        self.gradient_bits = gradient_bits
        self.constant_hessian = constant_hessian
        self.min_cut_rows = min_cut_rows
        self.min_child_rows = min_child_rows
        self.federation = federation
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _objective(self) -> tuple[LossName | None, float]:
        if self.objective not in ("squared", "poisson", "tweedie", "huber"):
            raise ParameterError(f"objective must be squared, poisson, tweedie or huber; it is {self.objective!r}.")
        parameter = {"tweedie": self.tweedie_variance_power, "huber": self.huber_slope}.get(self.objective, 0.0)
        return self.objective, parameter  # type: ignore[return-value]  # just checked


class _RandomForest(_Estimator):
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
        federation: Federation | None = None,
        callbacks: Sequence[Callback] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.max_bin = max_bin
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.colsample_bynode = colsample_bynode
        self.gamma = gamma
        self.reg_lambda = reg_lambda
        self.gradient_bits = gradient_bits
        self.min_cut_rows = min_cut_rows
        self.min_child_rows = min_child_rows
        self.federation = federation
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | str | None = None,
        categorical: Sequence[str | int] = (),
        ids: ArrayLike | str | None = None,
        init_model: "_RandomForest | Model | None" = None,
    ) -> Self:
        """Train; `init_model` is a forest to which trees are added."""
        options = {"weights": sample_weight, "categorical": categorical, "ids": ids}
        return self._fit(X, y, {"eval_set": None, "init_model": init_model}, self._loss, options)


class ForestClassifier(_RandomForest, _Classifier):
    """A random forest for two or more classes: probabilities are the mean share of each class in the leaves.

    Each tree is grown from a drawn share of the rows (`subsample`, without replacement); each node chooses among a
    drawn share of the columns (`colsample_bynode`; "sqrt": as many as the square root of their number).
    """

    _two, _many = "squared", "shares"


class ForestRegressor(_RandomForest, _Regressor):
    """A random forest for numbers: the mean of the leaves. Parameters as for `ForestClassifier`."""

    def _objective(self) -> tuple[LossName | None, float]:
        return "squared", 0.0
