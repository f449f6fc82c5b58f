"""SHAP values: the kernel against the definition, XGBoost and the shap package."""

from dataclasses import replace
from itertools import combinations
from math import factorial

import numpy as np
import pytest
import strategies
import twins
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from federated import labels, params_of, pooled_model, values
from hedgerow import ForestClassifier, GBDTClassifier, _native
from hedgerow.agreement.options import NoPrivacy, Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ModelError, ParameterError
from hedgerow.model.model import Ownership
from hedgerow.model.xgboost import to_xgboost
from hedgerow.trees.bins import SparseRows
from learnt import CASES
from trees.test_predict import FINITE, forests, grown, table_of


def worth(forest, covers, node, row, known):
    """What a row is worth of which these columns are known: at cuts of the others both ways, by covers."""
    column, child = forest.columns[node], forest.children[node]
    if column < 0:
        return float(forest.values[node])
    left, right = float(covers[child]), float(covers[child + 1])
    share = left / (left + right) if left + right else 0.5
    if column in known:
        share = float(twins.goes_left(forest, node, row[column]))
    return share * worth(forest, covers, child, row, known) + (1 - share) * worth(forest, covers, child + 1, row, known)


def by_definition(forest, covers, row, known, n_scores):
    """Each known column's mean addition over all orders in which the known columns may come."""
    out = np.zeros((n_scores, len(known) + 1))
    players = np.flatnonzero(known).tolist()
    for tree, root in enumerate(forest.roots[:-1]):
        of = {
            frozenset(some): worth(forest, covers, root, row, set(some))
            for size in range(len(players) + 1)
            for some in combinations(players, size)
        }
        out[tree % n_scores, -1] += of[frozenset()]
        for some, without in of.items():
            orders = factorial(len(some)) * factorial(len(players) - len(some) - 1) if len(some) < len(players) else 0
            for j in set(players) - some:
                out[tree % n_scores, j] += orders / factorial(len(players)) * (of[some | {j}] - without)
    return out


def found_by_kernel(forest, covers, known, table, n_rows, n_scores, threads, absent=np.nan):
    out = np.zeros((n_rows, n_scores, len(known) + 1))
    _native.add_contributions(forest, covers, known, table, absent, out, threads)
    return out


@settings(deadline=None)
@given(st.data(), strategies.generators, st.integers(0, 4), st.integers(1, 4), strategies.threads)
def test_contributions_are_those_of_the_definition(data, rng, n, n_columns, threads):
    forest = data.draw(forests(n_columns))
    covers = np.where(rng.random(len(forest.columns)) < 0.1, 0, rng.random(len(forest.columns))).astype(np.float32)
    known = rng.random(n_columns) < 0.8
    n_scores = data.draw(st.sampled_from([k for k in (1, 2, 3) if (len(forest.roots) - 1) % k == 0]))
    table = table_of(rng, n, n_columns, FINITE)
    expected = [by_definition(forest, covers, row, known, n_scores) for row in table]
    found = found_by_kernel(forest, covers, known, table, n, n_scores, threads)
    np.testing.assert_allclose(found, np.array(expected).reshape(found.shape), atol=1e-9)


def test_a_sparse_table_gives_what_its_rows_written_out_give():
    rng = np.random.default_rng(4)
    forest = grown(rng, 6, [9, 9], 0.0)
    covers, known = rng.random(len(forest.columns)).astype(np.float32), np.ones(6, bool)
    table = np.where(rng.random((300, 6)) < 0.7, 0, rng.normal(size=(300, 6)) * 3).astype(np.float32)
    stored = SparseRows.of(sparse.csr_array(table))
    expected = found_by_kernel(forest, covers, known, table, 300, 1, 1)
    assert np.array_equal(found_by_kernel(forest, covers, known, stored, 300, 1, 3, absent=0.0), expected)


