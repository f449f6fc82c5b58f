"""Vertical rounds that use only some parties' columns: the forest is the pooled one that was kept from the others."""

from dataclasses import replace

import numpy as np
import pytest

from federated import Federation, labels, params_of, same, values
from hedgerow import ForestClassifier, GBDTClassifier, GBDTRegressor
from hedgerow.agreement.options import Horizontal, Hybrid, NoPrivacy, Vertical
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model import train as pooled
from hedgerow.model.prepare import growth_of
from hedgerow.model.train import Task
from hedgerow.protocols.session.participants import asked
from hedgerow.trees.boost import boost
from hedgerow.trees.losses import Loss
from hedgerow.trees.sampling import ColumnSampler

PARAMS = params_of(n_estimators=6)
SAMPLED = {"subsample": 0.7, "colsample_bytree": 0.7, "random_state": 3}


def table_of(kind="two"):
    X, signal = values(250)
    return Table.of(X, labels(kind, signal))


def vertical(table, n, params=PARAMS, protection="plain", **plan):
    return Federation(
        partition.columns(table, n=n), params, method="vertical", protection=protection, active="party1", **plan
    )


def task(table, kind):
    classes = tuple(np.unique(table.labels).tolist())
    return Task(Loss("logistic") if kind == "two" else Loss("softmax", n_classes=len(classes)), classes)


def masked_model(table, params, kind, mask):
    """Training on one table where in every round only the columns of `mask(round)` are there."""
    ready = pooled.prepare(table, params, task(table, kind))
    growth = growth_of(ready.fixed.grid, params, ready.fixed.scales, 1)
    columns = Masked(*(getattr(growth.columns, name) for name in ("n_columns", "by_tree", "by_node", "seed")), mask)
    growth = replace(growth, columns=columns)
    done = boost(ready.rows, growth, params, ready.fixed.scales, ready.task.loss.n_trees)
    return ready.model(done, ready.columns)


class Masked(ColumnSampler):
    """Draws among the columns that are there, node by node."""

    def allowed(self, round_, nodes):
        there = np.flatnonzero(self.among(round_))
        shrunk = ColumnSampler(self.n_columns, self.by_tree, self.by_node, self.seed)
        out = np.zeros((len(nodes.tree), self.n_columns), bool)
        for i, tree in enumerate(nodes.tree.tolist()):
            drawn = shrunk._least(there.astype(np.uint64), self.by_tree, (2 << 60) | (tree << 32) | round_, 0)
            out[i] = drawn
        return out


def mask_of(fed):
    """Which columns a round may cut, from the plan's own words."""
    widths = [table.n_columns for table in fed.tables.values()]
    owners = np.repeat(list(fed.tables), widths)

    def mask(round_):
        who = ("party1", *asked(fed.plan, round_, fed.plan.answering))
        return np.isin(owners, who)

    return mask


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("kind", ["two", "many"])
def test_the_first_trees_are_those_of_the_active_partys_table_alone_and_the_others_go_on_from_them(kind, sampled):
    params = replace(PARAMS, **(SAMPLED if sampled else {}))
    table, k = table_of(kind), 2
    fed = vertical(table, 3, params, local_trees=k)
    whole = fed.whole()
    own = Table.of(np.asarray(fed.tables["party1"].values), table.labels)
    alone = pooled.train(own, replace(params, n_estimators=k), task(own, kind))
    assert whole.forest.first(k * whole.loss.n_trees) == alone.forest
    assert (alone.forest.columns >= 0).sum() > 2
    start = replace(alone, columns=table.columns)
    rest = replace(task(table, kind), start=start)
    assert same(whole, pooled.train(table, replace(params, n_estimators=params.n_estimators - k), rest))


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("plan", [{"party_share": 0.5}, {"party_share": 0.4, "local_trees": 2}])
def test_the_forest_of_drawn_parties_is_the_pooled_one_that_lacks_the_others_columns(plan, sampled):
    params = replace(PARAMS, **(SAMPLED if sampled else {}))
    table = table_of()
    fed = vertical(table, 5, params, **plan)
    mask = mask_of(fed)
    assert len({tuple(mask(round_)) for round_ in range(2, 6)}) > 1
    assert same(fed.whole(), masked_model(table, params, "two", mask))


