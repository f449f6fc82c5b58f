"""A lattice public key is proven to be well formed; one that is not, is refused.

Without that a key holder that chooses its key reads whole selections out of one answer: `test_malformed_keys.py` mounts
the attack.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.privacy import lattice_twin as twin

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy.lattice import bounds
from hedgerow.privacy.lattice import key as keys
from hedgerow.privacy.lattice.cipher import Lattice, LatticePublicKey
from hedgerow.privacy.lattice.layout import rows_layout
from hedgerow.privacy.lattice.rows import ROWS
from hedgerow.privacy.lattice.slots import SlotsPublicKey, SlotsSecretKey
from hedgerow.privacy.shapes import RowsPlan, SlotsPlan

N, ROUNDS = 4096, 15
PRIMES = bounds.PRIMES[:4]
HEAD, HALF = 7 + 32, 4 * 13824
KEY = Lattice().new_key(2, slots=False)
WIRE = KEY.public.encode()
SEED, PROOF = WIRE[7:HEAD], WIRE[HEAD + HALF :]


def answers(proof: bytes, n: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """What each round says of secret and error, read bit by bit: of the latter all but the lowest bits."""
    size = (len(proof) - 32) // ROUNDS
    found = []
    for r in range(ROUNDS):
        one = np.frombuffer(proof[32 + r * size : 32 + (r + 1) * size], np.uint8)
        bits = iter("".join(map(str, np.unpackbits(one, bitorder="little"))))
        secret, high = ([integer(bits, low) for _ in range(n)] for low in (11, 0))
        assert "1" not in bits
        found.append((np.array(secret), np.array(high)))
    return found


def integer(bits: Iterator[str], low: int) -> int:
    """The next one: the lowest bits, lowest first, then as many ones as the rest says; 0, -1, 1, -2 are 0, 1, 2, 3."""
    lowest = sum(int(next(bits)) << i for i in range(low))
    ones = sum(1 for _ in takewhile("1".__eq__, bits))
    assert ones <= 31
    rest = (ones << low) + lowest
    return -(rest + 1) // 2 if rest % 2 else rest // 2


def challenges(told: bytes) -> list[int]:
    """Of nine bits each."""
    whole = int.from_bytes(told, "little")
    return [whole >> 9 * r & 511 for r in range(ROUNDS)]


def verified(
    public: NDArray[np.int64], primes: tuple[int, ...], proof: bytes, said: bytes
) -> tuple[bytes, list[float]]:
    """The challenges that a verifier computes in whole numbers, and how long answers are beside the mean, at most."""
    n = public.shape[2]
    ring, bits = twin.Ring(n, primes), bounds.UNHASHED_BITS[n]
    whole = hashlib.sha256(b"hedgerow lattice key proof 2" + n.to_bytes(8, "little") + said)
    longest = [0.0, 0.0]
    for (secret, high), challenge in zip(answers(proof, n), challenges(proof), strict=True):
        power = [0] * n
        power[challenge * (n // 256) % n] = 1 if challenge < 256 else -1
        values = []
        for (b, a), p in zip(public, primes, strict=True):
            s, h, c = (twin.values_at_roots(list(map(int, x)), p) for x in (secret, high, power))
            values.append((h * (1 << bits) - a * s % p - b * c % p) % p)
        total = twin.restored(np.array(values, np.uint32), ring)
        lowest = [(x + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for x in total]
        hashed = [(x - low) % ring.modulus for x, low in zip(total, lowest, strict=True)]
        whole.update(hashlib.sha256(twin.residues(hashed, ring).astype("<u4").tobytes()).digest())
        error = (high << bits) - np.array(lowest)
        for i, (part, deviation) in enumerate(zip((secret, error), bounds.answer_deviations(n), strict=True)):
            longest[i] = max(longest[i], math.sqrt(float((part**2).sum()) / n) / deviation)
    return whole.digest(), longest


def test_another_implementation_computes_the_same_challenges_from_answers_as_long_as_the_bounds_count_them() -> None:
    public = KEY.public._rows.public.reshape(4, 2, N).astype(np.int64)
    told, longest = verified(public, PRIMES, PROOF, WIRE[7 : HEAD + HALF])
    assert told == PROOF[:32]
    assert all(0.95 < length < bounds.ANSWER_SLACK for length in longest)


@pytest.mark.parametrize("n", [4096, 8192])
def test_what_is_told_of_secret_and_error_is_as_long_as_it_should_be(n: int) -> None:
    proof = PROOF if n == N else SlotsSecretKey(2).public._proof
    assert len(proof) == _native.lattice_proof_bytes(n)
    secret, error = bounds.answer_deviations(n)
    high = math.hypot(error / 2 ** bounds.UNHASHED_BITS[n], math.sqrt(1 / 12))
    for polynomials in answers(proof, n):
        for polynomial, deviation in zip(polynomials, (secret, high), strict=True):
            assert 0.9 < math.sqrt(float((polynomial**2).sum()) / n) / deviation < bounds.ANSWER_SLACK


def test_keys_that_are_sent_are_short() -> None:
    """What 25 parties get a tree: 4.3 MB where nothing is merged."""
    assert len(WIRE) == Lattice().key_bytes(slots=False) == 170_417
    assert 25 * len(WIRE) < 5_000_000
    assert Lattice().key_bytes(rows=False) == 454_060


def test_no_part_of_a_key_or_its_proof_can_be_changed() -> None:
    places = [7, 20, HEAD, HEAD + 30_000, HEAD + HALF - 1]
    places += [len(WIRE) - len(PROOF) + at for at in (0, 16, 31, 32, 9000, len(PROOF) - 1)]
    for place in places:
        other = bytearray(WIRE)
        other[place] ^= 4
        with pytest.raises(CipherError, match=r"not proven|not below its prime"):
            LatticePublicKey.read(None, bytes(other), 1)


def test_a_proof_is_for_its_own_key() -> None:
    other = Lattice().new_key(2, slots=False).public.encode()
    with pytest.raises(CipherError, match="is not proven to be well formed"):
        LatticePublicKey.read(None, other[: HEAD + HALF] + PROOF, 1)
    mine, theirs = SlotsSecretKey(2).public, SlotsSecretKey(2).public
    with pytest.raises(CipherError, match="is not proven to be well formed"):
        SlotsPublicKey.read(mine.encode()[: -len(mine._proof)] + theirs._proof, 1)


def chosen_key() -> bytes:
    """Secret zero and a constant for b: everything that an answer adds to hide itself would be read off it."""
    half = b"".join(twin.packed(np.full((1, N), (1 << 40) % p, np.uint32)) for p in PRIMES)
    return WIRE[:HEAD] + half + PROOF


def test_a_chosen_key_is_refused() -> None:
    with pytest.raises(CipherError, match="is not proven to be well formed"):
        LatticePublicKey.read(None, chosen_key(), 1)


def test_without_the_proof_a_chosen_key_would_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sabotage."""
    monkeypatch.setattr(keys._native, "lattice_is_proven", lambda *_: True)
    assert LatticePublicKey.read(None, chosen_key(), 1)


