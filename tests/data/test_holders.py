"""Who speaks for a row that several parties hold."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow.data.holders import NOBODY, claims, holder_of
from hedgerow.errors import ParameterError

NAMES = ["ant", "bee", "cow", "dog"]


def naive(keys, held):
    """Row by row, in plain Python."""
    found = []
    for i in range(len(keys)):
        own = [(int(claims(keys[i : i + 1], name)[0]), name) for name in held if held[name][i]]
        found.append(list(held).index(min(own)[1]) if own else NOBODY)
    return found


@given(st.integers(0, 2**32), st.integers(0, 30), st.permutations(NAMES))
def test_the_holder_with_the_least_claim_speaks_whatever_the_order_of_parties(seed, n, order):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, n, dtype=np.uint64)
    held = {name: rng.random(n) < 0.5 for name in NAMES}
    found = holder_of(keys, held)
    assert found.tolist() == naive(keys, held)
    again = holder_of(keys, {name: held[name] for name in order})
    assert [NAMES[i] if i >= 0 else None for i in found] == [order[i] if i >= 0 else None for i in again]


def test_equal_claims_go_to_the_name_that_sorts_first(monkeypatch):
    monkeypatch.setattr("hedgerow.data.holders.claims", lambda keys, _: np.zeros(len(keys), np.uint64))
    both = np.ones(3, np.bool_)
    assert holder_of(np.arange(3, dtype=np.uint64), {"bee": both, "ant": both}).tolist() == [1, 1, 1]


def test_a_claim_is_known_and_never_changes():
    digest = hashlib.sha256(b"hedgerow holder of a row\0bank").digest()
    halves = [int.from_bytes(digest[i : i + 8], "little") for i in (0, 8)]
    keys = np.arange(4, dtype=np.uint64)
    assert claims(keys, "bank").tolist() == _native.draws(keys, *halves).tolist()
    assert claims(keys, "bank")[:2].tolist() == KNOWN


KNOWN = [17593592876053404893, 3751149996349821408]


def test_rows_that_all_hold_are_spread_evenly_and_stay_when_another_party_leaves():
    keys = np.arange(40_000, dtype=np.uint64)
    every = {name: np.ones(len(keys), np.bool_) for name in NAMES}
    found = holder_of(keys, every)
    assert (np.abs(np.bincount(found) / 10_000 - 1) < 0.04).all()
    left = holder_of(keys, {name: every[name] for name in NAMES[:3]})
    stays = found < 3
    np.testing.assert_array_equal(found[stays], left[stays])


def test_as_many_answers_as_rows_are_needed():
    with pytest.raises(ParameterError, match="3 rows need as many answers of party 'ant', not 2"):
        holder_of(np.arange(3, dtype=np.uint64), {"ant": np.ones(2, np.bool_)})
