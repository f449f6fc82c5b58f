"""One table as hybrid parties: who has which columns, who holds which rows, and one table again."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hedgerow import Table
from hedgerow.data.hybrid_partition import HybridCut, HybridTables, hybrid, hybrid_pair, merged, pooled
from hedgerow.errors import DataError, ParameterError

NAMES = ["a", "b", "c", "d", "e", "f"]


def table(n=600, seed=0, ids=None):
    rng = np.random.default_rng(seed)
    labels, drawn = rng.integers(0, 3, n), rng.permutation(10 * n)[:n]
    return Table.of(rng.normal(size=(n, 6)), labels, names=NAMES, ids=drawn if ids is None else ids)


def holders(made):
    """How many passive parties hold each row of the active party's."""
    found = np.concatenate([part.ids for part in made.passive.values()])
    return np.array([(found == one).sum() for one in made.active.ids])


def same(one: HybridTables, other: HybridTables) -> bool:
    pairs = [(one.active, other.active), *zip(one.passive.values(), other.passive.values(), strict=True)]
    for a, b in pairs:
        assert a.columns == b.columns
        np.testing.assert_array_equal(a.ids, b.ids)
        np.testing.assert_array_equal(a.values, b.values)
    return list(one.passive) == list(other.passive)


# Columns


def test_the_active_party_has_labels_and_the_passive_ones_have_the_rest():
    whole = table()
    made = hybrid(whole, HybridCut(passive=["b", 4], parties=3))
    assert made.active.names == ("a", "c", "d", "f")
    np.testing.assert_array_equal(made.active.labels, whole.labels)
    assert list(made.passive) == ["passive1", "passive2", "passive3"]
    for part in made.passive.values():
        assert part.names == ("b", "e")
        assert part.labels is None
        assert part.weights is None


def test_passive_columns_are_drawn_by_the_seed():
    drawn = {hybrid(table(), HybridCut(passive=2, seed=seed)).passive["passive1"].names for seed in range(20)}
    assert len(drawn) > 5
    assert {len(names) for names in drawn} == {2}
    assert same(hybrid(table(), HybridCut(passive=2, seed=3)), hybrid(table(), HybridCut(passive=2, seed=3)))


def test_each_party_may_lack_columns_and_test_rows_lack_the_same():
    cut = HybridCut(passive=4, parties=12, dropped=3, seed=1)
    training, test = hybrid_pair(table(), table(seed=5), cut)
    widths = {part.n_columns for part in training.passive.values()}
    assert widths == {1, 2, 3, 4}
    assert [part.names for part in training.passive.values()] == [part.names for part in test.passive.values()]


def test_the_active_party_may_have_a_share_of_its_columns_and_training_rows():
    cut = HybridCut(passive=2, active_rows=0.2, active_columns=0.5)
    training, test = hybrid_pair(table(), table(seed=5), cut)
    assert training.active.n_rows == 120
    assert sum(part.n_rows for part in training.passive.values()) == 600
    assert test.active.n_rows == 600
    assert training.active.n_columns == 2
    assert training.active.names == test.active.names
    more = hybrid(table(), replace(cut, active_rows=0.4))
    assert set(training.active.ids) < set(more.active.ids)


# Rows


@given(st.integers(0, 2**63 - 1), st.integers(1, 9), st.integers(9, 80))
def test_every_row_has_one_holder_and_parties_are_of_one_size(seed, parties, n):
    made = hybrid(table(n, seed % 2**32), HybridCut(passive=3, parties=parties, seed=seed))
    assert (holders(made) == 1).all()
    sizes = [part.n_rows for part in made.passive.values()]
    assert max(sizes) - min(sizes) <= 1


@given(st.sampled_from([{}, {"holders": 2}, {"how": "labels"}, {"uncovered": 0.3}, {"extra": 0.2}, {"by": "f"}]))
def test_the_order_of_rows_does_not_matter(options):
    whole = table(200)
    whole.values[:, 5] = np.arange(200) % 20
    cut = HybridCut(passive=["a", "b"], parties=4, seed=2, **options)
    one, other = hybrid(whole, cut), hybrid(whole.take(np.random.default_rng(1).permutation(200)), cut)
    assert all(set(one.passive[name].ids) == set(other.passive[name].ids) for name in one.passive)


def test_a_row_may_have_several_holders_and_some_rows_none():
    made = hybrid(table(3000), HybridCut(passive=2, parties=6, holders=3, uncovered=0.25))
    found = holders(made)
    assert set(found.tolist()) == {0, 3}
    assert abs((found == 0).mean() - 0.25) < 0.03
    assert all(abs(part.n_rows / 1125 - 1) < 0.1 for part in made.passive.values())


