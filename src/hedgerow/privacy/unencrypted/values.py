"""Integers IN THE CLEAR in the shape of sealed things: what `unencrypted` hands out. Anybody can read them.

Like sealed things they have no values that other code could take by mistake: only keys look inside.
"""

import math
import struct
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import CipherError
from hedgerow.privacy.additive import Addable
from hedgerow.privacy.shapes import RowsPlan, SlotsPlan, agreed, ensure, plan_digest

VERSION = 1
HEAD = struct.Struct("<2sBB16s8sQQQQ")
"""Whose wire form, its version, what it holds; the key, the plan, the parts, and three sizes."""
MARK = b"!U"
KEY, ROWS, SUMS, SLOTS = range(1, 5)

Ints = NDArray[np.int64]
Plan = TypeVar("Plan", RowsPlan, SlotsPlan)
Kind = TypeVar("Kind", "ClearRows", "ClearSums", "ClearSlots")


class Clear(Addable, Generic[Plan]):
    """Integers that ANYBODY can read, kept as if they were sealed."""

    __slots__ = ("_chosen", "_clear", "_key", "_parts", "_plan")
    kind: ClassVar[int]

    def __init__(self, clear: Ints, plan: Plan, key: bytes, parts: int = 1, chosen: int = 0) -> None:
        self._clear: Ints = clear
        self._plan: Plan = plan
        self._key, self._parts, self._chosen = key, parts, chosen

    @property
    def plan(self) -> Plan:
        """What was agreed on before they were sealed."""
        return self._plan

    @property
    def parts(self) -> int:
        """How many sealed things were added to make this one."""
        return self._parts

    def _combined(self, other: Self, *, subtract: bool) -> Self:
        agreed(type(other) is type(self), "Sealed things of different kinds or ciphers cannot be added.")
        same = (other._key, other._plan, other._chosen) == (self._key, self._plan, self._chosen)
        same = same and other._clear.shape == self._clear.shape
        agreed(same, "Sealed things of different keys, plans or sizes cannot be added.")
        parts = self._parts + other._parts
        ensure(parts <= self._plan.parts, "The plan does not allow so many sealed things to be added.")
        total = self._clear + (-1 if subtract else 1) * other._clear
        return type(self)(self._reduced(total), self._plan, self._key, parts, self._chosen)

    def _reduced(self, total: Ints) -> Ints:
        """Modulo the plan's modulus, where it has one."""
        return total

    def _sent(self) -> tuple[tuple[int, ...], list[Ints]]:
        """The shape that the wire form tells, and what it holds."""
        return self._clear.shape, [self._clear]

    def encode(self) -> bytes:
        """The wire form: a head with version and sizes, then the integers AS THEY ARE."""
        shape, sent = self._sent()
        plan = plan_digest(self._plan, self.kind == ROWS)
        head = HEAD.pack(MARK, VERSION, self.kind, self._key, plan, self._parts, *_told(shape, self._chosen))
        return head + b"".join(part.astype("<i8").tobytes() for part in sent)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, not encrypted>"


class ClearRows(Clear[RowsPlan]):
    """Integers of rows, NOT SEALED."""

    __slots__ = ()
    kind = ROWS


class ClearSums(Clear[RowsPlan]):
    """Sums by group, NOT SEALED."""

    __slots__ = ()
    kind = SUMS

    @property
    def groups(self) -> int:
        """Sums a node and channel."""
        return int(self._clear.shape[1])


class ClearSlots(Clear[SlotsPlan]):
    """Integers of rows and entries, those that rows share beside each row's own, NOT SEALED."""

    __slots__ = ()
    kind = SLOTS

    @property
    def entries(self) -> int:
        """As in the plan, or 1 after the entries of each row were summed."""
        return int(self._clear.shape[1]) if self._chosen else self._plan.entries

    def _reduced(self, total: Ints) -> Ints:
        return self._plan.centred(total) if self._chosen else total

    def _sent(self) -> tuple[tuple[int, ...], list[Ints]]:
        own = self._clear[:, : self.entries]
        return own.shape, [own, self._clear[0, self.entries :]]

    @property
    def chosen(self) -> int:
        """How many choices have been made upon it."""
        return self._chosen


def beside(values: Ints, shared: Ints) -> Ints:
    """Rows' own integers, and beside each row's those that all share."""
    return np.concatenate([values, np.broadcast_to(shared, (len(values), len(shared)))], axis=1)


def inside(sealed: object, kind: type[Kind], key: bytes) -> tuple[Kind, Ints]:
    """A thing of this kind and key, and its integers; nothing else is looked into."""
    if not isinstance(sealed, kind):
        raise CipherError("These sealed integers are of another cipher or kind than this key works with.")
    agreed(sealed._key == key, "These sealed integers belong to another key.")
    return sealed, sealed._clear


def read_head(data: bytes) -> tuple[int, bytes, bytes, int, tuple[int, int, int]]:
    """Kind, key, plan, parts and sizes of a wire form of this version."""
    agreed(len(data) >= HEAD.size, "A wire form is too short for its head; nothing was read.")
    mark, version, kind, key, plan, parts, *sizes = HEAD.unpack_from(data)
    agreed(mark == MARK, "These bytes are not of the cipher that was agreed on; nothing was read.")
    agreed(version == VERSION, f"A wire form has version {version}, this hedgerow reads {VERSION}; update the older.")
    return kind, key, plan, parts, (sizes[0], sizes[1], sizes[2])


def read(
    data: bytes,
    key: bytes,
    kind: type[Kind],
    plan: RowsPlan | SlotsPlan,
    shape: tuple[int, ...],
    chosen: tuple[int, int] = (0, 0),
) -> tuple[Ints, int]:
    """Integers of this shape, one after the other, and how many parts were added to make them.

    Of slots also how many choices were made, and how many integers follow that all rows share.
    """
    found, of_key, of_plan, parts, sizes = read_head(data)
    agreed(found == kind.kind, "These bytes do not hold the kind of sealed integers that was asked for.")
    agreed(of_key == key, "These sealed integers belong to another key.")
    fits = (
        of_plan == plan_digest(plan, kind.kind == ROWS)
        and sizes == _told(shape, chosen[0])
        and 1 <= parts <= plan.parts
    )
    agreed(fits, "These sealed integers were not made for the plan that was agreed on.")
    length = HEAD.size + 8 * (math.prod(shape) + chosen[1])
    agreed(len(data) == length, "Sealed integers do not have the length that their sizes tell.")
    return np.frombuffer(data, "<i8", offset=HEAD.size).astype(np.int64), parts


def _told(shape: tuple[int, ...], chosen: int) -> tuple[int, int, int]:
    """The sizes in a head: two or three of the shape, and the choices where there is room, for slots have two."""
    return shape[0], shape[1], shape[2] if len(shape) > 2 else chosen
