"""A key holder that chooses its key, and what it seals: it reads the other side's choices, unless the key is refused.

Its secret is zero, and its b a large constant (or one digit of base three a coefficient): c0 is then 2 b u and a flood,
so that u can be read; with u known, c1 is a sum of chosen numbers, each weighed by one choice. Every choice is in it,
although all sums are zero.
"""

import math
import struct

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.privacy import lattice_twin as twin

from hedgerow.errors import CipherError
from hedgerow.privacy.lattice import bounds, slots, slots_wire
from hedgerow.privacy.lattice import key as keys
from hedgerow.privacy.lattice.cipher import LatticePublicKey
from hedgerow.privacy.lattice.layout import RowsLayout, rows_layout
from hedgerow.privacy.lattice.rows import HEADER_BYTES, ROWS
from hedgerow.privacy.lattice.slots import SlotsPublicKey, slots_layout
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan

RNG = np.random.default_rng(5)


@pytest.fixture
def _no_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage: whoever reads a key believes it."""
    monkeypatch.setattr(keys._native, "lattice_is_proven", lambda *_: True)
    monkeypatch.setattr(slots._native, "slots_is_proven", lambda *_: True)


def constant(value: int, primes: tuple[int, ...], n: int) -> bytes:
    """A constant polynomial, transformed and packed."""
    return b"".join(twin.packed(np.full((1, n), value % p, np.uint32)) for p in primes)


# Rows: n = 4096. 32 rows in 4 columns of 256 groups, 8 rows a ciphertext.

N, PRIMES = 4096, bounds.PRIMES[:4]
RING = twin.Ring(N, PRIMES)
PLAN = RowsPlan(rows=32, bounds=(2**29,), groups=1024, columns=4)
CODES = RNG.integers(0, 256, (4, 32)).astype(np.uint8)
LOWEST = 56
"""Below this bit, rounding and errors; one block's choices stand at each bit from here."""


def rows_attack() -> tuple[LatticePublicKey, RowsLayout, int]:
    """The key, as the other side reads it."""
    layout = rows_layout(PLAN, None, False)
    weight = 1 << (layout.flood_bits + 3)
    digits = [weight * 3**i if i < layout.step else 0 for i in range(N)]
    half = b"".join(twin.packed(twin.values_at_roots(digits, p).astype(np.uint32)[None]) for p in PRIMES)
    rest = bytes(32) + half + bytes(keys.PROOF_BYTES)
    return LatticePublicKey.read(None, keys.Parts(rest, b"", (), b"").encode(()), 1), layout, weight


def randomness(c0: list[int], weight: int, step: int) -> list[int]:
    """u, from every step-th coefficient of 2 b u and a flood."""
    u = [0] * N
    for group, value in enumerate(c0):
        rest = (value + weight) // (2 * weight)
        for digit in range(step):
            low = (rest + 1) % 3 - 1
            rest = (rest - low) // 3
            at = group * step - digit
            u[at % N] = low if at >= 0 else -low
    return u


