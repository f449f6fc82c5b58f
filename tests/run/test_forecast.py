"""The bytes that `hedgerow plan` foretells are those that then cross, within a factor of two, small runs or not."""

import numpy as np
import pytest

from federated import Federation, labels, method_of, params_of, values
from hedgerow.agreement.ciphers import cipher_of, key_bytes
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.run.forecast.cost import Shape, cost
from hedgerow.trees.params import TreeParams


def rows_of(n, kind="two", n_columns=5):
    """Three parties with the same columns."""
    X, signal = values(n, n_columns)
    return partition.rows(X, labels(kind, signal), 3)


def columns_of(n, n_columns=2, n_parties=3):
    """Parties with the same rows."""
    X, signal = values(n, n_columns * n_parties)
    return partition.columns(Table.of(X, labels("two", signal)), n=n_parties)


def params(**more):
    return params_of(**{"n_estimators": 4, "max_depth": 4, "max_bin": 32, "min_cut_rows": 5, **more})


def ratio(tables, tree_params=None, goal=Goal(), **plan):  # noqa: B008
    """Bytes foretold over bytes that crossed."""
    if plan.get("method") == "vertical":
        plan["active"] = next(iter(tables))
    fed = Federation(tables, tree_params or params(), goal, **plan)
    by_columns = bool(fed.plan.active)
    shape = Shape.by_columns(tables, fed.plan) if by_columns else Shape.of(list(tables.values()), fed.plan)
    fed.run()
    return cost(fed.plan, shape).total / sum(len(heard.frame) for heard in fed.heard)


SMALL_KEY = {"protection": "paillier", "key_bits": 2048}
HORIZONTAL = {
    "masks": {},
    "no protection": {"protection": "plain"},
    "own cut points": {"cut_points": "local"},
    "private names": {"column_names": "private"},
    "lattice": {"protection": "lattice", "opener": "party1"},
    "bagging": {"method": "bagging", "protection": "plain"},
    "sequential": {"method": "sequential", "protection": "plain"},
}


@pytest.mark.parametrize("n", [60, 400, 3000])
@pytest.mark.parametrize("what", HORIZONTAL)
def test_a_horizontal_run_costs_what_was_foretold(what, n):
    assert 0.5 < ratio(rows_of(n), **HORIZONTAL[what]) < 2


@pytest.mark.parametrize("n", [60, 400])
def test_a_horizontal_run_with_paillier_costs_what_was_foretold(n):
    small = params(n_estimators=1, max_depth=3)
    assert 0.5 < ratio(rows_of(n), small, opener="party1", **SMALL_KEY) < 2


@pytest.mark.parametrize("max_bin", [16, 255])
@pytest.mark.parametrize("kind", ["two", "many", "numbers"])
def test_labels_bins_and_depth_are_reckoned_with(kind, max_bin):
    goal = Goal("squared") if kind == "numbers" else Goal()
    deep = params(n_estimators=10, max_depth=6, max_bin=max_bin)
    assert 0.5 < ratio(rows_of(300, kind), deep, goal) < 2


VERTICAL = {
    "no protection": {"protection": "plain"},
    "lattice": {"protection": "lattice"},
    "lattice over a slow link": {"protection": "lattice", "link_mbit": 5.0},
    "lattice over a quick link": {"protection": "lattice", "link_mbit": 1000.0},
    "lattice with a sample of the rows": {"protection": "lattice", "passive_rows": 0.3},
    "lattice with hidden rows": {"protection": "lattice", "hidden_rows": True},
}


@pytest.mark.parametrize("n_columns", [2, 6])
@pytest.mark.parametrize("n", [60, 1000])
@pytest.mark.parametrize("what", VERTICAL)
def test_a_vertical_run_costs_what_was_foretold(what, n, n_columns):
    small = params(n_estimators=2, max_depth=3, gradient_bits=8)
    assert 0.5 < ratio(columns_of(n, n_columns), small, method="vertical", **VERTICAL[what]) < 2


@pytest.mark.parametrize("hidden", [False, True])
def test_a_vertical_run_with_paillier_costs_what_was_foretold(hidden):
    small = params(n_estimators=1, max_depth=2, gradient_bits=8)
    tables = columns_of(60, n_parties=2)
    assert 0.5 < ratio(tables, small, method="vertical", hidden_rows=hidden, **SMALL_KEY) < 2


def test_trees_that_shrink_while_the_run_goes_on_are_reckoned_with():
    many = params(n_estimators=60, max_depth=5, learning_rate=0.5)
    assert 0.5 < ratio(rows_of(100), many) < 2


def test_tables_of_which_some_are_sparse_are_reckoned_as_full_trees():
    from scipy import sparse

    tables = rows_of(120)
    one = tables["party1"]
    thin = Table.of(sparse.csr_array(np.nan_to_num(one.values)), one.labels, names=one.names)
    plan = Federation({**tables, "party1": thin}, params()).plan
    shape = Shape.of([thin, tables["party2"], tables["party3"]], plan)
    assert shape.trees is None
    assert cost(plan, shape).total > 0


PLANS = {
    "lattice": {"protection": "lattice"},
    "lattice over a link": {"protection": "lattice", "link_mbit": 100.0},
    "paillier": SMALL_KEY,
    "plain": {"protection": "plain"},
}


@pytest.mark.parametrize("what", PLANS)
def test_the_bytes_of_a_key_are_those_of_one_that_is_made(what):
    who = tuple(Member(name, name) for name in "ab")
    plan = Plan("a test", who, Goal(), TreeParams(), method_of("vertical", active="a", **PLANS[what]))
    for merging in ((), (64, 32)):
        key = cipher_of(plan).new_key(1, slots=False, merging=[merging])
        assert key_bytes(plan, merging if what == "lattice over a link" else ()) == len(key.public.encode())
