"""The lattice's parameters, the bounds that its code computes, and the layouts it chooses."""

import math
from dataclasses import replace
from itertools import accumulate, product
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.lattice_twin import centred

from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice import bounds
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.lattice.layout import RowsLayout, rows_layout, seconds, transfer
from hedgerow.privacy.lattice.rows import unpacked
from hedgerow.privacy.shapes import DISTANCE_BITS, RowsPlan


def test_moduli_are_within_the_standards_table_for_128_bits() -> None:
    for n, primes in ((4096, 4), (8192, 8)):
        assert math.prod(bounds.PRIMES[:primes]).bit_length() <= bounds.CAUTIOUS_BITS[n]
        assert all(p % (2 * n) == 1 and p < 2**27 for p in bounds.PRIMES)
        assert bounds.CAUTIOUS_BITS[n] < bounds.STANDARD_BITS[n]
    assert bounds.STANDARD_BITS == {1024: 27, 2048: 54, 4096: 109, 8192: 218, 16384: 438}
    assert math.prod(bounds.PRIMES[:4]) == bounds.Q


def test_a_flood_is_as_smooth_as_is_claimed() -> None:
    factors = []
    for bits in range(6, 13):
        uniform = np.full(2**bits, 2.0**-bits)
        flood = np.convolve(np.convolve(uniform, uniform), uniform)
        roots = np.sqrt(np.maximum(np.concatenate([[0], flood, [0]]), 0))
        factors.append(float(np.sum(np.diff(roots) ** 2)) / 2 * 4**bits)
    assert max(factors) <= bounds.SMOOTHNESS
    assert factors == sorted(factors, reverse=True), "wider floods are no smoother than narrow ones"
    assert factors[-1] == pytest.approx(0.5703, abs=0.002)


def test_the_distance_bounds_that_of_a_real_flood() -> None:
    bits, moved = 8, 5
    uniform = np.full(2**bits, 2.0**-bits)
    flood = np.convolve(np.convolve(uniform, uniform), uniform)
    flood = np.pad(flood, (0, moved))
    once = np.abs(flood - np.roll(flood, moved)).sum() / 2
    assert once <= bounds.flood_distance(moved, bits, 1) <= 2 * once
    assert bounds.flood_distance(moved, bits, 400) == pytest.approx(20 * bounds.flood_distance(moved, bits, 1))


@st.composite
def plans(draw: st.DrawFn) -> RowsPlan:
    bounds = draw(st.lists(st.integers(1, 2**13), min_size=1, max_size=12))
    each = st.lists(st.integers(0, 2_000_000), min_size=len(bounds), max_size=len(bounds)).map(tuple)
    sizes = st.builds(
        RowsPlan,
        rows=st.integers(1, 1_000_000),
        bounds=st.just(tuple(bounds)),
        filled=st.just(()) | each,
        groups=st.integers(1, 5000),
        columns=st.integers(0, 200),
        nodes=st.integers(1, 64),
        run_sums=st.integers(1, 2**26),
        summand=st.integers(0, 1000),
        parts=st.integers(1, 4),
    )
    plan = draw(sizes)
    some = st.lists(st.booleans(), min_size=len(bounds), max_size=len(bounds)).map(tuple)
    return replace(plan, positive=draw(some)) if plan.parts == 1 else plan


@settings(max_examples=60, deadline=None)
@given(plan=plans(), link=st.sampled_from([None, 10.0, 100.0]), by_public_key=st.booleans())
def test_every_layout_hides_the_run_and_has_room_for_the_largest_sum(
    plan: RowsPlan, link: float | None, by_public_key: bool
) -> None:
    try:
        layout = rows_layout(plan, link, by_public_key)
    except (PrivacyError, ParameterError):
        return
    public = by_public_key or plan.parts > 1
    ones = layout.ones(plan.rows, plan.columns)
    assert layout.distance(plan, ones, plan.parts, public) <= 2.0**-DISTANCE_BITS
    noise = bounds.noise_without_flood(ones * plan.parts, public, layout.merges, plan.run_sums)
    assert plan.parts * (noise + 1.5 * 2**layout.flood_bits) < layout.scale / 2
    assert layout.scale * layout.values <= bounds.Q
    channels = [channel for lane in layout.packing for channel in lane]
    assert channels == list(zip(plan.least, plan.most, strict=True))
    factor, shift = layout.opener
    assert factor < 2**64
    assert abs(factor * layout.scale - (bounds.DROPPED << shift)) <= layout.scale


