"""Requests and answers of a vertical run have the sizes that the plan gives them; longer ones are refused unread."""

import numpy as np
import pytest

from federated import Federation, labels, params_of, step, until, values
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ProtocolError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.vertical import hidden_sizes
from hedgerow.protocols.vertical import party as passive_side
from hedgerow.protocols.vertical.passive_rows import PassiveRows

BESIDE = 3 << 20
"""Bytes of a public key and of lists of nodes, with room to spare."""

RUNS = {
    "plain": {"protection": "plain"},
    "Paillier": {"protection": "paillier", "key_bits": 2048},
    "lattice": {"protection": "lattice"},
    "lattice, a link": {"protection": "lattice", "link_mbit": 50.0},
    "hidden": {"protection": "lattice", "hidden_rows": True},
    "hidden, a link": {"protection": "lattice", "link_mbit": 50.0, "hidden_rows": True},
}
PARAMS = {
    "one tree": {"n_estimators": 1},
    "deep": {"n_estimators": 1, "max_depth": 5, "min_child_weight": 0.01},
    "drawn": {"n_estimators": 2, "subsample": 0.4},
}


def federation(run, kind="many", n=250, **params):
    n = 30 if run == "Paillier" else n
    X, signal = values(n, n_columns=9)
    table = Table.of(X, labels(kind, signal))
    parties = partition.columns(table, share=[[8], list(range(8))])
    return Federation(parties, params_of(**params), method="vertical", active="party1", **RUNS[run])


@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("run", RUNS)
def test_no_honest_request_is_longer_than_the_party_allows(run, params, monkeypatch):
    monkeypatch.setattr(passive_side, "MOST_SMALL", BESIDE)
    monkeypatch.setattr(hidden_sizes, "MEMBERS", 1000)
    fed, limits = federation(run, "two" if run == "Paillier" else "many", **PARAMS[params]), []
    honest = passive_side.VerticalParty._answer

    def answer(self, request, frame):
        reply = honest(self, request, frame)
        limits.append(self.most_bytes)
        return reply

    monkeypatch.setattr(passive_side.VerticalParty, "_answer", answer)
    fed.model()
    asked = fed.of("AskSealedSums", "AskHiddenSums", "AskHiddenSides")
    assert asked
    assert max(limits) < 30 * max(len(heard.frame) for heard in asked) + 2 * BESIDE


@pytest.mark.parametrize("run", ["plain", "lattice", "hidden"])
def test_a_longer_request_is_refused_before_it_is_read(run, monkeypatch):
    monkeypatch.setattr(passive_side, "MOST_SMALL", BESIDE)
    fed = federation(run, n_estimators=2)
    kind = m.AskHiddenSums if run == "hidden" else m.AskSealedSums
    request, party = until(fed, step(kind, 0, 1)), fed.parties["party2"]
    long = encode(request) + bytes(BESIDE + party.passive.most_request)
    with pytest.raises(ProtocolError, match="bytes where the plan allows"):
        party.answer(long)


def test_what_is_allowed_follows_the_layout_and_not_a_number_of_bytes_a_row():
    """Few sums of many rows lie in a few bytes a row, many sums of few rows in tens of thousands."""
    few = RowsPlan(rows=500_000, bounds=(128, 128), groups=300, columns=10, run_sums=1 << 24)
    many = RowsPlan(rows=20_000, bounds=(128, 128), groups=20_000, columns=100, nodes=128, run_sums=1 << 28)
    assert Lattice().most_rows_bytes(few) < few.rows << 10
    assert many.rows << 14 < Lattice().rows_bytes(many) <= Lattice().most_rows_bytes(many)


@pytest.mark.parametrize("run", ["plain", "lattice"])
def test_an_answer_that_is_longer_than_its_sums_is_refused_with_the_partys_name(run, monkeypatch):
    honest = PassiveRows._sealed_sums
    monkeypatch.setattr(PassiveRows, "_sealed_sums", lambda *told: honest(*told) + bytes(100_000))
    with pytest.raises(ProtocolError, match=r"Party 'party2' answered what cannot be used\. A message has"):
        federation(run, n_estimators=1).model()


def test_sides_that_are_more_than_the_rows_asked_about_are_refused_with_the_partys_name(monkeypatch):
    monkeypatch.setattr(PassiveRows, "sides", lambda *_: m.Sides(np.zeros(5000, np.uint8)))
    with pytest.raises(ProtocolError, match=r"Party 'party2' answered what cannot be used\. A message has"):
        federation("plain", n_estimators=1).model()
