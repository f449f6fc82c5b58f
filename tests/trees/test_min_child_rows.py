"""No cut leaves fewer rows on a side than `min_child_rows`."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.train import Task, train
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams

N = 3000
SETTINGS = {
    "plain": {},
    "drawn": {"subsample": 0.7, "colsample_bynode": 0.6},
    "random forest": {"average": True, "subsample": 0.6, "learning_rate": 1.0},
    "monotone": {"monotone_constraints": (1, 0, -1, 0, 0)},
    "few bits": {"gradient_bits": 3},
}


@pytest.fixture(scope="module")
def table():
    """Numbers, mostly zeros, categories, missing values, and weights of which some are tiny."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, 5))
    X[:, 1] = np.where(rng.random(N) < 0.9, 0, X[:, 1])
    X[:, 4] = rng.zipf(1.5, N) % 40
    X[:, :4][rng.random((N, 4)) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 2]) + X[:, 4] % 3 + rng.standard_normal(N)
    weights = np.where(rng.random(N) < 0.2, 1e-6, rng.uniform(0.5, 2, N))
    return Table.of(X, y, categorical=[4], weights=weights)


def params(settings, **more):
    return TreeParams(n_estimators=4, max_depth=8, min_child_weight=0.0, **(settings | more))


def grown(table, settings, threads=1, **more):
    return train(table, params(settings, **more), Task(Loss("squared"), threads=threads))


def fewest_rows(model, table):
    """The rows of the emptiest leaf of all trees."""
    return min(np.unique(tree, return_counts=True)[1].min() for tree in model.leaves(table).T)


@pytest.mark.parametrize("least", [2, 20, 150])
@pytest.mark.parametrize("name", SETTINGS)
def test_no_leaf_has_fewer_rows(table, name, least):
    model = grown(table, SETTINGS[name], min_child_rows=least)
    assert fewest_rows(model, table) >= least
    assert (model.forest.columns >= 0).sum() > 10, "the forest must have cuts"


@pytest.mark.parametrize("name", SETTINGS)
def test_without_the_rule_some_leaf_has(table, name):
    """The sabotage of the test above: these forests do have small leaves if nothing forbids them."""
    assert fewest_rows(grown(table, SETTINGS[name]), table) < 20


@pytest.mark.parametrize("name", SETTINGS)
def test_one_row_is_no_rule(table, name):
    assert grown(table, SETTINGS[name], min_child_rows=1).forest == grown(table, SETTINGS[name]).forest


@pytest.mark.parametrize("name", SETTINGS)
def test_threads_and_room_for_histograms_do_not_matter(table, name, monkeypatch):
    expected = grown(table, SETTINGS[name], min_child_rows=20).forest
    assert grown(table, SETTINGS[name], threads=3, min_child_rows=20).forest == expected
    for nodes in (1, 3, 7):
        monkeypatch.setattr("hedgerow.trees.grow.LARGEST_LEVEL", nodes * 5 * 256 * 24)
        assert grown(table, SETTINGS[name], min_child_rows=20).forest == expected


@pytest.mark.parametrize("least", [5, 40])
def test_a_tree_agrees_with_scikit_learn(least):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 60, (1000, 4)).astype(float)
    y = np.sin(X[:, 0] / 9) * X[:, 1] + rng.standard_normal(1000)
    theirs = DecisionTreeRegressor(min_samples_leaf=least, max_depth=5, random_state=0).fit(X, y)
    alone = TreeParams(1, 5, 1.0, 0.0, min_child_weight=0.0, gradient_bits=31, min_child_rows=least)
    ours = train(Table.of(X, y), alone, Task(Loss("squared")))
    np.testing.assert_allclose(ours.predict(Table.of(X)).ravel(), theirs.predict(X), atol=1e-4)


@pytest.mark.parametrize("least", [0, -3, 1.5, True, 10**12])
def test_a_number_of_rows_that_makes_no_sense_is_refused(least):
    with pytest.raises(ParameterError, match="min_child_rows must be a whole number from 1 to"):
        replace(TreeParams(), min_child_rows=least)
