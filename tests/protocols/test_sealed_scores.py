"""Sealed scores are those of the pooled model and of a prediction by asking: integer sums to the last bit."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from asked import Prediction, trained
from federated import labels, params_of, pooled_model, values
from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.passive import OTHER_COLUMNS
from learnt import CASES
from sealed import Sealed, sums_at

WANTED = ("logistic", "softmax", "squared", "poisson", "forest of two classes", "forest of many classes")
SHARES = {
    2: [[4], [0, 1, 2, 3]],
    3: [[4], [0, 1], [2, 3]],
    4: [[3], [0], [1, 4], [2]],
    5: [[4], [0], [1], [2], [3]],
}
PAILLIER = Paillier(2048)


def rows(kind, n=250, seed=0):
    X, signal = values(n, seed=seed)
    return Table.of(X, labels(kind, signal), ids=[f"person {seed} {i}" for i in range(n)])


def cut(table, n):
    """The parties by columns, and the whole table with its columns in their order."""
    parties = partition.columns(table, share=SHARES[n])
    return parties, table.aligned([column for part in parties.values() for column in part.columns])


@cache
def made(case, n):
    """The active party's model, the parts, and the pooled model."""
    kind, goal, params = CASES[case]
    goal, params = Goal(**goal), params_of(**params)
    training, whole = cut(rows(kind), n)
    return *trained(training, params, goal), pooled_model(whole, params, goal)


def shuffled(parties, active, seed=0):
    """The rows of each passive party in an order of its own."""
    rng = np.random.default_rng(seed)
    return {
        name: table if name == active else table.take(rng.permutation(table.n_rows)) for name, table in parties.items()
    }


def check_equal(world, pooled, new):
    """Sums, scores and the same by asking; `new` has the rows of all parties together."""
    model, fixed = world.model, world.fixed
    wanted = sums_at(model, fixed, pooled.leaves(new))
    opened = world.scores()
    assert np.array_equal(opened.scores, wanted)
    scores = fixed.scores(opened.scores)
    assert np.abs(scores - pooled.scores(new)).max() <= fixed.error * (1 + 1e-5) + 1e-6
    return wanted


@pytest.mark.parametrize("n", SHARES)
@pytest.mark.parametrize("case", WANTED)
def test_sealed_scores_are_those_of_the_pooled_model_and_of_asking(case, n):
    model, own, pooled = made(case, n)
    parties, new = cut(rows(CASES[case][0], 60, seed=1), n)
    parties = shuffled(parties, next(iter(parties)))
    world = Sealed.of(model, own, parties)
    wanted = check_equal(world, pooled, new)
    leaves = Prediction(model, own, parties).leaves()
    assert np.array_equal(sums_at(model, world.fixed, leaves), wanted)
    assert len(np.unique(wanted)) > 3


@pytest.mark.parametrize("n", SHARES)
@pytest.mark.parametrize("case", ["logistic", "softmax"])
def test_paillier_gives_the_same_sums(case, n):
    model, own, pooled = made(case, n)
    parties, new = cut(rows(CASES[case][0], 3, seed=2), n)
    check_equal(Sealed.of(model, own, parties, privacy=PAILLIER), pooled, new)


def test_some_of_these_models_relay_and_some_share():
    """Else the tests above would show less than they seem to."""
    told = [
        one
        for n in SHARES
        for one in Sealed.of(*made("logistic", n)[:2], cut(rows("two", 5), n)[0]).asking().layout.told
    ]
    assert any(len(slots.targets) for party in told for slots in party)
    assert any((slots.relay_sources >= 0).any() or (slots.sources >= 0).any() for party in told for slots in party)
    assert any(len(slots.shared) for party in told for slots in party)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_unknown_ids_are_rows_of_missing_values(n):
    model, own, pooled = made("logistic", n)
    parties, new = cut(rows("two", 40, seed=3), n)
    active, *others = parties
    lacking = {name: parties[name].take(np.arange(i, 40, 2)) for i, name in enumerate(others)}
    world = Sealed.of(model, own, {active: parties[active], **lacking})
    cells, first = new.values.copy(), 0
    for name, table in parties.items():
        if name != active:
            known = np.isin(new.ids, lacking[name].ids)
            cells[~known, first : first + table.n_columns] = np.nan
        first += table.n_columns
    check_equal(world, pooled, replace(new, values=cells))


@pytest.mark.parametrize(("n", "absent"), [(3, "party2"), (3, "party3"), (5, "party3")])
def test_an_absent_party_is_one_of_missing_values(n, absent):
    model, own, pooled = made("softmax", n)
    parties, new = cut(rows("many", 40, seed=4), n)
    cells, first = new.values.copy(), 0
    for name, table in parties.items():
        if name == absent:
            cells[:, first : first + table.n_columns] = np.nan
        first += table.n_columns
    check_equal(Sealed.of(model, own, parties, absent=(absent,)), pooled, replace(new, values=cells))


def towns(n=300, seed=0):
    """Categories, missing values, and categories that training never saw."""
    rng = np.random.default_rng(seed)
    town, x, z = rng.choice(list("abcdefg"), n), rng.normal(size=n), rng.normal(size=n)
    y = (np.isin(town, ["b", "e"]) ^ (z > 0.3)).astype(int)
    town = np.where(rng.random(n) < 0.1, None, town)
    z[rng.random(n) < 0.1] = np.nan
    return Table.of(pd.DataFrame({"x": x, "town": pd.Categorical(town), "z": z}), y, ids=np.arange(n) + 1000 * seed)


