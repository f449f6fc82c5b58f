"""Sealed rows and returned sums of the lattice cipher: what they hold, how they are added, and how channels share lanes.

Neither has values: only the secret key opens them.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy import lattice_wire as wire
from hedgerow.privacy.agreed import RowsPlan
from hedgerow.privacy.lattice_layout import RowsLayout, blocks


class _Key(Protocol):
    """The public key that something is sealed under."""

    @property
    def name(self) -> bytes: ...
    @property
    def threads(self) -> int: ...


class LatticeRows:
    """Rows under a key; see `additive.SealedRows`. Only the secret key opens them."""

    __slots__ = ("_kind", "_payload", "_public", "_residues", "_seed", "layout", "parts", "plan")

    def __init__(
        self,
        plan: RowsPlan,
        public: _Key,
        layout: RowsLayout,
        kind: int,
        parts: int,
        seed: bytes | None,
        payload: bytes | None,
        residues: NDArray[np.uint32] | None = None,
    ) -> None:
        self.plan, self.layout, self.parts = plan, layout, parts
        self._public, self._kind, self._seed, self._payload, self._residues = public, kind, seed, payload, residues

    def __repr__(self) -> str:
        return f"LatticeRows({self.plan.rows} rows, {len(self.plan.bounds)} channels)"

    @property
    def key(self) -> bytes:
        """The name of the key they are sealed under."""
        return self._public.name

    @property
    def by_public_key(self) -> bool:
        """Whether a part of them was sealed with the public key, which leaves more noise."""
        return self._kind == wire.PUBLIC_ROWS

    def residues(self) -> NDArray[np.uint32]:
        """Both halves of every ciphertext, unpacked."""
        if self._residues is None and self._payload is not None:
            native = (self._payload, self._seed, self.layout.lanes, self._public.threads)
            self._residues = _native.lattice_read_rows(*native)
        if self._residues is None:
            raise CipherError("Sealed rows cannot be unpacked; the run stops.")
        return self._residues

    def encode(self) -> bytes:
        """The wire form: a header, maybe a seed, packed residues; its length depends on the plan alone."""
        if self._payload is None:
            self._payload = _native.lattice_pack_rows(self.residues(), self.layout.lanes, self._public.threads)
        header = wire.Header(self._kind, self.key, self.plan.rows, blocks(self.plan, self.layout), self.parts)
        return header.encode(self.layout) + (self._seed or b"") + self._payload

    def __add__(self, other: "LatticeRows") -> "LatticeRows":
        return self._combined(other, subtract=False)

    def __sub__(self, other: "LatticeRows") -> "LatticeRows":
        return self._combined(other, subtract=True)

    def _combined(self, other: "LatticeRows", subtract: bool) -> "LatticeRows":
        ensure_addable(self, other)
        kind = wire.PUBLIC_ROWS if self.by_public_key or other.by_public_key else wire.ROWS
        rows = _native.lattice_add_rows(self.residues(), other.residues(), self.layout.lanes, subtract)
        return LatticeRows(self.plan, self._public, self.layout, kind, self.parts + other.parts, None, None, rows)


class LatticeSums:
    """Sums by group on their way back; see `additive.SealedSums`. Only the secret key opens them."""

    __slots__ = ("_kind", "_public", "groups", "layout", "parts", "payload", "plan")

    def __init__(
        self, plan: RowsPlan, groups: int, public: _Key, layout: RowsLayout, kind: int, parts: int, payload: bytes
    ) -> None:
        self.plan, self.groups, self.layout, self.parts, self.payload = plan, groups, layout, parts, payload
        self._public, self._kind = public, kind

    def __repr__(self) -> str:
        return f"LatticeSums({self.plan.nodes} nodes, {self.groups} groups, {len(self.plan.bounds)} channels)"

    @property
    def key(self) -> bytes:
        """The name of the key they are sealed under."""
        return self._public.name

    def encode(self) -> bytes:
        """The wire form: a header, packed residues; its length depends on the plan and the number of groups alone."""
        header = wire.Header(self._kind, self.key, self.plan.nodes, self.groups, self.parts)
        return header.encode(self.layout) + self.payload

    def __add__(self, other: "LatticeSums") -> "LatticeSums":
        return self._combined(other, subtract=False)

    def __sub__(self, other: "LatticeSums") -> "LatticeSums":
        return self._combined(other, subtract=True)

    def _combined(self, other: "LatticeSums", subtract: bool) -> "LatticeSums":
        ensure_addable(self, other)
        if self.groups != other.groups:
            raise ParameterError("Sums of different numbers of groups cannot be added.")
        kind, sizes = max(self._kind, other._kind), (self.plan.nodes, self.groups)
        total = _native.lattice_add_sums(self.payload, other.payload, self.layout, sizes, subtract)
        return LatticeSums(self.plan, self.groups, self._public, self.layout, kind, self.parts + other.parts, total)


def ensure_addable(one: LatticeRows | LatticeSums, other: LatticeRows | LatticeSums) -> None:
    """Refuses to add what is under another key or plan, or more parts than the plan allows."""
    if one.key != other.key:
        raise CipherError("What is sealed under different keys cannot be added.")
    if one.plan != other.plan or one.layout != other.layout:
        raise ParameterError("What is sealed for different plans cannot be added.")
    if one.parts + other.parts > one.plan.parts:
        raise ParameterError(f"The plan allows {one.plan.parts} parts of a sum; these have {one.parts + other.parts}.")


def packed(values: NDArray[np.int64], layout: RowsLayout) -> NDArray[np.int64]:
    """Channels (the last axis) packed into lanes, lanes first."""
    lanes = np.zeros((layout.lanes, *values.shape[:-1]), np.int64)
    channel = 0
    for lane, widths in zip(lanes, layout.packing, strict=True):
        offset = 0
        for width in widths:
            lane += values[..., channel] << offset
            channel, offset = channel + 1, offset + width
    return lanes


def joined(plus: NDArray[np.int64], layout: RowsLayout) -> NDArray[np.int64]:
    """Summands packed like the sums that they are added to, one after the other."""
    return np.ascontiguousarray(np.moveaxis(packed(plus, layout), 0, -1)).reshape(-1)


def unpacked(lanes: NDArray[np.int64], layout: RowsLayout) -> NDArray[np.int64]:
    """Channels of opened lanes (the last axis)."""
    channels = []
    for lane, widths in enumerate(layout.packing):
        rest = lanes[..., lane]
        for width in widths[:-1]:
            half = 1 << (width - 1)
            low = ((rest + half) & (2 * half - 1)) - half
            channels.append(low)
            rest = (rest - low) >> width
        channels.append(rest)
    return np.stack(channels, axis=-1)
