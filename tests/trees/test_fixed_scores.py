"""Scores in whole numbers: they fit the bits, no finer step would, and they are the model's within the bound."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from federated import labels, params_of, pooled_model, values
from hedgerow.agreement.plan import Goal
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.candidates import leaves_of
from hedgerow.model.fixed_scores import BITS, fixed_scores
from hedgerow.trees.forest import Forest
from learnt import CASES

KINDS = ("logistic", "softmax", "squared", "poisson", "forest of two classes", "forest of many classes", "depth 8")


def trained(case, **more):
    kind, goal, params = CASES[case]
    X, signal = values(250)
    table = Table.of(X, labels(kind, signal))
    return pooled_model(table, params_of(**{**params, **more}), Goal(**goal)), table


def ends(model, table):
    """Which leaf of each tree a row reaches, as rows x leaves."""
    at = model.leaves(table) + model.forest.roots[:-1]
    out = np.zeros((len(at), len(model.forest.columns)), np.bool_)
    np.put_along_axis(out, at, True, axis=1)
    return out[:, leaves_of(model)]


@pytest.mark.parametrize("bits", [10, BITS, 24])
@pytest.mark.parametrize("case", KINDS)
def test_scores_are_those_of_the_model_within_the_bound(case, bits):
    model, table = trained(case)
    fixed = fixed_scores(model, bits)
    exact = model.scores(table)
    sums = fixed.sums(ends(model, table))
    single = 1e-6 * (1 + np.abs(exact).max()) * model.n_rounds  # what the model's own sums in single precision lack
    assert np.abs(fixed.scores(sums) - exact).max() <= fixed.error + single
    assert np.abs(sums).max() <= fixed.largest <= 2 ** (bits - 1) - 1


@pytest.mark.parametrize("case", KINDS)
def test_the_bound_is_no_larger_than_it_must_be(case):
    """A step half as large would not fit, and the default is close to the scores."""
    model, table = trained(case)
    fixed = fixed_scores(model)
    assert fixed.largest > 2 ** (BITS - 1) / 2 - model.n_rounds
    assert fixed.error < 0.01 * max(np.ptp(model.scores(table)), fixed.step)


@given(st.data(), st.integers(2, 32), st.sampled_from([1, 3]))
def test_no_choice_of_leaves_leaves_the_range(data, bits, n_classes):
    model, _ = trained("softmax" if n_classes == 3 else "logistic", n_estimators=3)
    scale = data.draw(st.sampled_from([1e-30, 1e-3, 1.0, 1e6, 1e30]))
    drawn = data.draw(st.lists(st.floats(-1, 1, width=32), min_size=len(model.forest.values), max_size=300))
    leaf_values = np.zeros(len(model.forest.values), np.float32)
    leaf_values[leaves_of(model)] = (np.array(drawn)[: len(leaves_of(model))] * scale).astype(np.float32)
    model = replace(model, forest=replace(model.forest, values=leaf_values))
    fixed = fixed_scores(model, bits)
    most = 2 ** (bits - 1) - 1
    worst = np.zeros((2, fixed.n_classes), np.int64)
    for tree in range(model.forest.n_trees):
        own = fixed.weights[fixed.trees == tree]
        worst[:, tree % fixed.n_classes] += own.min(), own.max()
    assert np.abs(worst).max() <= fixed.largest <= most
    exact = leaf_values[leaves_of(model)].astype(np.float64)
    assert (np.abs(fixed.weights * fixed.step - exact) <= fixed.step / 2).all()


def test_a_range_that_is_not_checked_overflows():
    """The sabotage: the step of one tree alone lets the sum of all run over."""
    model, _ = trained("logistic")
    alone = replace(model, forest=model.forest.first(1))
    step = fixed_scores(alone).exponent
    unchecked = np.rint(np.ldexp(model.forest.values.astype(np.float64), -step))
    of_trees = [np.abs(unchecked[a:b]).max() for a, b in zip(model.forest.roots, model.forest.roots[1:], strict=False)]
    assert sum(of_trees) > 2 ** (BITS - 1) - 1


def test_a_model_without_trees_or_with_empty_leaves_has_scores_too():
    model, _ = trained("logistic")
    nothing = replace(model, forest=Forest.empty())
    assert fixed_scores(nothing).error == 0
    zero = replace(model, forest=replace(model.forest, values=np.zeros_like(model.forest.values)))
    assert not fixed_scores(zero).weights.any()


@pytest.mark.parametrize("bits", [0, 1, 33, -3])
def test_bits_that_make_no_sense_are_refused(bits):
    with pytest.raises(ParameterError, match="from 2 to 32 bits"):
        fixed_scores(trained("logistic")[0], bits)
