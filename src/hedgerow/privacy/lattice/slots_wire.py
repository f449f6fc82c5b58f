"""The head of a sealed table of slots in its wire form, and the shapes in which kernels are given one."""

import struct
from typing import NamedTuple

from hedgerow.errors import CipherError
from hedgerow.privacy.lattice.slots_bounds import SLOTS, slots_layout
from hedgerow.privacy.shapes import SlotsPlan, plan_digest

VERSION = 3
POLYNOMIAL_BYTES = SLOTS * 27 // 8
"""8192 residues of 27 bits."""
_HEAD = struct.Struct("<4sBBBBIQI16s8s32s")
_MARK = b"HGSL"
_NO_SEED = bytes(32)
HEAD_BYTES = _HEAD.size


class SlotTable(NamedTuple):
    """Where integers lie, for the kernels."""

    rows: int
    entries: int
    block_rows: int
    lanes: int
    moduli: tuple[int, ...]


class SealedTable(NamedTuple):
    """A sealed table, for the kernels."""

    data: bytes
    start: int
    primes: int
    seed: bytes | None
    transformed: bool


class SlotsLeaving(NamedTuple):
    """What is done to an answer before it leaves, for the kernels."""

    flood_bits: int
    primes: int


class SlotsHead(NamedTuple):
    """What the wire form says before the polynomials, beside what the plan says."""

    primes: int
    parts: int
    by_public_key: bool
    seed: bytes | None
    """Of the second halves, where they are not there."""

    def encode(self, key: bytes, plan: SlotsPlan, entries: int, chosen: int) -> bytes:
        """A version, the sizes, the key's name, the seed."""
        kind = (2 if self.by_public_key else 0) + (0 if self.seed else 1)
        sizes = (self.primes, chosen, self.parts, plan.rows, entries)
        return _HEAD.pack(_MARK, VERSION, kind, *sizes, key, plan_digest(plan), self.seed or _NO_SEED)


def read_head(data: bytes, key: bytes, plan: SlotsPlan, entries: int, chosen: int) -> SlotsHead:
    """The head of a table under this key; one that does not fit what was agreed on is a CipherError."""
    if len(data) < HEAD_BYTES:
        raise CipherError("A sealed table is shorter than its head.")
    mark, version, kind, primes, *sizes, name, digest, seed = _HEAD.unpack_from(data)
    if mark != _MARK or version != VERSION or kind > 3:
        raise CipherError("A sealed table has another format or version; both sides need the same hedgerow.")
    if name != key:
        raise CipherError("A table was sealed under another key.")
    if digest != plan_digest(plan):
        raise CipherError("A sealed table was not made for the plan that was agreed on.")
    parts = sizes[1]
    if sizes != [chosen, parts, plan.rows, entries]:
        raise CipherError("A sealed table does not have the rows, entries and choices that were agreed on.")
    if not plan.knows(entries, chosen) or not 1 <= parts <= plan.parts:
        raise CipherError("A sealed table has other entries, more choices or more parts than its plan allows.")
    by_public_key, seeded = bool(kind & 2), not kind & 1
    if seeded == (seed == _NO_SEED) or (seeded and (chosen or by_public_key or parts > 1)):
        raise CipherError("A sealed table has a seed where there is none, or none where there is one.")
    if primes != slots_layout(plan, by_public_key).primes[chosen]:
        raise CipherError("A sealed table does not have the modulus that its plan gives it.")
    return SlotsHead(primes, parts, by_public_key, seed if seeded else None)
