"""Cuts of passive columns that a hash draws: the forest is that of one table with the same cuts."""

from dataclasses import replace

import numpy as np
import pytest
from test_hybrid import banks_of, network

from by_levels import by_levels
from federated import Federation, Lossy, params_of, pooled_model, same, step
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data.table import Column
from hedgerow.errors import ParameterError
from hedgerow.run.simulation.predict import predict_parties
from learnt import CASES

OWN = 3
SPANS = ((3, 5), (5, 8), (8, 10))
"""Columns of the banks of `network`."""


def random(parties, params, goal=Goal(), levels="AAPP", **more):  # noqa: B008
    options = {"protection": "plain", "active": "network", "passive_cuts": "random", **more}
    return Federation(parties, params, goal, method="hybrid", levels=levels, **options)


@pytest.mark.parametrize("levels", ["AAPP", "PPAA", "APAP", "PPPP"])
def test_the_forest_is_that_of_one_table_with_the_same_cuts(levels):
    parties, whole = network()
    params = params_of(max_depth=4)
    found = random(parties, params, levels=levels).whole()
    assert same(found, by_levels(whole, params, levels, OWN, draws=SPANS))
    assert (found.forest.columns >= OWN).sum() > 6


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_model_can_have_such_cuts(case):
    kind, goal, more = CASES[case]
    if more.get("min_child_rows", 1) > 1 or more.get("max_depth") == 1:
        pytest.skip("refused in hybrid runs, or too few levels")
    if "monotone_constraints" in more:
        more = {**more, "monotone_constraints": (1, 0, -1, 1, 0, -1, 0, 0, 0, 1)}
    parties, whole = network(kind)
    goal, params = Goal(**goal), params_of(**{"max_depth": 4, **more})
    levels = "A" * (params.max_depth - 2) + "PP"
    assert same(random(parties, params, goal, levels).whole(), by_levels(whole, params, levels, OWN, goal, draws=SPANS))


def with_categories(parties, whole):
    """The same, the last bank's first column being of categories."""
    kinds = {"bank2": 0}
    name = parties["bank2"].names[0]

    def of(table):
        at = table.names.index(name)
        values = np.array(table.values)
        values[:, at] = np.where(np.isnan(values[:, at]), np.nan, np.clip(np.round(values[:, at] + 2), 0, 4))
        columns = list(table.columns)
        columns[at] = Column(name, "categorical", ("a", "b", "c", "d", "e"))
        return replace(table, values=values, columns=tuple(columns))

    return {**parties, **{bank: of(parties[bank]) for bank in kinds}}, of(whole)


def test_columns_of_categories_are_cut_too():
    parties, whole = with_categories(*network())
    params = params_of(max_depth=4, n_estimators=6)
    found = random(parties, params).whole()
    assert found.forest == by_levels(whole, params, "AAPP", OWN, draws=SPANS).forest
    assert (found.forest.sets >= 0).any()


def test_with_sampled_rows_and_validation_rows_it_is_so():
    parties, whole = network(n=500)
    train, valid = np.arange(350), np.arange(350, 500)
    own, goal = parties["network"], Goal(follow=True, early_stopping_rounds=2)
    params = params_of(max_depth=4, n_estimators=12, subsample=0.7, learning_rate=0.9)
    fed = random({**parties, "network": own.take(train)}, params, goal, valid={"network": own.take(valid)})
    assert same(
        fed.whole(), by_levels(whole.take(train), params, "AAPP", OWN, goal, draws=SPANS, valid=whole.take(valid))
    )


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_protection_changes_nothing_as_nothing_is_sealed(protection):
    parties, _ = network()
    params = params_of(max_depth=4)
    fed = random(parties, params, protection=protection)
    assert same(fed.whole(), random(parties, params).whole())
    assert not fed.of("AskSealedSums", "SealedSums", "AskSides")