def plaintexts(lane: tuple[tuple[int, int], ...]) -> dict[int, list[int]]:
    """Of a lane plaintexts at both ends of each channel, and what they stand for."""
    found = {}
    for channels in product(*({least, least + 1, (least + most) // 2, most} for least, most in lane)):
        units = accumulate((most - least + 1 for least, most in lane[:-1]), mul, initial=1)
        if all(least <= x <= most for x, (least, most) in zip(channels, lane, strict=True)):
            found[sum(unit * x for unit, x in zip(units, channels, strict=True))] = list(channels)
    return found


def opened(layout: RowsLayout, lane: int, sealed: int) -> list[int]:
    """What the key holder makes of a coefficient modulo Q, as the kernel does: rounded to what returns, then scaled."""
    half, left = bounds.DROPPED // 2, bounds.Q // bounds.DROPPED
    factor, shift = layout.opener
    plaintext = (centred((sealed + half) // bounds.DROPPED, left) * factor + (1 << (shift - 1))) >> shift
    lanes = np.zeros((1, layout.lanes), np.int64)
    lanes[0, lane] = plaintext % layout.modulus if layout.modulus else plaintext
    first = sum(map(len, layout.packing[:lane]))
    return unpacked(lanes, layout)[0, first : first + len(layout.packing[lane])].tolist()


def of_few(plan: RowsPlan) -> RowsPlan:
    """The same of three channels at most, whose ends can all be tried beside each other."""
    return replace(plan, bounds=plan.bounds[:3], filled=plan.filled[:3], positive=plan.positive[:3])


@settings(max_examples=40, deadline=None)
@given(plan=plans().map(of_few), link=st.sampled_from([None, 100.0]), together=st.booleans())
def test_with_the_largest_noise_of_either_sign_every_plaintext_opens_and_reaches_no_neighbour(
    plan: RowsPlan, link: float | None, together: bool
) -> None:
    """Also one that is a half of them all, where it comes back as one below zero."""
    if together and plan.parts == 1:
        plan = replace(plan, together=plan.rows)
    try:
        layout = rows_layout(plan, link, True)
    except (PrivacyError, ParameterError):
        return
    ones = layout.ones(plan.rows, plan.columns) * plan.parts
    noise = bounds.noise_without_flood(ones, True, layout.merges, plan.run_sums) + 1.5 * 2**layout.flood_bits
    largest = int(noise * plan.parts)
    for lane, channels in enumerate(layout.packing):
        for plaintext, meant in plaintexts(channels).items():
            over, under = (bounds.Q, layout.modulus) if layout.modulus else (layout.scale, 1)
            sealed = (plaintext * over + under // 2) // under
            assert [opened(layout, lane, sealed + x) for x in (-largest, 0, largest)] == [meant] * 3


def test_roundings_stay_below_their_bound_as_seldom_as_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest secret, and a bound that one in 2^8 may pass; half of that bound many do pass."""
    monkeypatch.setattr(bounds, "FAILURE_BITS", 8)
    rng = np.random.default_rng(3)
    moved = np.array([np.abs(rng.random((64, bounds.N)).sum(axis=1) - bounds.N / 2) for _ in range(100)])
    assert np.mean(moved > bounds.rounding_bound(1)) <= 2.0**-8 < np.mean(moved > bounds.rounding_bound(1) / 2)


def test_a_plan_without_room_and_a_run_that_is_not_hidden_are_refused() -> None:
    plan = RowsPlan(rows=1_000_000, bounds=(2**25,), groups=310, columns=10, run_sums=10**6)
    with pytest.raises(ParameterError, match="no room in a lattice plaintext"):
        Lattice().ensure_rows(plan)
    narrow = replace(plan, bounds=(2**20,))
    Lattice().ensure_rows(narrow)
    with pytest.raises(PrivacyError, match="no room for a flood that hides"):
        Lattice().ensure_rows(replace(narrow, run_sums=2**60))


def test_channels_share_a_plaintext_only_where_the_run_stays_hidden() -> None:
    deep = RowsPlan(rows=11250, bounds=(63, 63), groups=372, columns=12, nodes=16, most_rows=703, run_sums=10**6)
    assert rows_layout(deep, None, False).lanes == 1
    assert rows_layout(replace(deep, bounds=(8191, 8191)), None, False).lanes == 2
    assert rows_layout(replace(deep, run_sums=2**62), None, False).lanes == 2


def test_what_is_never_negative_leaves_room_for_a_larger_node_in_one_plaintext() -> None:
    """Gradients and hessians of a node of 20,000 rows, opened in a run of 50 trees."""
    plan = RowsPlan(rows=44_000, bounds=(128, 128), groups=62, columns=2, nodes=16, most_rows=20_000, run_sums=793_600)
    known = replace(plan, positive=(False, True))
    assert rows_layout(known, 100.0, False).lanes == 1 < rows_layout(plan, 100.0, False).lanes
    assert rows_layout(known, 100.0, False).values == (2 * 128 * 20_000 + 1) * (128 * 20_000 + 1)


def test_vectors_of_nodes_with_fewer_rows_share_a_plaintext_with_their_neighbour() -> None:
    """As with hidden rows: the i-th largest node has at most 1 / i of the rows that the first has."""
    filled = tuple(11250 // (i // 2 + 1) for i in range(12))
    plan = RowsPlan(rows=22500, bounds=(200,) * 12, groups=372, columns=12, run_sums=10**6)
    assert rows_layout(plan, None, False).lanes == 12
    packing = rows_layout(replace(plan, filled=filled), None, False).packing
    assert [len(lane) for lane in packing] == [1, 1, 2, 2, 2, 2, 2]


def test_a_slow_link_gets_fewer_bytes_for_more_work() -> None:
    plan = RowsPlan(rows=22500, bounds=(63, 63), groups=372, columns=12, run_sums=10**6)
    near, far = rows_layout(plan, None, False), rows_layout(plan, 100.0, False)
    assert far.merges > 0 == near.merges
    assert transfer(plan, far) < transfer(plan, near) / 2
    assert seconds(plan, near, None) < seconds(plan, far, None)
    assert seconds(plan, far, 100.0) < seconds(plan, near, 100.0)


def test_ones_are_counted_for_the_columns_that_meet_in_a_result() -> None:
    layout = RowsLayout(512, 0, (((-(2**29), 2**29),),), 70)
    assert layout.ones(100, 3) == 300
    assert layout.ones(100, 200) == layout.ones(100, 0) == 800
