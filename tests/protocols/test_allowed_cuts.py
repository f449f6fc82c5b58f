"""With `min_child_rows` a passive party says which cuts are allowed, not how many rows its bins have."""

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federated import Federation, labels, params_of, pooled_model, values
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ProtocolError
from hedgerow.protocols.vertical.columns import CutPlaces, with_siblings
from hedgerow.protocols.vertical.passive_rows import PassiveRows
from hedgerow.trees import grow
from hedgerow.trees.splits import Nodes


def table_of(kind, n=300):
    """Numbers with gaps and without, categories with gaps and without."""
    rng = np.random.default_rng(2)
    X, signal = values(n)
    X[:, 3] = np.nan_to_num(X[:, 3])
    town, trade = rng.integers(0, 9, n).astype(np.float32), rng.integers(0, 4, n).astype(np.float32)
    trade[rng.random(n) < 0.3] = np.nan
    signal = signal + (town == 3) - (trade == 1)
    return Table.of(np.column_stack([X, town, trade]), labels(kind, signal), categorical=[5, 6])


def federation(kind="two", protection="plain", **params):
    table = table_of(kind)
    parties = partition.columns(table, share=[[4], [0, 5], [1, 2, 3, 6]])
    table = table.aligned([column for party in parties.values() for column in party.columns])
    params = params_of(**params)
    plan = {"method": "vertical", "protection": protection, "active": "party1"}
    return Federation(parties, params, **plan), pooled_model(table, params).forest


CASES = {
    "2 rows": {"min_child_rows": 2, "max_depth": 6, "min_child_weight": 0.0},
    "20 rows": {"min_child_rows": 20, "max_depth": 5},
    "half of the rows": {"min_child_rows": 150},
    "nearly half": {"min_child_rows": 149, "min_cut_rows": 1},
    "rows of no weight": {"min_child_rows": 30, "gradient_bits": 2, "min_child_weight": 0.0, "max_depth": 4},
    "drawn": {"min_child_rows": 9, "subsample": 0.6, "colsample_bynode": 0.7},
    "a forest": {"min_child_rows": 9, "average": True, "subsample": 0.6, "max_depth": 5},
    "lattice": {"min_child_rows": 9, "protection": "lattice", "n_estimators": 2},
}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("kind", ["two", "many"])
@pytest.mark.parametrize("case", CASES)
def test_the_forest_is_the_pooled_one(case, kind, large, monkeypatch):
    if large:
        monkeypatch.setattr(grow, "LARGEST_LEVEL", 1 << 14)
    fed, pooled = federation(kind, **CASES[case])
    own = fed.model().forest
    for part in ("columns", "missing_left", "children", "values", "category_sets", "gains"):
        assert np.array_equal(getattr(own, part), getattr(pooled, part))
    assert all(heard.kind != "SealedSums" for heard in fed.heard)


def test_the_rule_matters_in_these():
    for case, params in CASES.items():
        free = {**params, "min_child_rows": 1}
        if "protection" not in params:
            assert federation(**params)[1] != federation(**free)[1], case


# Numbers of rows


@st.composite
def columns(draw):
    """Bins of a few columns, and rows in them at a few nodes, each of which has all its rows in every column."""
    n = draw(st.integers(1, 4))
    n_values = np.array(draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)))
    has_missing = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    categorical = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    total = rng.integers(0, 12, 3)
    widths = n_values + has_missing
    parts = [[rng.multinomial(t, rng.dirichlet(np.ones(w) / 2)) for t in total] for w in widths]
    counts = np.concatenate([*(np.array(part) for part in parts), total[:, None]], axis=1)
    return n_values, has_missing, categorical, counts.astype(np.int64), draw(st.integers(2, 6))


def allowed(counts, n_values, missing, fewest):
    """Which cuts of a column leave rows enough, as the search for cuts counts: missing left, then missing right.

    It passes over the empty bins that a column begins with.
    """
    total, column = counts[-1], counts[:-1]
    gaps = column[n_values] if missing else 0
    left = np.cumsum(column[:n_values])
    some = np.cumsum(column[:n_values] != 0) > 0
    enough = [np.minimum(rows, total - rows) >= fewest for rows in (left + gaps, left)]
    return [(rows & some).tolist() for rows in enough]


