"""The scikit-learn face does what scikit-learn's and XGBoost's users expect."""

import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from hedgerow import ForestClassifier, ForestRegressor, GBDTClassifier, GBDTRegressor, Table
from hedgerow.errors import DataError, ModelError, ParameterError

DRAWS = "A weighted row is one row to draw, a repeated row is several: random forests cannot treat them alike."
NOT_EQUIVALENT = {
    "check_sample_weight_equivalence_on_dense_data": DRAWS,
    "check_sample_weight_equivalence_on_sparse_data": DRAWS,
}


def expected_failures(estimator):
    drawing = isinstance(estimator, ForestClassifier | ForestRegressor) and estimator.subsample < 1
    return NOT_EQUIVALENT if drawing else {}


@parametrize_with_checks(
    [
        GBDTClassifier(n_estimators=20),
        GBDTRegressor(n_estimators=20),
        ForestClassifier(n_estimators=20),
        ForestRegressor(n_estimators=20),
        # Without drawing, the checks above have no excuse.
        ForestClassifier(n_estimators=20, subsample=1.0, colsample_bynode=1.0),
        ForestRegressor(n_estimators=20, subsample=1.0, colsample_bynode=1.0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_own_checks(estimator, check):
    """`check_array_api_input` skips itself: tables are NumPy arrays, no other array library is claimed."""
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    return train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


def test_boosting_is_as_good_as_xgboost(cancer):
    X, X_test, y, y_test = cancer
    options = {"n_estimators": 40, "max_depth": 4, "learning_rate": 0.1}
    ours = GBDTClassifier(**options).fit(X, y).predict_proba(X_test)[:, 1]
    theirs = xgboost.XGBClassifier(**options).fit(X, y).predict_proba(X_test)[:, 1]
    assert roc_auc_score(y_test, ours) == pytest.approx(roc_auc_score(y_test, theirs), abs=0.01)


def test_the_first_tree_is_xgboosts_tree():
    """With few distinct values both have the same candidate cuts, so the same gains and leaves."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 20, (4000, 5)).astype(np.float32)
    y = X[:, 0] * 0.3 + (X[:, 1] > 7) * X[:, 2] + rng.standard_normal(4000)
    ours = GBDTRegressor(1, max_depth=4, learning_rate=1.0, base_score=0.0, gradient_bits=31).fit(X, y)
    theirs = xgboost.XGBRegressor(
        n_estimators=1, max_depth=4, learning_rate=1.0, base_score=0.0, tree_method="hist"
    ).fit(X, y)
    frame = theirs.get_booster().trees_to_dataframe()
    forest = ours.model_.forest
    assert len(frame) == len(forest.columns)
    assert np.array_equal(
        np.sort(frame[frame.Feature != "Leaf"].Split), np.sort(forest.thresholds[forest.columns >= 0])
    )
    assert np.allclose(theirs.predict(X), ours.predict(X), atol=1e-4)


def test_many_classes(cancer):
    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    options = {"n_estimators": 30, "max_depth": 4, "learning_rate": 0.3}
    model = GBDTClassifier(**options).fit(X, y)
    peer = xgboost.XGBClassifier(**options).fit(X, y)
    theirs = accuracy_score(y_test, peer.predict(X_test))
    assert accuracy_score(y_test, model.predict(X_test)) > theirs - 0.01
    assert np.allclose(model.predict_proba(X_test).sum(axis=1), 1)
    forest = ForestClassifier(60).fit(X, y)
    theirs = RandomForestClassifier(60, random_state=0).fit(X, y)
    assert accuracy_score(y_test, forest.predict(X_test)) > accuracy_score(y_test, theirs.predict(X_test)) - 0.02


def test_random_forests_are_as_good_as_scikit_learns(cancer):
    X, X_test, y, y_test = cancer
    ours = ForestClassifier(100).fit(X, y).predict_proba(X_test)[:, 1]
    theirs = RandomForestClassifier(100, random_state=0).fit(X, y).predict_proba(X_test)[:, 1]
    assert roc_auc_score(y_test, ours) > roc_auc_score(y_test, theirs) - 0.01
    X, X_test, y, y_test = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    ours = ForestRegressor(100).fit(X, y).predict(X_test)
    theirs = RandomForestRegressor(100, random_state=0, max_features="sqrt").fit(X, y).predict(X_test)
    assert r2_score(y_test, ours) > r2_score(y_test, theirs) - 0.05


def test_text_labels_come_back_as_text(cancer):
    X, X_test, y, _ = cancer
    named = np.where(y == 1, "benign", "malignant")
    model = GBDTClassifier(5).fit(X, named)
    assert set(model.predict(X_test)) == {"benign", "malignant"}
    assert list(model.classes_) == ["benign", "malignant"]


def test_early_stopping_keeps_the_best_round(cancer):
    X, X_test, y, y_test = cancer
    model = GBDTClassifier(300, learning_rate=0.3, early_stopping_rounds=5).fit(X, y, eval_set=(X_test, y_test))
    history = model.model_.history
    assert model.model_.n_rounds == int(np.argmin(history)) + 1 < len(history) == int(np.argmin(history)) + 6
    value = -np.mean(np.log(model.predict_proba(X_test)[np.arange(len(y_test)), y_test]))
    assert value == pytest.approx(min(history), abs=1e-6)


@pytest.mark.parametrize("metric", ["auc", "error", "logloss"])
def test_metrics_on_held_out_rows_are_what_they_are_called(cancer, metric):
    X, X_test, y, y_test = cancer
    model = GBDTClassifier(10, eval_metric=metric).fit(X, y, eval_set=[(X_test, y_test)])
    p = model.predict_proba(X_test)
    expected = {
        "auc": roc_auc_score(y_test, p[:, 1]),
        "error": 1 - accuracy_score(y_test, p.argmax(axis=1)),
        "logloss": -np.mean(np.log(p[np.arange(len(y_test)), y_test])),
    }[metric]
    assert model.model_.history[-1] == pytest.approx(expected, abs=2e-3 if metric == "auc" else 1e-6)


def test_a_callback_is_told_of_every_round_and_can_stop(cancer):
    X, X_test, y, y_test = cancer
    seen = []

    def stop_after_three(told):
        seen.append(told)
        return told.number == 3

    model = GBDTClassifier(10, callbacks=[stop_after_three]).fit(X, y, eval_set=(X_test, y_test))
    assert [told.number for told in seen] == [1, 2, 3]
    assert (seen[0].metric, seen[0].n_rounds) == ("logloss", 10)
    assert model.model_.n_rounds == 3


def test_monotone_constraints_hold_everywhere():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (2000, 3)).astype(np.float32)
    y = np.sin(4 * X[:, 0]) - X[:, 1] ** 2 + X[:, 2] + rng.standard_normal(2000) / 5
    model = GBDTRegressor(60, monotone_constraints=[1, -1, 0]).fit(X, y)
    steps = np.linspace(-1, 1, 100, dtype=np.float32)
    for column, sign in ((0, 1), (1, -1)):
        for row in X[:50]:
            line = np.tile(row, (100, 1))
            line[:, column] = steps
            assert (np.diff(model.predict(line)) * sign >= -1e-6).all()
    free = GBDTRegressor(60).fit(X, y)
    line = np.tile(X[0], (100, 1))
    line[:, 0] = steps
    assert (np.diff(free.predict(line)) < 0).any(), "without the constraint the model must bend"


def test_categories_are_cut_in_sets():
    rng = np.random.default_rng(3)
    city = rng.choice(list("abcdefghij"), 2000)
    good = np.isin(city, list("aceg"))
    frame = pd.DataFrame({"city": pd.Categorical(city), "noise": rng.standard_normal(2000)})
    model = GBDTClassifier(5, max_depth=1).fit(frame, good)
    assert (model.predict(frame) == good).all(), "one cut must find the four cities"
    strange = pd.DataFrame({"city": ["zz"], "noise": [0.0]})
    assert model.predict_proba(strange).shape == (1, 2)


def test_more_categories_than_bins_are_told_and_the_rare_count_as_missing():
    rng = np.random.default_rng(4)
    common = rng.integers(0, 200, 4000)
    city = np.where(rng.random(4000) < 0.1, 1000 + np.arange(4000), common)
    frame = pd.DataFrame({"city": pd.Categorical(city.astype(str))})
    model = GBDTClassifier(3).fit(frame, common % 2)
    assert len(model.model_.columns[0].categories) == 255
    assert "the 255 most frequent are told apart" in model.notes_[0]


def test_weights_count(cancer):
    X, _, y, _ = cancer
    heavy = GBDTClassifier(10).fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0)).predict_proba(X)[:, 1]
    scaled = GBDTClassifier(10, scale_pos_weight=5.0).fit(X, y).predict_proba(X)[:, 1]
    plain = GBDTClassifier(10).fit(X, y).predict_proba(X)[:, 1]
    assert np.array_equal(heavy, scaled)
    assert heavy.mean() > plain.mean()


def test_rows_without_weight_are_no_rows(cancer):
    X, _, y, _ = cancer
    weights = np.ones(len(y))
    weights[::3] = 0
    kept = GBDTClassifier(10).fit(X[weights > 0], y[weights > 0]).model_.forest
    assert GBDTClassifier(10).fit(X, y, sample_weight=weights).model_.forest == kept


def test_losses_for_counts_and_outliers_reach_their_means():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (4000, 2)).astype(np.float32)
    mean = np.exp(0.4 * X[:, 0])
    for objective, tolerance in (("poisson", 0.1), ("tweedie", 0.1)):
        model = GBDTRegressor(80, objective=objective).fit(X, rng.poisson(mean))
        assert np.abs(model.predict(X) / mean - 1).mean() < tolerance
    spoilt = mean + np.where(rng.random(4000) < 0.05, 500.0, 0.0)
    huber = GBDTRegressor(150, objective="huber").fit(X, spoilt).predict(X)
    squared = GBDTRegressor(150).fit(X, spoilt).predict(X)
    assert np.abs(huber - mean).mean() < 0.2 * np.abs(squared - mean).mean()


def test_importances_of_all_kinds_find_the_column_that_matters(cancer):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((1000, 5))
    model = GBDTClassifier(10).fit(X, X[:, 3] > 0)
    for kind in ("gain", "split", "cover"):
        shares = model.importances(kind)
        assert shares.sum() == pytest.approx(1)
        assert shares.argmax() == 3


def test_leaves_tell_where_rows_end(cancer):
    X, _, y, _ = cancer
    model = GBDTClassifier(5).fit(X, y)
    places = model.apply(X)
    forest = model.model_.forest
    leaves = places + forest.roots[:-1]
    assert (forest.columns[leaves] == -1).all()
    scores = np.float32(model.model_.base_score)
    for tree in range(5):
        scores = scores + forest.values[leaves[:, tree]]
    assert np.array_equal(scores, model.model_.scores(Table.of(X))[:, 0])


def test_a_frame_with_its_label_by_name_can_be_predicted_from_without_it(cancer):
    X, _, y, _ = cancer
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    whole = frame.assign(sick=y, weight=1.0)
    model = GBDTClassifier(5).fit(whole, "sick", sample_weight="weight")
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert np.array_equal(model.predict(frame), GBDTClassifier(5).fit(frame, y).predict(frame))


def test_a_table_may_be_fitted_and_predicted(cancer):
    X, X_test, y, y_test = cancer
    model = GBDTClassifier(5).fit(Table.of(X, y), eval_set=(Table.of(X_test), y_test))
    assert np.array_equal(model.predict(Table.of(X_test)), model.predict(X_test))


def test_what_a_sparse_table_leaves_out_means_the_same_in_prediction(cancer):
    rng = np.random.default_rng(7)
    X = np.where(rng.random((500, 4)) < 0.6, 0, rng.standard_normal((500, 4))).astype(np.float32)
    stored, y = sparse.csr_array(X), X[:, 0] + X[:, 1] > 0
    zeros = Table.of(stored, y, absent="zero")
    model = GBDTClassifier(10).fit(zeros)
    assert np.array_equal(model.predict_proba(stored), model.predict_proba(X))
    with pytest.raises(DataError, match="were zero in training; make the table with absent='zero'"):
        model.model_.predict(Table.of(stored))


def test_a_constant_hessian_counts_rows(cancer):
    X, _, y, _ = cancer
    model = GBDTClassifier(1, constant_hessian=True).fit(X, y)
    assert model.model_.forest.covers[0] == len(y)
    assert model.notes_ == []


def test_the_base_score_is_a_probability_or_a_label(cancer):
    X, _, y, _ = cancer
    huge = {"n_estimators": 1, "gamma": 1e6}  # no cut is worth that
    assert GBDTClassifier(**huge, base_score=0.9, reg_lambda=1e9).fit(X, y).predict_proba(X)[0, 1] == pytest.approx(0.9)
    assert GBDTRegressor(**huge, base_score=3.5, reg_lambda=1e9).fit(X, y).predict(X)[0] == pytest.approx(3.5)
    with pytest.raises(ParameterError, match="base_score must be a number above 0 and below 1"):
        GBDTClassifier(base_score=1.5).fit(X, y)


def test_constraints_follow_their_columns_into_a_continued_training():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.uniform(-1, 1, (1500, 2)), columns=["up", "free"])
    y = -frame.up + np.sin(5 * frame.free)
    first = GBDTRegressor(3, monotone_constraints=[1, 0]).fit(frame, y)
    swapped = frame[["free", "up"]]
    more = GBDTRegressor(20, monotone_constraints=[0, 1]).fit(swapped, y, init_model=first)
    line = pd.DataFrame({"free": 0.3, "up": np.linspace(-1, 1, 50)})
    assert (np.diff(more.predict(line)) >= -1e-6).all()


def test_a_sparse_eval_set_of_a_dense_training_is_measured_as_it_is_predicted():
    rng = np.random.default_rng(11)
    X = np.where(rng.random((800, 3)) < 0.8, 0, rng.standard_normal((800, 3))).astype(np.float32)
    y = 3.0 * (X[:, 0] != 0) + X[:, 1]
    model = GBDTRegressor(20).fit(X, y, eval_set=(sparse.csr_array(X), y))
    error = np.sqrt(np.mean((model.predict(sparse.csr_array(X)) - y) ** 2))
    assert model.model_.history[-1] == pytest.approx(error, abs=1e-5)


def test_categories_that_are_fractions_are_found_again_in_prediction():
    X = np.random.default_rng(12).choice([1 / 3, 2 / 3, 0.1, 0.7], (400, 1))
    y = np.isin(X[:, 0], [1 / 3, 0.7]).astype(float)
    model = GBDTRegressor(40).fit(X, y, categorical=[0])
    assert np.abs(model.predict(X) - y).max() < 0.05


def test_held_out_losses_of_heavy_tails_are_told_exactly():
    rng = np.random.default_rng(13)
    X = rng.standard_normal((2000, 2)).astype(np.float32)
    y = np.exp(2 * X[:, 0] + 2 * rng.standard_normal(2000))
    y[0] = 2e5
    model = GBDTRegressor(15, objective="tweedie").fit(X, y, eval_set=(X, y))
    s = np.log(model.predict(X))
    true = np.mean(np.exp(0.5 * s) / 0.5 + y * np.exp(-0.5 * s) / 0.5)
    assert model.model_.history[-1] == pytest.approx(true, rel=1e-3)


def test_one_far_label_does_not_blind_the_cuts_and_a_very_far_one_is_told():
    rng = np.random.default_rng(14)
    X = rng.standard_normal((3000, 3)).astype(np.float32)
    y = (X[:, 0] > 0) + X[:, 1] / 10
    far = np.append(y[:-1], 1e4)
    model = GBDTRegressor(60).fit(X, far)
    peer = xgboost.XGBRegressor(n_estimators=60, learning_rate=0.1).fit(X, far)
    ours, theirs = (np.median(np.abs(m.predict(X)[:-1] - y[:-1])) for m in (model, peer))
    assert ours < 1.3 * theirs
    assert model.notes_ == []
    lost = GBDTRegressor(5).fit(X, np.append(y[:-1], 1e8), sample_weight=np.append(np.full(2999, 1e-7), 1))
    assert any("raise gradient_bits" in note for note in lost.notes_)


def test_a_first_score_far_from_the_labels_is_left_behind():
    X = np.random.default_rng(15).standard_normal((500, 2)).astype(np.float32)
    y = 1000 + (X[:, 0] > 0)
    assert np.abs(GBDTRegressor(200, base_score=0.0).fit(X, y).predict(X) - y).max() < 0.5
    moved = GBDTRegressor(200).fit(X, y, init_model=GBDTRegressor(5).fit(X, y - 1000))
    assert np.abs(moved.predict(X) - y).max() < 0.5


def test_a_named_model_continued_with_an_array_keeps_constraints_and_gaps():
    rng = np.random.default_rng(16)
    frame = pd.DataFrame(rng.standard_normal((300, 2)).astype(np.float32), columns=["a", "b"])
    start = GBDTRegressor(2).fit(frame, frame.a)
    more = GBDTRegressor(2, monotone_constraints=[1, 0]).fit(frame.to_numpy(), frame.a, init_model=start)
    assert more.model_.params.monotone_constraints == (1, 0)
    stored = sparse.csr_array(np.where(frame > 0, frame, 0))
    zero = GBDTRegressor(2).fit(Table.of(stored, frame.a, absent="zero"))
    assert GBDTRegressor(2).fit(stored.toarray(), frame.a, init_model=zero).model_.absent == "zero"
    with pytest.raises(DataError, match="were zero in training"):
        GBDTRegressor(2).fit(stored, frame.a, init_model=zero)


def test_training_goes_on_with_rows_that_lack_a_class():
    X, y = load_digits(return_X_y=True)
    start = GBDTClassifier(2).fit(X, y)
    few = y < 9
    assert GBDTClassifier(2).fit(X[few], y[few], init_model=start).predict_proba(X).shape == (len(y), 10)


def test_the_weight_of_the_positive_class_does_not_weigh_the_held_out_rows(cancer):
    X, X_test, y, y_test = cancer
    model = GBDTClassifier(5, scale_pos_weight=20.0).fit(X, y, eval_set=(X_test, y_test))
    value = -np.mean(np.log(model.predict_proba(X_test)[np.arange(len(y_test)), y_test]))
    assert model.model_.history[-1] == pytest.approx(value, abs=1e-6)


WRONG = [
    ({"monotone_constraints": [0.9] * 30}, "only -1, 0 and 1"),
    ({"gamma": float("inf")}, "gamma must be a number of at least 0; it is inf"),
    ({"constant_hessian": "yes"}, "constant_hessian must be True or False"),
    ({"n_estimators": 10**9}, "n_estimators must be a whole number from 1 to 1,000,000"),
    ({"max_depth": 0}, "max_depth must be a whole number from 1 to 30; it is 0"),
    ({"learning_rate": -1}, "learning_rate must be a number above 0; it is -1"),
    ({"max_bin": 256}, "max_bin must be a whole number from 2 to 255"),
    ({"gradient_bits": 40}, "gradient_bits must be a whole number from 2 to 31"),
    ({"subsample": 0.0}, "subsample must be a number above 0 and at most 1"),
    ({"early_stopping_rounds": 3}, "early_stopping_rounds needs held-out rows"),
    ({"eval_metric": "auc"}, "eval_metric needs held-out rows"),
    ({"monotone_constraints": [1]}, "monotone_constraints has 1 entries; the table has 30 columns"),
    ({"monotone_constraints": [7] * 30}, "only -1, 0 and 1"),
    ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG, ids=[next(iter(o)) for o, _ in WRONG])
def test_wrong_parameters_are_refused_in_one_sentence(cancer, options, sentence):
    X, _, y, _ = cancer
    with pytest.raises(ParameterError, match=sentence):
        GBDTClassifier(**options).fit(X, y)


def test_wrong_uses_are_refused_in_one_sentence(cancer):
    X, X_test, y, y_test = cancer
    with pytest.raises(
        ParameterError, match="eval_metric 'mae' cannot be computed for the logistic loss; use one of auc"
    ):
        GBDTClassifier(eval_metric="mae").fit(X, y, eval_set=(X_test, y_test))
    with pytest.raises(DataError, match="belong to none of the model's 2 classes"):
        GBDTClassifier(2).fit(X, y, eval_set=(X_test, y_test + 5))
    with pytest.raises(DataError, match="poisson loss needs labels of at least 0"):
        GBDTRegressor(objective="poisson").fit(X, y - 1.0)
    with pytest.raises(ParameterError, match="objective must be squared, poisson, tweedie or huber"):
        GBDTRegressor(objective="mse").fit(X, y)
    with pytest.raises(DataError, match="needs held-out rows of both classes"):
        GBDTClassifier(2, eval_metric="auc").fit(X, y, eval_set=(X[y == 1], y[y == 1]))
    with pytest.raises(DataError, match=r"Some weights are above 1e\+30 or below"):
        GBDTClassifier(2).fit(X, y, sample_weight=np.full(len(y), 1e-50))
    with pytest.raises(ParameterError, match="base_score is set by the model whose training goes on"):
        GBDTClassifier(2, base_score=0.5).fit(X, y, init_model=GBDTClassifier(2).fit(X, y))
    with pytest.raises(ParameterError, match="eval_set must be a pair"):
        GBDTClassifier(2).fit(X, y, eval_set=[])
    with pytest.raises(ParameterError, match="Importances are of kind gain, split or cover"):
        GBDTClassifier(2).fit(X, y).importances("weight")
    with pytest.raises(ModelError, match="only with the loss and the classes of the model"):
        GBDTRegressor(2).fit(X, y, init_model=GBDTClassifier(2).fit(X, y))


def test_gradients_beyond_the_range_are_counted_and_told():
    X = np.arange(200, dtype=np.float32)[:, None]
    y = np.where(X[:, 0] < 100, 0.0, 1.0)
    model = GBDTRegressor(30, learning_rate=3.0, reg_lambda=0.0).fit(X, y)
    assert "gradients were beyond the range" in model.notes_[0]
