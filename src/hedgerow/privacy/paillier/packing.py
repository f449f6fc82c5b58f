"""How integers lie in Paillier's plaintexts: side by side, each in a field with room for the largest sum of its plan.

A field of w bits holds signed integers of w - 1 bits. Its width comes from `plan.most`, so that no sum of what was
sealed as agreed reaches the next field, and all fields of a ciphertext together stay below half the modulus. What a row
seals for one selection shares a ciphertext (its channels). Slots are chosen one by one, so each has its own. Before
they return, as many sums as fit move into one ciphertext, because opening is dear.

Sums modulo a prime t have a ciphertext each. The last answer adds t times a random number that is as large as the
plaintext allows: above the sum modulo t nothing can be read, whatever was sealed. (A sum that would leave the plaintext
by that opens wrongly, with a probability below 2^-1900.)
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hedgerow.privacy.shapes import RowsPlan, SlotsPlan

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packing:
    """The fields of some integers that belong together, and how many such sets share a ciphertext."""

    blocks: tuple[tuple[int, ...], ...]
    """Widths of the fields of one set, in one ciphertext or, where one is too small, in several."""
    per: int = 1
    """Sets in one ciphertext; 1 if a set has several."""

    @property
    def channels(self) -> int:
        """Integers of one set."""
        return sum(len(block) for block in self.blocks)

    @property
    def distance(self) -> int:
        """Bits from one set to the next in the same ciphertext."""
        return sum(self.blocks[0])

    def count(self, sets: int) -> int:
        """Ciphertexts for so many sets."""
        return ceil(sets / self.per) * len(self.blocks)

    def fields(self, values: Ints) -> list[tuple[Ints, list[int]]]:
        """For each ciphertext of a set the integers of its fields (ciphertexts x fields) and their widths."""
        filled = np.zeros((ceil(len(values) / self.per) * self.per, self.channels), np.int64)
        filled[: len(values)] = values
        found, first = [], 0
        for block in self.blocks:
            part = filled[:, first : first + len(block)].reshape(-1, len(block) * self.per)
            found.append((np.ascontiguousarray(part), list(block) * self.per))
            first += len(block)
        return found

    def values(self, fields: list[Ints], sets: int) -> Ints | None:
        """The integers (sets x channels) of opened fields; none if something stands behind the last set."""
        blocks = zip(fields, self.blocks, strict=True)
        values = np.concatenate([part.reshape(-1, len(block)) for part, block in blocks], axis=1)
        return None if values[sets:].any() else values[:sets]


def rows_packing(plan: RowsPlan, bits: int) -> Packing:
    """How a sealed row lies: its channels side by side, in as many ciphertexts as they need."""
    blocks: list[list[int]] = [[]]
    for most in plan.most:
        if sum(blocks[-1]) + _width(most) > bits - 2:
            blocks.append([])
        blocks[-1].append(_width(most))
    return Packing(tuple(tuple(block) for block in blocks))


def sums_packing(plan: RowsPlan, bits: int) -> Packing:
    """How returned sums lie: those of several groups side by side, if the channels of one leave room."""
    row = rows_packing(plan, bits)
    return row if len(row.blocks) > 1 else Packing(row.blocks, (bits - 2) // row.distance)


def slots_packing(plan: SlotsPlan, bits: int, chosen: int) -> Packing:
    """How slots lie: one a ciphertext while choices are still to be made, then as many as fit, unless apart."""
    width = _width(plan.most)
    alone = plan.apart or plan.modulus or chosen < plan.choices
    return Packing(((width,),), 1 if alone else (bits - 2) // width)


def slots_count(plan: SlotsPlan, bits: int, entries: int, chosen: int) -> int:
    """Ciphertexts of slots; what rows share stands behind their own entries."""
    return slots_packing(plan, bits, chosen).count(plan.rows * entries) + (0 if chosen else plan.shared)


def spread(plan: SlotsPlan) -> int:
    """The part of a plaintext that drowning leaves: the modulus, and where parts are added a sign and room for them."""
    return plan.modulus * (1 if plan.parts == 1 else 2 * plan.parts)


def drowned(plan: SlotsPlan, chosen: int) -> bool:
    """Whether sums lie below multiples of the modulus: after the last choice."""
    return plan.modulus > 0 and chosen == plan.choices > 0


def _width(most: int) -> int:
    """At most 64: a plan's largest sum has 62 bits."""
    return most.bit_length() + 1
