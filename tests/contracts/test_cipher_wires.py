"""Promises that every cipher keeps about what travels and what does not; see `test_ciphers`."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from ciphers import CIPHERS, Sides, case, nodes_of, one_node, slots_case, small, sums_case, sums_of

from hedgerow.errors import CipherError, ParameterError, PrivacyError
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan

KINDS = ("key", "rows", "sums", "slots", "filtered", "scores", "summable", "summed")


@pytest.fixture(scope="session")
def forms(sides):
    """For each kind a wire form, and what reads it at the other side."""
    rng = np.random.default_rng(1)
    a_case, slots = small(rng), slots_case(rng, 5, 3, 50)
    plan, entries = slots.plan, slots.plan.entries
    sealed = sides.sent_slots(slots.values, plan)
    filtered, scores = sides.public.filtered(sealed, slots.choice), sides.public.slot_sums(sealed, slots.choice)
    groups = a_case.selection.groups
    few = sums_case(rng, 5, 3, 50)
    summable = sides.sent_slots(few.values, few.plan)
    return {
        "key": (sides.secret.public.encode(), lambda data: sides.cipher.read_public_key(data, 1)),
        "rows": (sides.secret.seal_rows(a_case.values, a_case.plan).encode(), reads_rows(sides, a_case.plan)),
        "sums": (sums_of(sides, a_case).encode(), lambda data: sides.public.read_sums(data, a_case.plan, groups)),
        "slots": (sealed.encode(), lambda data: sides.public.read_slots(data, plan, entries)),
        "filtered": (filtered.encode(), lambda data: sides.public.read_slots(data, plan, entries, 1)),
        "scores": (scores.encode(), lambda data: sides.public.read_slots(data, plan, 1, 1)),
        "summable": (summable.encode(), lambda data: sides.public.read_slots(data, few.plan, entries)),
        "summed": (
            sides.public.slot_sums(summable, few.choice).encode(),
            lambda data: sides.public.read_slots(data, few.plan, 1, 1),
        ),
    }


def reads_rows(sides, plan):
    return lambda data: sides.public.read_rows(data, plan)


def refused(read, data):
    with pytest.raises(CipherError, match=r"\."):
        read(data)


# What came in


@pytest.mark.parametrize("kind", KINDS)
def test_a_wire_form_that_was_cut_off_or_goes_on_is_refused(forms, kind):
    data, read = forms[kind]
    read(data)
    lengths = {*range(min(len(data), 100)), *range(0, len(data), max(1, len(data) // 50)), len(data) - 1}
    for length in lengths:
        refused(read, data[:length])
    for more in (b"\0", b"\xff", bytes(8), bytes(4096), data):
        refused(read, data + more)
    refused(read, data[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_every_bit_of_a_head_matters(sides, forms, kind):
    data, read = forms[kind]
    for place in {*range(8 * (sides.tried.key_head if kind == "key" else sides.tried.head))} - sides.tried.free:
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        refused(read, bytes(changed))


@pytest.mark.parametrize("kind", KINDS)
def test_a_wire_form_of_another_kind_is_refused(forms, kind):
    _, read = forms[kind]
    for other in KINDS:
        if other != kind:
            refused(read, forms[other][0])


@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_refused(forms, kind):
    data, read = forms[kind]
    rng = np.random.default_rng(2)
    for length in (0, 1, 16, len(data)):
        refused(read, rng.bytes(length))
        refused(read, bytes(length))
        refused(read, b"\xff" * length)


def test_rows_and_sums_that_do_not_fit_the_plan_are_refused(sides, forms):
    plan = small(np.random.default_rng(1)).plan
    rows, sums = forms["rows"][0], forms["sums"][0]
    for other in (replace(plan, rows=8), replace(plan, rows=10), replace(plan, bounds=(7,))):
        refused(reads_rows(sides, other), rows)
    refused(reads_rows(sides, replace(plan, bounds=(7, 1000, 7))), rows)
    for other in (replace(plan, nodes=1), replace(plan, nodes=3), replace(plan, bounds=(7,))):
        refused(lambda data, other=other: sides.public.read_sums(data, other, 5), sums)
    refused(lambda data: sides.public.read_sums(data, plan, 4), sums)
    for groups in (0, -1, plan.groups + 1):
        with pytest.raises((CipherError, ParameterError), match=r"\."):
            sides.public.read_sums(sums, plan, groups)


def test_rows_that_are_best_sealed_once_are_read_for_any_nodes(sides, rng):
    """Whoever answers reads them again for each question; what comes back is for that question's nodes."""
    a_case = small(rng)
    data = sides.secret.seal_rows(a_case.values, a_case.plan).encode()
    for lists in ([range(9)], [[1], [2, 3], []]) if sides.cipher.seals_once else ():
        asked = replace(a_case, plan=replace(a_case.plan, nodes=len(lists)), nodes=nodes_of(lists))
        sealed = sides.public.read_rows(data, asked.plan)
        sums = sides.public.group_sums(sealed, asked.selection, asked.nodes)
        np.testing.assert_array_equal(sides.opened(sums), asked.expected)


