"""A passive party that makes up sums is caught at the first cut that they bring about, and reads no labels by them."""

from dataclasses import replace

import numpy as np
import pytest

from federated import Federation, Lossy, labels, params_of, pooled_model, same, step, values
from hedgerow import _native
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import CipherError, PrivacyError
from hedgerow.privacy.lattice.rows import ROWS
from hedgerow.privacy.shapes import Selection
from hedgerow.privacy.unencrypted.values import HEAD, ClearRows
from hedgerow.protocols.vertical.answer_checks import ClaimedSums, SaidBefore
from hedgerow.protocols.vertical.columns import Asked
from hedgerow.protocols.vertical.hidden_passive import HiddenPassiveRows
from hedgerow.protocols.vertical.hidden_sizes import sums_plan
from hedgerow.protocols.vertical.passive_rows import PassiveRows
from hedgerow.protocols.vertical.passive_table import PassiveTable
from hedgerow.trees import grow

AT_THE_CUT = "'party2' gave sums of a cut that are not those of the rows that it says go left"
IN_BINS = "gave sums that the rows of the node cannot have"
IN_CHILDREN = "gave sums of bins in which, by the sides that it told, the node has no rows"
AGAIN = "'party2' says something else of the same rows than before"
OTHERS = "'party2' describes other columns than before"


def off(monkeypatch, *checks):
    """The active party believes what it is told."""
    for check in checks:
        monkeypatch.setattr(SaidBefore if hasattr(SaidBefore, check) else ClaimedSums, check, lambda *_: None)


# Honest parties


def table_of(kind="two", n=250):
    """Numbers with gaps, and two columns of categories of which one has gaps."""
    rng = np.random.default_rng(5)
    X, signal = values(n)
    town, trade = rng.integers(0, 7, n).astype(np.float32), rng.integers(0, 4, n).astype(np.float32)
    trade[rng.random(n) < 0.2] = np.nan
    signal = signal + (town == 3) - (trade == 1)
    return Table.of(np.column_stack([town, X, trade]), labels(kind, signal), categorical=[0, 6])


HONEST = {
    "deep": ("two", {"max_depth": 6, "min_child_weight": 0.01}, {}),
    "classes": ("many", {}, {}),
    "drawn": ("many", {"subsample": 0.6, "colsample_bynode": 0.7}, {}),
    "a random forest": ("two", {"average": True, "subsample": 0.6}, {}),
    "rows of a child": ("two", {"min_child_rows": 9}, {}),
    "lattice": ("many", {"n_estimators": 2}, {"protection": "lattice"}),
    "hidden": ("many", {"n_estimators": 2, "subsample": 0.6}, {"protection": "lattice", "hidden_rows": True}),
    "Paillier": ("two", {"n_estimators": 1, "max_depth": 2}, {"protection": "paillier", "key_bits": 2048}),
}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("case", HONEST)
def test_honest_parties_are_believed_at_every_cut(case, large, monkeypatch):
    """Also where a level is too large to be kept, so that both of two siblings are asked for."""
    kind, params, plan = HONEST[case]
    if large and not plan:
        monkeypatch.setattr(grow, "LARGEST_LEVEL", 1 << 13)
    checked, honest = [], ClaimedSums._check_cut
    monkeypatch.setattr(ClaimedSums, "_check_cut", lambda *told: checked.append(told[1]) or honest(*told))
    table, params = table_of(kind, 60 if case == "Paillier" else 250), params_of(**params)
    share = [[5], [0, 1], [2, 3, 4, 6]]
    parties = partition.columns(table, share=share)
    table = table.aligned([column for party in parties.values() for column in party.columns])
    plan = {"protection": "plain", "method": "vertical", "active": "party1", **plan}
    fed, pooled = Federation(parties, params, Goal(), **plan), pooled_model(table, params)
    own = fed.model()
    for part in ("columns", "children", "values", "category_sets", "gains"):
        assert np.array_equal(getattr(own.forest, part), getattr(pooled.forest, part))
    assert len(checked) == (pooled.forest.columns >= 1).sum() > 0
    assert set(checked) == {"party2", "party3"}


