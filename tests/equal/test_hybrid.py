"""Passive parties that have some of the rows: the forest is that of one table, with gaps where a party lacks a row."""

from dataclasses import replace

import numpy as np
import pytest

from federated import Federation, Lossy, labels, params_of, pooled_model, same, step, values
from hedgerow import GBDTClassifier, Hybrid
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.holders import holder_of
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.run.simulation.predict import predict_parties
from learnt import CASES

DEPTH = 4


def accounts(rng, n, n_columns, first=0, missing=0.1):
    """A passive party's table: an account a row, with ids of its own choice."""
    X = np.round(rng.normal(size=(n, n_columns)), 1).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    ids = np.array([f"account {first + i}" for i in rng.permutation(n)])
    return Table.of(X, names=[f"bank{first} c{j}" for j in range(n_columns)], ids=ids)


def network(kind="two", n=400, seed=0, shares=((0, 40), (30, 30), (90, 30)), missing=0.1):
    """Payments with labels, the banks' accounts (the second shares ids with the first), and all in one table."""
    rng = np.random.default_rng(seed)
    banks = {f"bank{i}": accounts(rng, size, 2 + i % 2, first, missing) for i, (first, size) in enumerate(shares)}
    X, signal = values(n, 3, seed)
    ids = np.array([f"account {i}" for i in rng.integers(0, 140, n)])
    wide = [X]
    for bank in banks.values():
        place = {one: row for row, one in enumerate(bank.ids.tolist())}
        rows = np.array([place.get(one, -1) for one in ids])
        theirs = np.where(rows[:, None] >= 0, np.asarray(bank.values)[rows], np.nan).astype(np.float32)
        signal = signal + np.nan_to_num(theirs[:, 0]) * 1.5
        wide.append(theirs)
    own = Table.of(X, labels(kind, signal), names=["p0", "p1", "p2"], ids=ids, repeated_ids=True)
    names = [*own.names, *(name for bank in banks.values() for name in bank.names)]
    whole = Table.of(np.hstack(wide), own.labels, names=names, ids=ids, repeated_ids=True)
    return {"network": own, **banks}, whole


def hybrid(parties, params, goal=Goal(), protection="plain", levels="JJJJ", **more):  # noqa: B008
    return Federation(
        parties, params, goal, method="hybrid", protection=protection, active="network", levels=levels, **more
    )


@pytest.mark.parametrize("case", CASES)
def test_the_forest_is_that_of_one_table_with_gaps(case):
    kind, goal, more = CASES[case]
    if more.get("min_child_rows", 1) > 1:
        pytest.skip("no passive party can count rows that it lacks")
    parties, whole = network(kind)
    if "monotone_constraints" in more:
        more = {**more, "monotone_constraints": (1, 0, -1, 1, 0, -1, 0, 0, 0, 1)}
    goal, params = Goal(**goal), params_of(**{"max_depth": DEPTH, **more})
    pooled = pooled_model(whole, params, goal)
    assert (pooled.forest.columns >= 3).sum() > 2 or params.max_depth == 1, "banks' columns must be cut"
    assert same(hybrid(parties, params, goal, levels="J" * params.max_depth).whole(), pooled)


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
@pytest.mark.parametrize("align", ["private", "given"])
def test_it_is_so_under_encryption_too(protection, align):
    parties, whole = network(n=150)
    params = params_of(max_depth=3, n_estimators=2)
    fed = hybrid(parties, params, protection=protection, levels="JJJ", align=align, key_bits=2048)
    assert same(fed.whole(), pooled_model(whole, params))


def test_the_forest_with_sampled_rows_and_validation_rows_is_that_of_one_table():
    parties, whole = network(n=500)
    train, valid = np.arange(350), np.arange(350, 500)
    own = parties["network"]
    params = params_of(max_depth=DEPTH, n_estimators=12, subsample=0.7, learning_rate=0.9)
    goal = Goal(follow=True, early_stopping_rounds=2)
    fed = hybrid({**parties, "network": own.take(train)}, params, goal, valid={"network": own.take(valid)})
    pooled = pooled_model(whole.take(train), params, goal, valid=whole.take(valid))
    assert same(fed.whole(), pooled)
    assert pooled.forest.n_trees < 12


def test_one_party_with_all_rows_makes_it_the_vertical_forest():
    X, signal = values(250)
    table = Table.of(X, labels("two", signal), ids=np.arange(250))
    parts = dict(zip(["network", "bank"], partition.columns(table, n=2).values(), strict=True))
    shuffled = {**parts, "bank": parts["bank"].take(np.random.default_rng(0).permutation(250))}
    params = params_of(max_depth=DEPTH)
    vertical = Federation(parts, params, method="vertical", protection="plain", active="network", levels="AAJJ")
    assert same(hybrid(shuffled, params, levels="AAJJ").whole(), vertical.whole())


def test_without_a_common_id_it_is_the_active_party_s_own_forest():
    parties, _ = network()
    rng = np.random.default_rng(1)
    strangers = {"network": parties["network"], "bank": accounts(rng, 50, 2, 1000)}
    params = params_of(max_depth=DEPTH)
    whole = hybrid(strangers, params).whole()
    assert whole.forest == pooled_model(parties["network"], params).forest