@pytest.mark.parametrize("covered", [1.0, 0.7])
def test_shared_by_banks_that_split_the_rows_it_is_the_forest_of_one_bank(covered):
    split, merged = banks_of(covered=covered)
    params = params_of(max_depth=4)
    one = random(merged, params).whole()
    several = random(split, params, shared=True).whole()
    assert several.forest == one.forest
    assert (one.forest.columns >= OWN).sum() > 6


def test_first_local_trees_have_no_such_cuts_and_drawn_parties_have_them():
    parties, _ = network()
    params = params_of(max_depth=4, n_estimators=4)
    alone = pooled_model(parties["network"], replace(params, n_estimators=2, max_depth=2)).forest
    found = random(parties, params, local_trees=2).whole().forest
    assert np.array_equal(found.first(2).values, alone.values)
    assert (found.columns[found.roots[2] :] >= OWN).any()
    share = random(parties, params, party_share=0.4).whole().forest
    owners = [{int(np.searchsorted([5, 8], c, "right")) for c in f[f >= OWN]} for f in trees(share)]
    assert all(len(one) == 1 for one in owners)
    assert len(set.union(*owners)) > 1


def trees(forest):
    return [forest.columns[a:b] for a, b in zip(forest.roots[:-1], forest.roots[1:], strict=True)]


def test_a_lost_party_comes_back_or_the_run_goes_on_without_it():
    parties, _ = network()
    params = params_of(max_depth=4)

    def losing(**more):
        fed, lost = random(parties, params, **more), []

        def lose(name, request):
            first = name == "bank2" and step(m.AskDrawnSides, 1)(request) and not lost
            lost.extend([name] * first)
            return first

        carried = Lossy(fed, lose)
        carried.returning = not more
        model = fed.model(transport=carried)
        assert lost
        return model

    usual = random(parties, params).model()
    assert same(losing(), usual)
    on = losing(on_loss="continue").forest
    assert on.first(1) == usual.forest.first(1)
    assert not (on.columns[on.roots[1] :] >= 8).any()


def test_rows_are_predicted_as_in_one_table():
    parties, whole = network(n=500)
    own, train, rest = parties["network"], np.arange(350), np.arange(350, 500)
    model = random({**parties, "network": own.take(train)}, params_of(max_depth=4)).whole()
    leaves = predict_parties(model, {**parties, "network": own.take(rest)})
    assert np.array_equal(leaves, model.leaves(whole.take(rest)))


def test_a_side_without_rows_has_the_value_of_the_node():
    """With so few accounts many cuts leave a side without any."""
    parties, _ = network(n=90, shares=((0, 9), (130, 4)))
    params = params_of(max_depth=4, min_child_weight=0.01, min_cut_rows=1, learning_rate=1.0, n_estimators=1)
    forest = random(parties, params, Goal(objective="squared", base_score=0.0), levels="APPP").whole().forest
    rows = forest.covers
    parent = {int(child) + side: node for node, child in enumerate(forest.children) if child >= 0 for side in (0, 1)}
    empty = [node for node in np.flatnonzero((forest.columns < 0) & (rows == 0)).tolist() if node in parent]
    beside = [(leaf, other) for leaf in empty for other in (leaf - 1, leaf + 1) if parent.get(other) == parent[leaf]]
    leaves = [(leaf, other) for leaf, other in beside if forest.columns[other] < 0]
    assert len(leaves) > 2
    assert all(forest.values[leaf] == forest.values[other] for leaf, other in leaves)
    assert any(forest.values[leaf] != 0 for leaf, _ in leaves)


@pytest.mark.parametrize(("options", "sentence"), [
    ({"levels": "AAJJ"}, "none can have the letter J"),
    ({"levels": "AAPP", "hidden_rows": True}, "hidden_rows needs rows that all parties have"),
    ({"levels": ""}, "says whose each level is"),
    ({"levels": "AAPP", "passive_cuts": "median"}, "passive_cuts must be 'best' or 'random'"),
])  # fmt: skip
def test_what_does_not_go_with_it_is_refused(options, sentence):
    parties, _ = network(n=60)
    with pytest.raises(ParameterError, match=sentence):
        random(parties, params_of(max_depth=4), **options)