def test_all_parties_may_hold_every_row():
    made = hybrid(table(50), HybridCut(passive=2, parties=3, holders=3))
    assert (holders(made) == 3).all()


def test_extra_rows_are_those_of_others_and_covered():
    made = hybrid(table(2000), HybridCut(passive=2, parties=5, extra=0.05, uncovered=0.1, seed=4))
    found = holders(made)
    assert abs((found == 0).mean() - 0.1) < 0.03
    more = sum(part.n_rows for part in made.passive.values()) - (found > 0).sum()
    assert 0 < more <= 500
    assert found.max() >= 2


def shares(made, whole):
    """Of each class, the share that each party holds."""
    label = dict(zip(whole.ids.tolist(), whole.labels.tolist(), strict=True))
    held = [np.bincount([label[one] for one in part.ids.tolist()], minlength=3) for part in made.passive.values()]
    return np.array(held) / np.bincount(whole.labels)


def test_labels_may_be_skewed_and_test_rows_alike_or_even():
    whole, new = table(6000), table(3000, seed=9)
    cut = HybridCut(passive=2, parties=4, how="labels", alpha=0.3, seed=1)
    training, alike = hybrid_pair(whole, new, cut)
    skewed = shares(training, whole)
    assert skewed.max() > 0.6
    np.testing.assert_allclose(shares(alike, new), skewed, atol=0.01)
    _, even = hybrid_pair(whole, new, cut, test_rows="even")
    np.testing.assert_allclose(shares(even, new), 0.25, atol=0.05)
    assert (holders(even) == 1).all()


def test_labels_of_a_regression_are_skewed_by_tenths():
    whole = replace(table(2000), labels=np.random.default_rng(0).normal(size=2000))
    made = hybrid(whole, HybridCut(passive=2, parties=2, how="labels", alpha=0.1))
    label = dict(zip(whole.ids.tolist(), whole.labels.tolist(), strict=True))
    lowest = np.quantile(whole.labels, 0.1)
    low = [np.mean([label[one] < lowest for one in part.ids.tolist()]) for part in made.passive.values()]
    assert max(low) > 2 * min(low)


def test_a_strongly_skewed_party_still_has_a_row():
    made = hybrid(table(300), HybridCut(passive=2, parties=20, how="labels", alpha=0.01, seed=3))
    assert min(part.n_rows for part in made.passive.values()) == 1
    assert (holders(made) == 1).all()


def test_a_column_may_name_the_party():
    whole = table(90)
    banks = np.array(["north", "south", None], object)[np.arange(90) % 3]

    frame = pd.DataFrame(whole.values, columns=NAMES).assign(bank=banks)
    named = Table.of(frame, whole.labels)
    made, test = hybrid_pair(named, named.take(slice(0, 30)), HybridCut(passive=["a"], parties=None, by="bank"))
    assert {name: part.ids.tolist() for name, part in made.passive.items()} == {
        "north": list(range(0, 90, 3)),
        "south": list(range(1, 90, 3)),
    }
    assert "bank" not in made.active.names
    assert [part.n_rows for part in test.passive.values()] == [10, 10]


def test_rows_of_one_value_stay_together_where_parties_are_fewer_than_values():
    whole = table(400)
    whole.values[:, 5] = np.arange(400) % 40
    account = dict(zip(whole.ids.tolist(), whole.values[:, 5].tolist(), strict=True))
    new = whole.take(np.arange(200))
    new.values[:, 5] += 30
    made, test = hybrid_pair(whole, new, HybridCut(passive=["a"], parties=4, by="f", uncovered=0.0))
    owned = [{account[one] for one in part.ids.tolist()} for part in made.passive.values()]
    assert sum(map(len, owned)) == len(set.union(*owned)) == 40
    assert {len(own) for own in owned} == {10}
    assert (holders(test) == 1).all()


# One table again


@given(st.integers(0, 1000))
def test_pooled_tables_are_the_table(seed):
    whole = table(100, seed)
    made = hybrid(whole, HybridCut(passive=3, parties=4, holders=2, seed=seed))
    joined = made.pooled()
    np.testing.assert_array_equal(joined.aligned(whole.columns).values, whole.values)
    np.testing.assert_array_equal(joined.ids, whole.ids)
    np.testing.assert_array_equal(joined.labels, whole.labels)


def test_rows_that_nobody_holds_are_missing():
    made = hybrid(table(), HybridCut(passive=["a", "b"], uncovered=0.4))
    missing = np.isnan(made.pooled().values[:, 4:])
    np.testing.assert_array_equal(missing.any(axis=1), holders(made) == 0)
    np.testing.assert_array_equal(missing.all(axis=1), holders(made) == 0)


