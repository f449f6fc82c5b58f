"""Scores of rows apart: what a key holder finds out about choices among own and shared entries, whatever it sealed.

As in `test_lattice_rows_attacks`, sabotaged answers are the twin's, ours the native ones. A cheating key holder seals
powers of two that are no multiples of the scale, so that every bit of a phase is a choice; the bits that it reads are
counted as the mutual information of each choice and its guess.
"""

import secrets
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.privacy import lattice_twin as twin
from tests.privacy.lattice_attack import (
    COIN,
    RETURN_BYTES,
    RING,
    TRIALS,
    Ints,
    KnownRows,
    better_fit,
    own_secret,
    phases,
    plaintext,
)

from hedgerow import _native
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice import bounds, coefficients
from hedgerow.privacy.lattice.bounds import DROPPED, PRIMES, Q
from hedgerow.privacy.lattice.cipher import Lattice, LatticeSecretKey
from hedgerow.privacy.lattice.coefficients import CoefficientSlots
from hedgerow.privacy.lattice.layout import rows_layout
from hedgerow.privacy.lattice.rows import SEEDED_ROWS, LatticeRows, LatticeSums, of_kind
from hedgerow.privacy.lattice.slots_choice import MOST_ENTRIES, as_rows
from hedgerow.privacy.shapes import SlotsPlan, score_modulus

RNG = np.random.default_rng(6)

# Seven rows of 512 entries and 512 that they share: one ciphertext, a return for each row.

PLAN = SlotsPlan(
    rows=7,
    entries=512,
    shared=512,
    bound=30,
    modulus=score_modulus(1024 * 30),
    sums_only=True,
    apart=True,
    run_sums=7 * TRIALS,
    parts=2,
)
ENTRIES = RNG.integers(-30, 31, (8, 512))
"""The last row is shared."""


@pytest.fixture(scope="module")
def known() -> KnownRows:
    rows = KnownRows(ENTRIES.reshape(-1, 1), as_rows(PLAN))
    assert (rows.layout.step, rows.layout.merges, rows.layout.modulus) == (4096, 0, PLAN.modulus)
    assert max(map(abs, rows.errors)) <= 42
    return rows


def own_choices() -> NDArray[np.bool_]:
    return RNG.random((7, 1024)) < 0.5


def row_poly(choice: NDArray[np.bool_], row: int) -> twin.Poly:
    """A row's own choice where its entries lie, and where the shared ones do."""
    poly = np.zeros((8, 512), np.int64)
    poly[row], poly[7] = choice[row, :512], choice[row, 512:]
    return [int(x) for x in poly.reshape(-1)]


def scores(choice: NDArray[np.bool_]) -> Ints:
    return np.asarray((ENTRIES[:7] * choice[:, :512]).sum(axis=1) + (ENTRIES[7] * choice[:, 512:]).sum(axis=1))


def returned(known: KnownRows, choice: NDArray[np.bool_]) -> tuple[Ints, list[int]]:
    """What the key holder gets back: all of c1, and the noise of each row's one coefficient of c0."""
    sums = coefficients.slot_sums(known.key.public, CoefficientSlots(PLAN, known.sealed), choice)
    wanted = scores(choice)
    assert np.array_equal(known.key.open_slots(sums)[:, 0], wanted)
    words, seen = phases(sums.encode()[-7 * RETURN_BYTES :], 7, np.array(known.secret))
    return words, [x * DROPPED - plaintext(known.layout, int(m)) for x, m in zip(seen, wanted, strict=True)]