def test_rows_are_predicted_as_in_one_table():
    parties, whole = network(n=500)
    own, train = parties["network"], np.arange(350)
    model = hybrid({**parties, "network": own.take(train)}, params_of(max_depth=DEPTH)).whole()
    rest = np.arange(350, 500)
    leaves = predict_parties(model, {**parties, "network": own.take(rest)})
    assert np.array_equal(leaves, model.leaves(whole.take(rest)))


@pytest.mark.parametrize("protection", ["plain", "lattice"])
def test_nodes_in_which_a_party_has_no_row_are_no_trouble(protection):
    parties, whole = network(n=90, shares=((0, 9), (130, 4)))
    params = params_of(max_depth=5, min_child_weight=0.01, min_cut_rows=1)
    assert same(hybrid(parties, params, protection=protection, levels="JJJJJ").whole(), pooled_model(whole, params))


@pytest.mark.parametrize(("options", "params", "sentence"), [
    ({"hidden_rows": True}, {}, "hidden_rows needs rows that all parties have"),
    ({}, {"min_child_rows": 5}, "no passive party can count the rows"),
])  # fmt: skip
def test_what_needs_rows_that_all_have_is_refused(options, params, sentence):
    parties, _ = network()
    with pytest.raises(ParameterError, match=sentence):
        hybrid(parties, params_of(max_depth=DEPTH, **params), levels="" if options else "JJJJ", **options)


def banks_of(n_banks=4, n=400, n_accounts=80, seed=0, kind="two", covered=1.0):
    """Payments, banks that share their columns and split the accounts, and all accounts at one bank."""
    rng = np.random.default_rng(seed)
    whole = accounts(rng, n_accounts, 3)
    X, signal = values(n, 3, seed)
    known = rng.random(n_accounts) < covered
    ids = np.array([f"account {i}" for i in rng.integers(0, n_accounts, n)])
    place = {one: row for row, one in enumerate(whole.ids.tolist())}
    rows = np.array([place[one] for one in ids])
    signal = signal + np.nan_to_num(np.asarray(whole.values)[rows, 0]) * 1.5
    own = Table.of(X, labels(kind, signal), names=["p0", "p1", "p2"], ids=ids, repeated_ids=True)
    bank_of = rng.integers(0, n_banks, n_accounts)
    split = {f"bank{i}": whole.take(np.flatnonzero((bank_of == i) & known)) for i in range(n_banks)}
    return {"network": own, **split}, {"network": own, "bank0": whole.take(np.flatnonzero(known))}


SHARED = {"shared": True, "levels": "AJJJ"}


@pytest.mark.parametrize("covered", [1.0, 0.7])
@pytest.mark.parametrize("kind", ["two", "many", "numbers"])
def test_shared_by_banks_that_split_the_rows_it_is_the_forest_of_one_bank(kind, covered):
    split, merged = banks_of(kind=kind, covered=covered)
    goal = Goal(objective="squared") if kind == "numbers" else Goal()
    params = params_of(max_depth=DEPTH)
    one = hybrid(merged, params, goal, levels="AJJJ").whole()
    several = hybrid(split, params, goal, **SHARED).whole()
    assert several.forest == one.forest
    assert (one.forest.columns >= 3).sum() > 2


@pytest.mark.parametrize("protection", ["plain", "lattice"])
def test_two_groups_and_a_bank_of_its_own_grow_the_forest_of_three_banks(protection):
    """Banks 0 to 2 share their columns, banks 3 to 4 other ones, bank 5 has some that nobody else has."""
    rng = np.random.default_rng(2)
    split, merged = banks_of(n_banks=3, n=300, covered=0.8)
    more, alone = accounts(rng, 60, 2, 20), accounts(rng, 50, 1, 10)
    risky = {one: row[0] > 0 for one, row in zip(more.ids.tolist(), np.asarray(more.values), strict=True)}
    own = split["network"]
    own = replace(own, labels=np.array([risky.get(i, old) for i, old in zip(own.ids, own.labels, strict=True)], int))
    split, merged = {**split, "network": own}, {**merged, "network": own}
    halves = {"bank3": more.take(np.arange(25)), "bank4": more.take(np.arange(25, 60))}
    params = params_of(max_depth=3, n_estimators=3)
    groups = (("bank0", "bank1", "bank2"), ("bank3", "bank4"))
    several = hybrid(
        {**split, **halves, "bank5": alone}, params, protection=protection, levels="AJJ", shared=groups, allow_two=True
    )
    one = hybrid({**merged, "bank3": more, "bank5": alone}, params, levels="AJJ").whole()
    found = several.whole()
    assert found.forest == one.forest
    assert found.ownership.groups == groups
    cut = set(found.forest.columns.tolist())
    assert cut & {3, 4, 5}
    assert cut & {6, 7}
    assert {heard.receiver for heard in several.of("AskColumns")} == {"bank5"}
    assert {heard.receiver: heard.message.together > 0 for heard in several.of("BeginSealed")} == {
        name: name != "bank5" for name in several.plan.answering
    }


