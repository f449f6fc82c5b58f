"""Estimators with differential privacy, on one table: noise in every release, a promise in the model, and refusals."""

import numpy as np
import pytest
import xgboost
from sklearn.base import clone

import hedgerow
import injected_noise
from hedgerow import DP, GBDTClassifier, GBDTRegressor, Horizontal, Table
from hedgerow.errors import DataError, ParameterError, PrivacyError
from hedgerow.model import noised_releases, noised_train
from hedgerow.model.xgboost import to_xgboost

RNG = np.random.default_rng(0)
X = RNG.normal(0, 1, (6000, 3)).astype(np.float32)
X[:, 2] = RNG.integers(0, 3, 6000)
X[RNG.random((6000, 3)) < 0.05] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + (X[:, 2] == 1) - np.isnan(X[:, 1])
Y = (SIGNAL > 0.3).astype(int)
NUMBERS = 10 * np.clip(SIGNAL, -2, 2)
MANY = np.array(["low", "mid", "top"])[np.digitize(SIGNAL, [-0.4, 0.6])]
CASES = {
    "two classes": (GBDTClassifier, Y, {}),
    "many classes": (GBDTClassifier, MANY, {}),
    "numbers": (GBDTRegressor, NUMBERS, {"label_range": (-20, 20)}),
}


def fitted(case, method="auto", epsilon=8.0, **other):
    kind, labels, given = CASES[case]
    return kind(dp=DP(epsilon=epsilon, method=method, **given), **other).fit(X, labels, categorical=[2])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", ["auto", "random", "additive"])
def test_models_learn_and_carry_their_promise(case, method):
    model = fitted(case, method)
    assert model.score(X, CASES[case][1]) > 0.7
    promise = model.model_.promise
    assert (promise.epsilon, promise.delta, promise.unit) == (8.0, 1e-6, "row")
    assert 7.9 < promise.composed <= 8
    kinds = [one.what for one in promise.releases]
    assert kinds[:2] == ["row count", "cut points"]
    assert ("random tree" in kinds) == (method == "random" or (method == "auto" and case != "numbers"))


@pytest.mark.parametrize("case", CASES)
def test_models_are_ordinary_ones(tmp_path, case):
    """Saved, read again, explained, exported to XGBoost."""
    model = fitted(case)
    model.save(tmp_path / "model.json")
    again = hedgerow.load_model(tmp_path / "model.json")
    assert again.promise == model.model_.promise
    table = Table.of(X, categorical=[2])
    scores = model.model_.scores(table)
    np.testing.assert_array_equal(again.scores(table), scores)
    parts = model.shap_values(X[:200]).sum(axis=-1)
    np.testing.assert_allclose(parts.reshape(200, -1), scores[:200], atol=1e-3)
    to_xgboost(model.model_, tmp_path / "xgboost.json")
    data = xgboost.DMatrix(X, feature_names=["f0", "f1", "f2"], feature_types=["float", "float", "c"],
                           enable_categorical=True)  # fmt: skip
    margins = xgboost.Booster(model_file=tmp_path / "xgboost.json").predict(data, output_margin=True)
    np.testing.assert_array_equal(margins.reshape(scores.shape), scores)
    assert model.importances().sum() == pytest.approx(1)
    assert model.importances()[0] > 0.2


def test_the_same_call_twice_gives_different_models_because_noise_is_new():
    first, second = (fitted("two classes").model_.forest for _ in range(2))
    assert (first.values[: min(len(first.values), len(second.values))] != second.values[: len(first.values)]).any()


def test_every_release_has_the_noise_of_the_plan_and_no_more_is_released(monkeypatch):
    noted = injected_noise.note(monkeypatch)
    promise = fitted("two classes").model_.promise
    drawn = sorted(variance for variance, _ in noted.drawn)
    want = sorted(round(one.scale**2) for one in promise.releases for _ in range(one.times))
    assert drawn == want


def test_a_model_is_a_function_of_noised_sums_alone(monkeypatch):
    """Without noise the same rows give the same model; so nothing else is drawn or kept."""
    injected_noise.leave_out(monkeypatch)
    first, second = (fitted("two classes").model_.forest for _ in range(2))
    assert first == second


def test_a_release_that_was_not_planned_stops_the_training(monkeypatch):
    monkeypatch.setattr(noised_releases, "all_released", lambda planned: _without_counts(planned))
    with pytest.raises(PrivacyError, match="'counts' is not among those"):
        fitted("two classes")


def _without_counts(planned):
    from hedgerow.model.noised_terms import released

    return tuple(released(one) for one in planned if one.what != "counts")


def test_noise_beyond_the_budget_is_refused(monkeypatch):
    """The sabotage: a rule for twice the epsilon."""
    terms_of = noised_train.terms_of
    monkeypatch.setattr(noised_train, "terms_of", lambda dp, *rest: terms_of(DP(epsilon=2 * dp.epsilon), *rest))
    with pytest.raises(PrivacyError, match="more than the 1 of the run"):
        fitted("two classes", epsilon=1.0)


