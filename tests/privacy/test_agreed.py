"""What both sides agree on is refused where it could not be kept, whatever the cipher."""

import math
from dataclasses import replace
from hashlib import sha256

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
    score_modulus,
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


def test_a_modulus_of_scores_is_the_smallest_prime_that_holds_them_and_serves_every_layout():
    for most in (1, 100, 20_480, 20_481, 65_536, 10**6, 2**30, 2**45):
        modulus = score_modulus(most)
        assert modulus % 16384 == 1
        assert modulus >= 2 * most + 1
        if modulus < 2**40:
            assert all(modulus % divisor for divisor in range(3, math.isqrt(modulus) + 1, 2))
        smaller = range(modulus - 16384, 2 * most, -16384)
        assert all(any(number % d == 0 for d in range(3, 70_000, 2) if d < number) for number in smaller)


def test_a_plan_with_a_modulus_opens_up_to_its_half_and_only_an_odd_prime_is_one():
    plan = SlotsPlan(rows=2, entries=3, bound=100, modulus=40961)
    assert plan.most == 20480
    assert plan.centred(np.array([20480, 20481, -20480, -20481, 81922])).tolist() == [20480, -20480, -20480, 20480, 0]
    for wrong in (2, 9, 40960, 40963, 561, 3215031751, -7):
        with pytest.raises(ParameterError, match="odd prime"):
            SlotsPlan(rows=2, entries=3, bound=1, modulus=wrong)
    with pytest.raises(ParameterError, match="more than twice its bound"):
        SlotsPlan(rows=2, entries=3, bound=20481, modulus=40961)


def test_entries_that_rows_share_are_summed_only_and_stand_behind_their_own():
    plan = SlotsPlan(rows=2, entries=0, shared=3, bound=10, sums_only=True)
    assert (plan.width, plan.most) == (3, 30)
    with pytest.raises(ParameterError, match="can only be summed"):
        SlotsPlan(rows=2, entries=1, shared=3, bound=10)
    for entries, shared in ((0, 0), (-1, 3), (3, -1)):
        with pytest.raises(ParameterError, match="at least one row and one entry"):
            SlotsPlan(rows=2, entries=entries, shared=shared, bound=10, sums_only=True)


def test_every_word_of_a_plan_changes_its_digest_and_what_is_not_said_does_not():
    plan = SlotsPlan(rows=2, entries=3, bound=10, sums_only=True, choices=1)
    others = [
        {"shared": 3},
        {"most_total": 3},
        {"modulus": 40961},
        {"shared": 40961},
        {"apart": True},
    ]
    digests = {plan_digest(replace(plan, **other)) for other in [{}, *others]}
    assert len(digests) == len(others) + 1
    # As it was before plans had these.
    assert plan_digest(plan) == sha256(b"SlotsPlan (2, 3, 10, 0, 1, 2, 0, 1, True)").digest()[:8]
