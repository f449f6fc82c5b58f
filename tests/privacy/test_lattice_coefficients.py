"""Sums by slot in coefficients: right for every shape, chosen where they are quicker, refused where malformed."""

import math
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError, PrivacyError
from hedgerow.privacy.lattice import bounds, coefficients
from hedgerow.privacy.lattice import slots_choice as choices
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.lattice.coefficients import HEAD_BYTES, CoefficientSlots
from hedgerow.privacy.lattice.layout import rows_layout
from hedgerow.privacy.lattice.rows import HEADER_BYTES, SEED_BYTES
from hedgerow.privacy.lattice.slots import LatticeSlots
from hedgerow.privacy.lattice.slots_bounds import slots_layout
from hedgerow.privacy.shapes import DISTANCE_BITS, SlotsPlan

LINKS = (None, 100.0)
SECRETS = {link: Lattice(link).new_key(2) for link in LINKS}
PUBLICS = {link: Lattice(link).read_public_key(key.public.encode(), 2) for link, key in SECRETS.items()}


def plan_of(rows: int, entries: int, bound: int = 512, **more: Any) -> SlotsPlan:
    sizes: dict[str, Any] = {"rows": rows, "entries": entries, "bound": bound, "run_sums": 10**6, "sums_only": True}
    return SlotsPlan(**(sizes | more))


def query(plan: SlotsPlan, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    shape = (plan.rows, plan.entries)
    return rng.integers(-plan.bound, plan.bound + 1, shape), rng.random(shape) < 0.4


def travelled(slots: CoefficientSlots, link: float | None) -> CoefficientSlots:
    return coefficients.read(PUBLICS[link], slots.encode(), slots.plan, slots.entries, slots.chosen)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("rows", "entries"), [(1, 1), (1, 1600), (3, 4096), (7, 1000), (2, 5000), (70, 9)])
def test_sums_are_the_integer_sums_for_every_shape_chosen_or_not(link: float | None, rows: int, entries: int) -> None:
    plan = plan_of(rows, entries, summand=50)
    values, own_choice = query(plan)
    plus = np.random.default_rng(2).integers(-50, 51, rows)
    for key in (SECRETS[link], PUBLICS[link]):
        sealed = travelled(coefficients.seal(key, values, plan), link)
        sums = travelled(coefficients.slot_sums(PUBLICS[link], sealed, own_choice, plus), link)
        opened = coefficients.open_slots(SECRETS[link], sums)
        assert np.array_equal(opened, ((values * own_choice).sum(axis=1) + plus)[:, None])


@settings(max_examples=25, deadline=None)
@given(data=st.data(), link=st.sampled_from(LINKS), portable=st.booleans())
def test_random_entries_up_to_their_bounds(data: st.DataObject, link: float | None, portable: bool) -> None:
    rows, entries = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 300))
    plan = plan_of(rows, entries, data.draw(st.integers(1, 2**30)))
    _, signs = query(plan, data.draw(st.integers(0, 99)))
    values, (_, own_choice) = np.where(signs, plan.bound, -plan.bound), query(plan, data.draw(st.integers(0, 99)))
    _native.set_portable_only(portable)
    try:
        sums = coefficients.slot_sums(PUBLICS[link], coefficients.seal(SECRETS[link], values, plan), own_choice, None)
        opened = coefficients.open_slots(SECRETS[link], sums)
    finally:
        _native.set_portable_only(False)
    assert np.array_equal(opened[:, 0], (values * own_choice).sum(axis=1))


def kind_of(plan: SlotsPlan, link: float | None) -> type:
    return type(SECRETS[link].seal_slots(np.zeros((plan.rows, plan.entries), np.int64), plan))


def test_one_row_lies_in_coefficients_and_many_in_lanes_and_both_sides_agree() -> None:
    for link in LINKS:
        assert kind_of(plan_of(1, 1600), link) is CoefficientSlots
        assert kind_of(plan_of(4000, 2), link) is LatticeSlots
        for rows in (1, 4000):
            plan = plan_of(rows, 2)
            sealed = PUBLICS[link].read_slots(SECRETS[link].seal_slots(*query(plan)[:1], plan).encode(), plan, 2)
            assert isinstance(sealed, CoefficientSlots) == PUBLICS[link].in_coefficients(plan) == (rows == 1)


