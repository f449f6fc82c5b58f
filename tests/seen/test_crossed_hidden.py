"""Hidden rows: what a passive party hears does not depend on the labels, but for its own chosen cuts."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from federated import TINY, Federation, values
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ProtocolError
from hedgerow.privacy.unencrypted.cipher import Unencrypted
from hedgerow.protocols.vertical import hidden_active, passive_table
from hedgerow.protocols.vertical import talk as vertical_talk
from hedgerow.protocols.vertical.active import VerticalRows
from hedgerow.protocols.vertical.hidden_passive import HiddenPassiveRows

TREES = replace(TINY, max_depth=3, min_cut_rows=1)
N = 60
RANDOM = {"public_key", "signature", "keys", "model"}
OWN_CUTS = ("AskHiddenSides", "HiddenSides")


def tables(simple=False):
    """Three parties; labels that one cut of the active party explains, or as many of each class all over the place."""
    X, _ = values(N, n_columns=4, missing=0)
    y = X[:, 0] > np.median(X[:, 0])
    shuffled = np.random.default_rng(1).permutation(y)
    return partition.columns(Table.of(X, (y if simple else shuffled).astype(int)), share=[[0], [1], [2, 3]])


def run(simple=False, hidden_rows=True):
    plan = {"protection": "lattice", "hidden_rows": hidden_rows}
    fed = Federation(tables(simple), TREES, method="vertical", active="party1", **plan)
    fed.model()
    return fed


def clear(fed, *left_out):
    """All that passive parties hear and can read, but for what is fresh in every run; of what is sealed, its length."""
    out = []
    for one in fed.heard:
        if one.sender != "driver" or one.kind in left_out:
            continue
        for field, how in m.travels(type(one.message)).items():
            value = msgspec.to_builtins(getattr(one.message, field), enc_hook=lambda array: array.tobytes())
            fresh = field in RANDOM or how.how == "sealed"
            length = len(value) if isinstance(value, bytes) else None
            out.append((one.receiver, one.kind, field, length if fresh else value))
    return out


def shapes(fed):
    """How many cuts each tree of the model has."""
    return [len(fed.of(kind)) for kind in OWN_CUTS]


def test_other_labels_change_nothing_that_passive_parties_read_but_their_own_cuts():
    one, other = run(simple=True), run()
    assert shapes(one) != shapes(other), "the trees must differ"
    assert clear(one, *OWN_CUTS) == clear(other, *OWN_CUTS)


def test_without_hidden_rows_they_show():
    one, other = run(simple=True, hidden_rows=False), run(hidden_rows=False)
    assert clear(one, "AskSides") != clear(other, "AskSides")


def test_levels_that_are_left_out_where_a_tree_has_none_show_too(monkeypatch):
    """The sabotage: a tree that ends early is not padded."""
    monkeypatch.setattr(hidden_active.HiddenRows, "finish_round", VerticalRows.finish_round)
    assert clear(run(simple=True), *OWN_CUTS) != clear(run(), *OWN_CUTS)


def test_nothing_of_a_run_that_tells_nodes_is_said():
    fed = run()
    assert len(fed.of("AskHiddenSides")) > 2
    assert not fed.of("AskSealedSums", "AskSides", "Sides")
    rounds = [(one.message.round, one.message.level) for one in fed.of("AskHiddenSums") if one.receiver == "party2"]
    assert rounds == [(round_, level) for round_ in range(2) for level in range(3)]


def test_cuts_come_in_an_order_of_their_own_not_of_their_nodes():
    several = [one.message.cuts for one in run().of("AskHiddenSides") if len(one.message.cuts.column) > 1]
    assert several
    for cuts in several:
        places = list(zip(cuts.column.tolist(), cuts.bin.tolist(), strict=True))
        assert places == sorted(places)


# What is sealed


def members_of(patch):
    """A run, and who was at the nodes of its cuts, as bytes that a frame might hold."""
    kept, begin = [], hidden_active._Members.__init__

    def noting(self, *more):
        begin(self, *more)
        kept.append(self.own_members)

    patch.setattr(hidden_active._Members, "__init__", noting)
    fed = run()
    texts = [members[:, i] for members in kept for i in range(members.shape[1])]
    needles = [text.astype(kind).tobytes() for text in texts for kind in ("<i8", "<i4", "u1", "<f4")]
    needles += [
        np.packbits(text.astype(bool), bitorder=order).tobytes() for text in texts for order in ("big", "little")
    ]
    return fed, [needle for needle in needles if len(set(needle)) > 1]


def test_nobody_can_read_who_is_at_a_node(monkeypatch):
    fed, needles = members_of(monkeypatch)
    assert len(needles) > 20
    assert not [needle for needle in needles if any(needle in one.frame for one in fed.heard)]


def test_without_encryption_one_could(monkeypatch):
    """The sabotage: the same search finds them."""
    for place in (vertical_talk, passive_table):
        monkeypatch.setattr(place, "cipher_of", lambda _: Unencrypted())
    fed, needles = members_of(monkeypatch)
    assert [needle for needle in needles if any(needle in one.frame for one in fed.heard)]


def test_the_active_party_opens_sides_of_the_rows_of_its_nodes_only(monkeypatch):
    opened, sides = [], hidden_active._Members.sides

    def noting(self, party, answer):
        secret = self.rows.sealing.secret
        told = secret.open_slots(secret.public.read_slots(answer.sealed_sides, self.plan, 1, 1))[:, 0]
        opened.append((told, self.own_members.sum(axis=1)))
        return sides(self, party, answer)

    monkeypatch.setattr(hidden_active._Members, "sides", noting)
    run()
    assert any(told.any() for told, _ in opened)
    for told, at_nodes in opened:
        assert not told[at_nodes == 0].any()


def test_a_party_that_tells_sides_of_other_rows_is_found_out(monkeypatch):
    """It cannot read whose sides are wanted, and what it adds shows."""

    def lying(self, request):
        plan = hidden_active.sides_plan(self.hidden, N, len(request.cuts.column))
        ones = np.zeros((N, plan.entries), np.int64)
        ones[:, 0] = 1
        own = self.now.public.seal_slots(ones, replace(plan, by_holder=False))
        forged = self.now.public.slot_sums(own, np.ones((N, plan.entries), np.bool_))
        head = forged._head.encode(self.now.public._slots.mark, plan, 1, 1)
        return m.HiddenSides(head + forged.encode()[len(head) :])

    monkeypatch.setattr(HiddenPassiveRows, "hidden_sides", lying)
    with pytest.raises(ProtocolError, match="rows that were not sealed for it"):
        run()