def test_a_column_that_a_holder_lacks_comes_from_another_holder():
    whole = table(300)
    made = hybrid(whole, HybridCut(passive=["a", "b"], parties=4, holders=4, dropped=1, seed=2))
    assert {part.n_columns for part in made.passive.values()} == {1, 2}
    np.testing.assert_array_equal(made.pooled().aligned(whole.columns).values, whole.values)


def test_where_parties_disagree_the_least_claim_decides_whatever_their_order():
    ids = np.arange(200)
    active = Table.of(np.zeros((200, 1)), np.zeros(200), names=["own"], ids=ids)
    parties = {name: Table.of(np.full((200, 1), i), names=["p"], ids=ids) for i, name in enumerate(["x", "y", "z"])}
    one = pooled(active, parties).values[:, 1]
    assert {0.0, 1.0, 2.0} == set(one.tolist())
    np.testing.assert_array_equal(one, pooled(active, dict(reversed(parties.items()))).values[:, 1])


def test_merged_parties_are_one_passive_table():
    whole = table(300)
    made = hybrid(whole, HybridCut(passive=["a", "b"], parties=3, holders=2, uncovered=0.2, seed=2))
    one = merged(made.passive)
    assert len(set(one.ids.tolist())) == one.n_rows == (holders(made) > 0).sum()
    np.testing.assert_array_equal(pooled(made.active, {"all": one}).values, made.pooled().values)


def test_ids_as_text_match_the_same_numbers():
    whole = table(50, ids=np.array([f"{i}" for i in range(50)], object))
    made = hybrid(whole, HybridCut(passive=["a"]))
    assert not np.isnan(made.pooled().values).any()


# What is refused

REFUSED = {
    "how='odd' is unknown": {"passive": 1, "how": "odd"},
    "choose one of them": {"passive": 1, "how": "labels", "by": "a"},
    "name the column in by=": {"passive": 1, "parties": None},
    "parties must be a whole number of at least 1; it is 0": {"passive": 1, "parties": 0},
    "passive must be a whole number of at least 1; it is 0": {"passive": 0},
    "3 parties cannot hold each row where there are 2": {"passive": 1, "parties": 2, "holders": 3},
    "uncovered must be a number from 0 to below 1; it is 1.5": {"passive": 1, "uncovered": 1.5},
    "active_rows must be a number above 0 and at most 1; it is 0": {"passive": 1, "active_rows": 0},
    "alpha must be a number above 0": {"passive": 1, "alpha": 0},
    "leave names= out": {"passive": 1, "parties": None, "by": "a", "names": ["x"]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_options_that_cannot_be_are_refused(message):
    with pytest.raises(ParameterError, match=message):
        HybridCut(**REFUSED[message])


UNFIT = {
    "passive= names the column 'z', which is not there": {"passive": ["z"]},
    "6 of 6 columns cannot be passive": {"passive": 6},
    "All columns are passive": {"passive": NAMES},
    "choose at most 1": {"passive": 2, "dropped": 2},
    "too few rows for a row at each passive party": {"passive": 2, "parties": 50},
    "5 passive parties need as many names": {"passive": 2, "names": ["x"]},
    "by= names the column 'z'": {"passive": 2, "by": "z"},
    "has 20 values, too few for 30 parties": {"passive": 2, "by": "a", "parties": 30},
}


@pytest.mark.parametrize("message", UNFIT)
def test_a_table_that_does_not_fit_is_refused(message):
    with pytest.raises(DataError, match=message):
        hybrid(table(20), HybridCut(**UNFIT[message]))


def test_labels_are_needed_to_skew_them():
    with pytest.raises(DataError, match="the table has none"):
        hybrid(replace(table(20), labels=None), HybridCut(passive=1, how="labels"))


def test_tables_that_cannot_be_joined_are_refused():
    made = hybrid(table(20), HybridCut(passive=["a"], parties=1))
    own = made.passive["passive1"]
    with pytest.raises(DataError, match="both have a column 'a'"):
        pooled(table(20), made.passive)
    with pytest.raises(DataError, match="'x' has no ids"):
        pooled(made.active, {"x": replace(own, ids=None)})
    with pytest.raises(DataError, match="repeat an earlier one"):
        pooled(made.active, {"x": replace(own, ids=np.zeros(20, np.int64))})
    with pytest.raises(DataError, match="Party 'x' has a sparse table; make it dense"):
        pooled(made.active, {"x": replace(own, values=sparse.csr_array(own.values))})
    with pytest.raises(DataError, match="no passive parties to merge"):
        merged({})
    with pytest.raises(ParameterError, match="test_rows='odd' is unknown"):
        hybrid_pair(table(20), table(20), HybridCut(passive=1), test_rows="odd")
