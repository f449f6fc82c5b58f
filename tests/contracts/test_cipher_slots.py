"""Promises that every cipher keeps about sums by slot and filtered vectors; see `test_ciphers`."""

from dataclasses import replace

import numpy as np
import pytest
from ciphers import REFUSED, integers, largest, slots_case, slots_cases, sums_case, sums_cases, tried, with_bound

from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.shapes import SlotsPlan


@pytest.mark.parametrize("cases", [slots_cases, sums_cases])
def test_scores_are_the_integer_sums(sides, cases):
    def claim(slots):
        sealed = sides.sent_slots(slots.values, slots.plan)
        summed = sides.public.slot_sums(sealed, slots.choice, slots.plus)
        assert (summed.entries, summed.chosen) == (1, 1)
        expected = np.where(slots.choice, slots.values, 0).sum(axis=1) + (0 if slots.plus is None else slots.plus)
        np.testing.assert_array_equal(sides.opened_slots(summed), expected[:, None])

    tried(sides, cases, claim)


def test_a_filtered_vector_keeps_what_was_chosen_and_can_be_chosen_from_again(sides):
    def claim(slots):
        left = sides.public.filtered(sides.sent_slots(slots.values, slots.plan, by=sides.public), slots.choice)
        assert (left.entries, left.chosen) == (slots.plan.entries, 1)
        expected = np.where(slots.choice, slots.values, 0)
        np.testing.assert_array_equal(sides.opened_slots(left), expected)
        passed = sides.public.read_slots(left.encode(), slots.plan, left.entries, 1)
        np.testing.assert_array_equal(sides.opened_slots(passed), expected)
        expected = np.where(slots.second, expected, 0)
        np.testing.assert_array_equal(sides.opened_slots(sides.public.filtered(passed, slots.second)), expected)
        summed = sides.public.slot_sums(passed, slots.second)
        np.testing.assert_array_equal(sides.opened_slots(summed), expected.sum(axis=1, keepdims=True))

    tried(sides, slots_cases, claim)


@pytest.mark.parametrize("made", [slots_case, sums_case])
@pytest.mark.parametrize(("rows", "entries"), [(1, 800), (2, 300), ("many", 3)])
def test_one_row_of_many_entries_and_many_rows_of_few(sides, rng, made, rows, entries):
    slots = made(rng, sides.tried.many if rows == "many" else rows, entries, 500)
    expected = np.where(slots.choice, slots.values, 0)
    summed = sides.public.slot_sums(sides.sent_slots(slots.values, slots.plan), slots.choice)
    np.testing.assert_array_equal(sides.opened_slots(summed), expected.sum(axis=1, keepdims=True))


def test_a_row_whose_entries_exclude_each_other_needs_less_room(sides, rng):
    slots = slots_case(rng, 6, 8, 100, most_sum=200)
    values = np.where(np.arange(8) < 2, slots.values, 0)
    summed = sides.public.slot_sums(sides.sent_slots(values, slots.plan), slots.choice)
    np.testing.assert_array_equal(sides.opened_slots(summed)[:, 0], np.where(slots.choice, values, 0).sum(axis=1))


def test_no_more_choices_are_made_than_the_plan_has(sides, rng):
    slots = slots_case(rng, 4, 3, 50)
    twice = sides.sent_slots(slots.values, slots.plan)
    for choice in (slots.choice, slots.second):
        twice = sides.public.filtered(twice, choice)
    with pytest.raises(ParameterError, match=r"\."):
        sides.public.filtered(twice, slots.choice)
    with pytest.raises(ParameterError, match=r"\."):
        sides.public.slot_sums(twice, slots.choice)
    with pytest.raises((ParameterError, CipherError), match=r"\."):
        sides.public.read_slots(twice.encode(), replace(slots.plan, choices=1), 3, 2)


@pytest.mark.parametrize(("choices", "sums_only"), [(1, False), (2, False), (1, True)])
@pytest.mark.parametrize("rows", [1, 5])
def test_scores_are_right_up_to_the_largest_bound_and_refused_beyond(sides, rows, choices, sums_only):
    sizes = {"rows": rows, "entries": 3, "choices": choices, "parts": 2}
    plan = SlotsPlan(**sizes, bound=1, summand=5, run_sums=100, sums_only=sums_only)
    limit = largest(lambda bound: sides.cipher.ensure_slots(with_bound(plan, bound)))
    at, plus = with_bound(plan, limit), np.full(rows, 5)
    for sign in (-1, 1):
        parts = []
        for _ in range(2):
            sealed = sides.sent_slots(np.full((rows, 3), sign * limit), at)
            for _ in range(choices):
                sealed = sides.public.slot_sums(sealed, np.ones((rows, sealed.entries), bool), sign * plus)
            parts.append(sealed)
        assert sides.opened_slots(parts[0] + parts[1]).tolist() == [[sign * at.most]] * rows
    with pytest.raises(REFUSED, match=r"\."):
        sides.secret.seal_slots(np.ones((rows, 3), np.int64), with_bound(plan, limit + 1))
    with pytest.raises(REFUSED, match=r"\."):
        sides.public.seal_slots(np.ones((rows, 3), np.int64), with_bound(plan, limit + 1))


