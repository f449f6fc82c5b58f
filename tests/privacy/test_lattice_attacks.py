"""What a key holder finds out about choices: all from a sabotaged answer, nothing better than guessing from ours.

The key holder knows its secret, its errors and every number it sealed. Each attack is first made on answers without an
encryption of zero or without a flood, then on those that leave. "Guessing": of 60 trials between two candidates, a coin
is right in 14 to 46 but for a probability of 2 in 100 000.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.privacy import lattice_twin as twin

from hedgerow import _native
from hedgerow.errors import CipherError
from hedgerow.privacy.agreed import Nodes, RowsPlan, Selection, SlotsPlan
from hedgerow.privacy.lattice import Lattice, LatticeSecretKey
from hedgerow.privacy.lattice_bounds import DROPPED, PRIMES
from hedgerow.privacy.lattice_slots import LatticeSlots, SlotsPublicKey, SlotsSecretKey
from hedgerow.privacy.lattice_slots_bounds import slots_layout
from hedgerow.privacy.lattice_slots_wire import SlotsLeaving

Ints = NDArray[np.int64]
TRIALS, COIN = 60, (14, 46)
RNG = np.random.default_rng(5)


def product(a: Ints, small: Ints) -> Ints:
    """Modulo X^n + 1, exact for residues of 27 bits times numbers of a few bits."""
    n = len(a)
    whole = np.rint(np.fft.irfft(np.fft.rfft(a, 2 * n) * np.fft.rfft(small, 2 * n), 2 * n)).astype(np.int64)
    return np.asarray(whole[:n] - whole[n:])


# Slots: one ciphertext of 2000 rows and 4 entries.

PLAN = SlotsPlan(rows=2000, entries=4, bound=1000, run_sums=8000)
LAYOUT = slots_layout(PLAN)
T, SEALED_PRIMES = LAYOUT.moduli[0], LAYOUT.primes[0]
SECRET = SlotsSecretKey(2)
PUBLIC = SECRET.public
VALUES = RNG.integers(-1000, 1001, (2000, 4))
SEALED = SECRET.seal_slots(VALUES, PLAN)
BARE = SlotsLeaving(0, False, SEALED_PRIMES)
NO_ZERO = SlotsLeaving(0, False, LAYOUT.primes[1])
NO_FLOOD = SlotsLeaving(0, True, SEALED_PRIMES)
NARROW = SlotsLeaving(24, True, SEALED_PRIMES)
"""A flood that is about as wide as what it should hide."""
FLOODED = SlotsLeaving(LAYOUT.flood("", "F"), True, SEALED_PRIMES)
"""Ours, but for the primes that are dropped before an answer leaves: dropping them hides more."""


def own_choice() -> NDArray[np.bool_]:
    return RNG.random((PLAN.rows, PLAN.entries)) < 0.5


def answered(choice: NDArray[np.bool_], leaving: SlotsLeaving | None = None) -> LatticeSlots:
    return PUBLIC._answered(SEALED, choice, "F", _leaving=leaving)


def half(sealed: LatticeSlots, number: int) -> Ints:
    """Coefficients of one half, a row a prime."""
    return _native.slots_coefficients(sealed._table(), sealed._slots(), 0, number).astype(np.int64)


def slots_poly(table: Ints) -> Ints:
    """The plaintext of a table of small integers, its coefficients nearest to zero."""
    slots = np.zeros(8192, np.int64)
    slots[: 4 * 2000] = table.T.reshape(-1)
    poly = np.array(twin.from_values(slots % T, T))
    return np.where(poly > T // 2, poly - T, poly)


def quotient(answer: LatticeSlots) -> Ints:
    """The attack: c1 over a, the random half that the key holder sealed with, modulo the first prime."""
    p = PRIMES[0]
    c1, a = (twin.values_at_roots([int(x) for x in half(s, 1)[0]], p) for s in (answer, SEALED))
    over = np.array([int(x) * pow(int(y), -1, p) % p for x, y in zip(c1, a, strict=True)])
    poly = np.array(twin.from_values(over, p))
    return np.where(poly > p // 2, poly - p, poly)


def slots_in(poly: Ints) -> Ints:
    return twin.values_at_roots([int(x) % T for x in poly], T)[: 4 * 2000].reshape(4, 2000).T


def test_division_by_the_random_half_gives_a_bare_answers_choices_whole_and_ours_none() -> None:
    choice = own_choice()
    stolen = quotient(answered(choice, BARE))
    assert np.abs(stolen).max() <= T // 2
    assert np.array_equal(slots_in(stolen), choice)
    found = quotient(answered(choice))
    # Uniform modulo p: so many coefficients are as small as a choice's by chance, and slots are neither 0 nor 1.
    small = int((np.abs(found) <= T // 2).sum())
    assert small <= 8192 * T / PRIMES[0] + 30
    assert (slots_in(found) <= 1).mean() < 0.01


def test_division_needs_only_the_missing_encryption_of_zero_not_the_missing_flood() -> None:
    choice = own_choice()
    stolen = quotient(answered(choice, SlotsLeaving(FLOODED.flood_bits, False, SEALED_PRIMES)))
    assert np.array_equal(slots_in(stolen), choice)


def noise_of(answer: LatticeSlots, message: Ints) -> list[int]:
    """What the key holder finds beside the message it opens, times t: exact integers."""
    ring = twin.Ring(8192, PRIMES[: answer._head.primes])
    own_secret = SECRET._own_secret.astype(np.int64)
    rows = zip(half(answer, 0), half(answer, 1), ring.primes, strict=True)
    phase = np.array([(c0 + product(c1, own_secret)) % p for c0, c1, p in rows], dtype=np.uint32)
    q = ring.modulus
    numbers = zip(twin.from_residues(phase, ring), message, strict=True)
    return [twin.centred(T * x - q * int(m), T * q) for x, m in numbers]


@pytest.fixture(scope="module")
def own_errors() -> Ints:
    """The noise of the sealed table, times t: the key holder's own."""
    return np.array(noise_of(SEALED, slots_poly(VALUES)), dtype=np.int64)