def test_both_hold_under_lattice_encryption():
    table = table_of()
    params = replace(PARAMS, n_estimators=3)
    fed = vertical(table, 3, params, protection="lattice", local_trees=1, party_share=0.5)
    assert same(fed.whole(), masked_model(table, params, "two", mask_of(fed)))


def test_nothing_is_asked_for_local_trees_but_that_they_are_complete():
    fed = vertical(table_of(), 3, local_trees=2)
    fed.model()
    said = [h.kind for h in fed.heard if getattr(h.message, "round", 9) < 2]
    assert set(said) == {"EndRound"}
    assert len(said) == 2 * 2


def test_a_party_is_asked_in_the_rounds_it_is_drawn_for_and_in_no_other():
    fed = vertical(table_of(), 5, party_share=0.5)
    fed.model()
    for round_ in range(6):
        heard = {h.receiver for h in fed.of("AskSealedSums", "AskSides") if h.message.round == round_}
        assert heard == set(asked(fed.plan, round_, fed.plan.answering))


def test_constraints_have_a_sign_for_every_column_of_all_parties():
    with pytest.raises(ParameterError, match="has 2 entries; the parties together have 5 columns"):
        vertical(table_of(), 3, replace(PARAMS, monotone_constraints=(1, 0))).model()
    X, signal = values(100)
    X[:, 4] = np.arange(100) % 3
    table = Table.of(X, labels("two", signal), categorical=[4])
    with pytest.raises(ParameterError, match="'party3:0' is categorical and cannot have a monotone constraint"):
        vertical(table, 3, replace(PARAMS, monotone_constraints=(0, 0, 0, 0, 1))).model()


@pytest.mark.parametrize("k", [-1, 6, 7])
def test_local_trees_are_fewer_than_all(k):
    with pytest.raises(ParameterError, match="local_trees must be from 0 to below n_estimators, 6"):
        vertical(table_of(), 2, local_trees=k)


# Estimators

OPEN = NoPrivacy(i_accept_disclosure=True)


def test_an_estimator_grows_local_trees_and_draws_parties():
    table = table_of()
    chosen = Vertical(OPEN, local_trees=2, party_share=0.5)
    params = {"n_estimators": 5, "max_depth": 3, "min_cut_rows": 5}
    model = GBDTClassifier(**params, federation=chosen).fit(partition.columns(table, n=5)).model_
    fed = vertical(table, 5, replace(PARAMS, n_estimators=5), local_trees=2, party_share=0.5)
    assert model.forest == fed.whole().forest


BITS = {
    "sealed": (GBDTClassifier(federation=Vertical()), {}, 8),
    "a forest": (ForestClassifier(federation=Vertical()), {}, 8),
    "as said": (GBDTClassifier(federation=Vertical(), gradient_bits=12), {}, 12),
    "plain": (GBDTClassifier(federation=Vertical(OPEN)), {}, 20),
    "hybrid": (GBDTClassifier(federation=Hybrid()), {}, 20),
    "numbers": (GBDTRegressor(federation=Vertical()), {}, 20),
    "heavy positives": (GBDTClassifier(federation=Vertical(), scale_pos_weight=9), {}, 20),
    "weighted": (GBDTClassifier(federation=Vertical()), {"weights": np.arange(1, 251)}, 20),
    "rows": (GBDTClassifier(federation=Horizontal()), {}, 20),
}


@pytest.mark.parametrize("case", BITS)
def test_sealed_gradients_of_classes_have_few_bits_unless_it_is_said_or_rows_weigh_more_than_others(case, monkeypatch):
    estimator, more, bits = BITS[case]
    X, signal = values(250)
    table = Table.of(X, labels("two", signal), **more)
    parties = partition.columns(table, n=2) if case != "rows" else {f"party{i}": table for i in range(3)}
    chosen = []
    fit = lambda *told, **_: chosen.append(told[4]) or pooled_of(table)  # noqa: E731
    monkeypatch.setattr("hedgerow.estimators.parties.fit_parties", fit)
    estimator.fit(parties)
    assert chosen[0].gradient_bits == bits


def pooled_of(table):
    return pooled.train(table, PARAMS, task(table, "two"))