@pytest.mark.parametrize("wrong", ["covers", "below zero", "shape", "known"])
def test_arrays_that_do_not_fit_are_refused(wrong):
    forest = grown(np.random.default_rng(0), 2, [3], 0.0)
    covers, known, out = np.ones(len(forest.columns), np.float32), np.ones(2, bool), np.zeros((4, 1, 3))
    if wrong == "covers":
        covers = covers[1:]
    elif wrong == "below zero":
        covers[1] = -1
    elif wrong == "shape":
        out = out[:, :, :2].copy()
    else:
        known = known[:1]
    with pytest.raises(ValueError, match=r"differ in length|below zero|another shape|not there"):
        _native.add_contributions(forest, covers, known, np.zeros((4, 2), np.float32), np.nan, out, 1)


EXPORTED = [case for case in CASES if case not in ("forest of many classes", "6 bits")]
"""XGBoost has no objective for the first; with 6 bits a cut's cover is so rounded that it is not its children's sum,
by which XGBoost divides and this kernel does not."""


@pytest.mark.parametrize("case", EXPORTED)
def test_they_are_xgboosts_on_the_same_trees(case, tmp_path):
    kind, goal, params = CASES[case]
    X, signal = values(250)
    model = pooled_model(Table.of(X, labels(kind, signal)), params_of(**params), Goal(**goal))
    to_xgboost(model, tmp_path / "x.json")
    peer = xgboost.Booster(model_file=tmp_path / "x.json")
    theirs = peer.predict(xgboost.DMatrix(X), pred_contribs=True)
    ours = model.shap_values(Table.of(X), 2)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, atol=2e-4)
    assert np.abs(ours[..., :-1]).max() > 0.01, "there must be contributions to compare"
    np.testing.assert_allclose(ours.sum(axis=-1), np.squeeze(model.scores(Table.of(X))), atol=1e-4)


def test_they_are_those_of_the_shap_package(tmp_path):
    shap = pytest.importorskip("shap", reason="the shap package is not installed")
    X, signal = values(300)
    model = pooled_model(Table.of(X, labels("two", signal)), params_of(n_estimators=20, max_depth=5))
    to_xgboost(model, tmp_path / "x.json")
    explainer = shap.TreeExplainer(
        xgboost.Booster(model_file=tmp_path / "x.json"), feature_perturbation="tree_path_dependent"
    )
    ours = model.shap_values(Table.of(X))
    np.testing.assert_allclose(ours[:, :-1], explainer.shap_values(X), atol=2e-4)
    assert ours[0, -1] == pytest.approx(float(explainer.expected_value), abs=2e-4)


def test_categories_count_as_in_xgboost(tmp_path):
    rng = np.random.default_rng(2)
    codes, x = rng.integers(0, 6, 400), rng.normal(size=400)
    names = np.array(["ulm", "hof", "kiel", "jena", "bonn", "zeitz"])
    cells = np.column_stack([names[codes].astype(object), x.astype(object)])
    table = Table.of(
        cells, (np.isin(codes, [1, 4]) * 2 + x > 0.5).astype(int), names=["city", "x"], categorical=["city"]
    )
    model = pooled_model(table, params_of(n_estimators=5))
    assert (model.forest.sets >= 0).any()
    to_xgboost(model, tmp_path / "x.json")
    peer = xgboost.Booster(model_file=tmp_path / "x.json")
    data = xgboost.DMatrix(table.values, feature_names=["city", "x"], feature_types=["c", "float"])
    np.testing.assert_allclose(model.shap_values(table), peer.predict(data, pred_contribs=True), atol=2e-4)


def test_estimators_have_them_and_they_add_up_to_the_decision_function():
    X, signal = values(200)
    boosted = GBDTClassifier(5).fit(X, labels("two", signal))
    np.testing.assert_allclose(boosted.shap_values(X).sum(axis=1), boosted.decision_function(X), atol=1e-5)
    forest = ForestClassifier(7).fit(X, labels("many", signal))
    assert forest.shap_values(X).shape == (200, 4, 6)
    np.testing.assert_allclose(forest.shap_values(X).sum(axis=2), forest.decision_function(X), atol=1e-5)


