"""Sealed rows and returned sums of the lattice cipher: their wire form, how they are added, how channels share lanes.

Neither has values: only the secret key opens them. A wire form is a header that both sides can compute, then packed
residues. A header says what follows and in which layout; all but the number of parts is compared with what the plan
gives, and the length with the sizes, before anything is unpacked.
"""

import struct
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy.additive import Addable
from hedgerow.privacy.lattice.layout import RowsLayout
from hedgerow.privacy.pads import Pads
from hedgerow.privacy.shapes import RowsPlan

VERSION = 4
SEED_BYTES = 32
NAME_BYTES = 8
"""Of the hash of a public key that its sealed things carry."""
_HEADER = struct.Struct("<4sBB8s8sIIIHBBB")

HEADER_BYTES = _HEADER.size

SEEDED_ROWS = 2
ROWS = 3
PUBLIC_ROWS = 4
SUMS = 5
PUBLIC_SUMS = 6

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Header:
    """What a sealed thing says of itself."""

    kind: int
    key: bytes
    plan: bytes
    """The plan's digest."""
    first: int
    """Rows, or nodes."""
    second: int
    """Blocks, or groups."""
    parts: int

    def encode(self, layout: RowsLayout) -> bytes:
        """The wire form."""
        sizes = (self.first, self.second, self.parts, layout.step, layout.merges, layout.lanes, layout.bits)
        return _HEADER.pack(b"HLAT", VERSION, self.kind, self.key, self.plan, *sizes)


def read_header(data: bytes) -> Header:
    """The header as far as it can be read alone."""
    if len(data) < HEADER_BYTES:
        raise CipherError("Sealed data end before their header does; the run stops.")
    name, version, kind, key, plan, first, second, parts, *_ = _HEADER.unpack_from(data)
    if name != b"HLAT" or version != VERSION:
        raise CipherError(f"Sealed data are not of the lattice cipher, version {VERSION}; the run stops.")
    return Header(kind, key, plan, first, second, parts)


def ensure_wire(data: bytes, expected: Header, layout: RowsLayout, length: int) -> None:
    """Refuses a header that is not the expected one in this layout, and another length behind it."""
    if data[:HEADER_BYTES] != expected.encode(layout):
        raise CipherError("Sealed data do not fit the key, the plan or the layout that was agreed on; the run stops.")
    if len(data) != HEADER_BYTES + length:
        raise CipherError(
            f"Sealed data have {len(data)} bytes where the plan has {HEADER_BYTES + length}; the run stops."
        )


@dataclass(frozen=True, slots=True)
class RowsKey:
    """The part of a public key that works on rows."""

    public: NDArray[np.uint32]
    switch: NDArray[np.uint32]
    steps: tuple[int, ...]

    def switch_for(self, step: int, merges: int) -> NDArray[np.uint32]:
        """The switching keys of a layout's merges, which lie together."""
        if not merges:
            return self.switch[:0]
        size = len(self.switch) // len(self.steps)
        first = self.steps.index(step)
        return self.switch[first * size : (first + merges) * size]


class _Key(Protocol):
    """The public key that something is sealed under."""

    @property
    def name(self) -> bytes: ...
    @property
    def threads(self) -> int: ...


class SealedData(NamedTuple):
    """Sealed rows in their wire form, for the kernels."""

    data: bytes
    start: int
    seed: bytes | None
    lanes: int


class ReturnedData(NamedTuple):
    """Returned sums in their wire form, for the kernels."""

    data: bytes
    start: int
    layout: RowsLayout
    nodes: int
    groups: int


@dataclass(frozen=True, slots=True, repr=False)
class LatticeRows(Addable):
    """Rows under a key, in their wire form; see `additive.SealedRows`. Only the secret key opens them."""

    plan: RowsPlan
    layout: RowsLayout
    head: Header
    public: _Key
    data: bytes

    def __repr__(self) -> str:
        return f"LatticeRows({self.plan.rows} rows, {len(self.plan.bounds)} channels)"

    @property
    def by_public_key(self) -> bool:
        """Whether a part of them was sealed with the public key, which leaves more noise."""
        return self.head.kind == PUBLIC_ROWS

    @property
    def sealed(self) -> SealedData:
        """For the kernels."""
        start = HEADER_BYTES
        if self.head.kind != SEEDED_ROWS:
            return SealedData(self.data, start, None, self.layout.lanes)
        end = start + SEED_BYTES
        return SealedData(self.data, end, self.data[start:end], self.layout.lanes)

    def encode(self) -> bytes:
        """The wire form: a header, maybe a seed, packed residues; its length depends on the plan alone."""
        return self.data

    def _combined(self, other: Self, *, subtract: bool) -> Self:
        ensure_addable(self, other)
        kind = PUBLIC_ROWS if self.by_public_key or other.by_public_key else ROWS
        head = replace(self.head, kind=kind, parts=self.head.parts + other.head.parts)
        native = (self.sealed, other.sealed, subtract, head.encode(self.layout), self.public.threads)
        return replace(self, head=head, data=_native.lattice_add_rows(*native))