def test_declared_classes_and_categories_are_those_of_the_model_whatever_the_rows_hold():
    dp = DP(epsilon=5, classes=[0, 1, 2], categories={"f2": ["0", "1", "2", "9"]})
    model = GBDTClassifier(dp=dp).fit(X, Y, categorical=[2])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X[:5]).shape == (5, 3)
    assert model.model_.columns[2].categories == ("0", "1", "2", "9")
    assert not model.notes_
    assert "taken from the table" not in model.model_.promise.scope
    taken = GBDTClassifier(dp=DP(epsilon=5)).fit(X, Y, categorical=[2])
    assert taken.model_.promise.scope.endswith("not for the categories and classes, taken from the tables as known")
    assert len(taken.notes_) == 2


def test_a_category_that_was_not_declared_counts_as_missing_and_the_owner_is_told():
    model = GBDTClassifier(dp=DP(epsilon=5, classes=[0, 1], categories={"f2": ["1", "2"]})).fit(X, Y, categorical=[2])
    assert model.notes_ == ["1 of 3 categories of column 'f2' are not declared, and count as missing."]


def test_callbacks_hear_of_every_round():
    heard = []
    fitted("two classes", callbacks=[lambda told: heard.append((told.number, told.n_rounds, told.value))])
    assert heard == [(i + 1, 120, None) for i in range(120)]


def test_the_option_survives_clone_and_parameters():
    model = GBDTClassifier(dp=DP(epsilon=2))
    assert clone(model).dp == DP(epsilon=2)
    assert model.get_params()["dp"] == DP(epsilon=2)


@pytest.mark.parametrize(("parameters", "fit", "said"), [
    ({}, {"eval_set": (X, Y)}, "does not go with rows to stop early by"),
    ({}, {"sample_weight": np.ones(6000)}, "does not go with sample weights"),
    ({}, {"init_model": "fitted"}, "does not go with init_model"),
    ({"scale_pos_weight": 2.0}, {}, "does not go with scale_pos_weight"),
    ({"base_score": 0.5}, {}, "does not go with base_score"),
    ({"monotone_constraints": [1, 0, 0]}, {}, "does not go with monotone_constraints"),
    ({"n_estimators": 50}, {}, "n_estimators has no effect"),
    ({"max_depth": 3}, {}, "max_depth has no effect"),
    ({"subsample": 0.5}, {}, "subsample has no effect"),
    ({"min_child_rows": 5}, {}, "min_child_rows has no effect"),
    ({"federation": Horizontal()}, {}, "belongs into it"),
    ({"dp": 1.0}, {}, "dp must be DP"),
    ({"dp": DP(epsilon=1, categories={"f0": ["a"]})}, {}, "'f0', which is no categorical column"),
    ({"dp": DP(epsilon=1, label_range=(0, 1))}, {}, "label_range is the range of numbers"),
])  # fmt: skip
def test_what_would_be_told_without_noise_is_refused(parameters, fit, said):
    if fit.get("init_model") == "fitted":
        fit = {"init_model": GBDTClassifier(n_estimators=1).fit(X, Y)}
    with pytest.raises(ParameterError, match=said):
        GBDTClassifier(**{"dp": DP(epsilon=1), **parameters}).fit(X, Y, **fit)


@pytest.mark.parametrize(("parameters", "said"), [
    ({"dp": DP(epsilon=1)}, "if their range is declared"),
    ({"dp": DP(epsilon=1, label_range=(0, 9)), "objective": "poisson"}, "does not go with the poisson loss"),
    ({"dp": DP(epsilon=1, label_range=(0, 9), classes=[0, 1])}, "A regression has no classes"),
])  # fmt: skip
def test_numbers_without_a_bound_are_refused(parameters, said):
    with pytest.raises(ParameterError, match=said):
        GBDTRegressor(**parameters).fit(X, NUMBERS + 30)


def test_a_person_has_as_many_rows_as_declared_in_one_table_or_in_all_together():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    person = DP(epsilon=5, rows_per_id=2, classes=(0, 1), method="additive")

    def table(first, n=30, each=2):
        ids = np.array([f"p{first + i // each}" for i in range(n)])
        return Table.of(X[:n], y[:n], ids=ids, repeated_ids=True)

    assert GBDTClassifier(dp=person).fit(table(0)).model_.promise.unit == "person"
    with pytest.raises(DataError, match="At most 2 rows of an id are declared"):
        GBDTClassifier(dp=person).fit(table(0, each=3))
    apart, overlapping = ({"a": table(0), "b": table(15), "c": table(first)} for first in (30, 7))
    fed = Horizontal(dp=person)
    assert GBDTClassifier(federation=fed).fit(apart).model_.promise.unit == "person"
    with pytest.raises(DataError, match="At most 2 rows of an id are declared"):
        GBDTClassifier(federation=fed).fit(overlapping)
    GBDTClassifier(federation=Horizontal(dp=DP(epsilon=5, classes=(0, 1), method="additive"))).fit(overlapping)
