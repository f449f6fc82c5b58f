"""What fills the step of a plaintext beside the flood: sums stay exact, and nothing fits in below the step.

A key holder that cheats seals fractions of a step, so that what is left of a phase below the step names choices. The
sabotage is the flood as wide as there is room, without a filling, as plans without a modulus have it.
"""

import math
import secrets
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.privacy import lattice_twin as twin
from tests.privacy.lattice_attack import RETURN_BYTES, RETURNED, own_secret, phases, plaintext

from hedgerow import _native
from hedgerow.agreement.policy import Policy
from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.model.fixed_scores import BITS
from hedgerow.privacy.lattice import bounds
from hedgerow.privacy.lattice.bounds import DROPPED, PRIMES, Q
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.lattice.coefficients import CoefficientSlots
from hedgerow.privacy.lattice.layout import RowsLayout, rows_layout
from hedgerow.privacy.lattice.rows import SEEDED_ROWS, LatticeRows, LatticeSums, ReturnedData, of_kind
from hedgerow.privacy.lattice.slots_choice import as_rows
from hedgerow.privacy.shapes import SlotsPlan, centred, score_modulus

RNG = np.random.default_rng(8)
LINKS = (None, 100.0)
SECRETS = {link: Lattice(link).new_key(2, slots=False) for link in LINKS}


def plan_of(rows: int, entries: int, shared: int, modulus: int, **more: int) -> SlotsPlan:
    sizes = {"rows": rows, "entries": entries, "shared": shared, "modulus": modulus}
    said = {"bound": 30, "run_sums": 10**9} | more
    return SlotsPlan(**sizes, **said, sums_only=True, apart=True)


PLANS = st.builds(
    plan_of,
    st.integers(1, 5000),
    st.integers(1, 900),
    st.integers(0, 400),
    st.integers(7, 24).map(lambda bits: score_modulus(2**bits)),
    parts=st.integers(1, 3),
    run_sums=st.integers(1, 10**9),
)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("rows", [1, 4096])
def test_an_answer_carries_the_bits_of_its_modulus_and_hardly_more(rows: int, link: float | None) -> None:
    for bits in range(16, 23):
        for modulus in (score_modulus(2 ** (bits - 1) - 1), score_modulus(2 ** (bits - 1))):
            plan = plan_of(rows, 520, 400, modulus)
            assert 0 < Lattice(link).slots_room(plan) - math.log2(modulus) < 0.02
            assert 0 < Lattice(link).slots_room(replace(plan, by_holder=True)) - math.log2(modulus) < 0.003


def test_without_a_filling_an_answer_would_carry_more_by_half_a_bit_at_least() -> None:
    for bits in range(16, 23):
        modulus = score_modulus(2 ** (bits - 1))
        assert bounds.carried(Q, unfilled(plan_of(1, 520, 400, modulus)).flood_bits) - math.log2(modulus) > 0.5


def test_three_answers_of_the_default_bits_stay_within_the_default_policy_and_of_one_bit_more_do_not() -> None:
    limits = Policy().answer_limits
    rooms = []
    for bits in (BITS, BITS + 1):
        plan = plan_of(4096, 520, 400, score_modulus(2 ** (bits - 1) - 1))
        rooms.append(limits.most_answers * Lattice(100.0).slots_room(replace(plan, by_holder=True)))
    # What is left is for relays: of each, so much as its room is above the modulus.
    assert rooms[0] + 2 < limits.most_bits < rooms[1]


def unfilled(plan: SlotsPlan) -> RowsLayout:
    """The sabotage: the widest flood, and no filling."""
    layout = rows_layout(as_rows(plan), None, by_public_key=False)
    noise = bounds.noise_without_flood(plan.width, False, layout.merges, math.inf)
    return replace(layout, filling=0, flood_bits=bounds.flood_room(layout.scale, 1, noise))


def largest_noise(plan: SlotsPlan, layout: RowsLayout, public: bool) -> float:
    """Of all parts of a sum together, counted anew: errors, what is rounded, the flood, the filling."""
    entries = plan.width * plan.parts
    sealed = entries * (8193 * 21 if public else 21)
    zero, dropped, rounded_once = 2 * 8193 * 21, 2049 * DROPPED, 2050 * PRIMES[3]
    switched = (2**layout.merges - 1) * (3 * 4096 * 2**27 * 21 + rounded_once) + 2**layout.merges * rounded_once
    switched *= layout.merges > 0
    rounded = (entries + 1) / 2
    own = sealed + zero + switched + dropped + rounded + 1.5 * 2**layout.flood_bits + layout.filling // 2
    return own * plan.parts


