"""What a key holder finds out about choices in slots: all from a sabotaged answer, no more than by guessing from ours.

The key holder knows its secret, its errors and every number it sealed. Each attack is first made on answers without an
encryption of zero or without a flood, which are made here in plain integers, then on those that leave.
"""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.privacy import lattice_twin as twin
from tests.privacy.lattice_attack import COIN, TRIALS, Answer, Ints, better_fit, encryption_of_zero, wide_product

from hedgerow import _native
from hedgerow.errors import CipherError
from hedgerow.privacy.lattice.bounds import PRIMES
from hedgerow.privacy.lattice.slots import LatticeSlots, SlotsPublicKey, SlotsSecretKey
from hedgerow.privacy.lattice.slots_bounds import slots_layout
from hedgerow.privacy.shapes import SlotsPlan

RNG = np.random.default_rng(5)

# One ciphertext of 2000 rows and 4 entries.

PLAN = SlotsPlan(rows=2000, entries=4, bound=1000, run_sums=8000)
LAYOUT = slots_layout(PLAN)
T = LAYOUT.moduli[0]
SEALED_PRIMES, LEFT_PRIMES = LAYOUT.primes
DROPPED = int(np.prod([int(p) for p in PRIMES[LEFT_PRIMES:SEALED_PRIMES]], dtype=object))
SECRET = SlotsSecretKey(2)
PUBLIC = SECRET.public
OWN_SECRET = SECRET._own_secret.astype(np.int64)
VALUES = RNG.integers(-1000, 1001, (2000, 4))
SEALED = SECRET.seal_slots(VALUES, PLAN)


NARROW, WIDE = 24, 60
"""Bits of a flood about as wide as what it should hide, and of one far wider."""


def own_choice() -> NDArray[np.bool_]:
    return RNG.random((PLAN.rows, PLAN.entries)) < 0.5


def halves(sealed: LatticeSlots) -> Answer:
    table = sealed._table(), sealed._slots()
    return Answer(*(_native.slots_coefficients(*table, 0, half).astype(np.int64) for half in (0, 1)))


def answered(choice: NDArray[np.bool_]) -> Answer:
    """Ours, as it leaves."""
    return halves(PUBLIC.filtered(SEALED, choice))


def bare(choice: NDArray[np.bool_]) -> Answer:
    """Neither an encryption of zero nor a flood."""
    return halves(SEALED).times(slots_poly(choice.astype(np.int64)))


def with_zero(answer: Answer) -> Answer:
    """An encryption of zero added, no flood."""
    key = _native.slots_key_coefficients(PUBLIC._half, PUBLIC._seed).astype(np.int64)
    return answer.plus(encryption_of_zero(key[0 : 2 * SEALED_PRIMES : 2], key[1 : 2 * SEALED_PRIMES : 2], RNG))


def flood(bits: int) -> list[int]:
    """Sums of three uniform integers of so many bits, centred."""
    high, low = (RNG.integers(0, 2**part, (3, 8192)).sum(axis=0).astype(object) for part in (bits - 12, 12))
    return list(high * 2**12 + low - 3 * 2 ** (bits - 1))


