"""How slots are laid out, and whether they have room: computed from a plan, by both sides alike.

A ciphertext of the slot ring holds 8192 integers modulo a small prime t. Rows lie in blocks; where a block has fewer rows
than slots, several entries of the same rows lie side by side in one ciphertext (lanes). Noise is bounded in two parts:
`sub`, the standard deviation of what is drawn at random and independent of the choices (errors, floods), and `hard`, a
bound on all the rest. A product with 0/1 choices, whose coefficients may be as large as t / 2, turns both into a bound
that holds for all coefficients of the whole run but with probability 2^-42. docs/explanation/lattice.md derives it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hedgerow.errors import ParameterError, PrivacyError
from hedgerow.privacy import lattice_bounds
from hedgerow.privacy.agreed import DISTANCE_BITS, SlotsPlan

SLOTS = 8192
MOST_PRIMES = 8
"""Of the modulus: 216 of the 218 bits that the HE standard's table allows for 8192 coefficients at 128 bits."""
MOST_CHOICES = 2
_ERROR_VARIANCE = 10.5
_ERROR_BITS = 21
_SLACK = 2.0**-16
"""Opening rounds with 53-bit numbers; so much of a step is left to them."""


@dataclass(frozen=True, slots=True)
class SlotsLayout:
    """Where integers lie, how many primes the modulus has after each choice, and how wide each flood is."""

    moduli: tuple[int, ...]
    """Plaintext primes: one, or two whose product holds the largest sum."""
    block_rows: int
    blocks: int
    lanes: int
    """Entries of one row in a ciphertext."""
    ciphertexts: int
    """For the entries of a block, and one plaintext prime."""
    primes: tuple[int, ...]
    """Of the modulus: when sealed, and after each choice."""
    floods: tuple[tuple[tuple[str, str], int], ...]
    """Bits of the four uniform integers of a flood: for what was done before and is done now, S a sum, F a filter."""
    distance: float
    """Of the whole run: what returns tell about the choices, as a power of two."""

    def flood(self, done: str, now: str) -> int:
        """Bits of a flood, after what was done before."""
        return dict(self.floods)[done, now]


@dataclass(frozen=True, slots=True)
class _Noise:
    sub: float
    hard: float


@lru_cache(maxsize=64)
def slots_layout(plan: SlotsPlan, by_public_key: bool = False) -> SlotsLayout:
    """The layout with fewest primes; refuses a plan that has no room, or whose returns would not hide the choices."""
    if plan.choices > MOST_CHOICES:
        raise ParameterError(
            f"A plan makes {plan.choices} choices one upon another; lattice encryption has room for {MOST_CHOICES}. "
            "Use Paillier, or let fewer parties answer in a chain."
        )
    moduli = plaintext_primes(plan.most)
    room = _Room(plan, moduli, by_public_key)
    for primes in room.chains():
        floods = room.floods(primes)
        if floods is not None:
            return room.layout(primes, floods)
    raise PrivacyError(
        "The floods that hide the choices of this plan for the whole run do not fit 216 bits; "
        "use fewer bits a value, fewer choices one upon another, or open fewer sums in a run."
    )


def plaintext_primes(most: int) -> tuple[int, ...]:
    """The smallest primes that hold integers up to this size, signed: one, or two by their product."""
    first = _prime_from(2 * most + 1)
    if first is not None:
        return (first,)
    first = _prime_from(math.isqrt(2 * most + 1) + 1)
    second = None if first is None else _prime_from(first + 1)
    if first is None or second is None:
        raise ParameterError("The largest possible sum of this plan does not fit two plaintext primes; use fewer bits.")
    return first, second


