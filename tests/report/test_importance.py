"""Importances over all parties, and the list of columns that a model uses."""

from dataclasses import replace

import numpy as np
import pytest
import xgboost

from federated import Federation, labels, params_of, pooled_model, values
from hedgerow import GBDTClassifier
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.meanings import Meaning
from hedgerow.model.model import Ownership
from hedgerow.model.xgboost import to_xgboost
from hedgerow.report.importance import columns_used, importance_shares
from learnt import CASES

NAMES = ["income", "age", "debt", "visits", "region"]


def table_of(kind="two", n=250):
    X, signal = values(n)
    return Table.of(X, labels(kind, signal), names=NAMES)


def by_rows(method, **plan):
    parties = partition.rows(table_of(), n=3)
    return Federation(parties, params_of(), method=method, **plan).model()


def by_columns(**plan):
    parties = partition.columns(table_of(), n=2)
    plan = {"protection": "plain", **plan}
    return Federation(parties, params_of(), method="vertical", active="party1", **plan).model()


TRAINED = {
    "pooled": lambda: pooled_model(table_of(), params_of()),
    "horizontal": lambda: by_rows("horizontal"),
    "horizontal, opened by one": lambda: by_rows("horizontal", protection="lattice", opener="party1"),
    "vertical": by_columns,
    "hidden rows": lambda: by_columns(protection="lattice", hidden_rows=True),
    "bagging": lambda: by_rows("bagging"),
    "sequential": lambda: by_rows("sequential"),
}


@pytest.mark.parametrize("how", TRAINED)
def test_every_method_of_training_leaves_gain_and_cover_of_each_node(how):
    forest = TRAINED[how]().forest
    cut = np.flatnonzero(forest.columns >= 0)
    assert len(cut) > 5
    assert (forest.gains[cut] > 0).all()
    assert (forest.covers > 0).all()
    below = forest.covers[forest.children[cut]] + forest.covers[forest.children[cut] + 1]
    np.testing.assert_allclose(forest.covers[cut], below, rtol=1e-3)


@pytest.mark.parametrize("case", ["logistic", "softmax", "squared", "poisson", "forest of two classes"])
def test_totals_are_xgboosts_on_the_same_trees(case, tmp_path):
    kind, goal, params = CASES[case]
    model = pooled_model(table_of(kind), params_of(**params), Goal(**goal))
    to_xgboost(model, tmp_path / "x.json")
    peer = xgboost.Booster(model_file=tmp_path / "x.json")
    uses = columns_used(model)
    assert {use.name: use.splits for use in uses} == peer.get_score(importance_type="weight")
    for kind, theirs in (("gain", "total_gain"), ("cover", "total_cover")):
        assert {use.name: use.total(kind) for use in uses} == pytest.approx(
            peer.get_score(importance_type=theirs), rel=1e-4
        )


def test_shares_are_those_of_the_model_and_of_the_estimator():
    table = table_of()
    estimator = GBDTClassifier(5).fit(table)
    uses = columns_used(estimator.model_)
    for kind in ("gain", "split", "cover"):
        shares = importance_shares(uses, kind)
        assert shares == pytest.approx({n: s for n, s in estimator.model_.importances(kind).items() if s > 0})
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
    by_name = dict(zip(NAMES, estimator.feature_importances_, strict=True))
    assert importance_shares(uses) == pytest.approx({n: s for n, s in by_name.items() if s > 0})


def test_an_unknown_kind_of_importance_is_refused():
    uses = columns_used(pooled_model(table_of(), params_of()))
    with pytest.raises(ParameterError, match="gain, split or cover; not 'weight'"):
        importance_shares(uses, "weight")


def test_columns_appear_by_owner_and_as_they_are_known():
    model = pooled_model(table_of(), params_of(n_estimators=10))
    own = Ownership("m", "bank", (("telco", 3), ("bank", 2)))
    called = [replace(model.columns[0], name="telco:0"), replace(model.columns[1], name="telco:monthly age")]
    columns = (*called, replace(model.columns[2], name="telco:2"), *model.columns[3:])
    told = {2: Meaning(2, "debt", "all debts in euros", "numeric")}
    uses = {use.column: use for use in columns_used(replace(model, columns=columns, ownership=own), told)}
    facts = [(use.party, use.number, use.label, use.known, use.description) for _, use in sorted(uses.items())]
    assert facts == [
        ("telco", 0, "telco: column 0", "number", ""),
        ("telco", 1, "telco: monthly age", "name", ""),
        ("telco", 2, "telco: debt", "disclosed", "all debts in euros"),
        ("bank", 0, "visits", "own", ""),
        ("bank", 1, "region", "own", ""),
    ]


def test_a_column_is_counted_by_its_splits_and_the_trees_that_have_them():
    model = pooled_model(table_of(), params_of())
    use = columns_used(model)[0]
    in_trees = [model.forest.part(i, i + 1).columns.tolist().count(use.column) for i in range(model.forest.n_trees)]
    assert use.splits == sum(in_trees)
    assert use.trees == sum(n > 0 for n in in_trees)
    assert columns_used(replace(model, forest=model.forest.first(0))) == []
