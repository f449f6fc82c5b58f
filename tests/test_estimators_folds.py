"""Estimators as scikit-learn's users use them: folds over parties, metrics followed on several sets, frames."""

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

from hedgerow import GBDTClassifier, GBDTRegressor, Horizontal, Table, Vertical, partition
from hedgerow.data.folds import HashFolds, PartyTables
from hedgerow.errors import DataError, ParameterError

X, y = load_breast_cancer(return_X_y=True)
SMALL = {"n_estimators": 4, "max_depth": 2}


@pytest.fixture
def by_rows() -> PartyTables:
    return PartyTables(partition.rows(X, y, n=3))


@pytest.fixture
def by_columns() -> PartyTables:
    return PartyTables(partition.columns(X, y, n=2))


def test_folds_are_the_same_at_every_party_and_do_not_depend_on_who_else_is_there(by_rows, by_columns):
    folds = HashFolds(4, seed=3)
    whole = folds.folds(by_columns.keys_of_rows)
    for table in by_rows.values():
        own = table.row_keys()
        assert np.array_equal(folds.folds(own), whole[np.searchsorted(by_columns.keys_of_rows, own)])
    assert np.bincount(whole).min() > len(y) / 6
    assert not np.array_equal(whole, HashFolds(4, seed=4).folds(by_columns.keys_of_rows))


def test_an_id_with_several_rows_lies_in_one_fold():
    accounts = np.repeat(np.arange(50), 4)
    payments = Table.of(np.arange(200.0)[:, None], accounts % 2, ids=accounts, repeated_ids=True)
    parties = PartyTables({"network": payments, "bank": Table.of(np.arange(60.0)[:, None], ids=np.arange(60))})
    for train, test in HashFolds(3).split(parties):
        learnt, tested = (set(parties.take(part)["network"].ids.tolist()) for part in (train, test))
        assert not learnt & tested


@pytest.mark.parametrize("federation", [Horizontal(), Vertical()])
def test_cross_validation_over_parties_is_that_of_one_table_with_the_same_folds(federation, by_rows, by_columns):
    parties = by_rows if isinstance(federation, Horizontal) else by_columns
    classifier = GBDTClassifier(**SMALL, min_cut_rows=1, gradient_bits=12, federation=federation)
    folds = HashFolds(3)
    over_parties = cross_val_score(classifier, parties, cv=folds)
    pooled = GBDTClassifier(**SMALL, min_cut_rows=1, gradient_bits=12)
    in_one_place = cross_val_score(pooled, X, y, cv=folds)
    assert over_parties == pytest.approx(in_one_place)


def test_a_grid_search_runs_over_parties(by_rows):
    search = GridSearchCV(GBDTClassifier(**SMALL, federation=Horizontal()), {"max_depth": [1, 2]}, cv=HashFolds(2))
    search.fit(by_rows)
    assert search.best_params_["max_depth"] in (1, 2)
    assert search.best_estimator_.score(by_rows) > 0.9


def test_too_few_ids_for_the_folds_are_refused():
    parties = PartyTables({"a": Table.of(np.eye(2), [0, 1])})
    with pytest.raises(ParameterError, match="too few for 5 folds"):
        list(HashFolds(5).split(parties))
    with pytest.raises(ParameterError, match="at least 2"):
        HashFolds(1)


def test_a_score_without_labels_says_so():
    fitted = GBDTClassifier(**SMALL).fit(X, y)
    with pytest.raises(DataError, match="no labels to compare with"):
        fitted.score(X)


def test_several_sets_and_metrics_are_followed_and_agree_with_xgboosts_kind_of_numbers():
    fitted = GBDTClassifier(n_estimators=12, max_depth=2, eval_metric=["error", "auc", "logloss"])
    fitted.fit(X[:400], y[:400], eval_set=[(X[:400], y[:400]), (X[400:], y[400:])])
    found = fitted.evals_result_
    assert list(found) == ["validation_0", "validation_1"]
    assert all(list(of) == ["error", "auc", "logloss"] and len(of["auc"]) == 12 for of in found.values())
    assert found["validation_1"]["logloss"] == list(fitted.model_.history)
    for number, rows in enumerate((slice(400), slice(400, None))):
        probability = fitted.predict_proba(X[rows])
        last = {name: of[-1] for name, of in found[f"validation_{number}"].items()}
        assert last["logloss"] == pytest.approx(log_loss(y[rows], probability), abs=1e-4)
        assert last["error"] == pytest.approx(np.mean(probability.argmax(axis=1) != y[rows]))
    theirs = xgboost.XGBClassifier(n_estimators=12, max_depth=2, learning_rate=0.1, eval_metric=["error", "logloss"])
    theirs.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])], verbose=False)
    theirs_last = theirs.evals_result()["validation_0"]["logloss"][-1]
    assert found["validation_1"]["logloss"][-1] == pytest.approx(theirs_last, abs=0.02)


def test_metrics_that_are_computed_afterwards_are_those_of_training():
    data, numbers = load_diabetes(return_X_y=True)
    sets = [(data[300:], numbers[300:]), (data[300:], numbers[300:])]
    fitted = GBDTRegressor(n_estimators=9, eval_metric="rmse").fit(data[:300], numbers[:300], eval_set=sets)
    afterwards, watched = (fitted.evals_result_[f"validation_{i}"]["rmse"] for i in (0, 1))
    assert afterwards == pytest.approx(watched, rel=1e-6)


def test_the_best_iteration_is_where_training_ended_and_vanishes_with_the_next_fit():
    fitted = GBDTClassifier(n_estimators=200, learning_rate=0.5, early_stopping_rounds=3)
    fitted.fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    history = fitted.evals_result_["validation_0"]["logloss"]
    assert fitted.best_iteration_ == int(np.argmin(history)) == fitted.model_.n_rounds - 1
    fitted.set_params(early_stopping_rounds=None).fit(X, y)
    assert fitted.evals_result_ == {}
    assert not hasattr(fitted, "best_iteration_")


def test_a_federation_follows_one_metric(by_rows):
    classifier = GBDTClassifier(**SMALL, eval_metric=["auc", "error"], federation=Horizontal())
    with pytest.raises(ParameterError, match="follows one metric"):
        classifier.fit(by_rows)


def test_a_table_becomes_the_frame_that_it_was_made_of():
    frame = pd.DataFrame({"age": [30.0, np.nan, 50.0], "job": pd.Categorical(["a", "b", None])})
    table = Table.of(frame, ["yes", "no", "yes"], ids=["x", "y", "z"])
    back = table.to_pandas()
    assert list(back.columns) == ["id", "age", "job", "label"]
    assert back["job"].astype(object).where(back["job"].notna(), None).tolist() == ["a", "b", None]
    assert back["age"].tolist()[::2] == [30.0, 50.0]
    assert len(table) == 3
    with pytest.raises(DataError, match="has a column 'age' already"):
        table.to_pandas(label="age")


def test_a_notebook_shows_a_table_and_a_model_with_hostile_names_escaped():
    frame = pd.DataFrame({"<script>alert(1)</script>": [1.0, 2.0, 3.0, 4.0]})
    table = Table.of(frame, [0, 1, 0, 1])
    fitted = GBDTClassifier(**SMALL).fit(table)
    for shown in (table._repr_html_(), fitted.model_._repr_html_()):
        assert "<script>" not in shown
    assert "4 rows" in table._repr_html_()
    assert "logistic" in fitted.model_._repr_html_()