# The attack

KNOWN, TOGETHER, LARGER = 0, 4, 7
"""A row whose label the attacker knows, how many rows it asks about in a tree, and by which power of two it lies."""


class Reader:
    """Sums scaled gradients of chosen rows as columns; the column that is cut is that of rows with one label."""

    def __init__(self, own_labels):
        self.own_labels, self.found, self.asked_about = own_labels, {}, {}

    def codes(self, order, round_):
        first = 1 + round_ * (TOGETHER - 1)
        rows = self.asked_about[round_] = [KNOWN, *range(first, first + TOGETHER - 1)]
        place = {int(row): i for i, row in enumerate(order)}
        codes = np.full((2**TOGETHER - 1, len(order)), 255, np.uint8)
        for column in range(1, 2**TOGETHER):
            chosen = [place[row] for i, row in enumerate(rows) if column >> i & 1]
            codes[column - 1, chosen] = 0
        return codes

    def read(self, column, round_):
        rows = self.asked_about[round_]
        alike = {row for i, row in enumerate(rows) if int(column) + 1 >> i & 1}
        mine = self.own_labels[KNOWN]
        same_as_mine = alike if KNOWN in alike else set(rows) - alike
        self.found.update({row: mine if row in same_as_mine else 1 - mine for row in rows if row != KNOWN})


def larger(rows):
    """What is sealed, so many times, without a key."""
    if isinstance(rows, ClearRows):
        return ClearRows(rows._clear << LARGER, rows.plan, rows._key)
    for _ in range(LARGER):
        head = replace(rows.head, kind=ROWS)
        native = (rows.sealed, rows.sealed, False, head.encode(rows.layout), 1)
        rows = replace(rows, head=head, data=_native.lattice_add_rows(*native))
    return rows


def attack(monkeypatch, reader):
    """Every passive party is this one; at levels below the first it sums nothing at all."""

    def summed(self, sealed, plan, nodes, order, request):
        codes = np.full((2**TOGETHER - 1, plan.rows), 255, np.uint8)
        if request.level == 0:
            codes, sealed = reader.codes(order, request.round), larger(sealed)
        return self.now.public.group_sums(sealed, Selection(codes, self.run.table.widths), nodes).encode()

    def sums(self, begun, request, nodes):
        asked = Asked.of(begun, self.now.parts[0], nodes, self.run.table.cipher.seals_once)
        if asked.sealed_now(request.level):
            self.now.sealed_gradients = request.sealed_gradients
        sealed = self.now.public.read_rows(self.now.sealed_gradients, asked.plan)
        return summed(self, sealed, asked.plan, asked.nodes, asked.rows, request)

    def hidden_sums(self, begun, request, now):
        plan = sums_plan(begun, self.hidden, request.level, now, self.now.n_counted)
        sealed = self.now.public.read_rows(request.sealed_gradients, plan)
        return m.SealedSums(summed(self, sealed, plan, self.now.everybody, self.now.parts[0].orders[0], request))

    monkeypatch.setattr(PassiveRows, "_sealed_sums", sums)
    monkeypatch.setattr(HiddenPassiveRows, "_summed", hidden_sums)


def attacked(monkeypatch, **plan):
    """A federation whose passive party has nothing but columns of noise, and what it reads."""
    X, signal = values(1200, n_columns=3, missing=0)
    y, noise = labels("two", signal), np.random.default_rng(1).integers(0, 2, (1200, 2**TOGETHER - 1))
    table = Table.of(np.hstack([X, noise.astype(np.float32)]), y)
    parties = partition.columns(table, share=[[0, 1, 2], list(range(3, 2 + 2**TOGETHER))])
    params = params_of(n_estimators=8, max_depth=2, learning_rate=0.3)
    fed = Federation(parties, params, method="vertical", active="party1", **plan)
    reader = Reader(y)
    attack(monkeypatch, reader)

    def asked_for():
        for heard in fed.of("AskSides", "AskHiddenSides"):
            request = heard.message
            if request.level == 1:
                reader.read(request.cuts.column[0], request.round)
        return reader.found

    return fed, asked_for