def test_in_one_process_parties_with_the_same_columns_share_them_by_default():
    split, _ = banks_of(n_banks=4)
    alone = accounts(np.random.default_rng(2), 30, 1, 10)
    model = GBDTClassifier(2, max_depth=3, federation=Hybrid()).fit({**split, "shop": alone}).model_
    assert model.ownership.groups == (("bank0", "bank1", "bank2", "bank3"),)
    apart = GBDTClassifier(2, max_depth=3, federation=Hybrid(shared=False)).fit({**split, "shop": alone}).model_
    assert apart.ownership.groups == ()


@pytest.mark.parametrize("protection", ["plain", "lattice"])
def test_a_bank_of_a_group_may_have_none_of_the_rows(protection):
    split, merged = banks_of(n_banks=3, n=200, n_accounts=40)
    stranger = replace(accounts(np.random.default_rng(5), 20, 3, 5000), columns=split["bank0"].columns)
    params = params_of(max_depth=3, n_estimators=2)
    one = hybrid(merged, params, levels="AJJ").whole()
    several = hybrid({**split, "bank3": stranger}, params, protection=protection, shared=True, levels="AJJ").whole()
    assert several.forest == one.forest


@pytest.mark.parametrize(("groups", "sentence"), [
    ((("bank0", "bank1", "network"),), "shared names 'network', which is no passive party"),
    ((("bank0", "bank1", "bank2"), ("bank2", "bank3", "bank1")), "shared names a party twice"),
    ((("bank0", "bank1"), ("bank2", "bank3")), "accept two with allow_two"),
    ((("bank0",), ("bank1", "bank2", "bank3")), "Sums over 1 passive party would show one party's"),
])  # fmt: skip
def test_groups_that_cannot_be_are_refused(groups, sentence):
    split, _ = banks_of()
    with pytest.raises(ParameterError, match=sentence):
        hybrid(split, params_of(max_depth=DEPTH), levels="AJJJ", shared=groups)


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_shared_under_encryption_it_is_the_same(protection):
    split, merged = banks_of(n=120, n_accounts=40, n_banks=3)
    params = params_of(max_depth=3, n_estimators=2)
    one = hybrid(merged, params, levels="AJJ").whole()
    several = hybrid(split, params, protection=protection, shared=True, levels="AJJ", key_bits=2048).whole()
    assert several.forest == one.forest


def test_a_bank_that_is_lost_and_comes_back_changes_nothing():
    split, _ = banks_of()
    params = params_of(max_depth=DEPTH)
    fed, lost = hybrid(split, params, **SHARED), []

    def lose(name, request):
        first = name == "bank2" and step(m.AskSealedSums, 1, 1)(request) and not lost
        lost.extend([name] * first)
        return first

    whole = fed.whole(transport=Lossy(fed, lose))
    assert lost
    assert whole.forest == hybrid(split, params, **SHARED).whole().forest


def test_rows_of_a_shared_model_are_predicted_as_in_one_table():
    split, merged = banks_of(n=500, covered=0.8)
    own, train, rest = split["network"], np.arange(350), np.arange(350, 500)
    params = params_of(max_depth=DEPTH)
    several = hybrid({**split, "network": own.take(train)}, params, **SHARED).whole()
    one = hybrid({**merged, "network": own.take(train)}, params, levels="AJJJ").whole()
    leaves = predict_parties(several, {**split, "network": own.take(rest)})
    assert np.array_equal(leaves, predict_parties(one, {**merged, "network": own.take(rest)}))
    assert len(np.unique(leaves)) > 4


def test_a_row_that_several_banks_have_is_asked_of_one_of_them():
    """In training and in prediction it is the same one: here their accounts differ."""
    split, _ = banks_of(n_banks=3)
    rng = np.random.default_rng(1)
    twice = split["bank0"].take(np.arange(8))
    other = replace(twice, values=np.asarray(twice.values) + rng.normal(size=(8, 3)).astype(np.float32))
    both = partition.pooled({"a": split["bank1"], "b": other.aligned(split["bank1"].columns)})
    parties = {**split, "bank1": both}
    model = hybrid(parties, params_of(max_depth=DEPTH), **SHARED)
    whole = model.whole()
    own, held = (
        parties["network"],
        {name: np.isin(parties["network"].ids, parties[name].ids) for name in list(parties)[1:]},
    )
    assert (sum(held.values()) > 1).sum() > 5
    leaves = predict_parties(whole, parties)
    speaks = holder_of(own.row_keys(), held)
    values_ = np.full((own.n_rows, 3), np.nan, np.float32)
    for number, name in enumerate(held):
        place = {one: row for row, one in enumerate(parties[name].ids.tolist())}
        for row in np.flatnonzero(speaks == number):
            values_[row] = np.asarray(parties[name].values)[place[own.ids[row]]]
    table = Table.of(np.hstack([own.values, values_]), own.labels, names=[*own.names, *split["bank0"].names])
    assert np.array_equal(leaves, whole.leaves(table))
