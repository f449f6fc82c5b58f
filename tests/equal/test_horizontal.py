"""The federated forest is the pooled forest, bit for bit: cut points, cuts, values, first score and metrics."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from federated import Federation, labels, params_of, pooled_model, same, two_class, values
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.protocols.horizontal.driver import drawn
from hedgerow.trees import bins
from hedgerow.trees.boost import boost
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.grow import Growth
from hedgerow.trees.local import LocalRows, RoundSettings, Sample
from hedgerow.trees.losses import Loss
from hedgerow.trees.sampling import ColumnSampler
from hedgerow.trees.splits import Rules
from learnt import CASES

LAYOUTS = {
    "1 plain": (1, "even", "plain"),
    "2 masked": (2, "even", "masked"),
    "5 masked, by label": (5, "labels", "masked"),
    "16 plain, by quantity": (16, "quantity", "plain"),
    "16 masked, in order": (16, "order", "masked"),
}


def federation(parties, params, goal, protection, **more):
    return Federation(parties, params, goal, protection=protection, allow_two=True, **more)


def dealt(table: Table, layout: str):
    n, how, protection = LAYOUTS[layout]
    return partition.rows(table, n=n, how=how, alpha=0.3), protection


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_the_federated_forest_is_the_pooled_one(case, layout):
    kind, goal, params = CASES[case]
    X, signal = values(250)
    table = Table.of(X, labels(kind, signal))
    parties, protection = dealt(table, layout)
    goal, params = Goal(**goal), params_of(**params)
    federated = federation(parties, params, goal, protection).model()
    pooled = pooled_model(parties, params, goal)
    assert (pooled.forest.columns >= 0).sum() > 2, "the forest must have cuts to compare"
    assert same(federated, pooled, table)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_weights_count_alike_wherever_a_row_lies(layout, scale):
    X, signal = values(250)
    weights = np.random.default_rng(1).exponential(size=250) * (np.arange(250) % 7 > 0)
    table = Table.of(X, labels("two", signal), weights=weights)
    parties, protection = dealt(table, layout)
    goal = Goal(scale_pos_weight=scale)
    federated = federation(parties, params_of(), goal, protection).model()
    assert same(federated, pooled_model(parties, params_of(), goal), table)


def test_a_party_without_weights_has_weights_of_one():
    parties = two_class(3)
    weighted = {name: replace(t, weights=np.ones(t.n_rows)) for name, t in parties.items()}
    weighted["party2"] = replace(parties["party2"], weights=np.linspace(0.5, 3, parties["party2"].n_rows))
    mixed = {**parties, "party2": weighted["party2"]}
    assert same(federation(mixed, params_of(), Goal(), "masked").model(), pooled_model(weighted))


METRICS = [
    ("two", {}, None), ("two", {}, "auc"), ("two", {}, "error"),
    ("many", {}, None), ("many", {}, "merror"),
    ("numbers", {"objective": "squared"}, "rmse"), ("numbers", {"objective": "squared"}, "mae"),
    ("counts", {"objective": "poisson"}, None), ("counts", {"objective": "tweedie", "parameter": 1.3}, None),
    ("numbers", {"objective": "huber", "parameter": 1.0}, None),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "goal", "metric"), METRICS)
@pytest.mark.parametrize(("n", "protection"), [(3, "masked"), (5, "plain")])
@pytest.mark.parametrize("weighted", [False, True])
def test_training_ends_at_the_same_round_by_the_same_metric(kind, goal, metric, n, protection, weighted):
    X, signal = values(250)
    weights = np.random.default_rng(1).uniform(0.5, 2, 250) if weighted else None
    parties = partition.rows(X, labels(kind, signal), n, weights=weights)
    training, validation = partition.hold_out(parties, 0.3)
    goal = Goal(**goal, eval_metric=metric, early_stopping_rounds=2, follow=True)
    params = params_of(n_estimators=6, learning_rate=1.0)
    federated = federation(training, params, goal, protection, valid=validation).model()
    pooled = pooled_model(training, params, goal, validation)
    assert len(pooled.history) >= 2
    assert same(federated, pooled)
    assert federated.metric == pooled.metric


@pytest.mark.parametrize("average", [False, True])
def test_a_metric_is_followed_without_stopping_and_by_parties_without_validation_rows(average):
    training, validation = partition.hold_out(two_class(4), 0.3)
    there = {name: validation[name] for name in ("party1", "party3")}
    goal, params = Goal(follow=True, eval_metric="auc" if not average else "rmse"), params_of(average=average)
    federated = federation(training, params, goal, "masked", valid=there).model()
    assert len(federated.history) == 3
    assert same(federated, pooled_model(training, params, goal, there))


def test_weights_of_validation_rows_alone_count_in_the_metric():
    training, validation = partition.hold_out(two_class(3), 0.3)
    validation = {name: replace(t, weights=np.linspace(0.1, 9, t.n_rows)) for name, t in validation.items()}
    goal = Goal(follow=True)
    federated = federation(training, params_of(), goal, "masked", valid=validation).model()
    assert same(federated, pooled_model(training, params_of(), goal, validation))


def test_a_party_that_lacks_a_class_learns_with_the_others():
    X, signal = values(240)
    y = np.sort(labels("many", signal))
    parties = partition.rows(X, y, 4, how="order")
    assert min(len(np.unique(t.labels)) for t in parties.values()) < 4
    assert same(federation(parties, params_of(), Goal(), "masked").model(), pooled_model(parties))


def test_classes_may_be_words():
    X, signal = values(200)
    y = np.array(["low", "mid", "high"])[np.digitize(signal, [-0.5, 0.5])]
    parties = partition.rows(X, y, 3, how="labels")
    assert same(federation(parties, params_of(), Goal(), "masked").model(), pooled_model(parties))


@pytest.mark.parametrize("protection", ["masked", "plain"])
def test_parties_of_one_row_count_like_others(protection):
    X, signal = values(60)
    parties = partition.rows(X, labels("numbers", signal), 60, how="order")
    few = {name: parties[name] for name in list(parties)[:20]}
    few["the rest"] = partition.pooled({name: t for name, t in parties.items() if name not in few})
    params, goal = params_of(min_cut_rows=1), Goal("squared")
    assert same(federation(few, params, goal, protection).model(), pooled_model(few, params, goal))


def test_a_party_without_rows_at_a_node_adds_nothing_there():
    X, signal = values(300, missing=0.0)
    order = np.argsort(X[:, 0])
    parties = partition.rows(X[order], labels("two", signal)[order], 3, how="order")
    params = params_of(max_depth=5)
    assert same(federation(parties, params, Goal(), "masked").model(), pooled_model(parties, params))


def test_a_party_whose_rows_all_weigh_nothing_adds_nothing():
    X, signal = values(200)
    parties = partition.rows(X, labels("two", signal), 4, weights=np.ones(200))
    parties["party2"] = replace(parties["party2"], weights=np.zeros(parties["party2"].n_rows))
    assert same(federation(parties, params_of(), Goal(), "masked").model(), pooled_model(parties))


def with_words(n=240):
    X, signal = values(n)
    rng = np.random.default_rng(2)
    colour = rng.choice(["red", "green", "blue", "grey", "teal"], n).astype(object)
    signal = signal + (colour == "red") - 2.0 * (colour == "teal")
    colour[rng.random(n) < 0.05] = None
    return X, signal, colour


def coloured(X, y, colour, ids):
    return Table.of(np.column_stack([X.astype(object), colour]), y, categorical=[X.shape[1]], ids=ids)


@pytest.mark.parametrize("protection", ["masked", "plain"])
def test_parties_may_know_different_categories(protection):
    X, signal, colour = with_words()
    y, ids = labels("two", signal), np.arange(len(X))
    owner = np.select([colour == "red", colour == "teal"], [0, 1], ids % 3)
    parties = {f"p{i}": coloured(X[owner == i], y[owner == i], colour[owner == i], ids[owner == i]) for i in range(3)}
    assert len({t.columns[-1].categories for t in parties.values()}) == 3
    pooled = pooled_model(parties, params_of(n_estimators=5))
    assert (pooled.forest.sets >= 0).any()
    federated = federation(parties, params_of(n_estimators=5), Goal(), protection).model()
    assert same(federated, pooled, partition.pooled(parties))


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("protection", ["masked", "plain"])
def test_sparse_tables_are_summed_like_the_pooled_one(absent, protection):
    X, signal = values(240, missing=0.0)
    X[np.random.default_rng(3).random(X.shape) < 0.6] = 0
    stored = Table.of(sparse.csr_array(X), labels("two", signal), absent=absent)
    parties = partition.rows(stored, n=3)
    params = params_of(min_cut_rows=1)
    federated = federation(parties, params, Goal(), protection).model()
    assert federated.absent == absent
    assert same(federated, pooled_model(parties, params), stored)


def test_columns_may_stand_in_another_order_at_each_party():
    parties = two_class(3)
    columns = parties["party2"].columns
    turned = {**parties, "party2": parties["party2"].aligned(columns[::-1])}
    assert same(federation(turned, params_of(), Goal(), "masked").model(), pooled_model(parties))


def narrowed(parties):
    """Each party lacks another column."""
    return {name: t.aligned(t.columns[:i] + t.columns[i + 1 :]) for i, (name, t) in enumerate(parties.items())}


def test_of_columns_that_differ_the_shared_ones_are_used():
    parties = two_class(3)
    shared = {name: t.aligned(t.columns[3:]) for name, t in parties.items()}
    assert same(federation(narrowed(parties), params_of(), Goal(), "masked").model(), pooled_model(shared))


@pytest.mark.parametrize("stored", [False, True])
def test_with_all_columns_those_a_party_lacks_are_missing(stored):
    parties = two_class(3)
    if stored:
        parties = {name: as_sparse(t) for name, t in parties.items()}
    narrow = narrowed(parties)
    columns = (*narrow["party1"].columns, parties["party1"].columns[0])
    filled = {
        name: t.widened([c for c in columns if c.name not in t.names]).aligned(columns) for name, t in narrow.items()
    }
    federated = federation(narrow, params_of(), Goal(), "masked", columns="all").model()
    assert same(federated, pooled_model(filled))


def as_sparse(table: Table) -> Table:
    rows, columns = np.nonzero(~np.isnan(table.values))
    cells = sparse.csr_array((table.values[rows, columns], (rows, columns)), shape=table.values.shape)
    return Table.of(cells, table.labels, names=table.names, ids=table.ids)


# Some parties of a tree


def sampled(protection):
    fed = federation(two_class(8), params_of(n_estimators=6), Goal(), protection, party_share=0.5)
    return fed, *fed.run()


def test_drawn_parties_give_the_same_forest_masked_and_plain_and_differ_from_round_to_round():
    fed, masked, _ = sampled("masked")
    assert same(masked, sampled("plain")[1])
    sets = {asked.message.round: asked.message.parties for asked in fed.of("AskHistograms", "AskLeafSums")}
    assert sets == {r: drawn(fed.plan, r, range(8)) for r in range(6)}
    assert len(set(sets.values())) > 2
    assert {len(parties) for parties in sets.values()} == {4}


def test_a_round_is_grown_from_the_rows_of_the_drawn_parties_alone():
    fed, model, state = sampled("masked")
    names = [fed.plan.names[i] for i in drawn(fed.plan, 0, range(8))]
    table = partition.pooled({name: fed.tables[name] for name in names})
    grid, params, loss = state.start.grid, fed.plan.params, Loss("logistic")
    scales = Scales(*loss.bounds(state.start.facts, state.start.base), params.gradient_bits)
    fullest = bins.fullest_under(grid, table.values, table.absent, 1)
    matrix = bins.to_bins(grid, fullest, table.values, table.absent, 1)
    scores = np.full((1, table.n_rows), state.start.base, np.float32)
    none = np.empty(0)
    own = Sample(matrix, table.labels.astype(np.float32), none.astype(np.float32), none.astype(np.uint64), scores)
    growth = Growth(grid, Rules.of(params, scales), ColumnSampler(grid.n_columns, 1.0, 1.0, 0), params.max_depth, 1)
    alone = boost(LocalRows(own, RoundSettings(loss, scales), 1), growth, replace(params, n_estimators=1), scales, 1)
    assert model.forest.first(1) == alone.forest