def codes_read() -> NDArray[np.int64]:
    public, layout, weight = rows_attack()
    blocks, at_once = PLAN.rows // layout.step, N // layout.step
    assert (layout.lanes, layout.merges, blocks) == (1, 0, 4)
    body = (bytes(4 * 13824) + constant(1 << (LOWEST + block), PRIMES, N) for block in range(blocks))
    sealed = public.read_rows(public.rows_head(ROWS, PLAN, layout).encode(layout) + b"".join(body), PLAN)
    selection = Selection(CODES, np.full(4, 256))
    answer = public.group_sums(sealed, selection, Nodes.in_order(np.array([PLAN.rows])))
    data, wanted = answer.encode()[HEADER_BYTES:], -(-at_once // 8) * 27
    random_half = twin.restored(public._rows.public.reshape(4, 2, N)[:, 1], RING)
    few, q = twin.Ring(N, PRIMES[:2]), RING.modulus
    found = np.zeros((4, PLAN.rows), np.int64)
    for chunk in range(PLAN.groups // at_once):
        one = data[chunk * 2 * (13824 + wanted) :][: 2 * (13824 + wanted)]
        c1 = twin.from_residues(twin.unpacked(one[: 2 * 13824]).reshape(2, N), few)
        c0 = twin.from_residues(twin.unpacked(one[2 * 13824 :]).reshape(2, -1)[:, :at_once], few)
        u = randomness([twin.centred(x * bounds.DROPPED, q) for x in c0], weight, layout.step)
        hidden = twin.product(random_half, [2 * x for x in u], RING)
        for place, (x, y) in enumerate(zip(c1, hidden, strict=True)):
            choices = (twin.centred(x * bounds.DROPPED - y, q) + (1 << (LOWEST - 1))) >> LOWEST
            group = chunk * at_once + place // layout.step
            for block in range(blocks):
                if choices >> block & 1:
                    found[group // 256, block * layout.step + place % layout.step] = group % 256
    return found


@pytest.mark.usefixtures("_no_proofs")
def test_without_a_proof_one_answer_tells_every_bin_of_every_row() -> None:
    assert np.array_equal(codes_read(), CODES)


def test_a_chosen_key_for_rows_is_refused_before_anything_is_answered() -> None:
    with pytest.raises(CipherError, match="A lattice public key is not proven to be well formed; the run stops"):
        rows_attack()


# Slots: n = 8192.

SLOTS, ENTRIES = 8192, 2
TABLE = SlotsPlan(rows=SLOTS, entries=ENTRIES, bound=1000)
CHOICE = RNG.random((SLOTS, ENTRIES)) < 0.3


def slots_attack(weight: int) -> SlotsPublicKey:
    """The key, as the other side reads it."""
    half = constant(weight, bounds.PRIMES, SLOTS)
    head = struct.pack("<4sB32s", b"HGSK", slots_wire.VERSION, bytes(32))
    return SlotsPublicKey.read(head + half + bytes(SlotsPublicKey.BYTES - len(head) - len(half)), 1)


def choices_read() -> NDArray[np.bool_]:
    layout = slots_layout(TABLE)
    before, after = layout.primes
    (t,), primes = layout.moduli, bounds.PRIMES[:before]
    ring, few = twin.Ring(SLOTS, primes), twin.Ring(SLOTS, primes[:after])
    q, dropped = ring.modulus, math.prod(primes[after:])
    weight = 1 << (layout.flood("", "S") + 3)
    public = slots_attack(weight)
    first, apart = dropped.bit_length() + 4, t.bit_length() + 1
    body = (bytes(before * 27648) + constant(1 << (first + apart * k), primes, SLOTS) for k in range(ENTRIES))
    front = slots_wire.SlotsHead(before, 1, False, None).encode(public.mark, TABLE, ENTRIES, 0)
    answer = public.slot_sums(public.read_slots(front + b"".join(body), TABLE, ENTRIES), CHOICE)
    words = twin.unpacked(answer.encode()[slots_wire.HEAD_BYTES :]).reshape(2, after, SLOTS)
    c0, c1 = (twin.from_residues(half, few) for half in words)
    u = [(twin.centred(x * dropped, q) + weight) // (2 * weight) for x in c0]
    own = np.array(slots._native.slots_key_coefficients(public._half, public._seed)).reshape(8, 2, SLOTS)[:before, 1]
    hidden = twin.product(twin.from_residues(own.astype(np.uint32), ring), [2 * x for x in u], ring)
    rest = [(twin.centred(x * dropped - y, q) + (1 << (first - 1))) >> first for x, y in zip(c1, hidden, strict=True)]
    found = np.zeros((SLOTS, ENTRIES), np.bool_)
    for k in range(ENTRIES):
        low = [twin.centred(v, 1 << apart) for v in rest]
        rest = [(v - x) >> apart for v, x in zip(rest, low, strict=True)]
        found[:, k] = twin.values_at_roots([x % t for x in low], t) == 1
    return found


@pytest.mark.usefixtures("_no_proofs")
def test_without_a_proof_one_answer_tells_every_choice() -> None:
    assert np.array_equal(choices_read(), CHOICE)


def test_a_chosen_key_for_slots_is_refused_before_anything_is_answered() -> None:
    with pytest.raises(CipherError, match="A public key for slots is not proven to be well formed; the run stops"):
        slots_attack(1 << 40)