WAYS = {
    "plain": {"protection": "plain"},
    "lattice": {"protection": "lattice"},
    "hidden": {"protection": "lattice", "hidden_rows": True},
}


@pytest.mark.parametrize("way", WAYS)
def test_scaled_gradients_of_chosen_rows_are_caught_at_the_first_cut(way, monkeypatch):
    fed, read = attacked(monkeypatch, **WAYS[way])
    with pytest.raises(PrivacyError, match=AT_THE_CUT):
        fed.model()
    assert len(read()) == TOGETHER - 1
    last = [heard.kind for heard in fed.heard if heard.receiver == "party2"][-1]
    assert last in ("AskSides", "AskHiddenSides")
    assert len(fed.of("Propose")) == 1


@pytest.mark.parametrize("way", WAYS)
def test_the_same_party_reads_labels_in_every_tree_if_it_is_believed(way, monkeypatch):
    off(monkeypatch, "_check_cut", "_check_bins", "_check_children")
    fed, read = attacked(monkeypatch, **WAYS[way])
    fed.model()
    found = read()
    right = sum(fed.tables["party1"].labels[row] == label for row, label in found.items())
    assert len(found) == 8 * (TOGETHER - 1)
    assert right >= 0.9 * len(found)


# Liars of one kind each: the run would end well without just the check that catches them


def federation(levels="", **params):
    table = Table.of(values(300)[0], labels("two", values(300)[1]))
    parties = partition.columns(table, share=[[4], [3], [0, 1, 2]])
    params = params_of(**{"n_estimators": 2, "max_depth": 2, **params})
    return Federation(parties, params, method="vertical", protection="plain", active="party1", levels=levels)


def lying(monkeypatch, fed, party, lie):
    """This party changes the sums that it gives: nodes x groups x 2."""
    honest = PassiveRows._sealed_sums

    def sums(self, begun, request, nodes):
        given = honest(self, begun, request, nodes)
        if fed.parties[party].passive is not self:
            return given
        opened = np.frombuffer(given, "<i8", offset=HEAD.size).reshape(len(nodes.tree), -1, 2).copy()
        lie(self, request, opened)
        return given[: HEAD.size] + opened.tobytes()

    monkeypatch.setattr(PassiveRows, "_sealed_sums", sums)


def other_rows(rows, request, opened):
    """Its sums are those of rows, but not of those whose sides it tells: its first column's bins in another order."""
    first = slice(0, int(rows.run.table.widths[0]))
    opened[:, first] = opened[:, first][:, ::-1].copy()


def impossible(rows, request, opened):
    """A column that can never be cut, for nothing weighs anything in it, with more than all gradients there are."""
    first = slice(0, int(rows.run.table.widths[0]))
    opened[:, first] = 0
    opened[:, 0, 0] = rows.run.begun.bound * rows.run.table.own.matrix.n_rows


def elsewhere(rows, request, opened):
    """Below its cut a unit of a hessian lies just behind the cut, where it changes no cut that is to come."""
    if request.level == 1 and rows.run.cuts:
        cut = rows.run.cuts[0]
        behind = int(rows.run.table.widths[: cut.column[0]].sum() + cut.bin[0]) + (request.nodes.node[0] == 1)
        before = behind - 1 if request.nodes.node[0] == 1 else behind + 1
        opened[0, before, 1] -= 1
        opened[0, behind, 1] += 1


def otherwise(rows, request, opened):
    """Asked about a node that nothing improved a second time, it has a unit of a hessian in the next bin."""
    if request.level == 1:
        opened[0, 0, 1] -= 1
        opened[0, 1, 1] += 1


