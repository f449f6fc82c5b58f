"""FedTree's way: every party sums over its own cut points and spreads the sums onto the common ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from federated import Federation, params_of, pooled_model, same, two_class
from hedgerow.agreement.plan import Goal
from hedgerow.corridor.messages import AskLocalCuts
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ProtocolError
from hedgerow.trees.bins import Grid
from hedgerow.trees.fedtree_histograms import Spread


def local(parties, protection="masked", **params):
    params = params_of(min_cut_rows=1, **params)
    return Federation(parties, params, protection=protection, cut_points="local", allow_two=True)


def test_one_party_alone_has_the_pooled_forest():
    parties = two_class(1)
    assert same(local(parties, "plain").model(), pooled_model(parties, params_of(min_cut_rows=1)))


@pytest.mark.parametrize("n", [2, 4])
def test_parties_with_the_same_rows_have_the_pooled_forest(n):
    table = two_class(1, n=150)["party1"]
    parties = {f"p{i}": table for i in range(n)}
    assert same(local(parties).model(), pooled_model(parties, params_of(min_cut_rows=1)))


def test_masked_and_plain_forests_are_the_same():
    parties = two_class(3)
    assert same(local(parties).model(), local(parties, "plain").model())


def test_elsewhere_the_forest_predicts_nearly_as_well_as_the_pooled_one():
    X, y = load_breast_cancer(return_X_y=True)
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    parties = partition.rows(X[train], y[train], 4)
    held_out = Table.of(X[test])
    params = params_of(n_estimators=20, max_bin=32, min_cut_rows=1)
    federated = local(parties, n_estimators=20, max_bin=32).model()
    pooled = pooled_model(parties, params)
    assert federated.forest != pooled.forest
    auc = [roc_auc_score(y[test], model.predict(held_out)[:, 1]) for model in (federated, pooled)]
    assert abs(auc[0] - auc[1]) < 0.01


def test_every_partys_own_quantiles_cross():
    fed = local(two_class(3))
    fed.model()
    crossed = [heard.message.cuts for heard in fed.of("LocalCuts")]
    assert len(crossed) == 3
    assert all(len(cuts) for cuts in crossed)
    counted = Federation(two_class(3))
    counted.model()
    assert not counted.of("LocalCuts")


def test_a_party_does_not_show_its_quantiles_where_the_plan_says_counts():
    fed = Federation(two_class(3), goal=Goal())
    fed.model()
    with pytest.raises(ProtocolError, match="does not allow AskLocalCuts"):
        fed.parties["party1"].answer(encode(AskLocalCuts()))


# How sums are spread

cut_points = st.lists(st.integers(-20, 20), max_size=6, unique=True).map(sorted)
own_cuts = st.lists(st.integers(-20, 20), min_size=1, max_size=6, unique=True).map(sorted)


def grid(cuts, missing=False) -> Grid:
    starts = np.array([0, len(cuts)])
    return Grid(np.array(cuts, np.float32), starts, np.array([missing]), np.array([False]))


def spread_of(own, common, missing, low=-21.0, high=21.0):
    return Spread(grid(own, missing), grid(common, missing), np.array([[low, high]]))


def sums_over(own, missing, seed, nodes=2):
    words = np.random.default_rng(seed).integers(-(10**12), 10**12, (nodes, len(own) + 1 + missing + 1, 2))
    words[:, -1] = words[:, :-1].sum(axis=1)
    return words


@given(own_cuts, cut_points, st.booleans(), st.integers(0, 100))
def test_spread_sums_add_up_to_the_total_and_keep_what_is_missing(own, common, missing, seed):
    sums = sums_over(own, missing, seed)
    out = spread_of(own, common, missing)(sums)
    assert out.shape == (2, len(common) + 1 + missing + 1, 2)
    assert (out[:, :-1].sum(axis=1) == sums[:, -1]).all()
    assert (out[:, -1] == sums[:, -1]).all()
    if missing:
        assert (out[:, -2] == sums[:, -2]).all()


@given(own_cuts, cut_points, st.integers(0, 100))
def test_spread_sums_are_exact_where_cut_points_coincide(own, common, seed):
    sums = sums_over(own, False, seed)
    out = spread_of(own, common, False)(sums)
    for cut in set(own) & set(common):
        below, expected = out[:, : common.index(cut) + 1], sums[:, : own.index(cut) + 1]
        assert (below.sum(axis=1) == expected.sum(axis=1)).all()


@given(own_cuts, st.integers(0, 100))
def test_the_same_cut_points_leave_sums_as_they_are(own, seed):
    sums = sums_over(own, False, seed)
    assert (spread_of(own, own, False)(sums) == sums).all()


def test_between_own_cut_points_sums_are_spread_evenly():
    own, common = [0, 10], [0, 5, 10]
    sums = np.array([[[7, 7], [100, 10], [3, 3], [110, 20]]])
    assert spread_of(own, common, False)(sums)[0].tolist() == [[7, 7], [50, 5], [50, 5], [3, 3], [110, 20]]


def test_without_own_cut_points_sums_are_spread_over_the_range():
    sums = np.array([[[84, 42], [84, 42]]])
    assert spread_of([], [0], False)(sums)[0].tolist() == [[42, 21], [42, 21], [84, 42]]


def test_a_column_may_hold_one_value_at_a_party():
    parties = two_class(3)
    parties["party2"].values[:, 0] = 1.5
    parties["party3"] = parties["party3"].take(slice(1))
    assert same(local(parties).model(), local(parties, "plain").model())
