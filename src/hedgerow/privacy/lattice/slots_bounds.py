"""How slots are laid out, and whether they have room: computed from a plan, by both sides alike.

A ciphertext of the slot ring holds 8192 integers modulo a small prime t. Rows lie in blocks; where a block has fewer
rows than slots, several entries of the same rows lie side by side in one ciphertext (lanes).

A product with 0/1 choices multiplies noise by a polynomial whose coefficients may be as large as t / 2. What the
choices move in a result is bounded in the mean square, as `lattice/bounds` needs it: independent parts of the noise
(`sub`, their standard deviation: errors, floods) grow by the root of the number of terms, all others (`hard`) by the
number itself. Whether a table opens is computed from the largest possible noise: it cannot fail.
docs/explanation/lattice.md derives both.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy.lattice import bounds
from hedgerow.privacy.shapes import DISTANCE_BITS, SlotsPlan, ensure

SLOTS = 8192
MOST_PRIMES = 8
"""Of the modulus: 214 bits, see `lattice/bounds.CAUTIOUS_BITS`."""
MOST_CHOICES = 2
MOST_MODULI = 3
"""Plaintext primes of one plan."""
MOST_FLOOD = 190
"""Bits of each integer of a flood: what the samplers draw."""
_ZERO_VARIANCE = 2 * SLOTS * bounds.TERNARY_VARIANCE * bounds.ERROR_VARIANCE + bounds.ERROR_VARIANCE
_ZERO_LARGEST = (2 * SLOTS + 1) * bounds.LARGEST_ERROR
_ROUNDED_VARIANCE, _ROUNDED_MEAN = 0.25, 2.0**-26
"""Sealed integers are rounded up or down at random: at most this variance, and this far from right in the mean."""
_ROUNDING = SLOTS / 2 + 1
"""Dropping primes rounds both halves: at most half a step in each coefficient, of c1 times a ternary secret."""
_SLACK = 2.0**-16
"""Opening rounds with 53-bit numbers; so much of a step is left to them."""


@dataclass(frozen=True, slots=True)
class SlotsLayout:
    """Where integers lie, how many primes the modulus has after each choice, and how wide each flood is."""

    moduli: tuple[int, ...]
    """Plaintext primes: one to three, whose product holds the largest sum."""
    block_rows: int
    blocks: int
    lanes: int
    """Entries of one row in a ciphertext."""
    ciphertexts: int
    """For the entries of a block, and one plaintext prime."""
    primes: tuple[int, ...]
    """Of the modulus: when sealed, and after each choice."""
    floods: tuple[tuple[str, int], ...]
    """Bits of the three uniform integers of a flood, for each order of choices so far: S a sum, F a filter."""
    distance: float
    """Of the whole run in the worst order of choices: what answers tell about them."""

    def flood(self, done: str, now: str) -> int:
        """Bits of a flood, after what was done before."""
        return dict(self.floods)[done + now]


@lru_cache(maxsize=64)
def slots_layout(plan: SlotsPlan, by_public_key: bool = False) -> SlotsLayout:
    """The layout with fewest primes; refuses a plan that has no room, or whose answers would not hide the choices.

    Tables that may be added to others are laid out as if all were sealed with the public key.
    """
    if not plan.choices:
        raise ParameterError(
            "A plan for slots makes no choice; lattice encryption hides what a sum was made of when a choice is made. "
            "Plan one, and choose everything."
        )
    if plan.choices > MOST_CHOICES:
        raise ParameterError(
            f"A plan makes {plan.choices} choices one upon another; lattice encryption has room for {MOST_CHOICES}. "
            "Use Paillier, or let fewer parties answer in a chain."
        )
    moduli = plaintext_primes(plan.most)
    ensure(
        not plan.modulus or moduli == (plan.modulus,),
        f"The modulus {plan.modulus} cannot be a plaintext prime; `score_modulus` gives one for sums of 25 bits.",
    )
    room = _Room(plan, moduli, by_public_key or plan.parts > 1)
    for primes in room.chains():
        floods = room.floods(primes)
        if floods is not None:
            return room.layout(primes, floods)
    raise PrivacyError(
        "The floods that hide the choices of this plan for the whole run do not fit 214 bits; "
        "use fewer bits a value, fewer choices one upon another, or open fewer sums in a run."
    )


def lanes_room(layout: SlotsLayout) -> float:
    """Bits that an answer in lanes can carry at most, whatever was sealed: those of the longest one that returns."""
    answers = layout.blocks * len(layout.moduli) * SLOTS

    def room(order: str, bits: int) -> float:
        modulus = math.prod(bounds.PRIMES[: layout.primes[len(order) - 1]])
        return answers * (1 if "S" in order else layout.ciphertexts) * bounds.carried(modulus, bits)

    return max(room(*order) for order in layout.floods)


def plaintext_primes(most: int) -> tuple[int, ...]:
    """The fewest and then smallest primes whose product holds signed integers up to this size.

    A ciphertext's slots are added modulo its prime: of a sum over several parts only its residues can be opened, which
    follow from the sum alone.
    """
    for count in range(1, MOST_MODULI + 1):
        primes: list[int] = []
        least = _root(2 * most + 1, count)
        while len(primes) < count and (prime := _prime_from(least)) is not None:
            primes.append(prime)
            least = prime + 1
        if len(primes) == count:
            return tuple(primes)
    raise ParameterError(
        f"Sums of {(2 * most).bit_length()} bits do not fit {MOST_MODULI} plaintext primes; use fewer bits a value."
    )


def _root(number: int, degree: int) -> int:
    """An integer whose power of this degree is not below the number, and hardly above it."""
    root = round(math.pow(number, 1 / degree))
    while math.prod([root] * degree) < number:
        root += 1
    return root


@lru_cache(maxsize=64)
def _prime_from(least: int) -> int | None:
    """The smallest prime from here that is 1 modulo 16384 and below all primes of the modulus."""
    step = 2 * SLOTS
    for candidate in range(max(-(-(least - 1) // step), 1) * step + 1, min(bounds.PRIMES), step):
        if all(candidate % d for d in range(3, math.isqrt(candidate) + 1, 2)):
            return candidate
    return None


@dataclass(frozen=True, slots=True)
class _Noise:
    """Of a coefficient: `sub` and `hard` as above, and the largest it can be."""

    sub: float
    hard: float
    most: float

    def flooded(self, bits: int) -> "_Noise":
        """What was moved, under a flood of three uniform integers of so many bits."""
        return _Noise(2.0**bits / 2, self.hard + self.sub, self.most + 1.5 * 2.0**bits)

    def switched(self, before: int, after: int) -> "_Noise":
        """After dividing by the last primes and rounding."""
        scale, rounding = math.prod(bounds.PRIMES[after:before]), _ROUNDING if after < before else 0.0
        return _Noise(self.sub / scale, self.hard / scale + rounding, self.most / scale + rounding)


class _Room:
    """The noise of one plan under given plaintext primes. An order of choices is a word of S and F."""

    def __init__(self, plan: SlotsPlan, moduli: tuple[int, ...], by_public_key: bool) -> None:
        self._plan, self._moduli = plan, moduli
        self._blocks = -(-plan.rows // SLOTS)
        self._block_rows = -(-plan.rows // self._blocks)
        self._lanes = min(SLOTS // self._block_rows, plan.entries)
        self._ciphertexts = -(-plan.entries // self._lanes)
        variance = _ZERO_VARIANCE if by_public_key else bounds.ERROR_VARIANCE
        largest = _ZERO_LARGEST if by_public_key else bounds.LARGEST_ERROR
        self._fresh = _Noise(math.sqrt(variance + _ROUNDED_VARIANCE), _ROUNDED_MEAN, largest + 1)

    def layout(self, primes: tuple[int, ...], floods: dict[str, int]) -> SlotsLayout:
        """What `slots_layout` gives."""
        orders = [order for order in floods if len(order) == self._plan.choices]
        return SlotsLayout(
            moduli=self._moduli,
            block_rows=self._block_rows,
            blocks=self._blocks,
            lanes=self._lanes,
            ciphertexts=self._ciphertexts,
            primes=primes,
            floods=tuple(floods.items()),
            distance=max(self._distance(order, primes, floods) for order in orders),
        )

    def chains(self) -> Iterator[tuple[int, ...]]:
        """Numbers of primes when sealed and after each choice, fewest first."""
        for first in range(2, MOST_PRIMES + 1):
            for last in range(1, first + 1):
                if self._plan.choices == 1:
                    yield first, last
                else:
                    yield from ((first, between, last) for between in range(last, first + 1))

    def floods(self, primes: tuple[int, ...]) -> dict[str, int] | None:
        """Bits of every flood that can be needed, or none if one of them has no room under so many primes."""
        found: dict[str, int] = {}
        orders = ["S", "F"] + (["SS", "SF", "FS", "FF"] if self._plan.choices == 2 else [])
        for order in orders:
            if self._plan.sums_only and "F" in order:
                continue
            bits = self._flood(order, primes, found)
            if bits is None:
                return None
            found[order] = bits
        return found

    def _flood(self, order: str, primes: tuple[int, ...], floods: dict[str, int]) -> int | None:
        """Bits of the last flood of an order of choices: as few as hide, or after the last choice as many as fit."""
        moved = self._moved(order, primes, floods)
        last, bits = len(order) == self._plan.choices, 6
        while not self._hides(moved, bits, self._flooded(order)):
            bits += 1
        while last and bits < MOST_FLOOD and self._fits(moved, bits + 1, order, primes):
            bits += 1
        return bits if bits <= MOST_FLOOD and self._fits(moved, bits, order, primes) else None

    def _hides(self, moved: _Noise, bits: int, flooded: float) -> bool:
        """Whether a flood hides one choice from an honest key holder, and from one that cheats."""
        honest = bounds.flood_distance(moved.sub + moved.hard, bits, flooded) * self._plan.choices
        proven = bounds.proven_distance(SLOTS, bits, flooded) * self._plan.choices
        return honest <= 2.0**-DISTANCE_BITS and proven <= 2.0**-bounds.PROVEN_BITS

    def _moved(self, order: str, primes: tuple[int, ...], floods: dict[str, int]) -> _Noise:
        """What the last choice of an order makes of the noise before it, the encryption of zero included."""
        before = self._fresh
        if len(order) > 1:
            first = order[:1]
            before = self._moved(first, primes, floods).flooded(floods[first]).switched(primes[0], primes[1])
        terms = SLOTS * (self._ciphertexts if order[-1] == "S" and "S" not in order[:-1] else 1)
        size = max(self._moduli) / 2 * self._plan.parts
        spread = before.sub * math.sqrt(terms) * size + before.hard * terms * size
        zero = bounds.TWICE * math.sqrt(_ZERO_VARIANCE) + 1
        return _Noise(0.0, spread + zero, before.most * terms * size + bounds.TWICE * _ZERO_LARGEST + 1)

    def _flooded(self, order: str) -> float:
        """Coefficients that the whole run floods in this way, if all of its sums are opened in plans like this."""
        plan, summed = self._plan, "S" in order
        opened = plan.rows * (plan.entries if len(order) == plan.choices and not summed else 1)
        ciphertexts = 1 if summed else self._ciphertexts
        return max(plan.run_sums / opened, 1) * ciphertexts * self._blocks * len(self._moduli) * SLOTS

    def _fits(self, moved: _Noise, bits: int, order: str, primes: tuple[int, ...]) -> bool:
        """Whether a table opens to the right integers after this choice."""
        before, after = primes[len(order) - 1], primes[len(order)]
        most = moved.flooded(bits).switched(before, after).most * self._plan.parts
        return most * max(self._moduli) / math.prod(bounds.PRIMES[:after]) < 0.5 - _SLACK

    def _distance(self, order: str, primes: tuple[int, ...], floods: dict[str, int]) -> float:
        """The distance of all choices of an order together."""
        steps = [order[: i + 1] for i in range(len(order))]
        moved = {step: self._moved(step, primes, floods) for step in steps}
        one = (bounds.flood_distance(moved[s].sub + moved[s].hard, floods[s], self._flooded(s)) for s in steps)
        return sum(one)
