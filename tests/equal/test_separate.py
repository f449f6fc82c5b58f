"""Subtrees of single parties: the forest is that of one table by the same levels and forced cuts."""

import numpy as np
import pytest
from test_hybrid import banks_of, network

from by_levels import by_levels
from federated import Federation, Lossy, params_of, same, step
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data.holders import HOLDER
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.part import part_of
from hedgerow.run.file.hybrid_tables import joined
from hedgerow.run.simulation.predict import predict_parties
from learnt import CASES

OWN = 4
"""Columns of the active party, who holds a row among them."""
SPANS = ((4, 6), (6, 9), (9, 11))
"""Columns of the banks of `network`."""
BANKS = (("bank0",), ("bank1",), ("bank2",))


def separate(parties, params, goal=Goal(), levels="AAJJ", **more):  # noqa: B008
    options = {"protection": "plain", "active": "network", "separate": True, **more}
    return Federation(parties, params, goal, method="hybrid", levels=levels, **options)


def one_table(parties, params, levels, *goal, **more):
    return by_levels(joined(parties, "network", units=BANKS), params, levels, OWN, *goal, units=3, **more)


@pytest.mark.parametrize("levels", ["AAJJ", "AAPP", "PPAA", "AJPJ", "JJJJ"])
def test_the_forest_is_that_of_one_table_with_the_same_forced_cuts(levels):
    parties, _ = network()
    params = params_of(max_depth=4)
    found = separate(parties, params, levels=levels).whole()
    assert found.forest == one_table(parties, params, levels).forest
    assert (found.forest.columns >= OWN).sum() > 6


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_model_can_have_them(case):
    kind, goal, more = CASES[case]
    if more.get("min_child_rows", 1) > 1 or "monotone_constraints" in more or more.get("max_depth") == 1:
        pytest.skip("refused in such runs, or too few levels")
    parties, _ = network(kind)
    goal, params = Goal(**goal), params_of(**{"max_depth": 4, **more})
    levels = "A" * (params.max_depth - 2) + "JP"
    found = separate(parties, params, goal, levels).whole().forest
    assert found == one_table(parties, params, levels, goal).forest


@pytest.mark.parametrize("passive_cuts", ["best", "random"])
def test_with_sampled_rows_and_validation_rows_it_is_so(passive_cuts):
    parties, _ = network(n=500)
    train, valid = np.arange(350), np.arange(350, 500)
    own, goal = parties["network"], Goal(follow=True, early_stopping_rounds=2)
    params = params_of(max_depth=4, n_estimators=12, subsample=0.7, learning_rate=0.9)
    training = {**parties, "network": own.take(train)}
    fed = separate(training, params, goal, "AAPP", valid={"network": own.take(valid)}, passive_cuts=passive_cuts)
    rest = joined({**parties, "network": own.take(valid)}, "network", units=BANKS)
    draws = {"draws": SPANS} if passive_cuts == "random" else {}
    pooled = one_table(training, params, "AAPP", goal, valid=rest, **draws)
    whole = fed.whole()
    assert whole.forest == pooled.forest
    assert whole.history == pooled.history
    assert pooled.forest.n_trees < 12


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
@pytest.mark.parametrize("kind", ["two", "many"])
def test_encryption_changes_nothing(protection, kind):
    parties, _ = network(kind, n=150)
    params = params_of(max_depth=3, n_estimators=2)
    fed = separate(parties, params, levels="AJP", protection=protection, key_bits=2048)
    assert same(fed.whole(), separate(parties, params, levels="AJP").whole())


@pytest.mark.parametrize("levels", ["AAPP", "PPAA", "APAP"])
def test_random_cuts_go_with_it(levels):
    parties, _ = network()
    params = params_of(max_depth=4)
    found = separate(parties, params, levels=levels, passive_cuts="random").whole().forest
    assert found == one_table(parties, params, levels, draws=SPANS).forest
    assert (found.columns >= OWN).sum() > 10


@pytest.mark.parametrize("protection", ["plain", "lattice"])
def test_banks_that_share_columns_have_a_subtree_together_beside_others(protection):
    """It is that of one bank with all their rows."""
    split, merged = banks_of(n=200, n_accounts=60)
    other = network()[0]["bank2"]
    strange = other.take(np.arange(other.n_rows))
    params, three = params_of(max_depth=4, n_estimators=2), ("bank0", "bank1", "bank2", "bank3")
    one = separate({**merged, "other": strange}, params, levels="AAJP").whole()
    several = separate(
        {**split, "other": strange}, params, levels="AAJP", shared=(three,), protection=protection
    ).whole()
    assert several.ownership.units == (three, ("other",))
    assert several.forest == one.forest
    assert (one.forest.columns >= OWN).sum() > 3


