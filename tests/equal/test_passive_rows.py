"""Cuts at levels that ask passive parties are chosen by a sample of the rows; leaf values are of all rows."""

from dataclasses import replace

import numpy as np
import pytest
from test_hybrid import banks_of, hybrid, network
from test_schedules import OWN, scheduled, tables
from test_separate import one_table as with_units
from test_separate import separate

from by_levels import by_levels
from federated import Federation, Lossy, params_of, same, step
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data.table import Table
from hedgerow.errors import HedgerowError, ParameterError, PrivacyError
from hedgerow.protocols.vertical.active import VerticalRows
from hedgerow.protocols.vertical.passive_table import PassiveTable
from hedgerow.trees import sampling
from hedgerow.trees.local import Draw, LocalRows, parts_of
from learnt import CASES

SHARE = 0.3
USUAL = {"max_depth": 4, "min_child_weight": 0.1}


def one_table(table, params, levels, *goal, own=OWN, **more):
    return by_levels(table, params, levels, own, *goal, choosing=SHARE, **more)


@pytest.mark.parametrize("levels", ["JJJJ", "AAJJ", "AJPP", "PPAA", "AJAJ"])
def test_the_forest_is_that_of_one_table_by_the_same_sample(levels):
    table, parties = tables()
    params = params_of(**USUAL)
    whole = scheduled(parties, params, levels, passive_rows=SHARE).whole()
    assert same(whole, one_table(table, params, levels))
    assert whole.forest != scheduled(parties, params, levels).whole().forest
    assert (whole.forest.columns >= OWN).sum() > 2


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_model_can_be_sampled(case):
    kind, goal, params = CASES[case]
    if params.get("min_child_rows", 1) > 1:
        pytest.skip("refused")
    table, parties = tables(kind)
    goal, params = Goal(**goal), params_of(**{**params, "max_depth": 3})
    whole = scheduled(parties, params, "AJJ", goal=goal, passive_rows=SHARE).whole()
    assert same(whole, one_table(table, params, "AJJ", goal))


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_encryption_changes_nothing(protection):
    table, parties = tables(n=120)
    params = params_of(**{**USUAL, "n_estimators": 2, "max_depth": 3})
    more = {"key_bits": 2048} if protection == "paillier" else {}
    fed = scheduled(parties, params, "AJP", protection=protection, passive_rows=SHARE, **more)
    assert same(fed.whole(), one_table(table, params, "AJP"))


def test_rows_are_drawn_by_their_ids_in_a_hybrid_run():
    parties, whole = network(n=600)
    params = params_of(**USUAL)
    fed = hybrid(parties, params, levels="AAJJ", passive_rows=SHARE)
    assert same(fed.whole(), one_table(whole, params, "AAJJ", own=3))


def test_validation_rows_and_drawn_rows_follow():
    parties, whole = network(n=600)
    train, valid = np.arange(450), np.arange(450, 600)
    params, goal = params_of(**USUAL, subsample=0.7, random_state=3), Goal(follow=True, early_stopping_rounds=2)
    own = parties["network"]
    fed = hybrid(
        {**parties, "network": own.take(train)}, params, goal, levels="AAJJ", passive_rows=SHARE,
        valid={"network": own.take(valid)},
    )  # fmt: skip
    assert same(fed.whole(), one_table(whole.take(train), params, "AAJJ", goal, own=3, valid=whole.take(valid)))


@pytest.mark.parametrize("levels", ["APJ", "AJJ", "PPA"])
def test_separate_subtrees_are_those_of_one_table(levels):
    parties, _ = network(n=500)
    params = params_of(**{**USUAL, "max_depth": 3})
    found = separate(parties, params, levels=levels, passive_rows=SHARE).whole().forest
    assert found == with_units(parties, params, levels, choosing=SHARE).forest
    assert (found.columns >= 4).sum() > 2


@pytest.mark.parametrize("protection", ["plain", "lattice", "paillier"])
def test_shared_columns_are_as_if_one_party_had_them(protection):
    split, merged = banks_of(n=200, n_accounts=60, n_banks=3)
    params = params_of(**{**USUAL, "n_estimators": 2, "max_depth": 3})
    one = hybrid(merged, params, levels="AJJ", passive_rows=SHARE).whole()
    options = {"shared": True, "levels": "AJJ", "passive_rows": SHARE, "key_bits": 2048}
    assert hybrid(split, params, protection=protection, **options).whole().forest == one.forest
    assert one.forest != hybrid(merged, params, levels="AJJ").whole().forest


def test_a_party_that_is_lost_and_comes_back_draws_the_same_rows():
    _, parties = tables()
    fed, lost = scheduled(parties, params_of(**USUAL), "AJJJ", passive_rows=SHARE), []

    def lose(name, request):
        first = name == "party3" and step(m.AskSealedSums, 1, 1)(request) and not lost
        lost.extend([name] * first)
        return first

    whole = fed.whole(transport=Lossy(fed, lose))
    assert lost
    assert whole.forest == scheduled(parties, params_of(**USUAL), "AJJJ", passive_rows=SHARE).whole().forest


def test_rounds_that_ask_nobody_use_all_rows():
    _, parties = tables()
    params = params_of(**USUAL)
    sampled = scheduled(parties, params, "JJJJ", passive_rows=SHARE, local_trees=2).model().forest
    assert sampled.first(2) == scheduled(parties, params, "JJJJ", local_trees=2).model().forest.first(2)


def test_all_levels_of_the_active_party_use_all_rows():
    _, parties = tables()
    params = params_of(**USUAL)
    sampled = scheduled(parties, params, "AAAA", passive_rows=SHARE).model().forest
    every = scheduled(parties, params, "AAAA").model().forest
    assert np.array_equal(sampled.values, every.values)
    assert np.array_equal(sampled.covers, every.covers)
    assert np.allclose(sampled.gains, every.gains)


