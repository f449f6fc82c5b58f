"""Wire form of the lattice cipher's rows: a header that both sides can compute, then packed residues.

Every header says what follows and in which layout; all but the number of parts is compared with what the plan gives,
and the length with the sizes, before anything is unpacked.
"""

import struct
from dataclasses import dataclass

from hedgerow.errors import CipherError
from hedgerow.privacy.lattice.layout import RowsLayout

VERSION = 2
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