@pytest.mark.parametrize("kinds", [("slots", "scores"), ("summable", "summed")])
def test_slots_that_do_not_fit_the_plan_are_refused(sides, forms, kinds):
    slots, scores = (forms[kind][0] for kind in kinds)
    plan = (slots_case if "slots" in kinds else sums_case)(np.random.default_rng(1), 5, 3, 50).plan
    for other in (replace(plan, rows=4), replace(plan, rows=6), replace(plan, entries=2), replace(plan, entries=4)):
        refused(lambda data, other=other: sides.public.read_slots(data, other, other.entries), slots)
    for data, entries, chosen in ((slots, 3, 1), (scores, 1, 2)):
        with pytest.raises((CipherError, ParameterError), match=r"\."):
            sides.public.read_slots(data, plan, entries, chosen)
    for entries, chosen in ((2, 0), (0, 0), (-3, 0), (4, 0), (3, 3), (3, -1), (1, 0)):
        with pytest.raises((CipherError, ParameterError), match=r"\."):
            sides.public.read_slots(slots, plan, entries, chosen)


def test_what_was_sealed_under_other_bounds_is_refused(sides, forms):
    """Bounds decide how integers are packed, and a plan with others could open to other integers."""
    plan = small(np.random.default_rng(1)).plan
    others = [(15, 1000), (7, 4000), (3, 500), (1, 1), (10**4, 10**5), plan.bounds[::-1]]
    for bounds in others:
        other = replace(plan, bounds=bounds)
        refused(lambda data, other=other: sides.public.read_sums(data, other, 5), forms["sums"][0])
        refused(reads_rows(sides, other), forms["rows"][0])


# Keys


def wide(rng):
    """Sums of which most of what a cipher has room for is impossible, so many that chance cannot hit them all."""
    return case(rng, (33,), [64], one_node(4), 4)


def test_what_another_key_sealed_is_refused_when_it_is_read_or_opened(sides, others, rng):
    """A scheme whose wire forms do not name the key cannot tell before it opens impossible sums."""
    a_case = wide(rng)
    data = others.secret.seal_rows(a_case.values, a_case.plan).encode()

    def answered():
        sealed = sides.public.read_rows(data, a_case.plan)
        return sides.opened(sides.public.group_sums(sealed, a_case.selection, a_case.nodes))

    with pytest.raises(CipherError, match=r"\."):
        answered()
    with pytest.raises(CipherError, match=r"\."):
        sides.opened(sums_of(others, a_case))
    slots, few = slots_case(rng, 64, 2, 33), sums_case(rng, 5, 3, 50)
    with pytest.raises(CipherError, match=r"\."):
        sides.opened_slots(others.sent_slots(slots.values, slots.plan))
    with pytest.raises(CipherError, match=r"\."):
        sides.opened_slots(others.public.slot_sums(others.sent_slots(few.values, few.plan), few.choice))


def test_what_another_key_sealed_is_not_worked_with_while_it_is_known_whose_it_is(sides, others, rng):
    a_case, slots = small(rng, parts=2), slots_case(rng, 5, 3, 50, parts=2)
    foreign, sealed = others.sent(a_case.values, a_case.plan), others.sent_slots(slots.values, slots.plan)
    few = sums_case(rng, 5, 3, 50, parts=2)
    summable = others.sent_slots(few.values, few.plan)
    attempts = (
        lambda: sides.public.group_sums(foreign, a_case.selection, a_case.nodes),
        lambda: sides.public.slot_sums(sealed, slots.choice),
        lambda: sides.public.filtered(sealed, slots.choice),
        lambda: sums_of(sides, a_case) + sums_of(others, a_case),
        lambda: sides.sent(a_case.values, a_case.plan) - foreign,
        lambda: sides.secret.open_sums(sums_of(others, a_case)),
        lambda: sides.secret.open_slots(sealed),
        lambda: sides.public.slot_sums(summable, few.choice),
        lambda: sides.sent_slots(few.values, few.plan) + summable,
        lambda: sides.secret.open_slots(others.public.slot_sums(summable, few.choice)),
    )
    for attempt in attempts:
        with pytest.raises(CipherError, match=r"\."):
            attempt()


