"""A key that was revealed for an audit opens what was sealed under it entry by entry, and nothing else ever again."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from ciphers import CIPHERS

from hedgerow.errors import CipherError, PrivacyError
from hedgerow.privacy.additive import NOT_SEALED
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.paillier.cipher import Paillier
from hedgerow.privacy.shapes import SlotsPlan

PRIME = 65537
PLAN = SlotsPlan(
    rows=4, entries=3, shared=2, bound=PRIME // 2, modulus=PRIME, run_sums=10**6, sums_only=True, by_holder=True,
    apart=True,
)  # fmt: skip
RNG = np.random.default_rng(5)
VALUES, SHARED = RNG.integers(-(PRIME // 2), PRIME // 2, (4, 3)), np.array([7, -PRIME // 2 + 1])


@pytest.fixture(params=CIPHERS, scope="module")
def cipher(request):
    return CIPHERS[request.param].cipher


def sent(cipher, key, plan=PLAN, values=VALUES, shared=SHARED):
    public = cipher.read_public_key(key.public.encode(), 1)
    return public.read_slots(key.seal_slots(values, plan, shared).encode(), plan, plan.entries)


def test_an_auditor_opens_every_entry(cipher):
    key = cipher.new_key(1, slots=False)
    public, table = key.public.encode(), sent(cipher, key)
    own, shared = cipher.revealed_key(key.reveal(), public, 2).entries(table)
    assert np.array_equal(own, VALUES)
    assert np.array_equal(shared, SHARED)


def test_a_revealed_key_neither_seals_nor_opens_again(cipher):
    key = cipher.new_key(1, slots=False)
    table = sent(cipher, key)
    sums = cipher.read_public_key(key.public.encode(), 1).slot_sums(table, np.ones((4, 5), np.bool_))
    assert key.open_slots(sums).shape == (4, 1)
    key.reveal()
    with pytest.raises(PrivacyError, match="revealed for an audit and must not be used again"):
        key.seal_slots(VALUES, PLAN, SHARED)
    with pytest.raises(PrivacyError, match="revealed for an audit and must not be used again"):
        key.open_slots(sums)
    with pytest.raises(PrivacyError, match="cannot be copied or written"):
        copy.copy(key)


def test_the_key_of_another_public_key_is_refused(cipher):
    key, other = cipher.new_key(1, slots=False), cipher.new_key(1, slots=False)
    public = key.public.encode()
    right = key.reveal()
    for wrong in (other.reveal(), right[:-1], b"", bytes(len(right)), right + b"\0"):
        with pytest.raises(CipherError, match="revealed"):
            cipher.revealed_key(wrong, public, 1)


def test_what_was_sealed_under_another_key_is_refused(cipher):
    key, other = cipher.new_key(1, slots=False), cipher.new_key(1, slots=False)
    revealed = cipher.revealed_key(other.reveal(), other.public.encode(), 1)
    with pytest.raises(CipherError):
        revealed.entries(sent(cipher, key))


def test_a_lattice_entry_with_something_below_its_step_is_found():
    """Sealed at another scale, integers lie between the steps of the plan that was agreed on."""
    cipher = Lattice()
    key = cipher.new_key(1, slots=False)
    table = sent(cipher, key)
    public, rows = key.public.encode(), table.sealed
    fine = replace(rows, layout=replace(rows.layout, modulus=PRIME * 256 + 1))
    own, shared = cipher.revealed_key(key.reveal(), public, 1).entries(replace(table, sealed=fine))
    assert (own == NOT_SEALED).all()
    assert (shared == NOT_SEALED).all()


def test_a_paillier_entry_with_something_above_its_bound_is_found():
    """The number is the same modulo the prime, and a sum of it would be as well."""
    cipher = Paillier(bits=2048)
    key = cipher.new_key(1)
    wide = replace(PLAN, bound=PRIME * 4, modulus=0)
    values = VALUES.copy()
    values[1, 2] += PRIME
    sealed = key.seal_slots(values, wide, SHARED)
    public = cipher.read_public_key(key.public.encode(), 1)
    table = type(sealed)(sealed._words, PLAN, sealed._ring, 1, (PLAN.entries, 0))
    own, _ = cipher.revealed_key(key.reveal(), public.encode(), 1).entries(table)
    assert own[1, 2] == NOT_SEALED
    own[1, 2] = VALUES[1, 2]
    assert np.array_equal(own, VALUES)