def test_what_many_seal_without_a_choice_adds_up_or_the_plan_is_refused(sides, rng):
    plan = SlotsPlan(rows=7, entries=3, bound=50, choices=0, parts=3)
    parts = [integers(rng, 7, (50,) * 3) for _ in range(3)]
    if isinstance(sides.cipher, Lattice):
        with pytest.raises(ParameterError, match="makes no choice"):
            sides.public.seal_slots(parts[0], plan)
        return
    one, two, three = (sides.sent_slots(part, plan, by=sides.public) for part in parts)
    np.testing.assert_array_equal(sides.opened_slots(one + two + three), sum(parts))
    with pytest.raises(ParameterError, match=r"\."):
        sides.public.filtered(one, np.ones((7, 3), bool))


def test_sealed_slots_add_and_subtract(sides, rng):
    slots = slots_case(rng, 5, 4, 50, parts=2)
    plan, a, b = slots.plan, slots.values, integers(rng, 5, (50,) * 4)
    sealed = sides.sent_slots(a, plan) - sides.sent_slots(b, plan, by=sides.public)
    np.testing.assert_array_equal(sides.opened_slots(sealed), a - b)
    summed = sides.public.slot_sums(sealed, slots.choice)
    expected = np.where(slots.choice, a - b, 0).sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(sides.opened_slots(summed), expected)
    with pytest.raises(ParameterError, match=r"\."):
        _ = sealed + sides.sent_slots(a, plan)
    one = sides.public.slot_sums(sides.sent_slots(a, plan), slots.choice)
    assert sides.opened_slots(one + one).shape == (5, 1)
    with pytest.raises(ParameterError, match=r"\."):
        _ = summed - one


def test_sealed_entries_and_their_sums_add_and_subtract_where_sums_are_all_that_is_wanted(sides, rng):
    slots = sums_case(rng, 5, 4, 50, parts=2)
    plan, a, b = slots.plan, slots.values, integers(rng, 5, (50,) * 4)
    one, two = sides.sent_slots(a, plan), sides.sent_slots(b, plan, by=sides.public)
    expected = np.where(slots.choice, a - b, 0).sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(sides.opened_slots(sides.public.slot_sums(one - two, slots.choice)), expected)
    apart = [sides.public.slot_sums(each, slots.choice) for each in (one, two)]
    np.testing.assert_array_equal(sides.opened_slots(apart[0] - apart[1]), expected)
    for attempt in (lambda: one - two + one, lambda: one + apart[0]):
        with pytest.raises((ParameterError, CipherError), match=r"\."):
            attempt()


def test_a_plan_for_sums_only_has_no_filters_and_opens_no_single_entries(sides, rng):
    slots = sums_case(rng, 5, 4, 50)
    sealed = sides.sent_slots(slots.values, slots.plan)
    with pytest.raises(ParameterError, match="for sums only"):
        sides.public.filtered(sealed, slots.choice)
    with pytest.raises(ParameterError, match="for sums only"):
        sides.secret.open_slots(sealed)
    summed = sides.public.slot_sums(sealed, slots.choice)
    with pytest.raises(ParameterError, match=r"\."):
        sides.public.slot_sums(summed, slots.choice[:, :1])
    with pytest.raises((ParameterError, CipherError), match=r"\."):
        sides.public.read_slots(summed.encode(), slots.plan, 4, 1)
    for wrong in (slots.choice[:, :3], slots.choice[:4], slots.choice.astype(int)):
        with pytest.raises(ParameterError, match=r"\."):
            sides.public.slot_sums(sealed, wrong)
    with pytest.raises(ParameterError, match="larger than the plan's"):
        sides.public.slot_sums(sealed, slots.choice, np.ones(5, np.int64))


def test_integers_beyond_a_plan_for_sums_only_are_not_sealed(sides, rng):
    slots = sums_case(rng, 2, 3, 50, most_sum=60)
    values = np.where(np.arange(3) < 1, slots.values, 0)
    summed = sides.public.slot_sums(sides.sent_slots(values, slots.plan), np.ones((2, 3), bool))
    np.testing.assert_array_equal(sides.opened_slots(summed), values[:, :1])
    for key in (sides.secret, sides.public):
        with pytest.raises(ParameterError, match="sum to more than the plan allows"):
            key.seal_slots(np.full((2, 3), 50), slots.plan)
        with pytest.raises(ParameterError, match="larger than the plan's bound"):
            key.seal_slots(np.full((2, 3), 51), slots.plan)
