"""Promises that ciphers keep about scores: entries that rows share, sums modulo a prime, pads, rows apart."""

import math
from dataclasses import replace

import numpy as np
import pytest
from ciphers import CIPHERS, Sides, integers, tried
from hypothesis import strategies as st

from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy.shapes import SlotsPlan, score_modulus


@pytest.fixture(scope="session", params=CIPHERS)
def sides(request):
    """A key holder and an answering side."""
    return Sides(CIPHERS[request.param])


def scores_plan(rows, entries, shared, bound=50, **more):
    """Rows apart, sums modulo a prime that holds them."""
    modulus = score_modulus((entries + shared) * bound + more.get("summand", 0))
    sizes = {"rows": rows, "entries": entries, "shared": shared, "bound": bound, "modulus": modulus}
    return SlotsPlan(**(sizes | {"sums_only": True, "apart": True, "run_sums": 10**5} | more))


def query(rng, plan):
    """Integers of rows, integers that they share, and choices."""
    values, shared = (
        integers(rng, rows, (plan.bound,) * n) for rows, n in ((plan.rows, plan.entries), (1, plan.shared))
    )
    return values, shared[0], rng.random((plan.rows, plan.width)) < 0.4


def sent(sides, values, shared, plan, by=None):
    """Slots as they arrive at the answering side; their length is what the plan says."""
    data = (by or sides.secret).seal_slots(values, plan, shared).encode()
    if by is None:
        assert len(data) == sides.cipher.slots_bytes(plan, plan.entries)
    return sides.public.read_slots(data, plan, plan.entries)


def expected(values, shared, choice):
    """The sums in the most straightforward way."""
    return np.where(choice, np.hstack([values, np.tile(shared, (len(values), 1))]), 0).sum(axis=1)