def moved_by(known: KnownRows, choice: NDArray[np.bool_]) -> list[int]:
    """What a choice moves in the noise of each row's sum: the errors of its entries, at coefficient 0, and what was
    rounded in each of them."""
    # Entry j stands at X^-j, which is -X^(n - j).
    errors, n = np.array(known.errors), 4096
    by_entry = (np.where(np.arange(n) == 0, 1, -1) * errors[-np.arange(n) % n]).reshape(8, 512)
    wanted, moved = scores(choice), []
    for row, chosen in enumerate(choice):
        erred = int((by_entry[row] * chosen[:512]).sum() + (by_entry[7] * chosen[512:]).sum())
        entries = np.append(ENTRIES[row], ENTRIES[7])[chosen].tolist()
        rounded = sum(plaintext(known.layout, x) for x in entries) - plaintext(known.layout, int(wanted[row]))
        assert abs(rounded) <= (len(entries) + 1) / 2
        moved.append(erred + rounded)
    return moved


def test_division_gives_a_rows_choices_from_a_bare_product_and_nothing_from_ours(known: KnownRows) -> None:
    choice, p = own_choices(), PRIMES[0]
    inverse = np.array([pow(int(x), -1, p) for x in twin.values_at_roots([x % p for x in known.pair.c1], p)])
    selection = row_poly(choice, 3)
    bare = twin.values_at_roots([x % p for x in twin.times(known.pair, selection).c1], p)
    assert twin.from_values(bare * inverse % p, p) == selection
    words, _ = returned(known, choice)
    found = np.array(twin.from_values(twin.values_at_roots(words[3, 0].tolist(), p) * inverse % p, p))
    assert (found <= 1).sum() <= 2


def test_the_noise_of_a_bare_score_names_its_entries_and_ours_as_a_coin_does(known: KnownRows) -> None:
    candidates = [own_choices(), own_choices()]
    moved = [moved_by(known, c) for c in candidates]
    bare = twin.phase(twin.times(known.pair, row_poly(candidates[1], 2)), known.secret)[0]
    assert twin.centred(bare - plaintext(known.layout, int(scores(candidates[1])[2])), RING.modulus) == moved[1][2]
    assert moved[0] != moved[1]
    truths = RNG.integers(0, 2, TRIALS).tolist()
    narrow = [[x + int(f) for x, f in zip(moved[t], RNG.integers(-20, 21, 7), strict=True)] for t in truths]
    assert sum(better_fit(n, moved) == t for n, t in zip(narrow, truths, strict=True)) > 0.9 * TRIALS
    noises = [returned(known, candidates[truth])[1] for truth in truths]
    right = sum(better_fit(n, moved) == truth for n, truth in zip(noises, truths, strict=True))
    assert COIN[0] <= right <= COIN[1]
    # What is left in ours is the flood and what fills the step, as wide as the layout says.
    spread = np.array(noises, dtype=float).std()
    assert spread == pytest.approx(known.layout.filling / np.sqrt(12), rel=0.15)


def test_two_returns_of_the_same_scores_cannot_be_linked(known: KnownRows) -> None:
    choice = own_choices()
    bare = twin.times(known.pair, row_poly(choice, 0))
    assert bare.c1 == twin.times(known.pair, row_poly(choice, 0)).c1
    (one, first), (two, second) = returned(known, choice), returned(known, choice)
    assert (one == two).sum() <= 2
    for a, b in zip(one[:, 0], two[:, 0], strict=True):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(4096)
    assert not np.any(np.array(first) == np.array(second))


# A key holder that cheats: entry i of a row is 2^(44 + i), whatever the scale.

BITS, LOWEST = 60, 44
CRAFTED = SlotsPlan(
    rows=60, entries=30, shared=30, bound=1, modulus=score_modulus(20_000), sums_only=True, apart=True, run_sums=6000
)


def crafted(secret: LatticeSecretKey) -> LatticeRows:
    """Powers of two as entries: the first 30 as each row's own, the others shared."""
    rows = as_rows(CRAFTED)
    layout = rows_layout(rows, None, by_public_key=False)
    powers = np.append(np.tile(2 ** np.arange(30), 60), 2 ** np.arange(30, 60))
    seed = secrets.token_bytes(32)
    head = secret.public.rows_head(SEEDED_ROWS, rows, layout)
    scale = [2**LOWEST % p for p in PRIMES[:4]]
    data = _native.lattice_seal_rows(
        secret._own_secret, seed, powers[None], layout.step, scale, head.encode(layout) + seed, 1
    )
    return of_kind(secret.public.read_rows(data, rows), LatticeRows)