@settings(max_examples=300, deadline=None)
@given(columns())
def test_the_numbers_made_of_bits_allow_the_same_cuts_and_those_of_categories_are_the_true(case):
    n_values, has_missing, categorical, counts, fewest = case
    places = CutPlaces.of(n_values, has_missing, categorical)
    answer = m.AllowedSums(b"", *places.told(counts, fewest))
    made = places.rows(*places.split(answer, len(counts)), counts[:, -1], fewest)
    starts = np.concatenate([[0], np.cumsum(n_values + has_missing)])
    for node in range(len(counts)):
        for c, (first, last) in enumerate(pairwise(starts)):
            true, told = counts[node, first:last], made[node, first:last]
            if categorical[c]:
                assert np.array_equal(true, told)
            else:
                both = [np.append(rows, counts[node, -1]) for rows in (true, told)]
                one, other = (allowed(rows, n_values[c], has_missing[c], fewest) for rows in both)
                assert one == other


def test_nodes_go_with_their_siblings():
    nodes = with_siblings(Nodes(np.array([0, 0, 1]), np.array([0, 3, 6])))
    assert nodes.tree.tolist() == [0, 0, 1, 0, 1]
    assert nodes.node.tolist() == [0, 3, 6, 4, 5]


# What is told


def told_by(tables, **params):
    fed = Federation(tables, params_of(**params), method="vertical", protection="plain", active="party1")
    fed.model()
    return [(heard.message.allowed.tolist(), heard.message.counts.tolist()) for heard in fed.of("AllowedSums")]


def one_column(ends):
    """Ten rows in every bin but the first two, which have so many; the active party's column is the better one."""
    x = np.repeat(np.arange(10.0), [ends, 20 - ends, *[10] * 8]).astype(np.float32)
    y = np.random.default_rng(0).integers(0, 2, 100)
    return partition.columns(Table.of(np.column_stack([y * 10.0, x]), y), share=[[0], [1]])


def test_rows_of_a_numbers_bins_are_not_told():
    """Other numbers of rows in bins that no cut divides, and every bit stays the same."""
    params = {"min_child_rows": 20, "max_depth": 1, "n_estimators": 1, "min_cut_rows": 1}
    one, other = (told_by(one_column(ends), **params) for ends in (3, 11))
    assert one == other
    assert one[0][1] == []


def test_the_bits_follow_the_rows_where_these_decide():
    """Without this the test above could compare nothing."""
    params = {"min_child_rows": 8, "max_depth": 1, "n_estimators": 1, "min_cut_rows": 1}
    one, other = (told_by(one_column(ends), **params) for ends in (3, 11))
    assert one != other


def counted(monkeypatch=None):
    """Bits that both sides say were given beside the sums themselves, by party."""
    if monkeypatch is not None:
        monkeypatch.setattr(CutPlaces, "room", lambda *_: 0)
    fed, _ = federation(min_child_rows=9, protection="lattice", n_estimators=2)
    state = fed.run(notes_bins=True)[1]
    carried = {name: party.passive.run.given.bits for name, party in fed.parties.items()}
    assert {name: bits for name, (_, bits) in state.learnt.opened.items()} == carried
    return fed, carried


def test_both_sides_count_what_is_told_with_the_sums_among_the_bits_that_were_given(monkeypatch):
    fed, carried = counted()
    sums = counted(monkeypatch)[1]  # the sabotage: only the sums count
    for name in carried:
        told = [heard.message for heard in fed.of("AllowedSums") if heard.sender == name]
        n_categories = sum(len(answer.counts) for answer in told)
        assert n_categories
        n_bits = sum(8 * len(answer.allowed) for answer in told)
        beside = carried[name] - sums[name] - n_categories * (300).bit_length()
        assert n_bits - 8 * len(told) < beside <= n_bits


# What is not believed

replace = msgspec.structs.replace
FALSE = {
    "too few bits": (lambda a: replace(a, allowed=a.allowed[1:]), "did not say which cuts leave rows enough"),
    "too many bits": (lambda a: replace(a, allowed=np.append(a.allowed, a.allowed)), "did not say which cuts"),
    "too few counts": (lambda a: replace(a, counts=a.counts[1:]), "did not say which cuts"),
    "negative counts": (lambda a: replace(a, counts=a.counts - 1000), "did not say which cuts"),
    "no bits at all": (lambda a: m.SealedSums(a.sealed_sums), "answered SealedSums where AllowedSums was asked for"),
    "every cut is allowed": (
        lambda a: replace(a, allowed=np.full_like(a.allowed, 255)),
        "allowed a cut that leaves fewer rows on a side",
    ),
}


@pytest.mark.parametrize("false", FALSE)
def test_what_cannot_be_is_refused_with_the_partys_name(false, monkeypatch):
    change, match = FALSE[false]
    fed, _ = federation(min_child_rows=140)
    honest = PassiveRows.sums

    def sums(self, request):
        answer = honest(self, request)
        return change(answer) if fed.parties["party2"].passive is self else answer

    monkeypatch.setattr(PassiveRows, "sums", sums)
    with pytest.raises(ProtocolError, match=f"Party 'party2' {match}"):
        fed.model()