def test_a_key_for_one_use_is_not_for_another() -> None:
    rows, slots = (Lattice().new_key(2, **uses) for uses in ({"slots": False}, {"rows": False}))
    plan = RowsPlan(rows=10, bounds=(7,), groups=3)
    with pytest.raises(CipherError, match="not for sums by group"):
        slots.public.seal_rows(np.zeros((10, 1), np.int64), plan)
    table = SlotsPlan(rows=10, entries=2, bound=7)
    with pytest.raises(CipherError, match="not for sums by slot"):
        rows.public.seal_slots(np.zeros((10, 2), np.int64), table)
    with pytest.raises(ParameterError, match="made for sums by group only"):
        rows.seal_slots(np.zeros((10, 2), np.int64), table)
    for secret, uses in ((rows, {"slots": False}), (slots, {"rows": False}), (Lattice(50.0).new_key(1), {})):
        assert len(secret.public.encode()) == Lattice(secret.public._link_mbit).key_bytes(**uses)


# What the key holder alone seals comes with a seed.

PLAN = RowsPlan(rows=100, bounds=(7, 7), groups=4, by_holder=True)
VALUES = np.arange(200).reshape(100, 2) % 7


def test_rows_and_tables_without_a_seed_are_refused_where_the_key_holder_alone_seals() -> None:
    sealed = KEY.seal_rows(VALUES, PLAN)
    head = replace(sealed.head, kind=ROWS)
    unseeded = _native.lattice_add_rows(sealed.sealed, sealed.sealed, True, head.encode(sealed.layout), 1)
    with pytest.raises(CipherError, match="without a seed"):
        KEY.public.read_rows(unseeded, PLAN)
    with pytest.raises(ParameterError, match="lets nobody but the key holder seal"):
        KEY.public.seal_rows(VALUES, PLAN)
    assert KEY.public.read_rows(sealed.encode(), PLAN)
    table = SlotsPlan(rows=9, entries=2, bound=7, by_holder=True)
    secret = SlotsSecretKey(1)
    with pytest.raises(ParameterError, match="lets nobody but the key holder seal"):
        secret.public.seal_slots(np.zeros((9, 2), np.int64), table)
    by_anybody = replace(table, by_holder=False)
    sent = secret.public.seal_slots(np.zeros((9, 2), np.int64), by_anybody)
    forged = sent._head.encode(secret.public.mark, table, 2, 0)
    with pytest.raises(CipherError, match="without a seed"):
        secret.public.read_slots(forged + sent.encode()[len(forged) :], table, 2)
    assert secret.public.read_slots(sent.encode(), by_anybody, 2)


