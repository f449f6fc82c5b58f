"""A vertical forest is the pooled forest, bit for bit: cut points, cuts, values, first score and metrics."""

from dataclasses import replace

import numpy as np
import pytest

from federated import Federation, labels, params_of, pooled_model, same, scattered, values
from hedgerow.agreement.options import NoPrivacy, Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.file import decoded, encoded
from hedgerow.run.simulation.fit import fit_parties
from learnt import CASES


def vertical(parties, params, goal=Goal(), protection="plain", **more):  # noqa: B008
    active = next(iter(parties))
    return Federation(parties, params, goal, method="vertical", protection=protection, active=active, **more)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("case", CASES)
def test_the_vertical_forest_is_the_pooled_one(case, n):
    kind, goal, params = CASES[case]
    X, signal = values(250)
    table = Table.of(X, labels(kind, signal))
    goal, params = Goal(**goal), params_of(**params)
    pooled = pooled_model(table, params, goal)
    assert (pooled.forest.columns >= 0).sum() > 2, "the forest must have cuts to compare"
    assert same(vertical(partition.columns(table, n=n), params, goal).whole(), pooled)


def test_the_active_party_may_stand_anywhere_in_the_plan():
    X, signal = values(250)
    table = Table.of(X, labels("two", signal))
    parties = partition.columns(table, n=3)
    names = list(parties)
    turned = {name: parties[name] for name in (names[1], names[0], names[2])}
    fed = Federation(turned, params_of(), method="vertical", protection="plain", active=names[0])
    shared = [*parties[names[1]].columns, *parties[names[0]].columns, *parties[names[2]].columns]
    assert same(fed.whole(), pooled_model(table.aligned(shared), params_of()))


def test_early_stopping_follows_the_validation_rows():
    X, signal = values(400)
    table = Table.of(X, labels("two", signal))
    train, valid = table.take(np.arange(300)), table.take(np.arange(300, 400))
    params, goal = params_of(n_estimators=12, learning_rate=0.9), Goal(follow=True, early_stopping_rounds=2)
    held_out = partition.columns(valid, n=3)
    fed = vertical(partition.columns(train, n=3), params, goal, valid=held_out)
    whole = fed.whole()
    assert same(whole, pooled_model(train, params, goal, valid=valid))
    assert whole.forest.n_trees < 12


@pytest.mark.parametrize("n", [2, 3])
def test_the_forest_under_paillier_is_the_pooled_one_too(n):
    X, signal = values(80)
    table = Table.of(X, labels("two", signal))
    params = params_of(n_estimators=1, max_depth=2)
    fed = vertical(partition.columns(table, n=n), params, protection="paillier", key_bits=2048)
    assert same(fed.whole(), pooled_model(table, params))


@pytest.mark.parametrize("link_mbit", [None, 100.0])
@pytest.mark.parametrize(
    "case", ["logistic", "softmax", "squared", "rows and columns drawn", "6 bits", "20 rows a side"]
)
def test_the_forest_under_lattice_encryption_is_the_pooled_one_too(case, link_mbit):
    kind, goal, params = CASES[case]
    X, signal = values(250)
    table = Table.of(X, labels(kind, signal))
    goal, params = Goal(**goal), params_of(**params)
    fed = vertical(partition.columns(table, n=3), params, goal, protection="lattice", link_mbit=link_mbit)
    assert same(fed.whole(), pooled_model(table, params, goal))


def test_columns_of_categories_make_a_model_that_can_be_saved():
    rng = np.random.default_rng(0)
    town, x = rng.integers(0, 5, 300), rng.normal(size=300)
    y = ((town == 2) | (town == 4)).astype(int)
    table = Table.of(np.column_stack([x, town]), y, categorical=[1])
    fed = vertical(partition.columns(table, n=2), params_of())
    own = fed.model()
    assert (own.forest.sets >= 0).any()
    assert decoded(encoded(own), "the active party's").forest == own.forest
    assert own.columns[1].kind == "categorical"
    assert own.columns[1].categories == ()


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("case", ["two classes", "sampled"])
def test_parties_with_other_rows_in_another_order_learn_from_those_they_share(case, n):
    params = params_of(subsample=0.7) if case == "sampled" else params_of()
    X, signal = values(250)
    table = Table.of(X, labels("two", signal), ids=[f"person {i * 37}" for i in range(250)])
    parties, shared = scattered(table, n)
    assert 100 < shared.n_rows < 230
    assert same(vertical(parties, params, align="private").whole(), pooled_model(shared, params))


def test_validation_rows_are_aligned_too():
    X, signal = values(400)
    table = Table.of(X, labels("two", signal), ids=np.arange(400) * 3)
    params, goal = params_of(n_estimators=12, learning_rate=0.9), Goal(follow=True, early_stopping_rounds=2)
    parties, train = scattered(table.take(np.arange(300)), 3)
    held_out, valid = scattered(table.take(np.arange(300, 400)), 3, seed=1)
    fed = vertical(parties, params, goal, valid=held_out, align="private")
    whole = fed.whole()
    assert same(whole, pooled_model(train, params, goal, valid=valid))
    assert whole.forest.n_trees < 12


def test_ids_of_numbers_and_of_text_are_the_same_where_they_read_the_same():
    X, signal = values(250)
    numbers = np.arange(250) * 7 - 300
    table = Table.of(X, labels("two", signal), ids=numbers)
    parties, shared = scattered(table, 3)
    parties["party2"] = replace(parties["party2"], ids=parties["party2"].ids.astype(str))
    params = params_of(subsample=0.7)
    assert same(vertical(parties, params, align="private").whole(), pooled_model(shared, params))


def test_an_estimator_aligns_rows_where_they_differ_and_says_so():
    X, signal = values(250)
    table = Table.of(X, labels("two", signal), ids=[f"person {i}" for i in range(250)])
    parties, shared = scattered(table, 3)
    notes = []
    federation = Vertical(NoPrivacy(i_accept_disclosure=True))
    model = fit_parties(parties, None, federation, Goal(), params_of(), notes=notes)
    assert same(model, pooled_model(shared))
    n = shared.n_rows
    shares = ", ".join(f"{n} of the 225 of 'party{i}'" for i in (1, 2, 3))
    assert notes == [f"Only rows are used whose ids all parties have: {shares}."]
    in_order = partition.columns(table, n=3)
    assert same(fit_parties(in_order, None, federation, Goal(), params_of(), notes=(again := [])), pooled_model(table))
    assert not again


def test_a_passive_party_that_has_labels_too_or_no_column_to_cut_changes_nothing():
    X, signal = values(250)
    X[:, 4] = 1
    table = Table.of(X, labels("two", signal))
    parties = partition.columns(table, share=[[0, 1], [2, 3], [4]])
    parties["party2"] = replace(parties["party2"], labels=labels("two", -signal))
    fed = Federation(parties, params_of(), method="vertical", protection="lattice", active="party1")
    assert same(fed.whole(), pooled_model(table, params_of()))
    assert not [heard for heard in fed.of("AskSealedSums", "AskSides") if heard.receiver == "party3"]


@pytest.mark.parametrize("protection", ["plain", "lattice"])
def test_the_forest_of_eight_parties_is_the_pooled_one(protection):
    X, signal = values(250, n_columns=9)
    table = Table.of(X, labels("two", signal))
    fed = vertical(partition.columns(table, n=8), params_of(n_estimators=2), protection=protection)
    assert same(fed.whole(), pooled_model(table, params_of(n_estimators=2)))
