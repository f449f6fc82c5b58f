"""Nodes that a level's columns do not improve: levels below look at them again, and the forest is that of one table."""

import numpy as np
import pytest
from test_hybrid import banks_of, hybrid, network
from test_schedules import OWN, one_table, scheduled, tables
from test_separate import SPANS, separate
from test_separate import one_table as separate_table

from by_levels import by_levels
from federated import Lossy, params_of, pooled_model, same, step
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data.table import Table
from hedgerow.run.simulation.predict import predict_parties
from hedgerow.trees import grow
from hedgerow.trees.levels import ALIKE
from learnt import CASES

LEVELS = ["AAJJ", "AAPP", "PPAA", "AJAJ", "JAPJ", "PAJA"]


@pytest.fixture(autouse=True)
def waited(monkeypatch):
    """Nodes that were looked at again, level by level; there must be some in every test."""
    counts, honest = [], grow._Frontier.reopen

    def reopen(self, levels, depth):
        before = len(self.waiting.born)
        honest(self, levels, depth)
        counts.append(before - len(self.waiting.born))

    monkeypatch.setattr(grow._Frontier, "reopen", reopen)
    yield counts
    assert sum(counts) > 0


def noise(table, columns, constant=False):
    """The table with columns that tell nothing of its labels: alike in all rows, or drawn."""
    X = np.array(table.values)
    X[:, columns] = 1 if constant else np.random.default_rng(1).normal(size=(len(X), len(columns)))
    ids = {} if table.ids is None else {"ids": table.ids, "repeated_ids": True}
    return Table.of(X, table.labels, names=table.names, **ids)


def weak(kind="two", n=250, constant=False):
    """One table and its parties; the active party's columns hardly help."""
    table, parties = tables(kind, n)
    own = next(iter(parties))
    table = noise(table, range(OWN), constant)
    return table, {**parties, own: noise(parties[own], range(OWN), constant)}


def weak_network(kind="two", n=400):
    """The same of a network with banks."""
    parties, whole = network(kind, n)
    return {**parties, "network": noise(parties["network"], range(3))}, noise(whole, range(3))


PARAMS = params_of(max_depth=4, gamma=5.0)


@pytest.mark.parametrize("levels", LEVELS)
def test_the_forest_is_that_of_one_table_by_the_same_schedule(levels):
    table, parties = weak()
    whole = scheduled(parties, PARAMS, levels).whole()
    assert same(whole, one_table(table, PARAMS, levels))
    assert (whole.forest.columns >= OWN).any()


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_model_has_them(case):
    kind, goal, params = CASES[case]
    table, parties = weak(kind, constant=True)
    goal, params = Goal(**goal), params_of(**{**params, "max_depth": 3})
    assert same(scheduled(parties, params, "AJP", goal=goal).whole(), one_table(table, params, "AJP", goal))


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_encryption_changes_nothing(protection):
    _, parties = weak(n=120)
    params = params_of(n_estimators=2, max_depth=3, gamma=1.0)
    encrypted = scheduled(parties, params, "APJ", protection=protection, key_bits=2048)
    assert same(encrypted.whole(), scheduled(parties, params, "APJ").whole())


@pytest.mark.parametrize("more", [{"min_child_rows": 12}, {"subsample": 0.7, "colsample_bynode": 0.6}])
def test_rows_of_a_child_and_drawn_columns_are_as_in_one_table(more):
    """A node's columns are drawn by its number, so they are the same ones at each of its levels."""
    table, parties = weak()
    params = params_of(max_depth=4, gamma=3.0, **more)
    assert same(scheduled(parties, params, "PAJP").whole(), one_table(table, params, "PAJP"))


def test_where_rows_are_sampled_for_the_passive_parties_it_is_so():
    table, parties = weak()
    found = scheduled(parties, PARAMS, "APJJ", passive_rows=0.5).whole()
    assert same(found, by_levels(table, PARAMS, "APJJ", OWN, choosing=0.5))


@pytest.mark.parametrize("protection", ["plain", "lattice"])
def test_banks_that_have_some_of_the_rows_grow_the_same_forest(protection):
    parties, whole = weak_network(n=200)
    params = params_of(max_depth=4, n_estimators=2, gamma=2.0)
    found = hybrid(parties, params, protection=protection, levels="AAPJ").whole()
    assert same(found, by_levels(whole, params, "AAPJ", 3))
    assert (found.forest.columns >= 3).any()


@pytest.mark.parametrize("protection", ["plain", "lattice"])
def test_banks_that_share_columns_grow_the_forest_of_one_bank(protection):
    split, merged = banks_of(n=200, n_accounts=60, covered=0.8)
    own, params = noise(split["network"], range(3)), params_of(max_depth=4, n_estimators=2, gamma=1.0)
    one = hybrid({**merged, "network": own}, params, levels="APAJ").whole()
    several = hybrid({**split, "network": own}, params, levels="APAJ", shared=True, protection=protection).whole()
    assert several.forest == one.forest
    assert (one.forest.columns >= 3).any()


@pytest.mark.parametrize("levels", ["AAJJ", "AAPP", "PPAA", "PAJP"])
def test_subtrees_of_single_parties_stand_below_every_node(levels):
    parties, _ = weak_network()
    found = separate(parties, PARAMS, levels=levels).whole()
    assert found.forest == separate_table(parties, PARAMS, levels).forest
    assert (found.forest.columns >= 4).any()


@pytest.mark.parametrize("levels", ["AAPP", "PAPA"])
def test_random_cuts_stand_below_every_node(levels):
    """At levels P all nodes with rows are cut, but for those of rows that nobody holds."""
    parties, _ = weak_network()
    found = separate(parties, PARAMS, levels=levels, passive_cuts="random").whole()
    assert found.forest == separate_table(parties, PARAMS, levels, draws=SPANS).forest


def test_levels_of_columns_that_tell_nothing_cost_no_more_than_themselves():
    """The sabotage: with nodes that end where no column of their level helps, every tree is a leaf."""
    table, parties = weak(n=400, constant=True)
    found = scheduled(parties, params_of(n_estimators=8, max_depth=4), "AAJJ").whole()
    assert same(found, pooled_model(table, params_of(n_estimators=8, max_depth=2)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hedgerow.protocols.vertical.given_cuts.levels_of", lambda _: ALIKE)
        ended = scheduled(parties, params_of(n_estimators=8, max_depth=4), "AAJJ").whole()
    assert (ended.forest.columns < 0).all()


def test_a_lost_party_that_comes_back_changes_nothing():
    parties, _ = weak_network()
    fed, lost = hybrid(parties, PARAMS, levels="AAPJ"), []

    def lose(name, request):
        first = name == "bank2" and step(m.AskSealedSums, 1, 1)(request) and not lost
        lost.extend([name] * first)
        return first

    model = fed.model(transport=Lossy(fed, lose))
    assert lost
    assert same(model, hybrid(parties, PARAMS, levels="AAPJ").model())


@pytest.mark.parametrize("apart", [False, True])
def test_rows_are_predicted_as_in_one_table(apart):
    parties, whole = weak_network(n=500)
    own, train, rest = parties["network"], np.arange(350), np.arange(350, 500)
    model = hybrid({**parties, "network": own.take(train)}, PARAMS, levels="AAPJ", separate=apart).whole()
    later = {**parties, "network": own.take(rest)}
    leaves = predict_parties(model, later)
    assert len(np.unique(leaves)) > 3
    if not apart:
        assert np.array_equal(leaves, model.leaves(whole.take(rest)))
