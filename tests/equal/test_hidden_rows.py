"""With hidden rows the forest is still the pooled one, bit for bit."""

import numpy as np
import pytest

from asked import Prediction
from federated import Federation, Lossy, labels, params_of, pooled_model, same, step, values
from hedgerow.agreement.options import Lattice, Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ModelError, ParameterError
from hedgerow.model import part as parts
from hedgerow.protocols.vertical import hidden_sizes
from hedgerow.run.simulation.fit import fit_parties
from hedgerow.trees import grow
from learnt import CASES

FEW = ("logistic", "softmax", "squared", "forest of many classes", "rows and columns drawn", "6 bits", "depth 1")


def hidden(parties, params, goal=Goal(), protection="lattice", **more):  # noqa: B008
    plan = {"method": "vertical", "active": next(iter(parties)), "hidden_rows": True, **more}
    return Federation(parties, params, goal, protection=protection, **plan)


def table_of(case, n=250):
    """A table with missing values, and what is learnt from it."""
    kind, goal, params = CASES[case]
    X, signal = values(n)
    return Table.of(X, labels(kind, signal)), params_of(**{"n_estimators": 2, **params}), Goal(**goal)


def turned(table, n):
    """Parties by columns, the active one's being the worst; and the table in their order."""
    last = len(table.columns) - 1
    parties = partition.columns(table, share=[[last], list(range(last))] if n == 2 else [[last], [0], [1, 2, 3]])
    return parties, table.aligned([column for party in parties.values() for column in party.columns])


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("case", FEW)
def test_the_forest_with_hidden_rows_is_the_pooled_one(case, n):
    table, params, goal = table_of(case)
    parties, table = turned(table, n)
    pooled = pooled_model(table, params, goal)
    assert same(hidden(parties, params, goal).whole(), pooled)
    assert (pooled.forest.columns > 0).sum() > 0, "passive columns must be cut"


def test_the_forest_under_paillier_is_the_pooled_one_too():
    X, signal = values(50)
    table, params = Table.of(X, labels("two", signal)), params_of(n_estimators=1, max_depth=2)
    fed = hidden(partition.columns(table, n=2), params, protection="paillier", key_bits=2048)
    assert same(fed.whole(), pooled_model(table, params))


def test_with_results_merged_for_a_slow_link_too():
    table, params, goal = table_of("logistic")
    assert same(
        hidden(partition.columns(table, n=3), params, goal, link_mbit=50.0).whole(), pooled_model(table, params)
    )


def test_categories_go_their_ways():
    rng = np.random.default_rng(0)
    town, x = rng.integers(0, 5, 300), rng.normal(size=300)
    table = Table.of(np.column_stack([x, town]), ((town == 2) | (town == 4)).astype(int), categorical=[1])
    own = hidden(partition.columns(table, n=2), params_of()).model()
    pooled = pooled_model(table, params_of()).forest
    assert (own.forest.sets >= 0).any()
    assert np.array_equal(own.forest.values, pooled.values)
    assert np.array_equal(own.forest.category_sets, pooled.category_sets)


def test_early_stopping_follows_the_validation_rows():
    X, signal = values(400)
    table = Table.of(X, labels("two", signal))
    train, valid = table.take(np.arange(300)), table.take(np.arange(300, 400))
    params, goal = params_of(n_estimators=8, learning_rate=0.9), Goal(follow=True, early_stopping_rounds=1)
    whole = hidden(partition.columns(train, n=3), params, goal, valid=partition.columns(valid, n=3)).whole()
    assert same(whole, pooled_model(train, params, goal, valid=valid))
    assert whole.forest.n_trees < 8


def test_nodes_cuts_and_trees_in_several_requests_give_the_same(monkeypatch):
    """As with many rows, nodes or classes."""
    monkeypatch.setattr(hidden_sizes, "MOST_TOGETHER", 3)
    monkeypatch.setattr(hidden_sizes, "MEMBERS", 500)
    for place in ("hedgerow.protocols.vertical.hidden_sizes", "hedgerow.protocols.vertical.hidden_active"):
        monkeypatch.setattr(f"{place}.TREES_TOGETHER", 2)
    table, params, goal = table_of("softmax")
    parties, table = turned(table, 2)
    fed = hidden(parties, params, goal)
    assert same(fed.whole(), pooled_model(table, params, goal))
    assert {request.message.first for request in fed.of("AskHiddenSums")} == {0, 2, 3, 6}