@dataclass(frozen=True, slots=True, repr=False)
class LatticeSums(Addable):
    """Sums by group on their way back; see `additive.SealedSums`. Only the secret key opens them."""

    plan: RowsPlan
    layout: RowsLayout
    head: Header
    public: _Key
    data: bytes

    def __repr__(self) -> str:
        return f"LatticeSums({self.plan.nodes} nodes, {self.groups} groups, {len(self.plan.bounds)} channels)"

    @property
    def groups(self) -> int:
        """Sums a node and channel."""
        return self.head.second

    @property
    def returned(self) -> ReturnedData:
        """For the kernels."""
        return ReturnedData(self.data, HEADER_BYTES, self.layout, self.plan.nodes, self.groups)

    def encode(self) -> bytes:
        """The wire form: a header, packed residues; its length depends on the plan and the number of groups alone."""
        return self.data

    def _combined(self, other: Self, *, subtract: bool) -> Self:
        ensure_addable(self, other)
        kind = max(self.head.kind, other.head.kind)
        head = replace(self.head, kind=kind, parts=self.head.parts + other.head.parts)
        data = _native.lattice_add_sums(self.returned, other.returned, subtract, head.encode(self.layout))
        return replace(self, head=head, data=data)


def of_kind(given: object, kind: type[Kind]) -> Kind:
    """What was given, if it is of this kind and this cipher."""
    if not isinstance(given, kind):
        raise CipherError(f"A {type(given).__name__} was given where {kind.__name__} of the lattice cipher are needed.")
    return given


def ensure_addable(one: LatticeRows | LatticeSums, other: LatticeRows | LatticeSums) -> None:
    """Refuses to add what is of another kind, key or plan, or more parts than the plan allows."""
    of_kind(other, type(one))
    if one.public.name != other.public.name:
        raise CipherError("What is sealed under different keys cannot be added.")
    sizes = (one.plan, one.layout, one.head.first, one.head.second)
    if sizes != (other.plan, other.layout, other.head.first, other.head.second):
        raise ParameterError("What is sealed for different plans or numbers of groups cannot be added.")
    parts = one.head.parts + other.head.parts
    if parts > one.plan.parts:
        raise ParameterError(f"The plan allows {one.plan.parts} parts of a sum; these have {parts}.")


def packed(values: NDArray[np.int64], layout: RowsLayout) -> NDArray[np.int64]:
    """Channels (the last axis) packed into lanes, lanes first, as they are sealed."""
    return layout.encoded(_lanes(values, layout))


def _lanes(values: NDArray[np.int64], layout: RowsLayout) -> NDArray[np.int64]:
    lanes = np.zeros((layout.lanes, *values.shape[:-1]), np.int64)
    channel = 0
    for lane, channels in zip(lanes, layout.packing, strict=True):
        unit = 1
        for least, most in channels:
            lane += values[..., channel] * unit
            channel, unit = channel + 1, unit * (most - least + 1)
    return lanes


def joined(plus: NDArray[np.int64], layout: RowsLayout, pads: Pads | None = None) -> NDArray[np.int64]:
    """Summands packed like the sums that they are added to, one after the other; pads are of whole lanes."""
    added = np.ascontiguousarray(np.moveaxis(_lanes(plus, layout), 0, -1)).reshape(-1)
    if pads is not None:
        added = added + pads.words(len(added), layout.bits)
    return layout.encoded(added)


def unpacked(lanes: NDArray[np.int64], layout: RowsLayout) -> NDArray[np.int64]:
    """Channels of opened lanes (the last axis)."""
    found = []
    for lane, channels in enumerate(layout.packing):
        unit, first = 1, 0
        for least, most in channels:
            unit, first = unit * (most - least + 1), first + unit * least
        # From the least plaintext on, whatever lies above half of the modulus.
        rest = (lanes[..., lane] - first) % (layout.modulus or layout.values)
        for least, most in channels[:-1]:
            rest, low = np.divmod(rest, most - least + 1)
            found.append(low + least)
        found.append(rest + channels[-1][0])
    return np.stack(found, axis=-1)
