"""Promises that every cipher keeps: sums over secret selections are integer sums, within bounds, or refused."""

from dataclasses import replace

import numpy as np
import pytest
from ciphers import (
    REFUSED,
    case,
    cases,
    integers,
    largest,
    nodes_of,
    one_node,
    slots_case,
    small,
    sums_of,
    tried,
    with_bound,
)

from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection, SlotsPlan

# Sums by group


def test_group_sums_are_the_integer_sums(sides):
    def claim(a_case):
        np.testing.assert_array_equal(sides.opened(sums_of(sides, a_case)), a_case.expected)

    tried(sides, cases, claim)


def test_the_public_key_seals_as_well(sides, rng):
    a_case = small(rng)
    sums = sums_of(sides, a_case, by=sides.public)
    np.testing.assert_array_equal(sides.opened(sums), a_case.expected)


def test_returned_sums_have_room_for_the_largest_and_no_more_than_their_bytes(sides, rng):
    a_case = small(rng)
    sums = sums_of(sides, a_case)
    honest = a_case.plan.nodes * sums.groups * sum((2 * most).bit_length() for most in a_case.plan.most)
    assert honest <= sides.cipher.room(a_case.plan, sums.groups) <= 8 * len(sums.encode())


def test_columns_of_1_and_of_256_groups_stand_side_by_side(sides, rng):
    a_case = case(rng, (100,), [256, 1], one_node(300), 300)
    np.testing.assert_array_equal(sides.opened(sums_of(sides, a_case)), a_case.expected)


def test_many_rows_in_nodes_of_all_sizes(sides, rng):
    rows = sides.tried.many
    cuts = np.sort(rng.integers(0, rows, 5))
    sizes = np.diff(np.concatenate([[0], cuts, [rows]]))
    a_case = case(rng, (60, 60), [31, 5], Nodes.in_order(sizes), rows, most_rows=int(sizes.max()))
    np.testing.assert_array_equal(sides.opened(sums_of(sides, a_case)), a_case.expected)


def test_many_rows_out_of_order(sides, rng):
    rows = sides.tried.many
    nodes = nodes_of(np.array_split(rng.permutation(rows), 3))
    a_case = case(rng, (60,), [4], nodes, rows)
    np.testing.assert_array_equal(sides.opened(sums_of(sides, a_case)), a_case.expected)


def test_one_selection_serves_many_vectors_so_that_rows_stay_hidden(sides, rng):
    """A vector a node and value, zero for the rows outside: the answering side sees one node with all rows."""
    rows, hidden = 50, 8
    a_case = case(rng, (9,) * 2 * hidden, [5, 3], one_node(rows), rows)
    within = rng.integers(0, hidden, rows)[:, None] == np.repeat(np.arange(hidden), 2)
    values = np.where(within, a_case.values, 0)
    for filled in ((), tuple(within.sum(axis=0)), (*within.sum(axis=0)[:-2], rows, rows)):
        told = replace(a_case, plan=replace(a_case.plan, filled=tuple(map(int, filled))), values=values)
        np.testing.assert_array_equal(sides.opened(sums_of(sides, told)), told.expected)


def test_vectors_with_fewer_rows_have_less_room_down_to_none(sides, rng):
    """The largest sums of every channel, side by side with channels that are zero throughout."""
    rows, filled = 40, (40, 40, 11, 11, 3, 0, 0, 1)
    a_case = case(rng, (200,) * len(filled), [3, 2], one_node(rows), rows)
    for sign in (1, -1):
        values = np.where(np.arange(rows)[:, None] < np.array(filled), sign * 200, 0)
        told = replace(a_case, plan=replace(a_case.plan, filled=filled), values=values)
        np.testing.assert_array_equal(sides.opened(sums_of(sides, told)), told.expected)


def test_arrays_in_any_order_of_memory_are_only_read(sides, rng):
    a_case = small(rng, summand=5)
    values, codes = np.asfortranarray(a_case.values), np.asfortranarray(a_case.selection.own_codes)
    plus, rows = np.asfortranarray(a_case.plus), np.repeat(a_case.nodes.rows, 2)[::2]
    for array in (values, codes, plus, rows):
        array.flags.writeable = False
    strange = replace(
        a_case,
        values=values,
        selection=Selection(codes, a_case.selection.widths),
        nodes=Nodes(rows, a_case.nodes.starts),
        plus=plus,
    )
    np.testing.assert_array_equal(sides.opened(sums_of(sides, strange)), a_case.expected)


def test_what_did_not_travel_opens_alike_with_any_number_of_threads(sides, rng):
    a_case = small(rng, summand=5)
    for public in (sides.public, sides.secret.public):
        sealed = sides.secret.seal_rows(a_case.values, a_case.plan)
        sealed = sealed if public is sides.secret.public else public.read_rows(sealed.encode(), a_case.plan)
        sums = public.group_sums(sealed, a_case.selection, a_case.nodes, a_case.plus)
        np.testing.assert_array_equal(sides.opened(sums), a_case.expected)
    np.testing.assert_array_equal(sides.secret.open_sums(sums), a_case.expected)