def test_a_vertical_estimator_has_those_of_the_pooled_one():
    X, signal = values(200)
    table = Table.of(X, labels("two", signal), names=list("abcde"))
    parties = partition.columns(table, n=2)
    options = {"n_estimators": 3, "max_depth": 3, "min_cut_rows": 5}
    plain = Vertical(privacy=NoPrivacy(i_accept_disclosure=True))
    together = GBDTClassifier(**options, federation=plain).fit(parties)
    assert np.array_equal(together.shap_values(table), GBDTClassifier(**options).fit(table).shap_values(table))
    with pytest.raises(ParameterError, match="one table with the columns of all parties"):
        together.shap_values(parties)


# The active party's part of a vertical model


@pytest.fixture(scope="module")
def shared():
    """A whole model over two parties' columns, the active party's part of it, the table and the parties' tables."""
    X, signal = values(250)
    table = Table.of(X, labels("two", signal), names=list("abcde"))
    parties = partition.columns(table, share=[[1, 2], [0, 3, 4]])
    own = Ownership("m", "party1", (("party2", 3), ("party1", 2)), whole=True)
    order = [table.columns[j] for j in (0, 3, 4, 1, 2)]
    model = pooled_model(table.aligned(order), params_of(n_estimators=6, max_depth=4))
    whole = replace(model, ownership=own)
    forest = model.forest
    hidden = replace(forest, thresholds=np.where(forest.columns < 3, 0, forest.thresholds).astype(np.float32))
    return whole, replace(whole, forest=hidden, ownership=replace(own, whole=False)), table, parties["party1"]


def test_a_whole_vertical_model_tells_what_all_columns_add(shared):
    whole, _, table, _ = shared
    np.testing.assert_allclose(whole.shap_values(table).sum(axis=1), whole.scores(table)[:, 0], atol=1e-5)


def test_a_part_tells_what_own_columns_add_and_nothing_of_the_others(shared):
    whole, part, table, own_table = shared
    found = part.own_shap_values(own_table)
    assert not found[:, :3].any()
    assert np.abs(found[:, 3:5]).max() > 0.01
    known = np.array([False, False, False, True, True])
    rows = table.aligned(whole.columns).values[:20]
    forest, covers = whole.forest, whole.forest.covers
    expected = np.array([by_definition(forest, covers, row, known, 1)[0] for row in rows])
    expected[:, -1] += whole.base_score
    np.testing.assert_allclose(found[:20], expected, atol=1e-9)
    assert np.abs(found[:, 3:5] - whole.shap_values(table)[:, 3:5]).max() > 1e-3, "not the whole model's numbers"


def test_an_active_party_without_columns_has_nothing_to_tell(shared):
    _, part, table, _ = shared
    bare = replace(part, ownership=Ownership("m", "x", (("x", 0), ("party2", 5))))
    with pytest.raises(ModelError, match="no columns of its own"):
        bare.own_shap_values(table)


def test_a_tree_too_deep_to_walk_is_refused_not_a_crash():
    """A chain of cuts, as only a strange file has it."""
    X, signal = values(50)
    model, n = pooled_model(Table.of(X, labels("two", signal)), params_of(n_estimators=1, max_depth=1)), 600_001
    cut = np.arange(n) % 2 == 0
    cut[-1] = False
    chain = replace(
        model.forest,
        columns=np.where(cut, 0, -1).astype(np.int32),
        children=np.where(cut, np.arange(n) + 1, -1).astype(np.int32),
        sets=np.full(n, -1, np.int32),
        roots=np.array([0, n]),
        missing_left=np.zeros(n, bool),
        gains=np.zeros(n),
        **{name: np.ones(n, np.float32) for name in ("thresholds", "values", "covers")},
    )
    assert chain.first(1).depth == 300_000
    deep = replace(model, forest=chain)
    with pytest.raises(ModelError, match="more than 256 levels"):
        deep.shap_values(Table.of(X))
    with pytest.raises(ValueError, match="do not belong together"):
        found_by_kernel(chain, chain.covers, np.ones(5, bool), X[:1].copy(), 1, 1, 1)


def test_a_part_refuses_to_tell_what_all_columns_add(shared):
    _, part, table, _ = shared
    with pytest.raises(ModelError, match="is not in this model, the active party's part"):
        part.shap_values(table)
    with pytest.raises(ModelError, match="not one of a vertical run"):
        replace(part, ownership=None).own_shap_values(table)
