"""The rows of the active party that a passive party has: some of them, in that party's order, on their way down.

In a vertical run every party has all rows, in one order. In a hybrid run a passive party has those that it is linked
with (`link`), and numbers them its own way. It hears of no other row. The active party follows each party's rows beside
its own, so that it can put what it says and hears of them in that party's order.

Nothing is said here.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.local import Draw, LocalRows, Part, Sample, parts_of
from hedgerow.trees.splits import Nodes

Rows = NDArray[np.int64]
Sides = NDArray[np.bool_]
EVERY = np.empty(0, np.uint32)
"""Rows that are the active party's own, by their numbers."""


class LinkedRows(NamedTuple):
    """The numbers of the active party's rows that one passive party has, in the order of that party."""

    own: Rows
    held_out: Rows | None
    """The same of the validation rows, where there are any."""


RowsByParty = Mapping[str, LinkedRows]
"""By passive party; one that is not named has all rows, in the active party's order."""


class _Numbered(NamedTuple):
    """What `parts_of` asks of a sample."""

    every: NDArray[np.uint32]
    keys: NDArray[np.uint64]

    @classmethod
    def of(cls, rows: Rows, sample: Sample) -> Sample:
        """Of these rows; a sample that is never drawn from has no keys."""
        keys = sample.keys[rows] if len(sample.keys) else sample.keys
        return cast(Sample, cls(np.arange(len(rows), dtype=np.uint32), keys))


class HeldRows:
    """One passive party's rows in one round."""

    def __init__(self, linked: LinkedRows, active: LocalRows, draw: Draw, round_: int) -> None:
        self.linked, self.active = linked, active
        own = _Numbered.of(linked.own, active.own)
        held_out = None
        if active.held_out is not None and linked.held_out is not None:
            held_out = _Numbered.of(linked.held_out, active.held_out)
        self.parts = parts_of(own, held_out, active.n_trees, draw, round_, active.threads)
        numbers = [linked.own if part.sample is own else linked.held_out for part in self.parts]
        self.numbers = [cast(Rows, each).astype(np.uint32) for each in numbers]
        """Part by part, the active party's row that each of the party's is."""

    def divide(self, nodes: Nodes, child: Rows, rows: "RowSides") -> list[Sides]:
        """Move the party's rows as the active party's go at these nodes; their sides."""
        sides = rows.of(self, nodes)
        for part, some in zip(self.parts, sides, strict=True):
            part.divide_by(nodes, child, some)
        return sides


class RowSides:
    """The side of each of the active party's rows at the nodes of a level, by its number."""

    def __init__(self, active: LocalRows, nodes: Nodes, left: Sequence[Sides]) -> None:
        """Before any of the active party's rows moves; sides are in the order of its rows."""
        self.active, self.nodes = active, nodes
        self._by_row = [np.empty((len(own.orders), len(own.sample.every)), np.bool_) for own in active.parts]
        for own, sides, by_row in zip(active.parts, left, self._by_row, strict=True):
            _native.put_sides(own.orders, own.spans, nodes, EVERY, sides, by_row, active.threads)

    def put(self, held: HeldRows, nodes: Nodes, told: Sequence[Sides]) -> None:
        """A party's rows at some of the nodes go as it told."""
        for part, numbers, sides, by_row in zip(held.parts, held.numbers, told, self._by_row, strict=True):
            _native.put_sides(part.orders, part.spans, nodes, numbers, sides, by_row, self.active.threads)

    def of(self, held: HeldRows, nodes: Nodes) -> list[Sides]:
        """The sides of a party's rows at these nodes, part by part, in the order of that party."""
        every = zip(held.parts, held.numbers, self._by_row, strict=True)
        threads = self.active.threads
        return [_native.take_sides(part.orders, part.spans, nodes, own, by_row, threads) for part, own, by_row in every]

    def of_all(self) -> list[Sides]:
        """The sides of all of the active party's rows, part by part, in its order."""
        parts, threads = zip(self.active.parts, self._by_row, strict=True), self.active.threads
        return [_native.take_sides(own.orders, own.spans, self.nodes, EVERY, rows, threads) for own, rows in parts]


def parts_at(held: HeldRows | None, active: LocalRows) -> Sequence[Part]:
    """A party's rows as it follows them: all of the active party's, in their order, unless it is linked with some."""
    return active.parts if held is None else held.parts
