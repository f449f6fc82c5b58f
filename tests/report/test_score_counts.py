"""What is kept of scores: enough for the curves, and no row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from hedgerow import GBDTClassifier, GBDTRegressor, Table
from hedgerow.errors import DataError, ModelError
from hedgerow.model import own_quality
from hedgerow.model.learning_curve import learning_curve
from hedgerow.model.score_counts import LEAST_ROWS, MOST_BINS, decoded, encoded, judged


def scores(n=400, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    p = np.clip(0.3 * y + rng.random(n) * 0.7, 0, 1)
    return y, p.round(1) if ties else p, rng.integers(1, 4, n).astype(float)


def counted(y, p, weights=None, **more):
    two = np.column_stack([1 - p, p])
    return judged(y, two, weights, ("no", "yes"), rows="test", metrics={}, **more).scores[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_of_few_rows_counted_one_by_one_the_areas_are_those_of_scikit_learn(weighted, ties):
    y, p, w = scores(180, ties=ties)
    w = w if weighted else None
    one = counted(y, p, w, least_rows=1)
    assert one.auc == pytest.approx(metrics.roc_auc_score(y, p, sample_weight=w))
    assert one.average_precision == pytest.approx(metrics.average_precision_score(y, p, sample_weight=w))
    false, true, _ = metrics.roc_curve(y, p, sample_weight=w)
    assert one.ks == pytest.approx(np.max(true - false))


def test_counts_of_many_rows_give_nearly_the_same_area():
    y, p, _ = scores(20_000)
    one = counted(y, p)
    assert len(one.probability) <= MOST_BINS
    assert one.auc == pytest.approx(metrics.roc_auc_score(y, p), abs=1e-3)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=LEAST_ROWS, max_size=120))
def test_no_bin_tells_of_fewer_than_five_rows_or_parts_rows_of_one_score(rows):
    p, y = np.array([row[0] for row in rows]) / 20, np.array([row[1] for row in rows], np.int64)
    one = counted(y, p)
    sizes = np.add(one.positives, one.negatives)
    assert sizes.sum() == len(rows)
    assert sizes.min() >= LEAST_ROWS
    ends = np.cumsum(sizes).astype(int)[:-1]
    ordered = np.sort(p)
    assert all(ordered[end - 1] < ordered[end] for end in ends)


def test_counts_with_bins_of_one_row_would_tell_of_rows():
    """The sabotage: with bins as fine as the rows, the claim above does not hold."""
    y, p, _ = scores(60)
    assert min(np.add(counted(y, p, least_rows=1).positives, counted(y, p, least_rows=1).negatives)) < LEAST_ROWS


def test_calibration_groups_hold_all_rows_and_their_means():
    y, p, _ = scores(1000)
    said, true = counted(y, p, least_rows=1).calibration(1)
    assert said == pytest.approx([p.mean()])
    assert true == pytest.approx([y.mean()])


def test_of_several_classes_there_is_a_curve_of_each_and_a_table_of_all():
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 3, 200), rng.dirichlet([1, 1, 1], 200)
    told = judged(y, p, None, ("a", "b", "c"), rows="test", metrics={})
    assert [one.of for one in told.scores] == ["a", "b", "c"]
    assert np.array_equal(told.confusion, metrics.confusion_matrix(y, p.argmax(axis=1)))


def test_numbers_have_means_of_both_in_bins():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    told = judged(y, y + 1, None, (), rows="test", metrics={"rmse": 1.0})
    assert np.subtract(told.predicted, told.labels) == pytest.approx(np.ones(len(told.labels)))


def test_what_is_kept_is_read_again_and_damage_is_refused():
    y, p, _ = scores(60)
    told = judged(y, np.column_stack([1 - p, p]), None, ("no", "yes"), rows="test", metrics={"auc": 0.5})
    assert decoded(encoded(told), "curves.json") == told
    with pytest.raises(ModelError, match=r"curves\.json does not hold the curves"):
        decoded(encoded(told)[:-20], "curves.json")
    with pytest.raises(ModelError, match="does not fit this version"):
        decoded(encoded(told).replace(b'"version": 1', b'"version": 2'), "curves.json")


def test_a_learning_curve_is_the_history_that_training_had():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    held_out = Table.of(X[200:], y[200:])
    for metric in ("logloss", "auc"):
        fitted = GBDTClassifier(n_estimators=5, eval_metric=metric).fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))
        name, values = learning_curve(fitted.model_, held_out.aligned(fitted.model_.columns))
        assert name == metric
        assert values == pytest.approx(fitted.model_.history, abs=1e-6)


def test_rows_without_labels_or_with_text_for_numbers_cannot_be_judged():
    X = np.arange(40.0).reshape(-1, 1)
    model = GBDTRegressor(n_estimators=2).fit(X, X[:, 0]).model_
    with pytest.raises(DataError, match="no labels to compare"):
        own_quality.judge(model, Table.of(X), "test")
    with pytest.raises(DataError, match="labels are text"):
        own_quality.judge(model, Table.of(X, ["a"] * 40), "test")