@lru_cache(maxsize=64)
def _prime_from(least: int) -> int | None:
    """The smallest prime from here to 2^27 that is 1 modulo 16384 and none of the modulus."""
    step = 2 * SLOTS
    taken = set(lattice_bounds.PRIMES)
    for candidate in range(max(-(-(least - 1) // step), 1) * step + 1, 2**27, step):
        if candidate not in taken and all(candidate % d for d in range(2, math.isqrt(candidate) + 1)):
            return candidate
    return None


class _Room:
    """The noise of one plan under given plaintext primes."""

    def __init__(self, plan: SlotsPlan, moduli: tuple[int, ...], by_public_key: bool) -> None:
        self._plan, self._moduli, self._by_public_key = plan, moduli, by_public_key
        self._half = max(moduli) / 2
        self._blocks = -(-plan.rows // SLOTS)
        self._block_rows = -(-plan.rows // self._blocks)
        self._lanes = min(SLOTS // self._block_rows, plan.entries)
        self._ciphertexts = -(-plan.entries // self._lanes)
        n = self._flooded("F", last=False)
        self._tail = math.sqrt(2 * math.log(2 * 2.0 ** (DISTANCE_BITS + 4) * n * 2 * SLOTS))

    def layout(self, primes: tuple[int, ...], floods: dict[tuple[str, str], int]) -> SlotsLayout:
        """What `slots_layout` gives."""
        return SlotsLayout(
            moduli=self._moduli,
            block_rows=self._block_rows,
            blocks=self._blocks,
            lanes=self._lanes,
            ciphertexts=self._ciphertexts,
            primes=primes,
            floods=tuple(floods.items()),
            distance=self._distance(primes, floods),
        )

    def chains(self) -> Iterator[tuple[int, ...]]:
        """Numbers of primes when sealed and after each choice, fewest first."""
        for first in range(2, MOST_PRIMES + 1):
            if self._plan.choices == 1:
                yield from ((first, last) for last in range(1, first + 1))
            else:
                yield from ((first, mid, last) for mid in range(2, first + 1) for last in range(1, mid + 1))

    def floods(self, primes: tuple[int, ...]) -> dict[tuple[str, str], int] | None:
        """Bits of every flood that can be needed, or none if one of them has no room under so many primes."""
        found: dict[tuple[str, str], int] = {}
        for now in "FS":
            last = self._plan.choices == 1
            bits, noise = self._answered("", now, primes, last)
            if bits is None:
                return None
            found["", now] = bits
            for then in "" if last else "FS":
                bits, _ = self._answered(now, then, primes, True, noise)
                if bits is None:
                    return None
                found[now, then] = bits
        return found

    def _answered(
        self, done: str, now: str, primes: tuple[int, ...], last: bool, noise: _Noise | None = None
    ) -> tuple[int | None, _Noise]:
        """The flood of one answer, and the noise it leaves; a last flood is as wide as there is room."""
        before, after = primes[len(done)], primes[len(done) + 1]
        bound = self._bound(done, now, noise)
        bits = self._needed(bound, done, now, last)
        if not last:
            left = _switched(_flooded_noise(bits, bound), before - after)
            return (bits if self._fits(left, bits - 27 * (before - after), after) else None), left
        while self._fits(_switched(_flooded_noise(bits + 1, bound), before - after), bits + 1 - 27 * (before - after), after):
            bits += 1
        left = _switched(_flooded_noise(bits, bound), before - after)
        return (bits if self._fits(left, bits - 27 * (before - after), after) else None), left

    def _bound(self, done: str, now: str, noise: _Noise | None) -> float:
        """What the choices can move in a coefficient of one answer, the encryption of zero included."""
        terms = self._ciphertexts if now == "S" and "S" not in done else 1
        spread = math.sqrt(SLOTS * terms) * self._half
        if noise is None:
            noise = _Noise(math.sqrt(_ERROR_VARIANCE), 0.5)
            if self._by_public_key:
                noise = _Noise(noise.sub * (1 + 2 * self._tail * math.sqrt(SLOTS)), 0.5)
        moved = self._tail * noise.sub * spread + noise.hard * SLOTS * terms * self._half
        return moved * self._plan.parts + 2 * SLOTS * _ERROR_BITS + 1

    def _flooded(self, now: str, last: bool, done: str = "") -> float:
        """Coefficients that the whole run floods in this way, if all of its sums are opened in plans like this."""
        plan = self._plan
        opened = plan.rows * (plan.entries if last and "S" not in done + now else 1)
        ciphertexts = self._ciphertexts if "S" not in done + now else 1
        return max(plan.run_sums / opened, 1) * ciphertexts * self._blocks * len(self._moduli) * SLOTS

    def _needed(self, bound: float, done: str, now: str, last: bool) -> int:
        """Bits of the narrowest flood that hides this bound for the run, with half of the distance for all choices."""
        budget = 2.0 ** -(DISTANCE_BITS + 1) / self._plan.choices
        bits = 1
        while lattice_bounds.flood_distance(bound, bits, self._flooded(now, last, done)) > budget:
            bits += 1
        return bits

    def _fits(self, noise: _Noise, flood_bits: float, primes: int) -> bool:
        """Whether sealed integers with this noise open to the right ones under so many primes."""
        q = math.prod(lattice_bounds.PRIMES[:primes])
        most = 2.0 ** (flood_bits + 1) + noise.hard
        return most * self._plan.parts * max(self._moduli) / q < 0.5 - _SLACK

    def _distance(self, primes: tuple[int, ...], floods: dict[tuple[str, str], int]) -> float:
        """The distance of a whole run: the worst order of choices, and the bounds that may fail."""
        totals = []
        for now in "FS":
            last = self._plan.choices == 1
            _, noise = self._answered("", now, primes, last)
            first = self._one_distance("", now, floods, last, None)
            then = [self._one_distance(now, t, floods, True, noise) for t in ("" if last else "FS")]
            totals.append(first + max(then, default=0.0))
        return math.log2(max(totals) + 2.0 ** -(DISTANCE_BITS + 2))

    def _one_distance(
        self, done: str, now: str, floods: dict[tuple[str, str], int], last: bool, noise: _Noise | None
    ) -> float:
        bound = self._bound(done, now, noise)
        return lattice_bounds.flood_distance(bound, floods[done, now], self._flooded(now, last, done))


def _flooded_noise(bits: int, bound: float) -> _Noise:
    """After a flood: four uniform integers of so many bits, on top of what was there."""
    return _Noise(2.0**bits / math.sqrt(3), bound)


def _switched(noise: _Noise, dropped: int) -> _Noise:
    """After dividing by so many primes of 27 bits (a little less, hence the last factor) and rounding."""
    scale = (2.0**27 * (1 - 2.0**-5)) ** dropped
    return _Noise(noise.sub / scale, noise.hard / scale + (SLOTS if dropped else 0))