def read_bits(phase: int) -> NDArray[np.bool_]:
    """The choices whose powers of two add up to the phase: above 2^104 it is negative."""
    whole = round(phase * DROPPED) % Q >> LOWEST
    return np.array([whole >> i & 1 for i in range(BITS)], dtype=bool)


def information(own: NDArray[np.bool_], found: NDArray[np.bool_]) -> float:
    """Bits that guesses tell of choices, each by itself: no more than a channel carries, but for chance."""
    total = 0.0
    for chosen, guess in zip(own.T, found.T, strict=True):
        joint = np.histogram2d(chosen, guess, bins=2, range=[[0, 1], [0, 1]])[0] / len(chosen)
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        total += float((joint * np.log2(np.where(joint > 0, joint, 1) / np.where(apart > 0, apart, 1))).sum())
    return total


ANSWERS = 10
CHANCE = BITS / (2 * np.log(2) * ANSWERS * 60) * 3
"""What 60 choices that tell nothing seem to tell over so many rows, in the mean, times three."""


@pytest.fixture(scope="module")
def cheated() -> tuple[LatticeSecretKey, LatticeRows, Ints]:
    secret = Lattice().new_key(2, slots=False)
    return secret, crafted(secret), own_secret(secret)


def answered(
    cheated: tuple[LatticeSecretKey, LatticeRows, Ints], padded: bool = False
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Choices, and what the key holder reads of them in honest answers to its powers of two."""
    secret, sealed, own = cheated
    chosen, found = [], []
    for _ in range(ANSWERS):
        choice = RNG.random((60, BITS)) < 0.5
        pad = RNG.integers(0, CRAFTED.modulus, 60) if padded else None
        sums = coefficients.slot_sums(secret.public, CoefficientSlots(CRAFTED, sealed), choice, pad=pad)
        assert isinstance(sums.sealed, LatticeSums)
        _, seen = phases(sums.encode()[-60 * RETURN_BYTES :], 60, own)
        chosen.append(choice)
        found.append(np.array([read_bits(phase) for phase in seen]))
    return np.concatenate(chosen), np.concatenate(found)


def test_powers_of_two_read_no_more_than_the_room_and_all_choices_without_a_flood(
    cheated: tuple[LatticeSecretKey, LatticeRows, Ints],
) -> None:
    room = Lattice().slots_room(CRAFTED)
    read = information(*answered(cheated))
    # The attack is a good one, and the bound not far above it.
    assert room - 6 < read <= room + CHANCE
    assert room < np.log2(CRAFTED.modulus) + 0.001
    # Without a flood the twin's answer, cut down to two primes like ours, tells all that stands in them.
    _, sealed, own_key = cheated
    pair = whole_pair(sealed)
    choice = RNG.random((2, BITS)) < 0.5
    own, found = [], []
    for row, chosen in enumerate(choice):
        poly = np.zeros(4096, np.int64)
        poly[30 * row : 30 * row + 30], poly[1800:1830] = chosen[:30], chosen[30:]
        bare = twin.times(pair, [int(x) for x in poly])
        for _ in range(2):
            bare = twin.switched_down(bare)
        own.append(chosen)
        found.append(read_bits(twin.phase(bare, own_key.tolist())[0]))
    right = (np.array(own) == np.array(found)).all(axis=0)
    # Rounding leaves some 2^4 of the 2^52 that were dropped, and a carry goes 16 bits further once in 2^16.
    lost = 52 + 4 + 16 - LOWEST
    assert right[lost:].all()
    assert BITS - lost > 1.5 * room


def whole_pair(sealed: LatticeRows) -> twin.Pair:
    """Both halves of the one ciphertext: adding it to itself writes both of them down, twice as large."""
    doubled = _native.lattice_add_rows(sealed.sealed, sealed.sealed, False, b"", 1)
    words = twin.unpacked(doubled).reshape(2, 4, 4096)
    half = pow(2, -1, Q)
    halves = [[x * half % Q for x in twin.restored(each, RING)] for each in words]
    return twin.Pair(halves[0], halves[1], RING)


def test_a_pad_leaves_nothing_of_powers_of_two(cheated: tuple[LatticeSecretKey, LatticeRows, Ints]) -> None:
    left = Lattice().slots_room(CRAFTED) - np.log2(CRAFTED.modulus)
    assert 0 < left < 0.001
    assert information(*answered(cheated, padded=True)) <= left + CHANCE


# The layout.


def test_the_room_is_what_a_flood_or_a_filling_leaves_of_the_modulus() -> None:
    entropies = []
    for w in range(6, 12):
        uniform = np.full(2**w, 2.0**-w)
        flood = np.convolve(np.convolve(uniform, uniform), uniform)
        entropies.append(float(-(flood * np.log2(flood)).sum()) - w)
    assert bounds.FLOOD_ENTROPY <= min(entropies) == entropies[0]
    assert entropies == sorted(entropies)
    assert bounds.carried(Q, 80) == pytest.approx(np.log2(float(Q)) - 80 - 1.0375)
    layout = rows_layout(as_rows(CRAFTED), None, by_public_key=True)
    assert Lattice().slots_room(CRAFTED) == pytest.approx(np.log2(float(Q)) - np.log2(float(layout.filling)))
    # A filling narrower than the flood has less entropy than that.
    assert bounds.carried(Q, 80, 2**80 + 1) == bounds.carried(Q, 80)


@pytest.mark.parametrize(("rows", "entries", "shared"), [(8192, 520, 400), (1, 520, 400), (1, 0, 5000), (900, 9, 4096)])
def test_entries_are_packed_densely_and_merged_returns_are_small(rows: int, entries: int, shared: int) -> None:
    plan = replace(PLAN, rows=rows, entries=entries, shared=shared, run_sums=10**6, parts=1, by_holder=True)
    out = Lattice(100.0).slots_bytes(plan, entries)
    assert out < 200 + 55296 * (-(-rows * entries // 4096) + -(-shared // 4096))
    back = Lattice(100.0).slots_bytes(plan, 1, 1)
    if rows == 8192:
        assert (out + back) / rows < 7200
        assert back / rows < 62
    if rows == 1:
        assert out < 200 + 55296 * -(-(entries + shared) // 4096)


def test_rows_apart_that_have_no_layout_in_coefficients_are_refused() -> None:
    cipher = Lattice()
    simple = replace(PLAN, shared=0)
    for other in (replace(simple, choices=2), replace(simple, sums_only=False), replace(PLAN, choices=2)):
        with pytest.raises(ParameterError, match="one choice of sums only"):
            cipher.ensure_slots(other)
    with pytest.raises(ParameterError, match="seal fewer rows at a time"):
        cipher.ensure_slots(replace(PLAN, rows=MOST_ENTRIES // 512 + 1))
    with pytest.raises((ParameterError, PrivacyError), match=r"use fewer bits a value"):
        cipher.ensure_slots(replace(PLAN, modulus=score_modulus(2**50)))


def test_a_key_for_rows_alone_serves_rows_apart_and_one_for_slots_alone_does_not() -> None:
    secret = Lattice().new_key(1, rows=True, slots=False)
    plan = replace(PLAN, rows=2, entries=3, shared=1, parts=1)
    values = np.arange(6).reshape(2, 3)
    sums = secret.public.slot_sums(secret.seal_slots(values, plan, np.array([9])), np.ones((2, 4), bool))
    assert secret.open_slots(sums).tolist() == [[12], [21]]