def test_without_either_the_noise_is_the_errors_times_the_choices_and_is_solved_whole(own_errors: Ints) -> None:
    choice = own_choice()
    p = PRIMES[0]
    noise = [x % p for x in noise_of(answered(choice, BARE), slots_poly(VALUES * choice))]
    over = zip(twin.values_at_roots(noise, p), twin.values_at_roots([int(x) for x in own_errors], p), strict=True)
    poly = np.array(twin.from_values(np.array([int(x) * pow(int(y), -1, p) % p for x, y in over]), p))
    assert np.array_equal(slots_in(np.where(poly > p // 2, poly - p, poly)), choice)


def right_guesses(leaving: SlotsLeaving, errors: Ints, trials: int) -> int:
    """How often the candidate whose share of the noise fits better is the right one."""
    candidates = [own_choice(), own_choice()]
    messages = [slots_poly(VALUES * c) for c in candidates]
    moved = [_moved(slots_poly(c.astype(np.int64)), errors) for c in candidates]
    right = 0
    for _ in range(trials):
        truth = int(RNG.integers(2))
        noise = noise_of(answered(candidates[truth], leaving), messages[truth])
        right += better_fit(noise, moved) == truth
    return right


def better_fit(noise: list[int], moved: list[list[int]]) -> int:
    """Which of two moves leaves less of the noise when it is taken away; in whole integers, for one is far smaller."""
    zero, one = moved
    lean = sum(x * (b - a) for x, a, b in zip(noise, zero, one, strict=True))
    return int(2 * lean > sum(b * b - a * a for a, b in zip(zero, one, strict=True)))


def _moved(choice: Ints, errors: Ints) -> list[int]:
    """Errors times choices, exactly."""
    ring = twin.Ring(8192, PRIMES[:4])
    return [twin.centred(x, ring.modulus) for x in twin.product(list(map(int, errors)), list(map(int, choice)), ring)]


def test_without_a_flood_the_noise_tells_two_choices_apart_every_time_and_ours_as_a_coin_does(own_errors: Ints) -> None:
    assert right_guesses(NO_FLOOD, own_errors, 20) == 20
    assert right_guesses(NARROW, own_errors, 20) == 20
    assert COIN[0] <= right_guesses(FLOODED, own_errors, TRIALS) <= COIN[1]


def test_enumerating_candidates_finds_a_choice_only_without_an_encryption_of_zero() -> None:
    candidates = [own_choice() for _ in range(8)]
    bare = answered(candidates[5], NO_ZERO).encode()
    assert [answered(c, NO_ZERO).encode() == bare for c in candidates].index(True) == 5
    ours = answered(candidates[5])
    fresh = SlotsLeaving(0, False, ours._head.primes)
    assert not any(np.any(half(answered(c, fresh), 1) == half(ours, 1), axis=0).mean() > 0.001 for c in candidates)


def words(answer: LatticeSlots) -> Ints:
    return np.concatenate([half(answer, 0), half(answer, 1)])


def test_two_answers_with_the_same_choices_cannot_be_linked_but_bare_ones_are_equal() -> None:
    choice = own_choice()
    assert answered(choice, NO_ZERO).encode() == answered(choice, NO_ZERO).encode()
    one, two = words(answered(choice)), words(answered(choice))
    # 32 768 words: equal by chance in 2 of 10 000 pairs, and a correlation of 5 deviations in 1 of a million.
    assert (one == two).sum() <= 1
    for first, second in zip(one, two, strict=True):
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(8192)
    assert abs(np.corrcoef(one[0], words(SEALED)[0])[0, 1]) < 5 / np.sqrt(8192)


def test_lanes_of_a_sum_are_uniform_shares_while_a_filters_show_their_entries() -> None:
    choice = own_choice()
    filtered = answered(choice)
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
    other = SlotsPublicKey.read(data[:37] + SlotsSecretKey(1).public.encode()[37:], 1)
    mine, theirs = (_native.slots_key_coefficients(key._half, key._seed) for key in (PUBLIC, other))
    assert np.array_equal(mine[1::2], theirs[1::2])
    assert not np.any(mine[0] == theirs[0], axis=0)
    reseeded = _native.slots_key_coefficients(PUBLIC._half, bytes(31) + b"\1")
    assert (reseeded[1::2] == mine[1::2]).sum() <= 2


# Rows: n = 4096; the sabotaged answers are the twin's, ours the native ones.

ROWS_PLAN = RowsPlan(rows=64, bounds=(1000,), groups=64, columns=1, run_sums=64 * TRIALS, parts=2)
ROWS = RNG.integers(-1000, 1001, (64, 1))
RING = twin.Ring(4096, PRIMES[:4])


class KnownRows:
    """Sealed rows, and all that the key holder knows of them."""

    def __init__(self) -> None:
        self.key: LatticeSecretKey = Lattice().new_key(2)
        # A sum of sealed things has both halves in its wire form.
        self.sealed = self.key.seal_rows(ROWS, ROWS_PLAN) + self.key.seal_rows(np.zeros_like(ROWS), ROWS_PLAN)
        self.layout = self.sealed.layout
        ring = twin.Ring(4096, PRIMES[:1])
        secret = twin.restored(self.key._own_secret.reshape(4, 2, 4096)[:1, 0], ring)
        self.secret = [twin.centred(x, PRIMES[0]) for x in secret]
        blocks = max(64 // self.layout.step, 1)
        words = twin.unpacked(self.sealed.encode()[-blocks * 8 * 13824 :][: 8 * 13824]).reshape(2, 4, 4096)
        self.pair = twin.Pair(twin.restored(words[0], RING), twin.restored(words[1], RING), RING)
        message = [0] * 4096
        for j in range(min(64, self.layout.step)):
            message[-j % 4096] = self.layout.scale * int(ROWS[j, 0]) * (1 if j == 0 else -1)
        phase = zip(twin.phase(self.pair, self.secret), message, strict=True)
        self.errors = [twin.centred(x - m, RING.modulus) for x, m in phase]

    def selection(self, codes: NDArray[np.uint8]) -> twin.Poly:
        """Row j of group g at X^(g step + j)."""
        poly = [0] * 4096
        for j, code in enumerate(codes[: self.layout.step]):
            place = int(code) * self.layout.step + j
            if place < 4096:
                poly[place] = 1
        return poly


@pytest.fixture(scope="module")
def known() -> KnownRows:
    rows = KnownRows()
    assert max(map(abs, rows.errors)) <= 42
    return rows


def own_codes() -> NDArray[np.uint8]:
    return RNG.integers(0, 64, 64).astype(np.uint8)


def returned(known: KnownRows, codes: NDArray[np.uint8]) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """What the key holder gets back: c1 of a return (primes x 4096), and the noise of its wanted coefficients."""
    nodes, step = Nodes.in_order(np.array([64])), known.layout.step
    sums = known.key.public.group_sums(known.sealed, Selection(codes[None], np.array([64])), nodes)
    assert known.layout.merges == 0
    assert np.array_equal(known.key.open_sums(sums).reshape(-1), true_sums(codes))
    wanted = min(64, 4096 // step)
    returns = 64 // wanted
    payload = sums.encode()[-returns * (2 * 13824 + 2 * 27 * -(-wanted // 8)) :]
    words = twin.unpacked(payload[: 2 * 13824]).reshape(2, 4096)
    few = twin.unpacked(payload[2 * 13824 :][: 2 * 27 * -(-wanted // 8)]).reshape(2, -1)[:, :wanted]
    ring, secret = twin.Ring(4096, PRIMES[:2]), np.array(known.secret)
    rows = zip(words.astype(np.int64), few, ring.primes, strict=True)
    phase = np.array([(c0 + product(c1, secret)[::step][:wanted]) % p for c1, c0, p in rows], dtype=np.uint32)
    numbers = zip(twin.from_residues(phase, ring), true_sums(codes), strict=False)
    scale = known.layout.scale / DROPPED
    return words, np.array([twin.centred(x, ring.modulus) - int(m) * scale for x, m in numbers])


def true_sums(codes: NDArray[np.uint8]) -> Ints:
    return np.array([ROWS[codes == g].sum() for g in range(64)])


def test_division_gives_the_rows_groups_from_a_bare_product_and_nothing_from_ours(known: KnownRows) -> None:
    codes, p = own_codes(), PRIMES[0]
    selection = known.selection(codes)
    over = twin.values_at_roots([x % p for x in known.pair.c1], p)
    inverse = np.array([pow(int(x), -1, p) for x in over])
    bare = twin.values_at_roots([x % p for x in twin.times(known.pair, selection).c1], p)
    assert twin.from_values(bare * inverse % p, p) == selection
    words, _ = returned(known, codes)
    found = np.array(twin.from_values(twin.values_at_roots([int(x) for x in words[0]], p) * inverse % p, p))
    assert (found <= 1).sum() <= 2


def test_the_noise_of_a_bare_sum_names_its_rows_and_ours_as_a_coin_does(known: KnownRows) -> None:
    candidates = [own_codes(), own_codes()]
    step = known.layout.step
    moved = [twin.product(known.errors, known.selection(c), RING)[::step] for c in candidates]
    moved = [[twin.centred(x, RING.modulus) for x in m] for m in moved]
    bare = twin.phase(twin.times(known.pair, known.selection(candidates[1])), known.secret)[::step]
    true = [
        known.layout.scale * int(ROWS[: known.layout.step][candidates[1][: known.layout.step] == g].sum())
        for g in range(len(bare))
    ]
    noise = [twin.centred(x - m, RING.modulus) for x, m in zip(bare, true, strict=True)]
    assert noise == moved[1]
    assert noise != moved[0]
    truths = RNG.integers(0, 2, TRIALS).tolist()
    narrow = [[x + int(f) for x, f in zip(moved[t], RNG.integers(-20, 21, len(bare)), strict=True)] for t in truths]
    assert sum(better_fit(n, moved) == t for n, t in zip(narrow, truths, strict=True)) > 0.9 * TRIALS
    right = 0
    for truth in truths:
        _, left = returned(known, candidates[truth])
        whole = [round(x * DROPPED) for x in left]
        right += better_fit(whole, [m[: len(whole)] for m in moved]) == truth
    assert COIN[0] <= right <= COIN[1]


def test_two_returns_of_the_same_sums_cannot_be_linked(known: KnownRows) -> None:
    codes = own_codes()
    (one, first), (two, second) = returned(known, codes), returned(known, codes)
    assert (one == two).sum() <= 1
    for a, b in zip(one.astype(np.int64), two.astype(np.int64), strict=True):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(4096)
    assert not np.any(first == second)


def test_the_random_half_of_the_rows_key_comes_from_its_seed() -> None:
    keys = [Lattice().new_key(1) for _ in range(2)]
    halves = [key.public.encode()[38 : 38 + 4 * 13824] for key in keys]
    seed = bytes(range(32))
    mine, theirs = (_native.lattice_read_public(half, seed) for half in halves)
    assert mine is not None
    assert theirs is not None
    mine, theirs = mine.reshape(4, 2, 4096), theirs.reshape(4, 2, 4096)
    assert np.array_equal(mine[:, 1], theirs[:, 1])
    assert (mine[:, 0] == theirs[:, 0]).sum() <= 2
    data = keys[0].public.encode()
    with pytest.raises(CipherError, match="public key"):
        Lattice().read_public_key(data[: 38 + 4 * 13824] + data[38:], 1)