@st.composite
def scores_cases(draw, bits):
    """Few rows, with own entries, shared ones or both."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    entries, shared = draw(st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(any))
    bound = draw(st.integers(1, 2 ** min(bits, 16)))
    plan = scores_plan(draw(st.integers(1, 6)), entries, shared, bound, summand=draw(st.sampled_from([0, 7])))
    return rng, replace(plan, apart=draw(st.booleans()))


def test_scores_are_the_integer_sums_of_own_and_shared_entries(sides):
    def claim(case):
        rng, plan = case
        values, shared, choice = query(rng, plan)
        plus = integers(rng, plan.rows, (plan.summand,))[:, 0]
        for by in (sides.secret, sides.public):
            sums = sides.public.slot_sums(sent(sides, values, shared, plan, by), choice, plus)
            assert (sums.entries, sums.chosen) == (1, 1)
            assert len(sums.encode()) == sides.cipher.slots_bytes(plan, 1, 1) or by is sides.public
            np.testing.assert_array_equal(sides.opened_slots(sums)[:, 0], expected(values, shared, choice) + plus)

    tried(sides, scores_cases, claim)


def test_sums_beyond_the_modulus_are_opened_modulo_it(sides, rng):
    plan = replace(scores_plan(5, 6, 4, 8000), modulus=score_modulus(8000))
    values, shared, choice = np.full((5, 6), 8000), np.full(4, 7999), rng.random((5, 10)) < 0.7
    wanted = expected(values, shared, choice)
    opened = sides.opened_slots(sides.public.slot_sums(sent(sides, values, shared, plan), choice))[:, 0]
    assert np.array_equal(opened % plan.modulus, wanted % plan.modulus)
    assert np.abs(opened).max() <= plan.modulus // 2 < wanted.max()


def test_pads_make_a_score_uniform_and_cancel_in_the_total(sides, rng):
    plan = scores_plan(min(sides.tried.many, 300), 3, 2)
    values, shared, choice = query(rng, plan)
    pads = rng.integers(0, plan.modulus, (2, plan.rows))
    total = np.zeros(plan.rows, np.int64)
    for pad, own in ((pads[0], choice), (-pads[0] % plan.modulus, ~choice)):
        sealed = sent(sides, values, shared, plan)
        opened = sides.opened_slots(sides.public.slot_sums(sealed, own, pad=pad))[:, 0]
        counts = np.bincount(opened % plan.modulus * 8 // plan.modulus, minlength=8)
        assert ((counts - plan.rows / 8) ** 2 / (plan.rows / 8)).sum() < 7 + 6 * math.sqrt(14)
        total += opened
    np.testing.assert_array_equal(plan.centred(total), expected(values, shared, choice | True))
    for wrong in (pads[0] - plan.modulus, pads[0] + plan.modulus, pads[0][:-1], pads[0].astype(float)):
        with pytest.raises(ParameterError, match=r"pad|Pads"):
            sides.public.slot_sums(sealed, choice, pad=wrong)
    simple = sent(sides, values, shared, replace(plan, modulus=0))
    with pytest.raises(ParameterError, match="this one has none"):
        sides.public.slot_sums(simple, choice, pad=pads[0])


def test_what_rows_share_is_checked_like_their_own(sides, rng):
    plan = scores_plan(4, 3, 2)
    values, shared, choice = query(rng, plan)
    for key in (sides.secret, sides.public):
        for wrong in (None, shared[:1], np.append(shared, 1)):
            with pytest.raises(ParameterError, match="that rows share are not 2"):
                key.seal_slots(values, plan, wrong)
        with pytest.raises(ParameterError, match="larger than the plan's bound"):
            key.seal_slots(values, plan, np.array([51, 0]))
        with pytest.raises(ParameterError, match="sum to more than the plan allows"):
            key.seal_slots(np.full((4, 3), 20), replace(plan, most_sum=61), np.array([2, 0]))
    sealed = sent(sides, values, shared, plan)
    for wrong in (choice[:, :3], choice[:, :2], choice[:3], choice.astype(int)):
        with pytest.raises(ParameterError, match="truth value"):
            sides.public.slot_sums(sealed, wrong)
    with pytest.raises(ParameterError, match="for sums only"):
        sides.secret.open_slots(sealed)


def test_scores_add_and_subtract_as_often_as_the_plan_allows(sides, rng):
    plan = scores_plan(5, 4, 3, parts=2)
    plan = replace(plan, modulus=score_modulus(2 * 7 * 50))
    (a, a_shared, choice), (b, b_shared, _) = query(rng, plan), query(rng, plan)
    one, two = sent(sides, a, a_shared, plan), sent(sides, b, b_shared, plan, by=sides.public)
    wanted = expected(a - b, a_shared - b_shared, choice)
    np.testing.assert_array_equal(sides.opened_slots(sides.public.slot_sums(one - two, choice))[:, 0], wanted)
    sums = [sides.public.slot_sums(each, choice) for each in (one, two)]
    np.testing.assert_array_equal(sides.opened_slots(sums[0] - sums[1])[:, 0], wanted)
    np.testing.assert_array_equal(
        sides.opened_slots(sums[0] + sums[1])[:, 0], expected(a + b, a_shared + b_shared, choice)
    )
    with pytest.raises(ParameterError, match=r"\."):
        _ = sums[0] + sums[1] + sums[0]


def test_scores_of_another_plan_are_refused(sides, rng):
    plan = scores_plan(4, 3, 2)
    values, shared, choice = query(rng, plan)
    data = sides.secret.seal_slots(values, plan, shared).encode()
    answer = sides.public.slot_sums(sides.public.read_slots(data, plan, 3), choice).encode()
    others = [{"shared": 3}, {"apart": False}, {"modulus": score_modulus(plan.modulus)}, {"entries": 4, "shared": 1}]
    for other in others:
        wrong = replace(plan, **other)
        with pytest.raises(CipherError, match=r"\."):
            sides.public.read_slots(data, wrong, wrong.entries)
        with pytest.raises(CipherError, match=r"\."):
            sides.public.read_slots(answer, wrong, 1, 1)
    for spoilt in (data[:-1], data + b"\0", answer):
        with pytest.raises(CipherError, match=r"\."):
            sides.public.read_slots(spoilt, plan, 3)


def test_the_room_of_a_row_apart_is_hardly_more_than_its_modulus_and_of_others_that_of_all_rows(sides):
    plan = scores_plan(40, 3, 2)
    room = sides.cipher.slots_room(plan)
    assert math.log2(plan.modulus) <= room < math.log2(plan.modulus) + 0.02
    assert sides.cipher.slots_room(replace(plan, apart=False)) >= 40 * math.log2(plan.modulus)