def test_a_key_works_only_with_what_was_sealed_for_that(sides, rng):
    a_case, slots = small(rng), slots_case(rng, 5, 3, 50)
    rows, sealed = sides.sent(a_case.values, a_case.plan), sides.sent_slots(slots.values, slots.plan)
    sums = sides.public.group_sums(rows, a_case.selection, a_case.nodes)
    few = sums_case(rng, 5, 3, 50)
    summable = sides.sent_slots(few.values, few.plan)
    attempts = (
        lambda: sides.public.group_sums(sums, a_case.selection, a_case.nodes),
        lambda: sides.public.group_sums(sealed, a_case.selection, a_case.nodes),
        lambda: sides.public.slot_sums(rows, slots.choice),
        lambda: sides.public.filtered(sums, slots.choice),
        lambda: sides.secret.open_sums(rows),
        lambda: sides.secret.open_slots(sums),
        lambda: sides.secret.open_sums(a_case.values),
        lambda: sides.public.group_sums(summable, a_case.selection, a_case.nodes),
        lambda: sides.secret.open_sums(sides.public.slot_sums(summable, few.choice)),
    )
    for attempt in attempts:
        with pytest.raises(CipherError, match=r"\."):
            attempt()


def test_what_another_cipher_sealed_is_refused(sides, rng):
    for other in CIPHERS.values():
        if other.cipher is not sides.cipher:
            check_nothing_of(Sides(other), sides, rng)


def check_nothing_of(foreign, sides, rng):
    a_case, slots, few = small(rng), slots_case(rng, 5, 3, 50), sums_case(rng, 5, 3, 50)
    refused(lambda data: sides.cipher.read_public_key(data, 1), foreign.secret.public.encode())
    rows, sums = foreign.secret.seal_rows(a_case.values, a_case.plan), sums_of(foreign, a_case)
    sealed = foreign.secret.seal_slots(slots.values, slots.plan)
    summable = foreign.secret.seal_slots(few.values, few.plan)
    refused(reads_rows(sides, a_case.plan), rows.encode())
    refused(lambda data: sides.public.read_sums(data, a_case.plan, sums.groups), sums.encode())
    refused(lambda data: sides.public.read_slots(data, slots.plan, 3), sealed.encode())
    refused(lambda data: sides.public.read_slots(data, few.plan, 3), summable.encode())
    attempts = (
        lambda: sides.public.group_sums(rows, a_case.selection, a_case.nodes),
        lambda: sides.public.slot_sums(sealed, slots.choice),
        lambda: sides.public.slot_sums(summable, few.choice),
        lambda: sides.secret.open_sums(sums),
        lambda: sides.secret.open_slots(sealed),
        lambda: sums_of(sides, a_case) + sums,
    )
    for attempt in attempts:
        with pytest.raises(CipherError, match=r"\."):
            attempt()


def test_a_secret_key_is_neither_copied_nor_written(sides):
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PrivacyError, match="Secret keys"):
            attempt(sides.secret)
    assert not hasattr(sides.secret, "encode")


# What shows


def test_sealed_things_have_no_values_and_show_none(sides):
    plan, slots = RowsPlan(rows=2, bounds=(10**6,), groups=1), SlotsPlan(rows=2, entries=2, bound=10**6)
    rng = np.random.default_rng(3)
    a_case = replace(case(rng, (10**6,), [1], one_node(2), 2), values=np.array([[987_654], [-987_654]]))
    things = [
        sides.sent(a_case.values, plan),
        sums_of(sides, a_case),
        sides.sent_slots(np.full((2, 2), 987_654), slots),
        sides.sent_slots(np.full((2, 2), 987_654), replace(slots, sums_only=True)),
    ]
    for thing in things:
        assert not hasattr(thing, "values")
        assert not hasattr(thing, "__array__")
        assert not hasattr(thing, "__array_interface__")
        assert not hasattr(thing, "__buffer__")
        assert np.asarray(thing, dtype=object).shape == ()
        with pytest.raises(TypeError, match="must be a string or a real number"):
            float(thing)
        with pytest.raises(TypeError, match="not iterable"):
            iter(thing)
    for thing in (*things, sides.secret, sides.public):
        assert "987654" not in repr(thing).replace("_", "").replace(",", "")
        assert "array" not in repr(thing)
        assert len(repr(thing)) < 100