def opened(phase: int, layout: RowsLayout) -> int:
    """What opens where the key holder sees this, after two primes were dropped."""
    few = np.zeros((2, 8), np.uint32)
    few[:, 0] = [phase % p for p in RETURNED.primes]
    data = twin.packed(np.zeros((2, 4096), np.uint32)) + twin.packed(few)
    returned = ReturnedData(data, 0, replace(layout, merges=0, step=4096), 1, 1)
    found = _native.lattice_open_sums(SECRETS[None]._own_secret, returned, layout.opener, 1)
    return int(centred(found.reshape(-1), layout.modulus)[0])


@settings(max_examples=60, deadline=None)
@given(plan=PLANS, link=st.sampled_from(LINKS), public=st.booleans(), data=st.data())
def test_sums_open_right_under_the_largest_noise_and_wrong_under_half_a_step(
    plan: SlotsPlan, link: float | None, public: bool, data: st.DataObject
) -> None:
    layout = rows_layout(as_rows(plan), link, public)
    noise = largest_noise(plan, layout, public or plan.parts > 1)
    half = plan.modulus // 2
    for value in (0, half, -half, data.draw(st.integers(-half, half))):
        for sign in (-1, 1):
            assert opened(round((Q * value / plan.modulus + sign * noise) / DROPPED), layout) == value
            beyond = Q / plan.modulus * (0.5 + 2.0**-19)
            assert opened(round((Q * value / plan.modulus + sign * beyond) / DROPPED), layout) != value
    # There is no more left of a step than opening needs.
    assert noise > Q / plan.modulus * (0.5 - 2.0**-19)


@settings(max_examples=60, deadline=None)
@given(plan=PLANS, link=st.sampled_from(LINKS), public=st.booleans())
def test_the_flood_alone_hides_the_choices_of_the_whole_run(plan: SlotsPlan, link: float | None, public: bool) -> None:
    rows = as_rows(plan)
    layout = rows_layout(rows, link, public)
    variance = bounds.row_variance(plan.parts, public or plan.parts > 1)
    moved = bounds.shift(plan.width, variance) + (plan.width * plan.parts + 1) / 2
    honest = bounds.flood_distance(moved, layout.flood_bits, rows.run_sums)
    assert honest == layout.distance(rows, plan.width, plan.parts, public or plan.parts > 1) <= 2.0**-40
    assert bounds.proven_distance(4096, layout.flood_bits, rows.run_sums) <= 2.0**-bounds.PROVEN_BITS


def test_a_run_that_no_flood_can_hide_is_refused() -> None:
    with pytest.raises(PrivacyError, match="open fewer sums in a run"):
        Lattice().ensure_slots(plan_of(1, 520, 400, score_modulus(2**18), run_sums=10**60))
    with pytest.raises((PrivacyError, ParameterError), match="use fewer bits a value"):
        Lattice().ensure_slots(plan_of(1, 520, 400, score_modulus(2**42)))


def answers(plan: SlotsPlan, layout: RowsLayout, link: float | None = None) -> tuple[NDArray[np.int64], LatticeSums]:
    """Sums, and what returns of them under uniform pads in this layout."""
    secret = SECRETS[link]
    values = np.where(RNG.random((plan.rows, plan.entries)) < 0.5, plan.bound, -plan.bound)
    shared = np.full(plan.shared, plan.bound)
    sealed = of_kind(of_kind(secret.seal_slots(values, plan, shared), CoefficientSlots).sealed, LatticeRows)
    choice = RNG.random((plan.rows, plan.width)) < 0.5
    pad = RNG.integers(0, plan.modulus, plan.rows)
    sums = secret.public.entry_sums(replace(sealed, layout=layout), choice, plan.shared, pad)
    total = np.where(choice, np.hstack([values, np.tile(shared, (plan.rows, 1))]), 0).sum(axis=1) + pad
    return centred(total, plan.modulus), sums


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("modulus", [score_modulus(30), score_modulus(2**18), PRIMES[3], score_modulus(2**28)])
def test_answers_open_exactly_and_where_the_filling_is_wider_than_a_step_they_do_not(
    link: float | None, modulus: int
) -> None:
    plan = plan_of(600, 5, 40, modulus)
    layout = rows_layout(as_rows(plan), link, by_public_key=False)
    assert (layout.merges > 0) == (link is not None)
    wanted, sums = answers(plan, layout, link)
    assert np.array_equal(SECRETS[link].open_sums(sums).reshape(-1), wanted)
    wide = replace(layout, filling=int(1.05 * Q / modulus))
    wanted, sums = answers(plan, wide, link)
    wrong = (SECRETS[link].open_sums(sums).reshape(-1) != wanted).mean()
    assert 0.005 < wrong < 0.12


