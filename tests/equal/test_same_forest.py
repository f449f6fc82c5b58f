"""The same seed gives the same forest, to the last bit, whatever does not matter."""

import numpy as np
import pytest
from scipy import sparse

from hedgerow import ForestClassifier, ForestRegressor, GBDTClassifier, GBDTRegressor, _native

N = 3000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, 8)).astype(np.float32)
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = np.where(rng.random(N) < 0.9, 0, X[:, 3])  # mostly zeros: kept sparse
    X[rng.random((N, 8)) < 0.05] = np.nan
    signal = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + (np.nan_to_num(X[:, 3]) > 0) + rng.standard_normal(N) / 3
    return X, signal


def kinds(signal):
    """An estimator of every loss and kind, with the labels it learns."""
    two, many = (signal > 0.2).astype(int), np.digitize(signal, [-0.5, 0.5])
    counts = np.round(np.exp(np.clip(signal, -2, 2)))
    draws = {"subsample": 0.7, "colsample_bytree": 0.6, "colsample_bynode": 0.8, "random_state": 3}
    return {
        "logistic": (GBDTClassifier(8), two),
        "drawn": (GBDTClassifier(8, **draws), two),
        "seven bits": (GBDTClassifier(8, gradient_bits=7), two),
        "softmax": (GBDTClassifier(5), many),
        "squared": (GBDTRegressor(8), signal),
        "poisson": (GBDTRegressor(8, objective="poisson"), counts),
        "tweedie": (GBDTRegressor(8, objective="tweedie"), counts),
        "huber": (GBDTRegressor(8, objective="huber"), signal),
        "constant hessian": (GBDTClassifier(8, constant_hessian=True), two),
        "monotone": (GBDTRegressor(8, monotone_constraints=[1, 0, 0, -1, 0, 0, 0, 0]), signal),
        "shares": (ForestClassifier(5, max_depth=8), many),
        "random forest": (ForestRegressor(5, max_depth=8), signal),
    }


NAMES = list(kinds(np.zeros(3)))


def forest_of(estimator, X, y, **more):
    return estimator.fit(X, y, **more).model_.forest


@pytest.mark.parametrize("name", NAMES)
def test_threads_do_not_matter(table, name):
    X, signal = table
    estimator, y = kinds(signal)[name]
    one, two, four = (forest_of(estimator.set_params(n_jobs=n), X, y) for n in (1, 2, 4))
    assert one.n_trees >= 5
    assert (one.columns >= 0).sum() > 50, "the forest must have cuts to compare"
    assert one == two == four


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_does_not_matter(table, name):
    X, signal = table
    estimator, y = kinds(signal)[name]
    ids, order = np.arange(N), np.random.default_rng(0).permutation(N)
    straight = forest_of(estimator, X, y, ids=ids)
    assert straight == forest_of(estimator, X[order], y[order], ids=ids[order])


@pytest.mark.parametrize("name", NAMES)
def test_the_instruction_set_does_not_matter(table, name):
    X, signal = table
    estimator, y = kinds(signal)[name]
    wide = forest_of(estimator, X, y)
    _native.set_portable_only(True)
    try:
        plain = forest_of(estimator, X, y)
    finally:
        _native.set_portable_only(False)
    assert wide == plain


@pytest.mark.parametrize("name", NAMES)
def test_a_sparse_table_gives_the_forest_of_the_dense_one(table, name):
    X, signal = table
    estimator, y = kinds(signal)[name]
    present = sparse.csr_array(np.where(np.isnan(X), 0, 1).astype(np.float32))
    rows, columns = present.nonzero()
    stored = sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)
    assert forest_of(estimator, X, y) == forest_of(estimator, stored, y)


def test_with_other_ids_other_rows_are_drawn(table):
    """The sabotage of the test above: if ids did not steer the draws, it could not fail."""
    X, signal = table
    estimator, y = kinds(signal)["drawn"]
    assert forest_of(estimator, X, y, ids=np.arange(N)) != forest_of(estimator, X, y, ids=np.arange(N) + 7)


@pytest.mark.parametrize("name", ["logistic", "drawn", "softmax", "squared", "random forest", "shares"])
def test_training_in_two_sittings_is_training_in_one(table, name):
    X, signal = table
    estimator, y = kinds(signal)[name]
    whole = forest_of(estimator.set_params(n_estimators=6), X, y)
    begun = estimator.set_params(n_estimators=2).fit(X, y).model_
    assert begun.forest == whole.first(2 * begun.loss.n_trees)
    assert forest_of(estimator.set_params(n_estimators=4), X, y, init_model=begun) == whole


@pytest.mark.parametrize("name", ["logistic", "drawn", "softmax", "monotone", "shares"])
def test_how_many_histograms_fit_in_memory_does_not_matter(table, name, monkeypatch):
    """Some levels by subtraction, then levels too large to keep, node after node."""
    X, signal = table
    estimator, y = kinds(signal)[name]
    roomy = forest_of(estimator, X, y)
    width = 8 * 256 * 16
    for nodes in (1, 3, 7):
        monkeypatch.setattr("hedgerow.trees.grow.LARGEST_LEVEL", nodes * width)
        assert forest_of(estimator, X, y) == roomy


def test_other_seeds_give_other_forests(table):
    X, signal = table
    estimator, y = kinds(signal)["drawn"]
    assert forest_of(estimator, X, y) != forest_of(estimator.set_params(random_state=4), X, y)
