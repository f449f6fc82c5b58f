"""A run whose sums may have no room in its cipher is refused before the first tree, and told how many bits have it."""

import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federated import Federation, labels, params_of, values
from hedgerow.corridor.messages import BeginSealed
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.protocols.vertical import active, hidden_active
from hedgerow.protocols.vertical.room import ensure_room, largest

sys.path.insert(0, str(Path(__file__).parents[1] / "equal"))
from test_hybrid import banks_of, hybrid

MILLION = 1_000_000


def begin(together, bits):
    return BeginSealed(0, 1, 1 << (bits - 1), 300, 10, 4 * 300 * 50 * 64, together)


def refused(rows, together, bits):
    """The sentence; none where there is room."""
    try:
        ensure_room(Lattice(), "oak", begin(together, bits), lambda sizes: (largest(sizes, rows, once=False),))
    except ParameterError as error:
        return str(error)
    return ""


def test_a_large_shared_run_is_told_how_many_bits_have_room():
    told = refused(MILLION, 5 * MILLION, 12)
    assert "gradient_bits = 12" in told
    bits = int(told.partition("set gradient_bits = ")[2].partition(",")[0])
    assert 2 <= bits < 12
    assert not refused(MILLION, 5 * MILLION, bits)
    assert refused(MILLION, 5 * MILLION, bits + 1)


def test_where_no_bits_have_room_fewer_rows_are_the_way():
    told = refused(2**34, 2**36, 12)
    assert "; train on fewer rows" in told


@settings(max_examples=30)
@given(st.integers(8, 31), st.integers(1, 10**7), st.integers(0, 10**7), st.floats(0, 1), st.floats(0, 1))
def test_what_has_room_in_the_largest_node_has_it_in_every_one(bits, rows, others, share, part):
    cipher = Lattice()
    try:
        cipher.ensure_rows(largest(begin(rows + others, bits), rows, once=False))
    except (ParameterError, PrivacyError):
        return
    some = max(1, int(rows * share))
    cipher.ensure_rows(largest(begin(max(some, int((rows + others) * part)), bits), some, once=False))


def wider(monkeypatch, times):
    """As if there were 2 to this times the rows."""

    def wide(sizes, rows, once, summand=0):
        return largest(msgspec.structs.replace(sizes, together=sizes.together << times), rows << times, once, summand)

    monkeypatch.setattr(active, "largest", wide)
    honest = hidden_active.hidden_plans
    monkeypatch.setattr(hidden_active, "hidden_plans", lambda sizes, hidden, n: honest(sizes, hidden, n << times))


def asked(fed):
    return [heard.kind for heard in fed.heard if heard.kind in ("BeginSealed", "AskSealedSums", "AskHiddenSums")]


@pytest.mark.parametrize("kind", ["shared", "vertical", "hidden"])
def test_such_a_run_is_refused_before_anything_is_sealed(kind, monkeypatch):
    """By rows that are taken to be many; the same run with as many as there are ends well."""
    params = params_of(max_depth=3, n_estimators=1, gradient_bits=24)

    def federation():
        if kind == "shared":
            return hybrid(banks_of(n=200)[0], params, levels="AJJ", shared=True, protection="lattice")
        parties = partition.columns(Table.of(values(200)[0], labels("two", values(200)[1])), n=2)
        hides = {"hidden_rows": True} if kind == "hidden" else {"levels": "AAJ"}
        return Federation(parties, params, method="vertical", active="party1", protection="lattice", **hides)

    honest = federation()
    honest.model()
    assert asked(honest)
    wider(monkeypatch, 18)
    fed = federation()
    with pytest.raises(ParameterError, match=r"gradient_bits = 24 .* set gradient_bits = \d+"):
        fed.model()
    assert asked(fed) == []


def test_levels_that_ask_nobody_need_no_room(monkeypatch):
    wider(monkeypatch, 30)
    params = params_of(max_depth=2, n_estimators=1)
    assert hybrid(banks_of(n=200)[0], params, levels="AA", protection="lattice").model().forest.n_trees == 1
