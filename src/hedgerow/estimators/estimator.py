"""What all estimators have in common: fits over one table or several parties', predictions, importances."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.estimators.evaluations import Results, best_of, metric_names, results
from hedgerow.estimators.inputs import WHOLE, categorical_in, held_out, table_of
from hedgerow.estimators.parameters import check_choices, check_dp, tree_params
from hedgerow.estimators.parties import fit_over_parties
from hedgerow.estimators.party_predictions import (
    each_in_turn,
    each_over_parties,
    labels_in,
    leaves_over_parties,
    sealed_over_parties,
)
from hedgerow.estimators.training import fit_cluster, is_dask, train_table
from hedgerow.estimators.verbose import Spoken
from hedgerow.model.bag import Bag, save_any
from hedgerow.model.model import Model, classes_of
from hedgerow.run.simulation.party_tables import are_parties
from hedgerow.threads import threads_of
from hedgerow.trees.forest import ImportanceKind
from hedgerow.trees.losses import Loss, LossName


class Estimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What all four have in common."""

    _average: ClassVar[bool]
    _by_name = False
    """Whether columns of a frame are found by name, because the fit was on tables, in whatever order."""
    model_: Any
    """A `Model`; of several active parties (`Bagged`) a `Bag` of theirs."""
    notes_: list[str]

    def _take(self, given: Mapping[str, Any]) -> None:
        """Set the parameters, from the local variables of the constructor."""
        for name in self._get_param_names():
            setattr(self, name, given[name])

    @property
    def _dp(self) -> Any:
        """How much a model of one table may tell of a row, where the estimator has the parameter."""
        return getattr(self, "dp", None)

    def _objective(self) -> tuple[LossName | None, float]:
        """The loss for numbers and its parameter, or None for classes."""
        return None, 0.0

    def _fit(self, X: Any, y: Any, task: dict[str, Any], loss: Any, options: dict[str, Any]) -> Self:
        """Train on one table, or on several parties' where there is a federation."""
        names = metric_names(task.get("eval_metric"))
        check_choices(self.federation, names)
        task["eval_metric"] = names[-1] if names else None
        check_dp(self._dp, self.federation)
        spoken = Spoken(self.verbose)
        if self.federation is not None:
            self._fit_parties(X, y, task, options, spoken)
        elif is_dask(X):
            self._fit_cluster(X, y, task, loss, options, spoken)
        else:
            eval_set = task["eval_set"]
            table = self._fit_table(X, y, task, loss, options, spoken)
            threads = threads_of(self.n_jobs)
            self._followed(results(self.model_, eval_set, names, options["categorical"], table, threads))
        spoken.end(self.notes_)
        return self

    def _callbacks(self, spoken: Spoken) -> list[Any]:
        return [*(self.callbacks or ()), *([spoken.after_round] if spoken.verbose else [])]

    def _fit_table(
        self, X: Any, y: Any, task: dict[str, Any], loss: Any, options: dict[str, Any], spoken: Spoken
    ) -> Table:
        """Train on one table, and say which it was."""
        if isinstance(X, Mapping) and any(isinstance(part, Table) for part in X.values()):
            raise ParameterError(
                "These are several parties' tables; say how they learn together: federation=Horizontal()."
            )
        if y is None and not (isinstance(X, WHOLE) and X.labels is not None):
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        table = table_of(X, y, options, self._dp)
        if not isinstance(X, WHOLE):
            # Without the columns that were named as labels, weights or ids.
            features = X[list(table.names)] if hasattr(X, "columns") and len(X.columns) != table.n_columns else X
            validate_data(self, features, skip_check_array=True)
        if table.labels is None:
            raise DataError("There are no labels.")
        start = task.pop("init_model")
        start = getattr(start, "model_", start)
        loss, task["classes"] = loss(self._labels(table.labels, start))
        eval_set = task.pop("eval_set")
        if eval_set is not None:
            task["held_out"] = held_out(eval_set, options["categorical"], table)
        task |= {"start": start, "threads": threads_of(self.n_jobs), "callbacks": self._callbacks(spoken)}
        params = tree_params(self.get_params(), table.n_columns, self._average)
        self.model_, self.notes_ = train_table(table, params, self._dp, loss, **task)
        self.n_features_in_ = table.n_columns
        self._by_name = isinstance(X, WHOLE)
        if self._by_name:
            self._name_features(table.names)
        return table

    def _fit_cluster(
        self, X: Any, y: Any, task: dict[str, Any], loss: Any, options: dict[str, Any], spoken: Spoken
    ) -> None:
        """Train on rows that lie with Dask."""
        self.model_, self.notes_ = fit_cluster(
            X, y, options, task, self.get_params(), loss=loss, classes=isinstance(self, ClassifierMixin),
            average=self._average, threads=threads_of(self.n_jobs), callbacks=self._callbacks(spoken),
        )  # fmt: skip
        self._followed({})
        self._by_name = True
        self._name_features(self.model_.names)

    def _followed(self, found: Results) -> None:
        """What metrics became round by round, and the best round, counted from 0; nothing where none was followed."""
        self.evals_result_ = found
        if found:
            self.best_iteration_ = best_of(self.model_)
        else:
            self.__dict__.pop("best_iteration_", None)

    def _labels(self, own: NDArray[np.generic], start: Any) -> NDArray[np.generic]:
        """Labels to find classes in: the table's, or classes that are known without it."""
        known = start.classes if start is not None else () if self._dp is None else self._dp.classes
        return np.array(known) if known else own

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
        self.model_ = fit_over_parties(
            parties, eval_set, self.get_params(), self._objective(), task, average=self._average,
            callbacks=self._callbacks(spoken), notes=self.notes_, tell=spoken.say,
        )  # fmt: skip
        metric = None if isinstance(self.model_, Bag) else self.model_.metric
        self._followed({} if metric is None else {"validation_0": {metric: list(self.model_.history)}})
        self._by_name = True
        self._name_features(self.model_.names)
        if self.model_.classes:
            self.classes_ = np.array(self.model_.classes)

    @property
    def _one(self) -> Model:
        """The model, where there is one."""
        check_is_fitted(self)
        if isinstance(self.model_, Bag):
            name = next(iter(self.model_.models))
            raise ParameterError(
                f"Several active parties have a model each, and this is of one; take one, like model_.models[{name!r}]."
            )
        model: Model = self.model_
        return model

    def _table(self, X: Any) -> Table:
        check_is_fitted(self)
        if isinstance(X, Table):
            return X
        table = Table.of(X, categorical=categorical_in(X, self._one), absent=self._one.absent)
        if not (self._by_name and hasattr(X, "columns")):  # a frame's columns are found by their names
            validate_data(self, X, reset=False, skip_check_array=True)
        return table

    def _scores(self, X: Any, sealed: bool = False) -> NDArray[np.float32]:
        """Raw scores of a table's rows, or by the parties of a vertical model asking each other."""
        model = self._one
        if sealed:
            return sealed_over_parties(model, X, self.n_jobs)
        if each := each_in_turn(model, X):
            return np.concatenate([model.scores(table, threads_of(self.n_jobs)) for table in each])
        if are_parties(X):
            return model.scores_at(self.apply(X))
        return model.scores(self._table(X), threads_of(self.n_jobs))

    def _means(self, X: Any, sealed: bool = False) -> NDArray[np.float64]:
        """Expected numbers, or the probability of every class."""
        check_is_fitted(self)
        if isinstance(self.model_, Bag):
            return self.model_.of_each(self._each(self.model_, X, sealed))
        return self._one.means(self._scores(X, sealed))

    def _each(self, bag: Bag, X: Any, sealed: bool) -> list[NDArray[np.float64]]:
        """What each active party's model predicts for the rows of one of them, or of a table with all columns."""
        each = each_over_parties(bag, X, sealed)
        return bag.each(X, threads_of(self.n_jobs)) if each is None else each

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each column's share of the total gain."""
        return self.importances("gain")

    def importances(self, kind: ImportanceKind = "gain") -> NDArray[np.float64]:
        """Each column's share of the forest's gain, number of cuts (`split`) or cover."""
        check_is_fitted(self)
        shares = self.model_.importances(kind)
        return np.array([shares[name] for name in self.model_.names])

    def shap_values(self, X: Any) -> NDArray[np.float64]:
        """What each column adds to each row's raw score, and last the score of a row of which nothing is known.

        Path-dependent SHAP values as XGBoost's `pred_contribs` has them: rows x (columns + 1), for three or more
        classes rows x classes x (columns + 1). They add up to the raw score (`decision_function`; numbers: before the
        link). Of a vertical model, X is a table with the columns of all parties.
        """
        check_is_fitted(self)
        if are_parties(X):
            raise ParameterError("shap_values takes one table with the columns of all parties, not their tables apart.")
        model = self._one
        return model.shap_values(self._table(X), threads_of(self.n_jobs))

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The node at which each row ends, counted from the root of its tree (rows x trees)."""
        check_is_fitted(self)
        model = self._one
        if are_parties(X):
            return leaves_over_parties(model, X)
        return model.leaves(self._table(X), threads_of(self.n_jobs))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file that the command line and `hedgerow.load_model`, or `load_bag`, read."""
        check_is_fitted(self)
        save_any(self.model_, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


class Scored:
    """scikit-learn's score, also of rows whose labels lie in their tables."""

    _one: Any

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy of classes, or R2 of numbers; without `y`, against the labels in the tables themselves."""
        known = labels_in(self._one, X) if y is None else y
        return float(super().score(X, known, sample_weight))  # type: ignore[misc]  # scikit-learn's, further up


class Classifier(Scored, ClassifierMixin, Estimator):  # type: ignore[misc]
    """What both classifiers have in common."""

    _two: ClassVar[str]
    _many: ClassVar[str]

    def _loss(self, labels: NDArray[np.generic]) -> tuple[Loss, tuple[Any, ...]]:
        check_classification_targets(labels)
        classes = classes_of(labels)
        self.classes_ = np.array(classes, labels.dtype if labels.dtype != object else None)
        many = len(classes) > 2
        return (Loss(self._many, n_classes=len(classes)) if many else Loss(self._two)), classes  # type: ignore[arg-type]

    def predict_proba(self, X: Any, sealed: bool = False) -> NDArray[np.float64]:
        """The probability of every class (rows x classes, in the order of `classes_`).

        With `sealed`, the parties of a vertical model predict in one round, in which nobody learns the way of a row.
        """
        return self._means(X, sealed)

    def predict(self, X: Any, sealed: bool = False) -> NDArray[np.generic]:
        """The likeliest class of each row; `sealed` as in `predict_proba`."""
        check_is_fitted(self)
        if isinstance(self.model_, Bag):
            return self.model_.labels_of_each(self._each(self.model_, X, sealed))
        means = self._means(X, sealed)
        return np.asarray(self.classes_[means.argmax(axis=1)])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Raw scores: one a row for two classes, else one a class; of several models, probabilities (less a half)."""
        if isinstance(getattr(self, "model_", None), Bag):  # whose models have a score each
            means = self._means(X)
            return means[:, 1] - 0.5 if means.shape[1] == 2 else means
        scores = self._scores(X).astype(np.float64)
        return scores[:, 0] - (0.5 if self._average else 0.0) if scores.shape[1] == 1 else scores


class Regressor(Scored, RegressorMixin, Estimator):  # type: ignore[misc]
    """What both regressors have in common."""

    def _loss(self, labels: NDArray[np.generic]) -> tuple[Loss, tuple[Any, ...]]:  # noqa: ARG002  # as a classifier's
        name, parameter = self._objective()
        return Loss(name or "squared", parameter), ()

    def predict(self, X: Any, sealed: bool = False) -> NDArray[np.float64]:
        """The expected label of each row; with `sealed`, a vertical model's parties predict in one sealed round."""
        return self._means(X, sealed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = False
        return tags
