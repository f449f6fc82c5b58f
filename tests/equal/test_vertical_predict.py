"""A vertical model predicts what the pooled one does, bit for bit, by asking the owners of its cuts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from asked import Prediction, trained
from federated import labels, params_of, pooled_model, values
from hedgerow import ForestRegressor, GBDTClassifier, NoPrivacy, Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ModelError
from learnt import CASES

PLAIN = Vertical(NoPrivacy(i_accept_disclosure=True))
WANTED = ("logistic", "softmax", "squared", "poisson", "forest of two classes", "forest of many classes", "depth 8")


def rows(kind, n=250, seed=0):
    X, signal = values(n, seed=seed)
    return Table.of(X, labels(kind, signal), ids=[f"person {seed} {i}" for i in range(n)])


def shuffled(parties, seed=0):
    """The rows of each party in an order of its own."""
    rng = np.random.default_rng(seed)
    return {name: table.take(rng.permutation(table.n_rows)) for name, table in parties.items()}


SHARES = {2: [[4], [0, 1, 2, 3]], 3: [[4], [0, 1], [2, 3]]}
"""The passive parties have the better columns."""


def cut(table, n):
    """The parties by columns, and the whole table with its columns in their order."""
    parties = partition.columns(table, share=SHARES[n])
    return parties, table.aligned([column for part in parties.values() for column in part.columns])


@pytest.mark.parametrize("n", SHARES)
@pytest.mark.parametrize("case", WANTED)
def test_asking_gives_what_the_pooled_model_predicts(case, n):
    kind, goal, params = CASES[case]
    goal, params = Goal(**goal), params_of(**params)
    training, whole = cut(rows(kind), n)
    pooled = pooled_model(whole, params, goal)
    model, own = trained(training, params, goal)
    parties, new = cut(rows(kind, 120, seed=1), n)
    active, *others = parties
    asked = Prediction(model, own, {active: parties[active], **shuffled({name: parties[name] for name in others})})
    leaves = asked.leaves()
    assert asked.of("AskWays")
    assert np.array_equal(leaves, pooled.leaves(new))
    assert np.array_equal(model.scores_at(leaves), pooled.scores(new))
    assert np.array_equal(model.means(model.scores_at(leaves)), pooled.predict(new))


def towns(n=300, seed=0):
    """Categories, missing values, and categories that training never saw."""
    rng = np.random.default_rng(seed)
    town, x, z = rng.choice(list("abcdefg"), n), rng.normal(size=n), rng.normal(size=n)
    y = (np.isin(town, ["b", "e"]) ^ (z > 0.3)).astype(int)
    town = np.where(rng.random(n) < 0.1, None, town)
    z[rng.random(n) < 0.1] = np.nan
    return Table.of(pd.DataFrame({"x": x, "town": pd.Categorical(town), "z": z}), y, ids=np.arange(n) + 1000 * seed)


def test_categories_and_missing_values_go_the_same_way():
    share = [[0], [1], [2]]
    train, new = towns(), towns(seed=1)
    strange = replace(new.columns[1], categories=(*new.columns[1].categories[:-1], "zzz"))
    new = replace(new, columns=(new.columns[0], strange, new.columns[2]))
    model, own = trained(partition.columns(train, share=share))
    assert {len(part.tree) > 0 for part in own.values()} == {True}
    pooled = pooled_model(train)
    leaves = Prediction(model, own, partition.columns(new, share=share)).leaves()
    assert np.array_equal(leaves, pooled.leaves(new))
    assert np.isnan(pooled.aligned(new).values[:, 1]).sum() > np.isnan(new.values[:, 1]).sum() > 0


def test_a_tree_at_a_time_ends_at_the_same_leaves():
    """The baseline of benchmarks."""
    model, own = trained(partition.columns(rows("two"), n=3))
    parties = partition.columns(rows("two", 80, seed=1), n=3)
    together, serial = Prediction(model, own, parties), Prediction(model, own, parties)
    assert np.array_equal(together.leaves(), serial.leaves(together=1))
    assert len(serial.of("AskWays")) > len(together.of("AskWays"))


def test_estimators_predict_on_the_parties_tables():
    table = rows("many")
    parties = partition.columns(table, n=3)
    fitted = GBDTClassifier(3, max_depth=3, min_cut_rows=5, federation=PLAIN).fit(parties)
    assert np.array_equal(fitted.predict_proba(shuffled(parties) | {"party1": parties["party1"]}),
                          fitted.predict_proba(table))  # fmt: skip
    assert np.array_equal(fitted.predict(parties), fitted.predict(table))
    assert np.array_equal(fitted.decision_function(list(parties.values())), fitted.decision_function(table))
    assert np.array_equal(fitted.apply(parties), fitted.apply(table))
    numbers = rows("numbers")
    forest = ForestRegressor(3, max_depth=3, min_cut_rows=5, federation=PLAIN).fit(partition.columns(numbers, n=2))
    assert np.array_equal(forest.predict(partition.columns(numbers, n=2)), forest.predict(numbers))


def test_tables_without_ids_are_matched_by_their_places():
    table = rows("two")
    parties = {name: replace(part, ids=None) for name, part in cut(table, 2)[0].items()}
    fitted = GBDTClassifier(2, max_depth=2, min_cut_rows=5, federation=PLAIN).fit(parties)
    assert np.array_equal(fitted.predict_proba(parties), fitted.predict_proba(table))
    fewer = {**parties, "party2": parties["party2"].take(np.arange(100))}
    with pytest.raises(DataError, match="no ids and different numbers of rows"):
        fitted.predict(fewer)
    some = {**parties, "party1": replace(parties["party1"], ids=table.ids)}
    with pytest.raises(DataError, match="Party 'party2': Rows are aligned by their ids, and this table has none"):
        fitted.predict(some)


def test_a_party_is_left_out_only_if_that_is_said():
    table = rows("two")
    parties = partition.columns(table, n=3)
    fitted = GBDTClassifier(3, max_depth=3, min_cut_rows=5, federation=PLAIN).fit(parties)
    with pytest.raises(DataError, match="table of 'party3' is not given; give it, or None"):
        fitted.predict({name: parties[name] for name in ("party1", "party2")})
    gone = replace(table, values=table.values.copy())
    gone.values[:, [table.names.index(name) for name in parties["party3"].names]] = np.nan
    without = {**parties, "party3": None}
    assert np.array_equal(fitted.predict_proba(without), fitted.predict_proba(gone))
    with pytest.raises(DataError, match="'party4' is no party of the model"):
        fitted.predict({**parties, "party4": parties["party3"]})
    with pytest.raises(DataError, match="rows to predict are those of 'party1'"):
        fitted.predict({**parties, "party1": None})


def test_a_model_of_one_table_predicts_by_itself():
    table = rows("two")
    fitted = GBDTClassifier(2).fit(table)
    with pytest.raises(ModelError, match="not one of a vertical run"):
        fitted.predict(partition.columns(table, n=2))


def test_sparse_tables_are_asked_about_like_dense_ones():
    X, signal = values(200, missing=0.5)
    held = np.nan_to_num(X)
    table = Table.of(sparse.csr_array(held), labels("two", signal), ids=np.arange(200), absent="zero")
    parties = partition.columns(table, n=2)
    model, own = trained(parties)
    leaves = Prediction(model, own, parties).leaves()
    assert np.array_equal(leaves, pooled_model(table).leaves(table))
    gaps = {**parties, "party1": replace(parties["party1"], absent=float("nan"))}
    with pytest.raises(DataError, match="were zero in training"):
        Prediction(model, own, gaps).leaves()