def test_each_party_is_asked_about_nodes_of_its_own_rows_only():
    parties, _ = network()
    fed = separate(parties, params_of(max_depth=4), levels="AAJP")
    model = fed.whole()
    holder = model.columns.index(next(c for c in model.columns if c.name == HOLDER))
    forest = model.forest
    asked = {}
    for one in fed.of("AskSealedSums"):
        asked.setdefault(one.receiver, set()).update((one.message.round, int(node)) for node in one.message.nodes.node)
    assert set(asked) == {"bank0", "bank1", "bank2"}
    every = list(asked.values())
    assert not set.intersection(*every)
    assert all(not a & b for i, a in enumerate(every) for b in every[:i])
    assert (forest.columns == holder).sum() >= 3 * 2


def test_a_lost_party_that_comes_back_changes_nothing():
    parties, _ = network()
    params = params_of(max_depth=4)
    fed, lost = separate(parties, params), []

    def lose(name, request):
        first = name == "bank2" and step(m.AskSealedSums, 1, 1)(request) and not lost
        lost.extend([name] * first)
        return first

    model = fed.model(transport=Lossy(fed, lose))
    assert lost
    assert same(model, separate(parties, params).model())


@pytest.mark.parametrize("shared", [False, True])
def test_rows_are_predicted_as_in_one_table(shared):
    parties, _ = banks_of(n=500, covered=0.8) if shared else network(n=500)
    own, train, rest = parties["network"], np.arange(350), np.arange(350, 500)
    names = tuple(name for name in parties if name != "network")
    model = separate({**parties, "network": own.take(train)}, params_of(max_depth=4), shared=shared).whole()
    later = {**parties, "network": own.take(rest)}
    leaves = predict_parties(model, later)
    units = (names,) if shared else tuple((name,) for name in names)
    table = joined(later, "network", (names,) if shared else (), units)
    assert np.array_equal(leaves, model.leaves(table.aligned(model.columns)))
    assert len(np.unique(leaves)) > 6


def with_idle(parties):
    """And a party whose one column has the same value in all rows, which are dealt to it all the same."""
    ids = np.array([f"account {i}" for i in range(50)])
    return {**parties, "idle": Table.of(np.ones((50, 1), np.float32), names=["same"], ids=ids)}


def test_rows_of_a_party_that_no_tree_cuts_are_predicted_as_its_rows():
    parties = with_idle(network(n=500)[0])
    own = parties["network"]
    model = separate({**parties, "network": own.take(np.arange(350))}, params_of(max_depth=4)).whole()
    assert not len(part_of(model, "idle").tree)
    later = {**parties, "network": own.take(np.arange(350, 500))}
    table = joined(later, "network", units=(*BANKS, ("idle",))).aligned(model.columns)
    assert (np.asarray(table.values)[:, model.names.index(HOLDER)] == 3).sum() > 10
    assert np.array_equal(predict_parties(model, later), model.leaves(table))


def test_without_its_answer_a_row_is_predicted_as_if_the_party_did_not_hold_it():
    parties, _ = network(n=300)
    model = separate(parties, params_of(max_depth=4)).whole()
    without = predict_parties(model, {**parties, "bank2": None})
    fewer = {**parties, "bank2": parties["bank2"].take(np.arange(0))}
    table = joined(fewer, "network", units=BANKS)
    assert np.array_equal(without, model.leaves(table))


@pytest.mark.parametrize(("options", "params", "sentence"), [
    ({"levels": "AAAA"}, {}, "some levels need the letter P or J"),
    ({"on_loss": "continue"}, {}, "subtrees of all passive parties"),
    ({"party_share": 0.5}, {}, "subtrees of all passive parties"),
    ({"local_trees": 1}, {}, "subtrees of all passive parties"),
    ({}, {"monotone_constraints": (1, 0, 0)}, "no column's effect is monotone over all rows"),
    ({"separate": "yes"}, {}, "separate must be True or False"),
])  # fmt: skip
def test_what_does_not_go_with_it_is_refused(options, params, sentence):
    parties, _ = network(n=60)
    with pytest.raises(ParameterError, match=sentence):
        separate(parties, params_of(max_depth=4, **params), **options)
