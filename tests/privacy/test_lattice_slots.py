"""Sums by slot and filters under the lattice cipher: right for every shape, refused where there is no room."""

import copy
import math
import pickle
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError, PrivacyError
from hedgerow.privacy.lattice import bounds
from hedgerow.privacy.lattice.slots import LatticeSlots, SlotsPublicKey, SlotsSecretKey
from hedgerow.privacy.lattice.slots_bounds import MOST_MODULI, MOST_PRIMES, SLOTS, plaintext_primes, slots_layout
from hedgerow.privacy.shapes import SlotsPlan, plan_digest

SECRET = SlotsSecretKey(2)
PUBLIC = SlotsPublicKey.read(SECRET.public.encode(), 2)
HEAD = 80


def table(plan: SlotsPlan, seed: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(-plan.bound, plan.bound + 1, (plan.rows, plan.entries))


def choice(plan: SlotsPlan, seed: int = 1, entries: int | None = None) -> NDArray[np.bool_]:
    return np.random.default_rng(seed).random((plan.rows, entries or plan.entries)) < 0.4


def sent(sealed: LatticeSlots) -> LatticeSlots:
    """What arrives when it is sent."""
    return PUBLIC.read_slots(sealed.encode(), sealed.plan, sealed.entries, sealed.chosen)


def plan_of(rows: int, entries: int, bound: int = 1000, **more: int) -> SlotsPlan:
    return SlotsPlan(rows=rows, entries=entries, bound=bound, run_sums=rows * entries, **more)


SHAPES = [(1, 1), (1, 1600), (5, 7), (4096, 3), (4097, 2), (8192, 2), (8193, 1), (20_000, 3)]


@pytest.mark.parametrize(("rows", "entries"), SHAPES)
def test_sums_of_chosen_entries_are_the_integer_sums_for_every_shape(rows: int, entries: int) -> None:
    plan = plan_of(rows, entries, summand=50)
    values, own_choice = table(plan), choice(plan)
    plus = np.random.default_rng(2).integers(-50, 51, rows)
    sums = PUBLIC.slot_sums(sent(SECRET.seal_slots(values, plan)), own_choice, plus)
    opened = SECRET.open_slots(sent(sums))
    assert np.array_equal(opened, ((values * own_choice).sum(axis=1) + plus)[:, None])


@pytest.mark.parametrize(("rows", "entries"), SHAPES)
def test_filters_keep_chosen_integers_and_zero_the_others(rows: int, entries: int) -> None:
    plan = plan_of(rows, entries)
    values, own_choice = table(plan), choice(plan)
    filtered = PUBLIC.filtered(sent(SECRET.seal_slots(values, plan)), own_choice)
    assert np.array_equal(SECRET.open_slots(sent(filtered)), values * own_choice)


@pytest.mark.parametrize("rows", [3, 700, 9000])
@pytest.mark.parametrize("order", ["FS", "FF", "SF", "SS"])
@pytest.mark.parametrize("by_public_key", [False, True])
def test_two_choices_one_upon_another(rows: int, order: str, by_public_key: bool) -> None:
    plan = plan_of(rows, 5, choices=2)
    values = table(plan)
    sealed: LatticeSlots = (PUBLIC if by_public_key else SECRET).seal_slots(values, plan)
    for number, now in enumerate(order):
        own_choice = choice(plan, number, sealed.entries)
        values = values * own_choice
        if now == "S":
            values = values.sum(axis=1, keepdims=True)
        sealed = sent(PUBLIC.slot_sums(sealed, own_choice) if now == "S" else PUBLIC.filtered(sealed, own_choice))
    assert np.array_equal(SECRET.open_slots(sealed), values)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_random_tables_up_to_their_bounds(data: st.DataObject) -> None:
    rows, entries = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40))
    bound = data.draw(st.integers(1, 2**45 // entries))
    plan = plan_of(rows, entries, bound)
    values = np.where(choice(plan, data.draw(st.integers(0, 99))), bound, -bound)
    own_choice = choice(plan, data.draw(st.integers(0, 99)))
    opened = SECRET.open_slots(PUBLIC.slot_sums(SECRET.seal_slots(values, plan), own_choice))
    assert np.array_equal(opened[:, 0], (values * own_choice).sum(axis=1))


def test_the_largest_sums_open_under_one_two_and_three_plaintext_primes() -> None:
    for n_primes, bits in ((1, 20), (2, 40), (3, 60)):
        primes = plaintext_primes(2**bits)
        assert len(primes) == n_primes
        most = min(math.prod(primes) // 2, 2**62)
        plan = plan_of(2, 1, most)
        values = np.array([[most], [-most]])
        opened = SECRET.open_slots(PUBLIC.slot_sums(SECRET.seal_slots(values, plan), values != 0))
        assert np.array_equal(opened, values)


def test_every_sum_that_a_plan_allows_fits_three_plaintext_primes() -> None:
    assert len(plaintext_primes(2**62)) == MOST_MODULI == 3
    with pytest.raises(ParameterError, match="do not fit 3 plaintext primes"):
        plaintext_primes(2**80)


def test_plaintext_primes_are_smallest_prime_and_none_of_the_modulus() -> None:
    for bits in range(1, 63, 3):
        primes = plaintext_primes(2**bits)
        assert math.prod(primes) > 2 ** (bits + 1)
        assert len(set(primes)) == len(primes)
        assert all(p % (2 * SLOTS) == 1 and p < min(bounds.PRIMES) for p in primes)


def test_every_modulus_is_inside_the_standards_table() -> None:
    assert math.prod(bounds.PRIMES[:MOST_PRIMES]).bit_length() <= bounds.STANDARD_BITS[SLOTS]
    for choices in (1, 2):
        for by_public_key in (False, True):
            layout = slots_layout(plan_of(1000, 100, choices=choices), by_public_key)
            assert max(layout.primes) == layout.primes[0] <= MOST_PRIMES


@pytest.mark.parametrize("choices", [1, 2])
@pytest.mark.parametrize("run_sums", [1, 10**6, 10**9])
def test_the_whole_runs_distance_stays_below_what_was_promised(choices: int, run_sums: int) -> None:
    plan = SlotsPlan(rows=1000, entries=50, bound=100, choices=choices, run_sums=run_sums)
    assert slots_layout(plan).distance <= 2.0**-40


def test_more_choices_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(ParameterError, match="has room for 2"):
        slots_layout(plan_of(5, 5, choices=3))


def test_a_run_that_opens_too_much_to_be_hidden_is_refused() -> None:
    plan = SlotsPlan(rows=8192, entries=1600, bound=2**14, choices=2, run_sums=2**60)
    with pytest.raises(PrivacyError, match="do not fit 214 bits"):
        slots_layout(plan)


def test_sealed_tables_and_sums_add_and_subtract_as_often_as_the_plan_allows() -> None:
    plan = plan_of(30, 6, parts=3)
    a, b = table(plan, 1), table(plan, 2)
    first, second = SECRET.seal_slots(a, plan), PUBLIC.seal_slots(b, plan)
    assert np.array_equal(SECRET.open_slots(sent(first + second)), a + b)
    own_choice = choice(plan)
    sums = PUBLIC.slot_sums(sent(first - second), own_choice) + PUBLIC.slot_sums(first, own_choice)
    assert np.array_equal(SECRET.open_slots(sent(sums))[:, 0], ((2 * a - b) * own_choice).sum(axis=1))
    with pytest.raises(ParameterError, match="allows 3 parts"):
        sums + PUBLIC.slot_sums(first, own_choice)


def test_what_does_not_belong_together_is_not_added() -> None:
    plan = plan_of(3, 4, parts=2)
    sealed = SECRET.seal_slots(table(plan), plan)
    with pytest.raises(CipherError, match="different keys"):
        sealed + SlotsSecretKey(1).seal_slots(table(plan), plan)
    with pytest.raises(ParameterError, match="different plans"):
        sealed + SECRET.seal_slots(table(plan), replace(plan, summand=1))
    with pytest.raises(ParameterError, match="different choices"):
        sealed + PUBLIC.filtered(sealed, choice(plan))


def test_refusals_before_anything_is_sealed_or_answered() -> None:
    plan = plan_of(3, 4)
    values = table(plan)
    sealed = SECRET.seal_slots(values, plan)
    with pytest.raises(ParameterError, match="larger than the plan's bound"):
        SECRET.seal_slots(np.full((3, 4), 1001), plan)
    with pytest.raises(ParameterError, match="not 3 rows of 4"):
        PUBLIC.seal_slots(values[:2], plan)
    with pytest.raises(ParameterError, match="one truth value"):
        PUBLIC.slot_sums(sealed, choice(plan)[:, :2])
    with pytest.raises(ParameterError, match="larger than the plan's"):
        PUBLIC.slot_sums(sealed, choice(plan), np.array([1, 0, 0]))
    with pytest.raises(ParameterError, match="all are made"):
        PUBLIC.filtered(PUBLIC.filtered(sealed, choice(plan)), choice(plan))
    with pytest.raises(CipherError, match="another key"):
        SlotsSecretKey(1).public.slot_sums(sealed, choice(plan))
    with pytest.raises(CipherError, match="another key"):
        SlotsSecretKey(1).open_slots(sealed)


def test_an_answer_beyond_the_plan_is_refused_when_it_is_opened() -> None:
    wide, narrow = plan_of(3, 4, 1000), plan_of(3, 4, 1)
    assert slots_layout(wide).moduli == slots_layout(narrow).moduli
    made = SECRET.seal_slots(np.full((3, 4), 1000), wide).encode()
    with pytest.raises(CipherError, match="not made for the plan"):
        PUBLIC.read_slots(made, narrow, 4)
    data = made.replace(plan_digest(wide), plan_digest(narrow))
    with pytest.raises(CipherError, match="larger than any the plan allows"):
        SECRET.open_slots(PUBLIC.slot_sums(PUBLIC.read_slots(data, narrow, 4), np.ones((3, 4), bool)))


def changed(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


PLAN = plan_of(3, 4, parts=2, choices=2)
SEALED = SECRET.seal_slots(table(PLAN), PLAN).encode()
MALFORMED = {
    "nothing": b"",
    "half a head": SEALED[: HEAD // 2],
    "a head alone": SEALED[:HEAD],
    "one byte less": SEALED[:-1],
    "one byte more": SEALED + b"\0",
    "another format": changed(SEALED, 0, b"HLAT"),
    "another version": changed(SEALED, 4, b"\x01"),
    "an unknown kind": changed(SEALED, 5, b"\x07"),
    "both halves said, one there": changed(changed(SEALED, 5, b"\x01"), 40, bytes(32)),
    "no seed": changed(SEALED, 40, bytes(32)),
    "more primes": changed(SEALED, 6, b"\x08"),
    "no primes": changed(SEALED, 6, b"\x00"),
    "a choice made": changed(SEALED, 7, b"\x01"),
    "no parts": changed(SEALED, 8, struct.pack("<I", 0)),
    "too many parts": changed(SEALED, 8, struct.pack("<I", 3)),
    "seeded parts": changed(SEALED, 8, struct.pack("<I", 2)),
    "2^60 rows": changed(SEALED, 12, struct.pack("<Q", 2**60)),
    "other entries": changed(SEALED, 20, struct.pack("<I", 5)),
    "another key": changed(SEALED, 24, bytes(16)),
    "residues of ones": changed(SEALED, HEAD, b"\xff" * 27),
    "a residue of ones at the end": changed(SEALED, len(SEALED) - 4, b"\xff" * 4),
    "the first prime itself": changed(SEALED, HEAD, struct.pack("<I", bounds.PRIMES[0])),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_tables_are_refused(name: str) -> None:
    with pytest.raises(CipherError, match=r"sealed table|sealed under"):
        PUBLIC.read_slots(MALFORMED[name], PLAN, 4)


def test_a_table_is_read_only_for_the_entries_and_choices_that_were_agreed_on() -> None:
    for entries, chosen in [(3, 0), (1, 0), (4, 1), (4, 3)]:
        with pytest.raises(CipherError, match=r"agreed on|plan allows|modulus"):
            PUBLIC.read_slots(SEALED, PLAN, entries, chosen)


KEY = SECRET.public.encode()
BAD_KEYS = {
    "nothing": b"",
    "one byte less": KEY[:-1],
    "one byte more": KEY + b"\0",
    "another format": changed(KEY, 0, b"HLPK"),
    "another version": changed(KEY, 4, b"\x00"),
    "a residue of ones": changed(KEY, 37, b"\xff" * 4),
    "the last residue of ones": changed(KEY, 37 + 8 * 27648 - 4, b"\xff" * 4),
    "another proof": changed(KEY, len(KEY) - 30_000, bytes(4)),
    "a proof that goes on": changed(KEY, len(KEY) - 4, b"\1" * 4),
    "two halves": KEY + KEY[37:],
}


@pytest.mark.parametrize("name", BAD_KEYS)
def test_malformed_public_keys_are_refused(name: str) -> None:
    with pytest.raises(CipherError, match="A public key for slots"):
        SlotsPublicKey.read(BAD_KEYS[name], 1)


def test_secret_keys_are_neither_written_nor_copied_nor_shown() -> None:
    with pytest.raises(PrivacyError, match="cannot be copied"):
        pickle.dumps(SECRET)
    with pytest.raises(PrivacyError, match="cannot be copied"):
        copy.deepcopy(SECRET)
    assert repr(SECRET) == "SlotsSecretKey()"
    sealed = SECRET.seal_slots(table(PLAN), PLAN)
    assert repr(sealed) == "LatticeSlots(3 rows, 4 entries)"
    assert not hasattr(sealed, "__array__")
    assert not hasattr(sealed, "values")


def test_both_paths_read_each_others_tables() -> None:
    plan = plan_of(50, 6)
    values, own_choice = table(plan), choice(plan)
    try:
        for first in (False, True):
            _native.set_portable_only(first)
            sealed = SECRET.seal_slots(values, plan)
            _native.set_portable_only(not first)
            sums = PUBLIC.slot_sums(sealed, own_choice)
            _native.set_portable_only(first)
            assert np.array_equal(SECRET.open_slots(sums)[:, 0], (values * own_choice).sum(axis=1))
    finally:
        _native.set_portable_only(False)


def test_the_number_of_threads_does_not_change_what_is_opened() -> None:
    plan = plan_of(9000, 20)
    values, own_choice = table(plan), choice(plan)
    for threads in (1, 3):
        secret = SlotsSecretKey(threads)
        sums = secret.public.slot_sums(secret.seal_slots(values, plan), own_choice)
        assert np.array_equal(secret.open_slots(sums)[:, 0], (values * own_choice).sum(axis=1))
