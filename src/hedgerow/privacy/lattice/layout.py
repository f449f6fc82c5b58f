"""Where rows and sums lie in lattice ciphertexts: chosen from the plan and the speed of the link, by both sides alike.

A ciphertext carries `step` rows, and a product with one selection gives the sums of 4096 / step groups. 2^merges
results are merged into one return. Channels are packed into lanes, several in one plaintext, where the flood that the
whole run needs still fits beside them. Among all layouts that hide and fit, the one with the lowest estimated time is
taken: work of two threads, and bytes over the link. The units are rounded from timings of single steps with AVX2 on a
machine that was busy with other work; a wrong one costs time, never privacy.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice import bounds
from hedgerow.privacy.shapes import DISTANCE_BITS, RowsPlan, centred

POLYNOMIAL_BYTES = 13824
"""4096 residues of 27 bits."""
MOST_BITS = 62
"""A packed plaintext is a 64-bit integer."""
MOST_ROUNDED = 60
"""Of one that is multiplied modulo 2 to its bits: see `_times`."""
SWITCH_STEPS = (4096, 2048, 1024, 512, 256, 128, 64, 32, 16)
"""Where results can be merged when a link's speed is given: there are switching keys for those that a plan names."""

# Microseconds of one thread.
SEAL = 150.0
"""Sealing a ciphertext, and unpacking and expanding it on the other side."""
SELECT = 17.0
"""A selection: its polynomial transformed for four primes."""
MULTIPLY = 3.7
"""One ciphertext times a transformed selection, added up."""
SANITISE = 100.0
"""An encryption of zero, the flood, both halves transformed back."""
MERGE = 130.0
"""One key switch."""
RETURN = 50.0
"""Two primes dropped, packed, unpacked, opened."""
THREADS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesPlan(RowsPlan):
    """Entries of slots as rows of one channel, whose sums are opened modulo a prime."""

    modulus: int

    @property
    def most(self) -> tuple[int, ...]:
        """The largest absolute value that can be opened."""
        return (self.modulus // 2,)


Packing = tuple[tuple[tuple[int, int], ...], ...]
"""For each lane the least and the greatest sum of each of its channels, the first channel lowest."""


def values_of(lane: tuple[tuple[int, int], ...]) -> int:
    """How many plaintexts a lane has: one for every sum of each of its channels beside every one of the others."""
    return math.prod(most - least + 1 for least, most in lane)


def modulus_of(plan: RowsPlan, packing: Packing) -> int:
    """What sums are opened modulo; 0: as they are.

    Under pads it is all that a plaintext has, and plaintexts are rounded: else a pad that goes beyond the greatest one
    would leave the rest of the modulus in the noise, by which it could be seen that it did.
    """
    if isinstance(plan, EntriesPlan):
        return plan.modulus
    return 1 << (max(map(values_of, packing)) - 1).bit_length() if plan.together else 0


@dataclass(frozen=True, slots=True)
class RowsLayout:
    """How rows are sealed and sums returned; the same on both sides."""

    step: int
    merges: int
    packing: Packing
    flood_bits: int
    """Bits of each of the flood's three uniform integers."""
    modulus: int = 0
    """What plaintexts are taken modulo; 0: as many as there are."""
    filling: int = 0
    """Of a layout with a modulus, values of one more uniform integer, which fills the step of a plaintext: odd."""

    @property
    def lanes(self) -> int:
        """Plaintexts a row."""
        return len(self.packing)

    @property
    def values(self) -> int:
        """How many plaintexts there are in the widest lane."""
        return max(map(values_of, self.packing))

    @property
    def bits(self) -> int:
        """Bits of a plaintext."""
        return (self.values - 1).bit_length()

    @property
    def scale(self) -> int:
        """What a plaintext is multiplied by; with a modulus, that and a fraction: see `encoded`."""
        return bounds.Q // (self.modulus or self.values)

    @property
    def _is_rounded(self) -> bool:
        """Whether plaintexts are multiplied by Q / modulus, which is no integer, and rounded."""
        return self.modulus > 0 and bounds.Q % self.modulus > 0

    def encoded(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """What is multiplied by the `residues`, so that the product is a sealed plaintext modulo Q.

        The nearest integer to Q x / t is (Q x - r) / t, with r what Q x leaves modulo t. Modulo a prime of Q that is
        -r / t.
        """
        return centred(_times(values, bounds.Q, self.modulus), self.modulus) if self._is_rounded else values

    @property
    def residues(self) -> list[int]:
        """The scale modulo each prime, or what takes its place where plaintexts are rounded."""
        primes = bounds.PRIMES[:4]
        return [-pow(self.modulus, -1, p) % p if self._is_rounded else self.scale % p for p in primes]

    @property
    def opener(self) -> tuple[int, int]:
        """A factor of 63 bits and a shift that take a returned coefficient back to its plaintext."""
        shift = 63 + (self.scale // bounds.DROPPED).bit_length()
        over, under = (self.modulus, bounds.Q) if self.modulus else (1, self.scale)
        return ((bounds.DROPPED * over << shift) + under // 2) // under, shift

    @property
    def carried(self) -> float:
        """Bits that one wanted coefficient can carry at most."""
        return bounds.carried(bounds.Q, self.flood_bits, self.filling)

    def ones(self, rows: int, columns: int) -> int:
        """Ones of the selections that make one result: at most one for each row and each column it has a part of."""
        return rows * min(bounds.N // self.step, columns or bounds.N)

    def columns_together(self, widths: NDArray[np.int64]) -> int:
        """The most columns of which one result has a part: the answering side's own count."""
        ends = np.cumsum(widths)
        at_once = bounds.N // self.step
        firsts = np.arange(0, ends[-1], at_once)
        last = np.searchsorted(ends, np.minimum(firsts + at_once, ends[-1]) - 1, side="right")
        return int((last - np.searchsorted(ends, firsts, side="right")).max()) + 1

    def distance(self, plan: RowsPlan, ones: int, parts: int, by_public_key: bool) -> float:
        """Statistical distance of the whole run if all of it were like this."""
        moved = bounds.shift(ones, bounds.row_variance(parts, by_public_key)) + _rounding(plan, ones * parts)
        return bounds.flood_distance(moved, self.flood_bits, plan.run_sums)

    def hides(self, plan: RowsPlan, ones: int, parts: int, by_public_key: bool) -> bool:
        """Whether the flood hides the choices of the whole run from an honest key holder, and from one that cheats."""
        proven = bounds.proven_distance(bounds.N, self.flood_bits, plan.run_sums)
        honest = self.distance(plan, ones, parts, by_public_key)
        return honest <= 2.0**-DISTANCE_BITS and proven <= 2.0**-bounds.PROVEN_BITS

    def ensure_hides(self, plan: RowsPlan, ones: int, parts: int, by_public_key: bool) -> None:
        """Refuses sums whose noise the flood would not hide for the whole run."""
        if not self.hides(plan, ones, parts, by_public_key):
            raise PrivacyError(
                f"The flood of {self.flood_bits} bits does not hide these choices to 2^-{DISTANCE_BITS} over the whole "
                "run; use fewer bits a value, smaller nodes, or open fewer sums in a run."
            )


@lru_cache(maxsize=256)
def rows_layout(plan: RowsPlan, link_mbit: float | None, by_public_key: bool) -> RowsLayout:
    """The quickest layout that has room and hides; without one the plan is refused.

    Rows that may be added to others are laid out as if all were sealed with the public key.
    """
    return min(allowed(plan, link_mbit, by_public_key), key=lambda layout: seconds(plan, layout, link_mbit))


def allowed(plan: RowsPlan, link_mbit: float | None, by_public_key: bool) -> list[RowsLayout]:
    """All that have room and hide, with the packing that there must be under pads; without one the plan is refused."""
    public = by_public_key or plan.parts > 1
    packings = _packings(plan)
    if plan.together:
        # Whatever rows each of those who answer has, all pack alike: as where one of them has all rows.
        packings = iter((_common_packing(replace(plan, rows=plan.together, most_rows=0, nodes=1), link_mbit, public),))
    found = list(_of_packings(plan, packings, link_mbit, public))
    if not found:
        _refuse(plan)
    return found


@lru_cache(maxsize=256)
def _common_packing(every: RowsPlan, link_mbit: float | None, public: bool) -> Packing:
    """The fewest lanes if one had all rows; if then even one integer a lane has no room, others may still have it."""
    found = _of_packings(every, _packings(every), link_mbit, public)
    return min((layout.packing for layout in found), key=len, default=tuple((channel,) for channel in _channels(every)))


def _of_packings(
    plan: RowsPlan, packings: Iterator[Packing], link_mbit: float | None, public: bool
) -> Iterator[RowsLayout]:
    """All that have room and hide."""
    steps = switch_steps(link_mbit, plan.merging)
    shapes = ((packing, *shape) for packing in packings for shape in _shapes(steps))
    return (layout for shape in shapes if (layout := _flooded(plan, *shape, public)) is not None)


def _rounding(plan: RowsPlan, ones: int) -> float:
    """What rounded plaintexts and a rounded summand move a sum by, at most.

    Noise comes from every one of a selection, but what is rounded only from the rows of the group that is summed.
    """
    if plan.together:
        return ((plan.most_rows or plan.rows) + 1) / 2
    return (ones + 1) / 2 if isinstance(plan, EntriesPlan) else 0.0


def _times(values: NDArray[np.int64], factor: int, modulus: int) -> NDArray[np.int64]:
    """Products modulo a number of at most 61 bits, in words of 64: so many bits of the factor at a time."""
    rest, left = values % modulus, factor % modulus
    bits = 62 - modulus.bit_length()
    total = np.zeros_like(rest)
    for shift in reversed(range(0, max(left.bit_length(), 1), bits)):
        total = ((total << bits) + rest * (left >> shift & ((1 << bits) - 1))) % modulus
    return total


def _refuse(plan: RowsPlan) -> NoReturn:
    most = max(plan.most)
    if bounds.Q >> (2 * most).bit_length() < 2 * bounds.rounding_bound(plan.run_sums) * bounds.DROPPED * plan.parts:
        raise ParameterError(
            f"Sums of {(2 * most).bit_length()} bits have no room in a lattice plaintext; use fewer bits a value."
        )
    raise PrivacyError(
        f"Beside sums of {(2 * most).bit_length()} bits there is no room for a flood that hides the choices of the "
        f"whole run to 2^-{DISTANCE_BITS}; use fewer bits a value, smaller nodes, or open fewer sums in a run."
    )


def _channels(plan: RowsPlan) -> list[tuple[int, int]]:
    """The least and the greatest sum of each channel."""
    return list(zip(plan.least, plan.most, strict=True))


def _packings(plan: RowsPlan) -> Iterator[Packing]:
    """Neighbouring channels in one lane each, for every number of lanes the packing whose widest lane is narrowest."""
    channels = _channels(plan)
    most = 1 << (MOST_ROUNDED if plan.together else MOST_BITS)
    runs = combinations(range(len(channels) + 1), 2)
    widest = max(values_of((channel,)) for channel in channels)
    widths = {width for a, b in runs if widest <= (width := values_of(tuple(channels[a:b]))) <= most}
    seen = set()
    for width in sorted(widths):
        lanes: list[tuple[tuple[int, int], ...]] = []
        for channel in channels:
            if lanes and values_of((*lanes[-1], channel)) <= width:
                lanes[-1] = (*lanes[-1], channel)
            else:
                lanes.append((channel,))
        if len(lanes) not in seen:
            seen.add(len(lanes))
            yield tuple(lanes)


def switch_steps(link_mbit: float | None, merging: tuple[int, ...] | None) -> tuple[int, ...]:
    """Where results can be merged: on one machine nowhere, over a link wherever nothing else is agreed on."""
    return () if link_mbit is None else SWITCH_STEPS if merging is None else merging


def _shapes(steps: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Steps and numbers of merges for which there are keys."""
    for log in range(13):
        step = 1 << log
        yield step, 0
        merges = 0
        while step >> merges in steps:
            merges += 1
            yield step, merges


def _flooded(plan: RowsPlan, packing: Packing, step: int, merges: int, public: bool) -> RowsLayout | None:
    """The layout with the widest flood that fits, or none."""
    layout = RowsLayout(step, merges, packing, 0, modulus_of(plan, packing))
    if isinstance(plan, EntriesPlan):
        return _filled(plan, layout, public)
    ones = layout.ones(plan.most_rows or plan.rows, plan.columns)
    noise = bounds.noise_without_flood(ones * plan.parts, public, merges, plan.run_sums)
    # Plaintexts may begin anywhere: one that is beyond half of them all stands for what Q / scale takes from it.
    noise += 0 if layout.modulus else layout.values
    bits = bounds.flood_room(layout.scale, plan.parts, noise + _rounding(plan, ones * plan.parts))
    layout = replace(layout, flood_bits=bits)
    return layout if bits >= 6 and layout.hides(plan, ones, plan.parts, public) else None


def _filled(plan: RowsPlan, layout: RowsLayout, public: bool) -> RowsLayout | None:
    """The layout with a flood that hides, hardly wider than that, and a filling for the rest of a step; or none."""
    ones = layout.ones(plan.most_rows or plan.rows, plan.columns)
    noise = bounds.noise_without_flood(ones * plan.parts, public, layout.merges, math.inf)
    room = bounds.added_room(layout.scale, plan.parts, noise + _rounding(plan, ones * plan.parts))

    def hides(bits: int) -> bool:
        return replace(layout, flood_bits=bits).hides(plan, ones, plan.parts, public)

    least = bisect_left(range(bounds.MOST_FLOOD + 1), True, lo=6, key=hides)
    spare = range(least + 1, least + bounds.SPARE_BITS + 1)
    bits = max((w for w in spare if 1.5 * 2.0**w <= room * bounds.SPARE_SHARE), default=least)
    left = int(room - 1.5 * 2.0**bits)
    fits = bits <= bounds.MOST_FLOOD and left > 0
    return replace(layout, flood_bits=bits, filling=2 * left + 1) if fits else None


def blocks(plan: RowsPlan, layout: RowsLayout) -> int:
    """Ciphertexts a lane."""
    return -(-plan.rows // layout.step)


def results(plan: RowsPlan, layout: RowsLayout) -> int:
    """Results of all nodes, groups and lanes, before they are merged."""
    return plan.nodes * math.ceil(plan.groups * layout.step / bounds.N) * layout.lanes


def transfer(plan: RowsPlan, layout: RowsLayout) -> int:
    """Bytes of sealed rows and returned sums."""
    out = blocks(plan, layout) * layout.lanes * 4 * POLYNOMIAL_BYTES
    returns = -(-results(plan, layout) >> layout.merges)
    return out + returns * 2 * POLYNOMIAL_BYTES + plan.nodes * plan.groups * layout.lanes * 54 // 8


def seconds(plan: RowsPlan, layout: RowsLayout, link_mbit: float | None) -> float:
    """Estimated time of one exchange."""
    sealed, answers = blocks(plan, layout) * layout.lanes, results(plan, layout)
    # Where one node ends and the next begins, both use the same block.
    selections = answers / layout.lanes / plan.nodes * (blocks(plan, layout) + plan.nodes - 1)
    returns = -(-answers >> layout.merges)
    work = SEAL * sealed + (SELECT + MULTIPLY * layout.lanes) * selections
    work += SANITISE * answers + RETURN * returns + MERGE * (answers - returns if layout.merges else 0)
    link = 0.0 if link_mbit is None else transfer(plan, layout) * 8 / (link_mbit * 1e6)
    return work * 1e-6 / THREADS + link