def test_the_same_integers_sealed_twice_and_the_same_answer_given_twice_differ(sides, rng):
    a_case, slots = small(rng), slots_case(rng, 5, 3, 50)
    sealed, slot = sides.sent(a_case.values, a_case.plan), sides.sent_slots(slots.values, slots.plan)
    few = sums_case(rng, 5, 3, 50)
    summable = sides.sent_slots(few.values, few.plan)
    makers = (
        lambda: sides.secret.seal_rows(a_case.values, a_case.plan),
        lambda: sides.public.seal_rows(a_case.values, a_case.plan),
        lambda: sides.secret.seal_slots(slots.values, slots.plan),
        lambda: sides.public.seal_slots(slots.values, slots.plan),
        lambda: sides.public.group_sums(sealed, a_case.selection, a_case.nodes),
        lambda: sides.public.slot_sums(slot, slots.choice),
        lambda: sides.public.filtered(slot, slots.choice),
        lambda: sides.secret.seal_slots(few.values, few.plan),
        lambda: sides.public.seal_slots(few.values, few.plan),
        lambda: sides.public.slot_sums(summable, few.choice),
    )
    for make in makers:
        share = alike(make().encode(), make().encode())
        assert share < 0.1 if sides.tried.hides else share == 1
    assert sides.secret.public.encode() != sides.cipher.new_key(1).public.encode()


def alike(one, two):
    """The share of bytes that are the same, beside one another; one in 256 by chance, and the head."""
    assert len(one) == len(two)
    same = np.frombuffer(one, np.uint8) == np.frombuffer(two, np.uint8)
    return same[64:].mean()


# How long wire forms are


@pytest.mark.parametrize("nodes", [1, 7])
@pytest.mark.parametrize("rows", [1, 40, 300])
def test_rows_and_sums_are_as_long_as_the_plan_says(sides, rows, nodes, rng):
    plan = RowsPlan(rows=rows, bounds=(9, 9), groups=12, nodes=nodes, run_sums=5000)
    values = rng.integers(-9, 10, (rows, 2))
    selection = Selection(rng.integers(0, 5, (2, rows)).astype(np.uint8), np.array([3, 4]))
    sealed = sides.sent(values, plan)
    sums = sides.public.group_sums(
        sealed, selection, Nodes.in_order(np.diff(np.linspace(0, rows, nodes + 1).astype(int)))
    )
    assert len(sealed.encode()) == sides.cipher.rows_bytes(plan)
    assert len(sums.encode()) == sides.cipher.sums_bytes(plan, selection.groups)


@pytest.mark.parametrize("sums_only", [False, True])
@pytest.mark.parametrize("entries", [1, 3, 9])
def test_slots_are_as_long_as_the_plan_says(sides, entries, sums_only, rng):
    plan = SlotsPlan(rows=20, entries=entries, bound=5, sums_only=sums_only)
    sealed = sides.sent_slots(rng.integers(-5, 6, (20, entries)), plan)
    choice = rng.random((20, entries)) < 0.5
    length = sides.cipher.slots_bytes
    assert len(sealed.encode()) == length(plan, entries)
    assert len(sides.public.slot_sums(sealed, choice).encode()) == length(plan, 1, 1)
    if not sums_only:
        assert len(sides.public.filtered(sealed, choice).encode()) == length(plan, entries, 1)


def test_smaller_plans_take_no_more_than_the_most_of_a_larger_one(sides):
    """Also where few rows of many nodes lie otherwise than all of them."""
    large = RowsPlan(rows=4000, bounds=(128, 128), groups=20_000, columns=100, nodes=64, run_sums=1 << 22)
    most = sides.cipher.most_rows_bytes(large)
    found = [
        sides.cipher.rows_bytes(replace(large, rows=rows, nodes=nodes, most_rows=largest))
        for rows in (4000, 3999, 2000, 700, 100)
        for nodes in (1, 2, 9, 33, 64)
        for largest in (0, -(-rows // nodes))
    ]
    assert max(found) <= most < 20 * max(found)