def test_plans_that_coefficients_cannot_serve_lie_in_lanes() -> None:
    for other in ({"sums_only": False}, {"choices": 2}):
        assert not choices.in_coefficients(replace(plan_of(1, 1600), **other), 100.0)
    beyond = plan_of(choices.MOST_ENTRIES // 10_000 + 1, 10_000)
    assert choices.coefficients_seconds(beyond, 100.0) is None
    wide = plan_of(1, 1600, 2**43, most_sum=2**43)
    assert choices.coefficients_seconds(wide, None) is None
    assert kind_of(wide, None) is LatticeSlots


def test_a_plan_without_room_is_refused_by_both_keys() -> None:
    plan = plan_of(1, 2, 2**60, run_sums=2**250)
    with pytest.raises(PrivacyError, match="fewer bits a value"):
        Lattice().ensure_slots(plan)
    for key in (SECRETS[None], PUBLICS[None]):
        with pytest.raises(PrivacyError, match="fewer bits a value"):
            key.seal_slots(np.ones((1, 2), np.int64), plan)


def test_a_slower_link_takes_coefficients_for_more_rows() -> None:
    counts = [
        sum(choices.in_coefficients(plan_of(rows, 1600), link) for rows in range(1, 60)) for link in (None, 1e3, 30)
    ]
    assert 0 < counts[0] < counts[1] < counts[2]


def test_the_choice_is_by_the_stated_estimates() -> None:
    for rows in (1, 10, 100, 1000):
        for link in (None, 100.0):
            plan = plan_of(rows, 1600)
            few = choices.coefficients_seconds(plan, link)
            assert few is not None
            assert choices.in_coefficients(plan, link) == (few < choices.lanes_seconds(plan, link))


@pytest.mark.parametrize("link", LINKS)
def test_the_estimated_bytes_are_those_that_travel(link: float | None) -> None:
    plan = plan_of(1, 1600)
    values, own_choice = query(plan)
    sealed = SECRETS[link].seal_slots(values, plan)
    few = len(sealed.encode()) + len(PUBLICS[link].slot_sums(sealed, own_choice).encode())
    assert few < 84_000
    lanes = SECRETS[link].seal_slots(values, replace(plan, sums_only=False))
    many = len(lanes.encode()) + len(PUBLICS[link].slot_sums(lanes, own_choice).encode())
    estimated = choices.lanes_bytes(slots_layout(replace(plan, sums_only=False)))
    assert abs(many - estimated) < 200
    assert few < 0.4 * many


@settings(max_examples=40, deadline=None)
@given(
    plan=st.builds(
        plan_of,
        st.integers(1, 300),
        st.integers(1, 5000),
        st.integers(1, 2**20),
        run_sums=st.integers(1, 2**30),
        summand=st.integers(0, 2**20),
        parts=st.integers(1, 3),
    ),
    link=st.sampled_from([None, 10.0, 100.0]),
    by_public_key=st.booleans(),
)
def test_every_layout_hides_the_run_and_has_room_for_the_largest_sum(
    plan: SlotsPlan, link: float | None, by_public_key: bool
) -> None:
    if choices.coefficients_seconds(plan, link) is None:
        return
    rows = choices.as_rows(plan)
    layout = rows_layout(rows, link, by_public_key)
    public = by_public_key or plan.parts > 1
    assert rows.run_sums >= plan.run_sums
    assert rows.most[0] >= plan.most
    assert layout.distance(rows, plan.entries, plan.parts, public) <= 2.0**-DISTANCE_BITS
    noise = bounds.noise_without_flood(plan.entries * plan.parts, public, layout.merges, rows.run_sums)
    assert plan.parts * (noise + 1.5 * 2**layout.flood_bits) < layout.scale / 2
    assert 2 * plan.most < 2**layout.bits


def test_an_answer_beyond_the_plan_is_refused_when_it_is_opened() -> None:
    wide, narrow = plan_of(3, 4, 1000), plan_of(3, 4, 1000, most_sum=1500)
    sealed = coefficients.seal(SECRETS[None], np.full((3, 4), 1000), wide)
    sums = coefficients.slot_sums(PUBLICS[None], sealed, np.ones((3, 4), bool), None)
    with pytest.raises(CipherError, match="plan agreed on"):
        PUBLICS[None].read_slots(sums.encode(), narrow, 1, 1)
    with pytest.raises(CipherError, match="larger than any the plan allows"):
        SECRETS[None].open_slots(replace(sums, plan=narrow))


def test_lengths_do_not_depend_on_values_or_choices() -> None:
    plan = plan_of(4, 200)
    values, own_choice = query(plan)
    for link in LINKS:
        sealed = coefficients.seal(SECRETS[link], values, plan)
        assert len(sealed.encode()) == len(coefficients.seal(SECRETS[link], values * 0, plan).encode())
        answers = {
            len(coefficients.slot_sums(PUBLICS[link], sealed, choice, None).encode())
            for choice in (own_choice, ~own_choice, own_choice & False)
        }
        assert len(answers) == 1


PLAN = plan_of(3, 40, parts=2)
VALUES, OWN_CHOICE = query(PLAN)
SEALED = coefficients.seal(SECRETS[None], VALUES, PLAN)
ENTRIES = SEALED.encode()
SUMS = coefficients.slot_sums(PUBLICS[None], SEALED, OWN_CHOICE, None).encode()
INNER = HEAD_BYTES + HEADER_BYTES
"""Where sums begin; entries have a seed before."""


def changed(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def spoilt(data: bytes, first: int) -> dict[str, bytes]:
    """Malformed forms of what is sealed and has its first residue here."""
    inner = HEAD_BYTES
    return {
        "nothing": b"",
        "half a head": data[: HEAD_BYTES // 2],
        "a head alone": data[:HEAD_BYTES],
        "both heads alone": data[:INNER],
        "what is inside alone": data[HEAD_BYTES:],
        "two heads": data[:HEAD_BYTES] + data,
        "one byte less": data[:-1],
        "one byte more": data + b"\0",
        "twice": data + data,
        "another format": changed(data, 0, b"HGSL"),
        "another version": changed(data, 4, b"\x02"),
        "another choice": changed(data, 5, bytes([data[5] ^ 1])),
        "two choices": changed(data, 5, b"\x02"),
        "another plan": changed(data, 6, bytes(8)),
        "another format inside": changed(data, inner, b"HGSC"),
        "another version inside": changed(data, inner + 4, b"\x01"),
        "another kind inside": changed(data, inner + 5, b"\x03"),
        "an unknown kind inside": changed(data, inner + 5, b"\x00"),
        "another key": changed(data, inner + 6, bytes(8)),
        "another plan inside": changed(data, inner + 14, bytes(8)),
        "2^32 - 1 rows": changed(data, inner + 22, b"\xff" * 4),
        "no parts": changed(data, inner + 30, struct.pack("<I", 0)),
        "too many parts": changed(data, inner + 30, struct.pack("<I", 3)),
        "another step": changed(data, inner + 34, b"\xff\xff"),
        "residues of ones": changed(data, first, b"\xff" * 27),
        "the first prime itself": changed(data, first, struct.pack("<I", bounds.PRIMES[0])),
    }


MALFORMED_ENTRIES = spoilt(ENTRIES, INNER + SEED_BYTES)
MALFORMED_SUMS = spoilt(SUMS, INNER)


@pytest.mark.parametrize("name", MALFORMED_ENTRIES)
def test_malformed_entries_and_sums_are_refused(name: str) -> None:
    for data, entries, chosen in ((MALFORMED_ENTRIES[name], 40, 0), (MALFORMED_SUMS[name], 1, 1)):
        with pytest.raises(CipherError, match="the run stops"):
            PUBLICS[None].read_slots(data, PLAN, entries, chosen)


def test_lanes_are_not_read_as_coefficients_nor_the_other_way() -> None:
    lanes = replace(PLAN, sums_only=False)
    table = SECRETS[None].seal_slots(VALUES, lanes).encode()
    with pytest.raises(CipherError, match="the run stops"):
        PUBLICS[None].read_slots(table, PLAN, 40)
    with pytest.raises(CipherError, match="another format or version"):
        PUBLICS[None].read_slots(ENTRIES, lanes, 40)
    rows = choices.as_rows(PLAN)
    with pytest.raises(CipherError, match="not of the lattice cipher"):
        PUBLICS[None].read_rows(ENTRIES, rows)
    with pytest.raises(CipherError, match="the run stops"):
        PUBLICS[None].read_slots(SECRETS[None].seal_rows(VALUES.reshape(-1, 1), rows).encode(), PLAN, 40)


def test_what_does_not_belong_together_is_not_added() -> None:
    other = coefficients.seal(SECRETS[None], VALUES, replace(PLAN, summand=1))
    with pytest.raises(ParameterError, match="different plans"):
        _ = SEALED + other
    with pytest.raises(ParameterError, match="before and after a choice"):
        _ = SEALED - coefficients.slot_sums(PUBLICS[None], SEALED, OWN_CHOICE, None)
    with pytest.raises(CipherError, match="CoefficientSlots of the lattice cipher are needed"):
        _ = SEALED + SECRETS[None].seal_slots(VALUES, replace(PLAN, sums_only=False))  # type: ignore[operator]
    with pytest.raises(ParameterError, match="allows 2 parts of a sum; these have 3"):
        _ = SEALED + SEALED + SEALED


def test_plans_for_sums_only_need_no_room_for_filters_in_lanes() -> None:
    plan = plan_of(1000, 50, 100, choices=2)
    layout, whole = slots_layout(plan), slots_layout(replace(plan, sums_only=False))
    assert [order for order, _ in layout.floods] == ["S", "SS"]
    assert layout.primes <= whole.primes
    assert layout.distance <= 2.0**-DISTANCE_BITS
    assert math.prod(bounds.PRIMES[: layout.primes[0]]).bit_length() <= bounds.STANDARD_BITS[8192]
