"""What both sides agree on is refused where it could not be kept, whatever the cipher."""

import numpy as np
import pytest

from hedgerow.errors import ParameterError
from hedgerow.privacy.shapes import (
    Nodes,
    RowsPlan,
    Selection,
    SlotsPlan,
    ensure_row_values,
    ensure_slot_values,
    plan_digest,
)


def test_a_run_opens_at_least_what_its_plan_opens():
    plan = RowsPlan(rows=10, bounds=(1, 1), groups=6400, nodes=64, parts=2)
    assert plan.run_sums == 64 * 6400 * 2 * 2
    assert RowsPlan(rows=10, bounds=(1,), groups=2, run_sums=1000).run_sums == 1000
    assert SlotsPlan(rows=300, entries=2, bound=1, parts=2).run_sums == 600


def test_rows_that_are_not_zero_bound_the_sums_of_their_channel_and_more_of_them_are_not_sealed():
    plan = RowsPlan(rows=100, bounds=(7, 7, 7), groups=1, filled=(100, 50, 0))
    assert plan.most == (700, 350, 0)
    assert RowsPlan(rows=100, bounds=(7,), groups=1, most_rows=20, filled=(50,)).most == (140,)
    values = np.zeros((100, 3), np.int64)
    values[:, 0] = 7
    values[20:70, 1] = -7
    ensure_row_values(values, plan)
    for channel in (1, 2):
        wrong = values.copy()
        wrong[0, channel] = 1
        with pytest.raises(ParameterError, match="More rows than the plan allows"):
            ensure_row_values(wrong, plan)
    for filled in ((1, 2), (1, 2, -1)):
        with pytest.raises(ParameterError, match="for each channel how many rows"):
            RowsPlan(rows=100, bounds=(7, 7, 7), groups=1, filled=filled)


def test_slots_whose_chosen_sum_could_be_too_large_are_not_sealed():
    plan = SlotsPlan(rows=2000, entries=3, bound=100, most_sum=150)
    values = np.tile([[100, 50, -100]], (2000, 1))
    ensure_slot_values(values, plan)
    for row, worse in ((0, [100, 51, 0]), (1999, [-100, -51, 100])):
        wrong = values.copy()
        wrong[row] = worse
        with pytest.raises(ParameterError, match="more than the plan allows"):
            ensure_slot_values(wrong, plan)


def test_a_total_may_be_bounded_apart_from_its_parts() -> None:
    plan = SlotsPlan(rows=2, entries=1, bound=2**62, parts=9, most_total=2**62)
    assert plan.most == 2**62
    ensure_slot_values(np.array([[2**62], [-(2**62)]]), plan)
    with pytest.raises(ParameterError, match="All parts of a plan cannot have more"):
        SlotsPlan(rows=2, entries=1, bound=5, parts=2, most_total=11)
    with pytest.raises(ParameterError, match="does not fit 62 bits"):
        SlotsPlan(rows=2, entries=1, bound=2**62, parts=9)


def test_a_node_names_a_row_once_and_nodes_may_overlap():
    plan = RowsPlan(rows=5, bounds=(1,), groups=1, nodes=2)
    Nodes(np.array([4, 0, 2, 4, 1]), np.array([0, 3, 5])).check(plan)
    with pytest.raises(ParameterError, match="a row twice"):
        Nodes(np.array([4, 0, 4, 2, 1]), np.array([0, 3, 5])).check(plan)


def test_codes_are_bytes_and_rows_64_bit_integers():
    with pytest.raises(ParameterError, match="not bytes"):
        Selection(np.zeros((1, 3), np.int64), np.array([1]))
    with pytest.raises(ParameterError, match="not 64-bit"):
        Nodes(np.arange(3, dtype=np.int32), np.array([0, 3])).check(RowsPlan(rows=3, bounds=(1,), groups=1))


def test_a_digest_tells_plans_apart_and_if_asked_not_their_nodes():
    plan, other = (RowsPlan(rows=9, bounds=(1,), groups=1, nodes=n) for n in (2, 3))
    assert plan_digest(plan) != plan_digest(other)
    assert plan_digest(plan, any_nodes=True) == plan_digest(other, any_nodes=True)
    assert plan_digest(SlotsPlan(rows=9, entries=1, bound=1)) != plan_digest(SlotsPlan(rows=9, entries=1, bound=2))