def slots_poly(table: Ints) -> Ints:
    """The plaintext of a table of small integers, its coefficients nearest to zero."""
    slots = np.zeros(8192, np.int64)
    slots[: 4 * 2000] = table.T.reshape(-1)
    poly = np.array(twin.from_values(slots % T, T))
    return np.where(poly > T // 2, poly - T, poly)


@cache
def inverse_half() -> Ints:
    """One over the random half that the key holder sealed with, at the roots modulo the first prime."""
    p = PRIMES[0]
    return np.array([pow(int(x), -1, p) for x in twin.values_at_roots(halves(SEALED).c1[0].tolist(), p)])


def quotient(answer: Answer) -> Ints:
    """The attack: c1 over the random half, modulo the first prime."""
    p = PRIMES[0]
    over = twin.values_at_roots([int(x) for x in answer.c1[0]], p) * inverse_half() % p
    poly = np.array(twin.from_values(over, p))
    return np.where(poly > p // 2, poly - p, poly)


def slots_in(poly: Ints) -> Ints:
    return twin.values_at_roots([int(x) % T for x in poly], T)[: 4 * 2000].reshape(4, 2000).T


def test_the_plain_products_are_the_twins() -> None:
    ring, poly = twin.Ring(8192, PRIMES[:1]), slots_poly(own_choice().astype(np.int64))
    a = halves(SEALED).c1[0]
    assert wide_product(a, poly, PRIMES[0]).tolist() == twin.product(a.tolist(), poly.tolist(), ring)


def test_division_by_the_random_half_gives_a_bare_answers_choices_whole_and_ours_none() -> None:
    choice = own_choice()
    stolen = quotient(bare(choice))
    assert np.abs(stolen).max() <= T // 2
    assert np.array_equal(slots_in(stolen), choice)
    for hidden in (answered(choice), with_zero(bare(choice))):
        found = quotient(hidden)
        # Uniform modulo p: so many coefficients are as small as a choice's by chance, and slots are neither 0 nor 1.
        small = int((np.abs(found) <= T // 2).sum())
        assert small <= 8192 * T / PRIMES[0] + 30
        assert (slots_in(found) <= 1).mean() < 0.01


def test_division_needs_only_the_missing_encryption_of_zero_not_the_missing_flood() -> None:
    choice = own_choice()
    assert np.array_equal(slots_in(quotient(bare(choice).flooded(flood(WIDE)))), choice)


def noise_of(answer: Answer, message: Ints) -> list[int]:
    """What the key holder finds beside the message it opens, times t: exact integers."""
    q = answer.ring.modulus
    numbers = zip(answer.phase(OWN_SECRET), message, strict=True)
    return [twin.centred(T * x - q * int(m), T * q) for x, m in numbers]


@pytest.fixture(scope="module")
def own_errors() -> Ints:
    """The noise of the sealed table, times t: the key holder's own."""
    return np.array(noise_of(halves(SEALED), slots_poly(VALUES)), dtype=np.int64)


def test_without_either_the_noise_is_the_errors_times_the_choices_and_is_solved_whole(own_errors: Ints) -> None:
    choice = own_choice()
    p = PRIMES[0]
    noise = [x % p for x in noise_of(bare(choice), slots_poly(VALUES * choice))]
    over = zip(twin.values_at_roots(noise, p), twin.values_at_roots([int(x) for x in own_errors], p), strict=True)
    poly = np.array(twin.from_values(np.array([int(x) * pow(int(y), -1, p) % p for x, y in over]), p))
    assert np.array_equal(slots_in(np.where(poly > p // 2, poly - p, poly)), choice)


class Guesses:
    """Two candidates, and what each would move in the noise."""

    def __init__(self, errors: Ints) -> None:
        self.candidates = [own_choice(), own_choice()]
        self.messages = [slots_poly(VALUES * c) for c in self.candidates]
        self.bare = [bare(c) for c in self.candidates]
        self.moved = [_moved(slots_poly(c.astype(np.int64)), errors) for c in self.candidates]

    def is_right(self, truth: int, answer: Answer) -> bool:
        """Whether the candidate whose share of the noise fits better is the right one."""
        lost = DROPPED if len(answer.c0) == LEFT_PRIMES else 1
        return better_fit([lost * x for x in noise_of(answer, self.messages[truth])], self.moved) == truth


def _moved(choice: Ints, errors: Ints) -> list[int]:
    """Errors times choices, exactly."""
    ring = twin.Ring(8192, PRIMES[:4])
    return [twin.centred(x, ring.modulus) for x in twin.product(list(map(int, errors)), list(map(int, choice)), ring)]


def test_without_a_flood_the_noise_tells_two_choices_apart_every_time_and_ours_as_a_coin_does(own_errors: Ints) -> None:
    guesses = Guesses(own_errors)
    for truth in RNG.integers(0, 2, 12).tolist():
        unflooded = with_zero(guesses.bare[truth])
        assert guesses.is_right(truth, unflooded)
        assert guesses.is_right(truth, unflooded.flooded(flood(NARROW)))
    truths = RNG.integers(0, 2, TRIALS).tolist()
    right = sum(guesses.is_right(truth, answered(guesses.candidates[truth])) for truth in truths)
    assert COIN[0] <= right <= COIN[1]
    # Not because primes are dropped: a wide flood alone does it, and ours is wider (`test_lattice_twin` measures it).
    assert LAYOUT.flood("", "F") > WIDE
    unflooded_ones = [with_zero(each) for each in guesses.bare]
    right = sum(guesses.is_right(truth, unflooded_ones[truth].flooded(flood(WIDE))) for truth in truths)
    assert COIN[0] <= right <= COIN[1]


def test_enumerating_candidates_finds_a_choice_only_without_an_encryption_of_zero() -> None:
    candidates = [own_choice() for _ in range(3)]
    bare_ones = [bare(c) for c in candidates]
    sent = bare_ones[2].flooded(flood(WIDE)).dropped(LEFT_PRIMES)
    tried = [each.dropped(LEFT_PRIMES) for each in bare_ones]
    assert [np.array_equal(each.c1, sent.c1) for each in tried] == [False, False, True]
    ours = answered(candidates[2])
    assert not any((each.c1 == ours.c1).mean() > 0.001 for each in tried)


def test_two_answers_with_the_same_choices_cannot_be_linked_as_floods_alone_can() -> None:
    choice = own_choice()
    unhidden = bare(choice)
    assert np.array_equal(unhidden.flooded(flood(WIDE)).c1, unhidden.flooded(flood(WIDE)).c1)
    one, two = (np.concatenate(answered(choice)) for _ in range(2))
    # 32 768 words: equal by chance in 2 of 10 000 pairs, and a correlation of 5 deviations in 1 of a million.
    assert (one == two).sum() <= 1
    for first, second in zip(one, two, strict=True):
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(8192)
    assert abs(np.corrcoef(one[0], halves(SEALED).c0[0])[0, 1]) < 5 / np.sqrt(8192)


def test_lanes_of_a_sum_are_uniform_shares_while_a_filters_show_their_entries() -> None:
    choice = own_choice()
    filtered = PUBLIC.filtered(SEALED, choice)
    lanes = (False, SECRET._own_secret, 2)
    assert np.array_equal(_native.slots_open(filtered._table(), filtered._slots(), *lanes), VALUES * choice)
    sums = PUBLIC.slot_sums(SEALED, choice)
    shares = _native.slots_open(sums._table(), sums._slots(), *lanes)
    assert (shares == VALUES * choice).mean() < 0.01
    counts = np.bincount((shares % T).reshape(-1) * 64 // T, minlength=64)
    assert ((counts - 125) ** 2 / 125).sum() < 63 + 5 * np.sqrt(2 * 63)
    assert np.array_equal(SECRET.open_slots(sums)[:, 0], (VALUES * choice).sum(axis=1))


def test_the_random_half_of_a_key_comes_from_its_seed_and_a_chosen_one_has_no_form() -> None:
    data = PUBLIC.encode()
    chosen_half = data[37:]
    with pytest.raises(CipherError, match="does not have the size"):
        SlotsPublicKey.read(data + chosen_half, 1)
    other = SlotsSecretKey(1).public._half
    mine, theirs = (_native.slots_key_coefficients(half, PUBLIC._seed) for half in (PUBLIC._half, other))
    assert np.array_equal(mine[1::2], theirs[1::2])
    assert not np.any(mine[0] == theirs[0], axis=0)
    reseeded = _native.slots_key_coefficients(PUBLIC._half, bytes(31) + b"\1")
    assert (reseeded[1::2] == mine[1::2]).sum() <= 2