def test_a_sample_without_rows_grows_no_tree():
    table, params, goal = table_of("logistic", n=40)
    params = params_of(n_estimators=2, subsample=0.01)
    assert same(hidden(partition.columns(table, n=2), params, goal).whole(), pooled_model(table, params, goal))


def test_a_run_that_loses_a_party_in_the_middle_of_a_tree_goes_on_to_the_same_model():
    table, params, goal = table_of("logistic")
    fed, lost = hidden(partition.columns(table, n=3), params, goal), []

    def lose(party, request):
        here = party == "party2" and step(m.AskHiddenSums, 1, 2)(request) and not lost
        lost.extend([party] if here else [])
        return here

    assert same(fed.whole(transport=Lossy(fed, lose)), pooled_model(table, params, goal))
    assert lost


def test_an_estimator_hides_rows():
    table, params, goal = table_of("logistic")
    federation = Vertical(privacy=Lattice(), hidden_rows=True)
    model = fit_parties(partition.columns(table, n=2), None, federation, goal, params, notes=[])
    assert same(model, pooled_model(table, params, goal))


# What the parts say


def test_parts_name_cuts_by_number_and_only_the_active_partys_forest_knows_the_nodes():
    table, params, goal = table_of("softmax")
    fed = hidden(turned(table, 2)[0], params, goal)
    own = fed.model()
    part = parts.decoded(fed.kept["party2"], "the part")
    for first in range(0, own.forest.n_trees, own.loss.n_trees):
        numbers = part.node[part.tree == first]
        assert numbers.tolist() == list(range(1, len(numbers) + 1))
    assert set(part.tree) == {0, own.loss.n_trees}
    passive = np.flatnonzero(own.forest.columns >= part.first)
    names = set(zip(*(name.tolist() for name in parts.called(own, passive)), strict=True))
    assert names == set(zip(part.tree.tolist(), part.node.tolist(), strict=True))


def test_parts_of_another_run_do_not_fit():
    table, params, goal = table_of("logistic")
    one, other = (hidden(turned(t, 2)[0], params, goal) for t in (table, table.take(np.arange(90))))
    own, other_model = one.model(), other.model()
    assert not np.array_equal(own.forest.columns, other_model.forest.columns)
    with pytest.raises(ModelError, match="cannot be mixed"):
        parts.joined(own, {"party2": parts.decoded(other.kept["party2"], "another")})


def test_levels_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr("hedgerow.protocols.vertical.hidden_active.LARGEST_LEVEL", 1000)
    assert grow.LARGEST_LEVEL > 1000
    table, params, goal = table_of("logistic")
    with pytest.raises(Exception, match="kept at once, too many for"):
        hidden(partition.columns(table, n=2), params, goal).model()


@pytest.mark.parametrize("case", ["logistic", "softmax"])
def test_a_model_of_hidden_rows_predicts_by_asking_for_numbered_cuts(case):
    table, params, goal = table_of(case)
    parties, table = turned(table, 3)
    fed = hidden(parties, params, goal)
    own = fed.model()
    kept = {name: parts.decoded(content, name) for name, content in fed.kept.items()}
    assert all(part.hidden for part in kept.values())
    asked = Prediction(own, kept, parties)
    assert np.array_equal(asked.leaves(), parts.joined(own, kept).leaves(table))
    assert asked.of("AskWays")


def test_hidden_rows_go_with_local_trees_and_drawn_parties():
    table, params, goal = table_of("logistic")
    parties, _ = turned(table, 3)
    chosen = {"local_trees": 1, "party_share": 0.5}
    fed = hidden(parties, params, goal, **chosen)
    open_ = Federation(parties, params, goal, method="vertical", protection="plain", active="party1", **chosen)
    assert same(fed.whole(), open_.whole())
    assert {heard.message.round for heard in fed.heard if heard.kind == "AskHiddenSums"} == {1}


def test_hidden_rows_do_not_go_on_without_a_lost_party():
    table, params, goal = table_of("logistic")
    with pytest.raises(ParameterError, match="does not go on without a lost party"):
        hidden(turned(table, 2)[0], params, goal, on_loss="continue")