def test_entries_that_lie_in_coefficients_need_a_seed_too() -> None:
    table = SlotsPlan(rows=2, entries=30, bound=7, sums_only=True, by_holder=True)
    assert KEY.public.in_coefficients(table)
    values = np.ones((2, 30), np.int64)
    with pytest.raises(ParameterError, match="lets nobody but the key holder seal"):
        KEY.public.seal_slots(values, table)
    sealed = KEY.seal_slots(values, table)
    rows = sealed.sealed
    head = replace(rows.head, kind=ROWS)
    unseeded = _native.lattice_add_rows(rows.sealed, rows.sealed, True, head.encode(rows.layout), 1)
    front = sealed.encode()[: -len(rows.encode())]
    with pytest.raises(CipherError, match="without a seed"):
        KEY.public.read_slots(front + unseeded, table, 30)
    assert KEY.public.read_slots(sealed.encode(), table, 30)


def test_rows_sealed_by_one_party_alone_are_not_added_up() -> None:
    with pytest.raises(ParameterError, match="has one part"):
        RowsPlan(rows=1, bounds=(1,), groups=1, parts=2, by_holder=True)


# What remains for a key holder whose key is proven, but longer than it should be.


def test_the_flood_hides_what_the_longest_proven_key_would_tell() -> None:
    assert bounds.proven_shift(N) > 1000 * bounds.shift(22_500, bounds.row_variance(1, by_public_key=False))
    for bits, rows, groups in ((8, 22_500, 372), (8, 300, 372), (20, 22_500, 372), (8, 1_000_000, 310)):
        plan = RowsPlan(rows=rows, bounds=(1 << (bits - 1),) * 2, groups=groups, columns=12, run_sums=groups * 12_800)
        layout = rows_layout(plan, None, False)
        assert bounds.proven_distance(N, layout.flood_bits, plan.run_sums) <= 2.0**-bounds.PROVEN_BITS


def test_a_layout_that_a_longer_proven_key_would_see_through_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths are counted: if proofs allowed for keys a thousand times as long, this plan would need a wider flood."""
    plan = RowsPlan(rows=6000, bounds=(127, 127), groups=372, columns=12, run_sums=372 * 12_800)
    now, shift = rows_layout(plan, None, False), bounds.proven_shift(N)
    monkeypatch.setattr(bounds, "proven_shift", lambda _: 1000 * shift)
    rows_layout.cache_clear()
    then = rows_layout(plan, None, False)
    rows_layout.cache_clear()
    assert now.flood_bits < then.flood_bits