def test_what_fills_the_step_is_uniform_and_a_flood_is_not() -> None:
    plan = plan_of(2000, 1, 3, score_modulus(2**18))
    filled, bare = (
        chi_square(plan, layout) for layout in (rows_layout(as_rows(plan), None, by_public_key=False), unfilled(plan))
    )
    # Fifteen degrees of freedom: beyond this once in 100 000.
    assert filled < 50 < bare


def chi_square(plan: SlotsPlan, layout: RowsLayout) -> float:
    """Of the noise of answers, in sixteenths of a step."""
    wanted, sums = answers(plan, layout)
    _, seen = phases(sums.encode()[-plan.rows * RETURN_BYTES :], plan.rows, own_secret(SECRETS[None]))
    step = Q // plan.modulus
    noise = [twin.centred(x * DROPPED - plaintext(layout, int(m)), Q) for x, m in zip(seen, wanted, strict=True)]
    assert max(map(abs, noise)) < step / 2
    counts = np.bincount([(x + step // 2) * 16 // step for x in noise], minlength=16)
    return float(((counts - plan.rows / 16) ** 2 / (plan.rows / 16)).sum())


# A key holder that cheats: entries of a half and a quarter of a step.

CRAFTED = plan_of(4000, 2, 0, score_modulus(2**16 - 1), bound=1)
BINS = 16
CHANCE = 3 * (BINS - 1) / (2 * math.log(2) * CRAFTED.rows)
"""What two choices that tell nothing seem to tell, in the mean."""


def fractions(layout: RowsLayout) -> LatticeRows:
    """Sealed quarters of a step, two and one."""
    secret, rows = SECRETS[None], as_rows(CRAFTED)
    quarter = Q // CRAFTED.modulus // 4
    seed, head = secrets.token_bytes(32), SECRETS[None].public.rows_head(SEEDED_ROWS, rows, layout)
    front, scale = head.encode(layout) + seed, [quarter % p for p in PRIMES[:4]]
    values = np.tile([2, 1], CRAFTED.rows)[None]
    data = _native.lattice_seal_rows(secret._own_secret, seed, values, layout.step, scale, front, 2)
    return replace(of_kind(secret.public.read_rows(data, rows), LatticeRows), layout=layout)


def told(layout: RowsLayout) -> float:
    """Bits that the rest of a phase below the step tells of both choices, under pads that nobody knows."""
    choice = RNG.random((CRAFTED.rows, 2)) < 0.5
    pad = RNG.integers(0, CRAFTED.modulus, CRAFTED.rows)
    sums = SECRETS[None].public.entry_sums(fractions(layout), choice, 0, pad)
    _, seen = phases(sums.encode()[-CRAFTED.rows * RETURN_BYTES :], CRAFTED.rows, own_secret(SECRETS[None]))
    parts = [(x * DROPPED * CRAFTED.modulus % Q) * BINS // Q for x in seen]
    joint = np.histogram2d(choice @ [2, 1], parts, bins=(4, BINS), range=[[0, 4], [0, BINS]])[0] / CRAFTED.rows
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return float((joint * np.log2(np.where(joint > 0, joint, 1) / np.where(apart > 0, apart, 1))).sum())


def test_fractions_of_a_step_read_choices_beside_a_flood_and_nothing_where_the_step_is_filled() -> None:
    layout = rows_layout(as_rows(CRAFTED), None, by_public_key=False)
    assert told(layout) < Lattice().slots_room(CRAFTED) - math.log2(CRAFTED.modulus) + 2 * CHANCE < 0.02
    assert told(unfilled(CRAFTED)) > 0.7