@pytest.mark.parametrize("privacy", [Lattice(), PAILLIER])
def test_categories_and_missing_values_go_the_same_way(privacy):
    share, train, new = [[0], [1], [2]], towns(), towns(4 if privacy is PAILLIER else 100, seed=1)
    strange = replace(new.columns[1], categories=(*new.columns[1].categories[:-1], "zzz"))
    new = replace(new, columns=(new.columns[0], strange, new.columns[2]))
    model, own = trained(partition.columns(train, share=share))
    assert all(len(part.tree) for part in own.values())
    check_equal(Sealed.of(model, own, partition.columns(new, share=share), privacy=privacy), pooled_model(train), new)


def test_an_id_that_is_asked_about_twice_in_a_batch_has_its_score_twice():
    model, own, pooled = made("logistic", 3)
    parties, new = cut(rows("two", 20, seed=5), 3)
    active, *others = parties
    twice = np.array([3, 3, 7, 3])
    world = Sealed.of(model, own, {active: parties[active].take(twice), **{name: parties[name] for name in others}})
    check_equal(world, pooled, new.take(twice))
    assert world.counts["party2"].charged[0][1] == tuple(new.ids[twice].tolist())


# Batches, keys and explanations


def test_batches_give_what_one_batch_gives(monkeypatch):
    model, own, _ = made("softmax", 3)
    parties, _ = cut(rows("many", 50, seed=6), 3)
    world = Sealed.of(model, own, parties)
    one = world.scoring().scores(parties[world.plan.active])
    monkeypatch.setattr(tables, "MOST_ROWS", 16)
    asked = len(world.of_kind("AskScores"))
    scoring = world.scoring()
    done = []
    many = scoring.scores(parties[world.plan.active], lambda *told: done.append(told))
    assert np.array_equal(one, many)
    assert done == [(16, 50), (32, 50), (48, 50), (50, 50)]
    assert len(world.of_kind("AskScores")) - asked == 4 * len(world.present)
    [asking] = scoring.sessions.begin([world.present])
    asking.renew()
    assert np.array_equal(one, scoring.scores(parties[world.plan.active]))
    publics = {heard.message.public_key for heard in world.of_kind("BeginScores")}
    assert len(publics) == 3  # two beginnings and one renewal; all parties hear the same key


@pytest.mark.parametrize(("case", "n", "depth"), [("softmax", 2, 3), ("logistic", 2, 3), ("softmax", 4, 1)])
def test_reasons_are_what_scores_lose_when_a_column_is_missing(case, n, depth):
    """Exactly so where no tree has cuts of several passive parties."""
    kind, params = CASES[case][0], params_of(max_depth=depth, n_estimators=4 if depth > 1 else 15)
    training, whole = cut(rows(kind), n)
    (model, own), pooled = trained(training, params), pooled_model(whole, params)
    parties, new = cut(rows(kind, 25, seed=7), n)
    active = next(iter(parties))
    shown = {name: table.columns[0].name for name, table in parties.items()}
    policy = replace(ALLOW_ALL, disclose=dict.fromkeys(shown.values(), "a column"))
    world = Sealed.of(model, own, parties, policy=policy)
    scores, reasons = world.scoring().explained(parties[active], [shown[active]])
    sums = sums_at(model, world.fixed, pooled.leaves(new))
    assert np.array_equal(scores, world.fixed.scores(sums))
    names = [column.name for column in new.columns]
    assert len({one.party for one in reasons}) > min(n - 1, 2)
    for one in reasons:
        cells, gone = new.values.copy(), [one.label]
        if one.label == OTHER_COLUMNS:
            gone = [column.name for column in parties[one.party].columns if column.name != shown[one.party]]
        cells[:, [names.index(name) for name in gone]] = np.nan
        without = sums_at(model, world.fixed, pooled.leaves(replace(new, values=cells)))
        np.testing.assert_array_equal(one.contributions, (sums - without) * world.fixed.step)
    assert any(one.contributions.any() for one in reasons)


def test_a_party_without_slots_of_a_class_still_answers_for_its_pads():
    """A column that only some classes cut: the party's answers of the others hold nothing but pads."""
    X, _ = values(300)
    y = np.where(X[:, 0] > 0.3, 2, (X[:, 1] > 0).astype(int))
    table = Table.of(X, y, ids=[f"p{i}" for i in range(300)])
    parties = partition.columns(table, share=[[4], [0], [1], [2, 3]])
    model, own = trained(parties, params_of(n_estimators=1, max_depth=1))
    some = {name: part.take(np.arange(30)) for name, part in parties.items()}
    world = Sealed.of(model, own, some)
    told = world.asking().layout.told
    assert any(slots.entries.tolist() == [tables.NEVER] for party in told for slots in party)
    whole = table.take(np.arange(30)).aligned([c for part in parties.values() for c in part.columns])
    pooled = pooled_model(table.aligned(whole.columns), params_of(n_estimators=1, max_depth=1))
    check_equal(world, pooled, whole)