def test_covers_are_of_all_rows_at_every_node():
    _, parties = tables()
    forest = scheduled(parties, params_of(**USUAL), "AJJJ", passive_rows=SHARE).model().forest
    cut = np.flatnonzero(forest.columns >= 0)
    below = forest.covers[forest.children[cut]] + forest.covers[forest.children[cut] + 1]
    assert np.allclose(forest.covers[cut], below, rtol=1e-3)


def sealed_bytes(fed):
    fed.model()
    return sum(len(one.message.sealed_gradients) for one in fed.of("AskSealedSums"))


@pytest.mark.parametrize(("protection", "n"), [("plain", 2000), ("paillier", 300)])
def test_about_as_much_less_is_sealed(protection, n):
    _, parties = tables(n=n)
    params = params_of(n_estimators=3, max_depth=3)
    every, fifth = (
        sealed_bytes(scheduled(parties, params, "JJJ", protection, passive_rows=share, key_bits=2048))
        for share in (1.0, 0.2)
    )
    assert 0.15 < fifth / every < 0.25


def test_rows_that_choose_are_a_share_of_those_that_are_drawn_and_others_in_every_round():
    class Rows:
        every = np.arange(20_000, dtype=np.uint32)
        keys = np.arange(20_000, dtype=np.uint64)

    draw = Draw(0.5, 7, choosing=0.2)
    rounds = [parts_of(Rows, None, 1, draw, round_, 1) for round_ in (0, 1)]
    chosen, rest, other = ({*part.orders[0].tolist()} for part in rounds[0])
    assert chosen | rest == {*np.flatnonzero(sampling.rows(Rows.keys, 0.5, 7, 0)).tolist()}
    assert len(chosen | rest | other) == len(chosen) + len(rest) + len(other) == 20_000
    assert 1800 < len(chosen) < 2200
    again = {*rounds[1][0].orders[0].tolist()}
    assert len(chosen & again) < 0.15 * len(chosen)


def test_sums_of_other_rows_than_those_whose_sides_are_told_are_found_out(monkeypatch):
    """Sabotage: every row is summed in the bins of its neighbour."""
    _, parties = tables()
    honest = PassiveTable.of

    def shifted(*given, **more):
        table = honest(*given, **more)
        return replace(table, own_codes=np.roll(table.own_codes, 1, axis=1))

    monkeypatch.setattr(PassiveTable, "of", shifted)
    with pytest.raises(PrivacyError, match="gave sums of a cut that are not those of the rows"):
        scheduled(parties, params_of(**USUAL), "JJJJ", passive_rows=SHARE).model()


def test_claims_are_compared_with_sums_of_the_same_rows(monkeypatch):
    """Sabotage: the active party adds up all rows, and so honest parties are taken for others."""
    _, parties = tables()
    every = LocalRows._sums
    monkeypatch.setattr(VerticalRows, "_sums", lambda self, pairs, nodes: every(self.own, pairs, nodes))
    with pytest.raises(PrivacyError, match="gave sums of a cut that are not those of the rows"):
        scheduled(parties, params_of(**USUAL), "JJJJ", passive_rows=SHARE).model()


def test_a_party_that_draws_other_rows_than_the_plan_says_cannot_answer(monkeypatch):
    _, parties = tables()
    honest = PassiveTable.of
    monkeypatch.setattr(PassiveTable, "of", lambda *given, **more: replace(honest(*given, **more), passive_rows=0.5))
    with pytest.raises(HedgerowError):
        scheduled(parties, params_of(**USUAL), "JJJJ", passive_rows=SHARE).model()


def test_leaf_values_of_the_sample_alone_would_be_others(monkeypatch):
    """Sabotage: what the equality above would not accept."""
    table, parties = tables()
    params = params_of(**USUAL)
    expected = one_table(table, params, "JJJJ")
    monkeypatch.setattr(LocalRows, "counted_parts", property(lambda self: self.parts[:1]))
    assert not same(scheduled(parties, params, "JJJJ", passive_rows=SHARE).whole(), expected)


def test_a_sample_without_any_row_grows_trees_without_cuts():
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    labels = np.array([0, 1] * 3)
    parties = {"a": Table.of(X[:, :1], labels), "b": Table.of(X[:, 1:], names=["b"])}
    fed = Federation(
        parties, params_of(min_child_weight=0.0), method="vertical", protection="lattice", active="a",
        passive_rows=1e-9,
    )  # fmt: skip
    assert fed.model().forest.columns.max() < 0


@pytest.mark.parametrize(("options", "params", "why"), [
    ({"passive_rows": 0}, {}, "above 0 and at most 1"),
    ({"passive_rows": 1.5}, {}, "above 0 and at most 1"),
    ({"passive_rows": "gradient"}, {}, "must be a number"),
    ({"passive_rows": 0.2}, {"min_child_rows": 2}, "does not go with"),
])  # fmt: skip
def test_what_does_not_go_with_it_is_refused(options, params, why):
    _, parties = tables(n=60)
    with pytest.raises(ParameterError, match=why):
        scheduled(parties, params_of(max_depth=3, **params), "JJJ", **options)


def test_hidden_rows_and_random_cuts_are_refused():
    _, parties = tables(n=60)
    with pytest.raises(ParameterError, match="does not go with"):
        scheduled(parties, params_of(max_depth=3), "", "lattice", passive_rows=0.5, hidden_rows=True)
    parties, _ = network(n=60)
    with pytest.raises(ParameterError, match="does not go with"):
        hybrid(parties, params_of(max_depth=3), levels="AAP", passive_rows=0.5, passive_cuts="random")