# Room


def everything(sides, plan, sign):
    """All integers as large as the plan allows, as often added as it allows, and each summand, too."""
    shape = (plan.rows, len(plan.bounds))
    values = np.broadcast_to(np.array(plan.bounds, dtype=np.int64) * sign, shape).copy()
    plus = np.full((1, 1, len(plan.bounds)), sign * plan.summand, np.int64)
    selection = Selection(np.zeros((1, plan.rows), np.uint8), np.array([1]))
    parts = [
        sides.public.group_sums(sides.sent(values, plan), selection, one_node(plan.rows), plus)
        for _ in range(plan.parts)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return sides.opened(total)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("channels", [1, 2])
def test_sums_are_right_up_to_the_largest_bound_and_refused_beyond(sides, channels, parts):
    plan = RowsPlan(rows=3, bounds=(1,) * channels, groups=1, summand=5, parts=parts, run_sums=100)
    limit = largest(lambda bound: sides.cipher.ensure_rows(with_bound(plan, bound)))
    at = with_bound(plan, limit)
    for sign in (-1, 1):
        assert everything(sides, at, sign).tolist() == [[[sign * most for most in at.most]]]
    ones = np.ones((3, channels), np.int64)
    with pytest.raises(REFUSED, match=r"\."):
        sides.secret.seal_rows(ones, with_bound(plan, limit + 1))
    with pytest.raises(REFUSED, match=r"\."):
        sides.public.seal_rows(ones, with_bound(plan, limit + 1))
    with pytest.raises(REFUSED, match=r"\."):
        sides.public.read_rows(sides.secret.seal_rows(ones, plan).encode(), with_bound(plan, limit + 1))


def test_sums_that_are_never_negative_are_right_from_none_to_the_largest(sides):
    plan = RowsPlan(rows=3, bounds=(100, 90), groups=2, positive=(False, True))
    selection = Selection(np.zeros((1, 3), np.uint8), np.array([2]))
    for row in ((100, 90), (-100, 90), (100, 0), (-100, 0), (0, 1)):
        values = np.array([row] * 3, np.int64)
        opened = sides.opened(sides.public.group_sums(sides.sent(values, plan), selection, one_node(3)))
        assert opened.tolist() == [[[3 * row[0], 3 * row[1]], [0, 0]]]
    for key in (sides.secret, sides.public):
        with pytest.raises(ParameterError, match="negative where the plan has none; nothing was sealed"):
            key.seal_rows(np.array([[5, 5], [5, -1], [5, 5]], np.int64), plan)


def test_a_plan_says_what_is_never_negative_of_every_channel_and_of_one_part():
    for told, parts in (((True,), 1), ((True, True), 2)):
        with pytest.raises(ParameterError, match="says of each channel whether rows are negative"):
            RowsPlan(rows=3, bounds=(1, 1), groups=1, positive=told, parts=parts)


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_integer_beyond_its_bound_is_refused_before_anything_is_sealed(sides, sign):
    plan, slots = RowsPlan(rows=4, bounds=(7, 9), groups=1), SlotsPlan(rows=4, entries=2, bound=9)
    values = np.zeros((4, 2), np.int64)
    values[2, 0] = sign * 8
    slot_values = np.zeros((4, 2), np.int64)
    slot_values[3, 1] = sign * 10
    for key in (sides.secret, sides.public):
        with pytest.raises(ParameterError, match="nothing was sealed"):
            key.seal_rows(values, plan)
        with pytest.raises(ParameterError, match="nothing was sealed"):
            key.seal_slots(slot_values, slots)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_summand_beyond_the_plans_is_refused(sides, rng, sign):
    a_case = small(rng, summand=5)
    a_case.plus[1, 2, 1] = sign * 6
    with pytest.raises(ParameterError, match="nothing was added"):
        sums_of(sides, a_case)
    slots = slots_case(rng, 3, 2, 9, summand=5)
    slots.plus[1] = sign * 6
    with pytest.raises(ParameterError, match="nothing was added"):
        sides.public.slot_sums(sides.sent_slots(slots.values, slots.plan), slots.choice, slots.plus)


# Addition and subtraction


def test_returned_sums_add_and_subtract_as_often_as_the_plan_allows(sides, rng):
    a_case = small(rng, summand=5, parts=3)
    a, b, c = (replace(a_case, values=integers(rng, 9, a_case.plan.bounds)) for _ in range(3))
    total = sums_of(sides, a) + sums_of(sides, b) - sums_of(sides, c)
    np.testing.assert_array_equal(sides.opened(total), a.expected + b.expected - c.expected)
    travelled = sides.public.read_sums(total.encode(), total.plan, total.groups)
    for three in (total, travelled):
        with pytest.raises(ParameterError, match=r"\."):
            _ = three + sums_of(sides, a)
        with pytest.raises(ParameterError, match=r"\."):
            _ = sums_of(sides, a) - three


def test_sealed_rows_add_and_subtract_before_they_are_summed(sides, rng):
    a_case = small(rng, parts=3)
    a, b, c = (integers(rng, 9, a_case.plan.bounds) for _ in range(3))
    sealed = sides.sent(a, a_case.plan) - sides.sent(b, a_case.plan, by=sides.public)
    travelled = sides.public.read_rows(sealed.encode(), a_case.plan)
    for rows in (sealed, travelled):
        sums = sides.public.group_sums(rows, a_case.selection, a_case.nodes)
        np.testing.assert_array_equal(sides.opened(sums), replace(a_case, values=a - b).expected)
        three = sums + sums_of(sides, replace(a_case, values=c))
        np.testing.assert_array_equal(sides.opened(three), replace(a_case, values=a - b + c).expected)
        with pytest.raises(ParameterError, match=r"\."):
            _ = three + sums
        with pytest.raises(ParameterError, match=r"\."):
            _ = rows + rows


def test_things_of_different_plans_sizes_or_kinds_are_not_added(sides, rng):
    a, b = small(rng, parts=2), small(rng, parts=3)
    fewer = replace(b, plan=a.plan, selection=Selection(b.selection.own_codes[:1], b.selection.widths[:1]))
    slots = slots_case(rng, 9, 2, 7, parts=2)
    sealed = sides.sent_slots(slots.values, slots.plan)
    for other in (sums_of(sides, b), sums_of(sides, fewer), sides.sent(a.values, a.plan), sealed):
        with pytest.raises((CipherError, ParameterError), match=r"\."):
            _ = sums_of(sides, a) + other
    with pytest.raises((CipherError, ParameterError), match=r"\."):
        _ = sealed + sides.public.filtered(sealed, slots.choice)


# Shapes


def test_selections_and_nodes_that_are_not_the_plans_are_refused(sides, rng):
    a_case = small(rng, columns=2)
    sealed = sides.sent(a_case.values, a_case.plan)
    codes, widths, nodes = a_case.selection.own_codes, a_case.selection.widths, a_case.nodes
    selections = (
        Selection(codes[:, 1:], widths),
        Selection(codes, widths + 1),
        Selection(np.vstack([codes, codes[:1]]), np.array([1, 1, 1])),
    )
    for selection in selections:
        with pytest.raises(ParameterError, match=r"\."):
            sides.public.group_sums(sealed, selection, nodes)
    for wrong in (nodes_of([[0]]), nodes_of([[0], [1], [2]]), nodes_of([[0], [9]]), nodes_of([[0], [-1]])):
        with pytest.raises(ParameterError, match=r"\."):
            sides.public.group_sums(sealed, a_case.selection, wrong)


def test_a_node_larger_than_the_plans_largest_is_refused(sides, rng):
    a_case = small(rng, most_rows=4)
    assert sides.opened(sums_of(sides, a_case)).shape == (2, 5, 2)
    with pytest.raises(ParameterError, match=r"too many rows"):
        sums_of(sides, replace(a_case, nodes=nodes_of([[0], [1, 2, 3, 4, 5]])))


def test_integers_choices_and_summands_of_another_shape_or_type_are_refused(sides, rng):
    plan, slots = RowsPlan(rows=4, bounds=(7, 9), groups=2, summand=5), slots_case(rng, 4, 2, 9, summand=5)
    fine = np.ones((4, 2), np.int64)
    for wrong in (fine[:3], fine[:, :1], fine.astype(np.int32), fine.astype(np.float64)):
        with pytest.raises(ParameterError, match=r"\."):
            sides.secret.seal_rows(wrong, plan)
        with pytest.raises(ParameterError, match=r"\."):
            sides.public.seal_slots(wrong, slots.plan)
    sealed, selection = sides.sent(fine, plan), Selection(np.zeros((1, 4), np.uint8), np.array([2]))
    for plus in (np.zeros((1, 2), np.int64), np.zeros((1, 2, 1), np.int64), np.zeros((1, 2, 2))):
        with pytest.raises(ParameterError, match=r"\."):
            sides.public.group_sums(sealed, selection, one_node(4), plus)
    sealed = sides.sent_slots(slots.values, slots.plan)
    for choice in (slots.choice[:3], slots.choice[:, :1], slots.choice.astype(np.int64)):
        with pytest.raises(ParameterError, match=r"\."):
            sides.public.slot_sums(sealed, choice)
        with pytest.raises(ParameterError, match=r"\."):
            sides.public.filtered(sealed, choice)
    with pytest.raises(ParameterError, match=r"\."):
        sides.public.slot_sums(sealed, slots.choice, np.zeros(3, np.int64))