LIES = {
    "at the cut": (other_rows, "_check_cut", {"max_depth": 1}, "gave sums of a cut"),
    "in bins": (impossible, "_check_bins", {}, IN_BINS),
    "in children": (elsewhere, "_check_children", {}, IN_CHILDREN),
    "asked again": (otherwise, "_check_again", {"levels": "PJ", "gamma": 1e3}, "gave other sums of a node"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_caught_and_the_liar_named(lie, monkeypatch):
    told, _, params, match = LIES[lie]
    fed = federation(**params)
    lying(monkeypatch, fed, "party3", told)
    with pytest.raises(PrivacyError, match=f"Party 'party3' {match}"):
        fed.model()


@pytest.mark.parametrize("lie", LIES)
def test_no_other_check_catches_it(lie, monkeypatch):
    told, check, params, _ = LIES[lie]
    fed = federation(**params)
    lying(monkeypatch, fed, "party3", told)
    off(monkeypatch, check)
    assert fed.model().forest.n_trees == 2


# A party that goes away instead of telling sides


def going(fed, party="party2"):
    """It is lost once, when it has heard which of its columns is cut at the root of the second tree."""
    lost = []

    def lose(name, request):
        gone = name == party and step(m.AskSides, 1, 1)(request) and not lost
        lost.extend([name] if gone else [])
        return gone

    return Lossy(fed, lose), lost


def two_parties(n_estimators=3, **more):
    table = Table.of(values(300)[0], labels("two", values(300)[1]))
    params = params_of(n_estimators=n_estimators, max_depth=2, **more)
    parties = partition.columns(table, share=[[4], [0, 1, 2, 3]])
    table = table.aligned([column for party in parties.values() for column in party.columns])
    fed = Federation(parties, params, method="vertical", protection="plain", active="party1")
    return fed, pooled_model(table, params)


def once(rows, request, opened):
    """It lies before it goes away, and not when it is back."""
    if request.round == 1 and request.level == 0 and not vars(rows).setdefault("lied", False):
        rows.lied = True
        other_rows(rows, request, opened)


def test_a_party_that_goes_away_when_it_has_lied_has_to_say_the_same_again(monkeypatch):
    fed, _ = two_parties()
    transport, lost = going(fed)
    lying(monkeypatch, fed, "party2", once)
    with pytest.raises(PrivacyError, match=AGAIN):
        fed.model(transport=transport)
    assert lost


def test_it_would_be_believed_by_a_party_that_does_not_remember(monkeypatch):
    off(monkeypatch, "hear")
    fed, pooled = two_parties()
    transport, lost = going(fed)
    lying(monkeypatch, fed, "party2", once)
    assert same(fed.whole(transport=transport), pooled)
    assert lost


def choosy(monkeypatch, fed):
    """Its sums stay; at the root of the second tree it allows its columns but the first, then again all of them."""
    honest = PassiveRows._allowed

    def allowed(self, nodes):
        bits, rows = honest(self, nodes)
        if (self.run.round, self.now.level) == (1, 1) and not vars(self).setdefault("lied", False):
            self.lied, some = True, np.unpackbits(bits, count=self.places.n_bits, bitorder="little")
            some[self.places.column[np.concatenate([self.places.either, self.places.beside])] == 0] = 0
            bits = np.packbits(some, bitorder="little")
        return bits, rows

    monkeypatch.setattr(PassiveRows, "_allowed", allowed)


def test_it_cannot_allow_other_cuts_either_and_so_ask_which_of_them_comes_next(monkeypatch):
    fed, _ = two_parties(min_child_rows=9)
    transport, lost = going(fed)
    choosy(monkeypatch, fed)
    with pytest.raises(PrivacyError, match=AGAIN):
        fed.model(transport=transport)
    assert lost


def test_other_cuts_would_be_allowed_to_who_does_not_remember(monkeypatch):
    off(monkeypatch, "hear")
    fed, pooled = two_parties(min_child_rows=9)
    transport, lost = going(fed)
    choosy(monkeypatch, fed)
    assert same(fed.whole(transport=transport), pooled)
    assert lost
    cuts = [heard.message.cuts.column[0] for heard in fed.of("AskSides") if step(m.AskSides, 1, 1)(heard.message)]
    assert len(set(cuts)) == 2


def regrouped(fed):
    """The rows of three of four sets are what it sums, in this order: in two bins of one column or of the other."""
    set_ = np.digitize(values(300)[1], [-1, 0, 1])
    first = np.column_stack([np.minimum(set_, 2), set_ != 2])
    other = np.column_stack([set_ != 0, np.where(set_ == 1, 0, np.where(set_ == 2, 1, 2))])
    tables = [Table.of(columns.astype(np.float32)) for columns in (first, other)]

    def lose(name, request):
        gone = name == "party2" and step(m.AskSides, 0, 1)(request) and fed.tables["party2"] is tables[0]
        if gone:
            fed.tables["party2"] = tables[1]
            fed.restart("party2")
        return gone

    fed.tables = {**fed.tables, "party2": tables[0]}
    fed.restart("party2")
    return Lossy(fed, lose), tables


def test_the_same_sums_cannot_be_those_of_other_columns_when_it_is_back():
    fed, _ = two_parties(min_cut_rows=1)
    transport, tables = regrouped(fed)
    with pytest.raises(PrivacyError, match=OTHERS):
        fed.model(transport=transport)
    assert fed.tables["party2"] is tables[1]


def test_they_would_be_to_who_does_not_remember_columns(monkeypatch):
    off(monkeypatch, "describe")
    fed, _ = two_parties(min_cut_rows=1)
    transport, tables = regrouped(fed)
    assert fed.model(transport=transport).forest.n_trees == 3
    assert fed.tables["party2"] is tables[1]


def emptied(monkeypatch, fed):
    """It lies, goes away, and is back with columns that cannot be cut, so that nobody asks for what it made up."""
    honest = PassiveTable.describe

    def describe(self):
        told, rows = honest(self), fed.parties["party2"].passive
        if rows is not None and rows.run.table is self and vars(rows).get("lied"):
            told = m.OwnColumns(np.ones_like(told.n_values), np.zeros_like(told.has_missing), told.categorical)
        return told

    monkeypatch.setattr(PassiveTable, "describe", describe)
    lying(monkeypatch, fed, "party2", once)


def test_a_party_that_has_lied_cannot_come_back_without_bins(monkeypatch):
    fed, _ = two_parties()
    transport, lost = going(fed)
    emptied(monkeypatch, fed)
    with pytest.raises(PrivacyError, match=OTHERS):
        fed.model(transport=transport)
    assert lost


def test_without_bins_its_lie_would_never_be_found(monkeypatch):
    off(monkeypatch, "describe")
    fed, _ = two_parties()
    transport, lost = going(fed)
    emptied(monkeypatch, fed)
    assert fed.model(transport=transport).forest.n_trees == 3
    assert lost


@pytest.mark.parametrize("fewest", [1, 9])
def test_an_honest_party_that_was_lost_says_the_same_again(fewest):
    fed, pooled = two_parties(min_child_rows=fewest)
    transport, lost = going(fed)
    assert same(fed.whole(transport=transport), pooled)
    assert lost


# Answers that cannot be opened


@pytest.mark.parametrize("hidden", [False, True])
def test_an_answer_that_cannot_be_opened_is_said_with_the_name_of_its_party(hidden, monkeypatch):
    def sums(self, *_):
        return m.SealedSums(b"nothing") if self.hides else b"nothing"

    monkeypatch.setattr(PassiveRows, "_sealed_sums", sums)
    monkeypatch.setattr(HiddenPassiveRows, "_summed", sums)
    table = Table.of(values(100)[0], labels("two", values(100)[1]))
    plan = {"method": "vertical", "protection": "lattice", "active": "party1", "hidden_rows": hidden}
    with pytest.raises(CipherError, match="Party 'party2' answered what cannot be used"):
        Federation(partition.columns(table, n=2), params_of(), **plan).model()
