"""Schedules: at each level of a tree only some parties' columns compete, and the forest is that of one table."""

import numpy as np
import pytest

from by_levels import by_levels
from federated import Federation, labels, params_of, pooled_model, same, values
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError, ProtocolError
from learnt import CASES

OWN = 2
"""Columns of the active party."""


def tables(kind="two", n=250):
    X, signal = values(n)
    table = Table.of(X, labels(kind, signal))
    rest = list(range(OWN, table.n_columns))
    half = len(rest) // 2
    return table, partition.columns(table, share=[list(range(OWN)), rest[:half], rest[half:]])


def scheduled(parties, params, levels, protection="plain", goal=None, **more):
    active = next(iter(parties))
    options = {"method": "vertical", "protection": protection, "active": active, "levels": levels, **more}
    return Federation(parties, params, *([] if goal is None else [goal]), **options)


def one_table(table, params, levels, *goal):
    return by_levels(table, params, levels, OWN, *goal)


@pytest.mark.parametrize("levels", ["AAJJ", "AAPP", "PPAA", "AJAJ", "JAPJ", "APJA"])
def test_the_forest_is_that_of_one_table_by_the_same_schedule(levels):
    table, parties = tables()
    params = params_of(max_depth=4)
    assert same(scheduled(parties, params, levels).whole(), one_table(table, params, levels))


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_model_has_schedules(case):
    from hedgerow.agreement.plan import Goal

    kind, goal, params = CASES[case]
    table, parties = tables(kind)
    goal, params = Goal(**goal), params_of(**{**params, "max_depth": 3})
    assert same(scheduled(parties, params, "AJJ", goal=goal).whole(), one_table(table, params, "AJJ", goal))


def test_all_levels_joint_is_the_vertical_forest():
    table, parties = tables()
    params = params_of(max_depth=4)
    assert same(scheduled(parties, params, "JJJJ").whole(), pooled_model(table, params))
    assert same(scheduled(parties, params, "").whole(), pooled_model(table, params))


def test_all_levels_active_is_the_active_partys_own_forest():
    table, parties = tables()
    params = params_of(max_depth=3)
    fed = scheduled(parties, params, "AAA")
    whole = fed.whole()
    alone = pooled_model(parties[next(iter(parties))], params)
    assert np.array_equal(whole.forest.values, alone.forest.values)
    assert whole.forest.columns.max() < OWN
    assert not fed.of("AskSealedSums", "AskSides")
    assert table.n_columns > OWN


@pytest.mark.parametrize("protection", ["lattice", "paillier"])
def test_encryption_changes_nothing(protection):
    _, parties = tables(n=120)
    params = params_of(n_estimators=2, max_depth=3)
    encrypted = scheduled(
        parties, params, "AJP", protection=protection, **({"key_bits": 2048} if protection == "paillier" else {})
    )
    assert same(encrypted.whole(), scheduled(parties, params, "AJP").whole())


def test_nobody_is_asked_at_levels_of_the_active_party():
    _, parties = tables()
    fed = scheduled(parties, params_of(n_estimators=3, max_depth=4), "AAJJ")
    fed.model()
    n_passive = len(parties) - 1
    assert len(fed.of("AskSealedSums")) == 3 * 2 * n_passive
    assert len(fed.of("AskSides")) <= 3 * 2 * n_passive


def test_rows_with_too_few_children_are_refused_as_without_a_schedule():
    table, parties = tables()
    params = params_of(max_depth=3, min_child_rows=8)
    assert same(scheduled(parties, params, "AJJ").whole(), one_table(table, params, "AJJ"))


@pytest.mark.parametrize(("levels", "why"), [("AJ", "a letter for each of the 3"), ("AXJ", "letters A, P and J")])
def test_a_schedule_that_cannot_be_is_refused(levels, why):
    _, parties = tables(n=60)
    with pytest.raises(ParameterError, match=why):
        scheduled(parties, params_of(max_depth=3), levels)


def test_a_schedule_with_hidden_rows_is_refused():
    _, parties = tables(n=60)
    with pytest.raises(ParameterError, match="leave out levels"):
        scheduled(parties, params_of(max_depth=3), "AJJ", protection="lattice", hidden_rows=True)


def test_a_passive_party_refuses_to_be_asked_at_a_level_of_the_active_party(monkeypatch):
    _, parties = tables(n=120)
    fed = scheduled(parties, params_of(n_estimators=1, max_depth=3), "AJJ")
    from hedgerow.protocols.vertical.active import VerticalRows

    monkeypatch.setattr(VerticalRows, "_letter", lambda _self, _depth: "J")
    with pytest.raises(ProtocolError, match=r"its own by the plan"):
        fed.model()
