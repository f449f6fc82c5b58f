import numpy as np
import pytest

from hedgerow.errors import CipherError
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan
from hedgerow.privacy.unencrypted import values as clear
from hedgerow.privacy.unencrypted.cipher import Unencrypted, UnencryptedSecretKey

PLAN = RowsPlan(rows=2, bounds=(5, 300), groups=1, parts=2)
SLOTS = SlotsPlan(rows=1, entries=2, bound=5, choices=2, parts=2)
SECRET = UnencryptedSecretKey(bytes(range(16)), 1)
PUBLIC = SECRET.public
VALUES = np.array([[1, -2], [5, 300]])


def test_it_looks_as_insecure_as_it_is():
    sealed = SECRET.seal_rows(VALUES, PLAN)
    assert repr(sealed) == "<ClearRows, not encrypted>"
    assert VALUES.tobytes() in sealed.encode()
    assert "NO ENCRYPTION" in Unencrypted.__doc__


def test_yesterdays_bytes_are_read_today():
    head = b"!U\x01\x02" + bytes(range(16)) + bytes.fromhex("16c7f3a9d2745774") + bytes([1, *bytes(7)])
    data = head + bytes([2, *bytes(7), 2, *bytes(7), *bytes(8)]) + VALUES.astype("<i8").tobytes()
    assert SECRET.seal_rows(VALUES, PLAN).encode() == data
    assert PUBLIC.encode() == b"!U\x01\x01" + bytes(range(16)) + bytes(40)


def forged(sealed, place, value):
    """A wire form with another 64-bit integer: 28 the parts, from 60 on the integers."""
    data = bytearray(sealed.encode())
    data[place : place + 8] = int.to_bytes(value % 2**64, 8, "little")
    return bytes(data)


@pytest.mark.parametrize("value", [6, -6, 2**63 - 1, -(2**63)])
def test_integers_beyond_their_bounds_are_not_let_in(value):
    rows, slots = SECRET.seal_rows(VALUES, PLAN), SECRET.seal_slots(VALUES[:1], SLOTS)
    with pytest.raises(CipherError, match="larger than the plan allows"):
        PUBLIC.read_rows(forged(rows, 60, value), PLAN)
    with pytest.raises(CipherError, match="larger than the plan allows"):
        PUBLIC.read_slots(forged(slots, 68, value), SLOTS, 2)


def test_sums_beyond_the_plan_are_not_let_in():
    sums = PUBLIC.group_sums(
        SECRET.seal_rows(VALUES, PLAN),
        Selection(np.zeros((1, 2), np.uint8), np.array([1])),
        Nodes.in_order(np.array([2])),
    )
    most = 2 * 2 * 5
    assert SECRET.open_sums(PUBLIC.read_sums(forged(sums, 60, most), PLAN, 1)).tolist() == [[[most, 298]]]
    with pytest.raises(CipherError, match="larger than the plan allows"):
        PUBLIC.read_sums(forged(sums, 60, most + 1), PLAN, 1)


@pytest.mark.parametrize("parts", [0, 3, 2**63])
def test_parts_that_the_plan_does_not_have_are_refused(parts):
    with pytest.raises(CipherError, match="not made for the plan"):
        PUBLIC.read_rows(forged(SECRET.seal_rows(VALUES, PLAN), 28, parts), PLAN)


def test_another_version_is_named():
    data = bytearray(PUBLIC.encode())
    data[2] = 9
    with pytest.raises(CipherError, match=f"has version 9, this hedgerow reads {clear.VERSION}"):
        Unencrypted().read_public_key(bytes(data), 1)
