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

from hedgerow.trees.local import Draw, LocalRows, Part, Sample, parts_of
from hedgerow.trees.splits import Nodes

Rows = NDArray[np.int64]
Sides = NDArray[np.bool_]


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
        self._numbers = [linked.own if part.sample is own else linked.held_out for part in self.parts]

    def places(self, nodes: Nodes) -> list[NDArray[np.int64]]:
        """Part by part, for each of the party's rows at these nodes its place among the active party's there."""
        out = []
        for theirs, numbers, own in zip(self.parts, self._numbers, self.active.parts, strict=True):
            n_rows, rows = len(own.sample.every), own.rows(nodes)
            place = np.empty(len(own.orders) * n_rows, np.int64)
            place[np.repeat(nodes.tree, own.sizes(nodes)) * n_rows + rows] = np.arange(len(rows))
            held = cast(Rows, numbers)[theirs.rows(nodes)]
            out.append(place[np.repeat(nodes.tree, theirs.sizes(nodes)) * n_rows + held])
        return out

    def spread(
        self, nodes: Nodes, default_left: Sides, told: Sequence[Sides], before: Sequence[Sides] | None = None
    ) -> list[Sides]:
        """Sides of all of the active party's rows at these nodes: as told; of others as before, or by default."""
        out = [np.repeat(default_left, own.sizes(nodes)) for own in self.active.parts] if before is None else before
        for left, places, sides in zip(out, self.places(nodes), told, strict=True):
            left[places] = sides
        return list(out)

    def divide(self, nodes: Nodes, child: Rows, left: Sequence[Sides]) -> list[Sides]:
        """Move the party's rows as the active party's go at these nodes, before these move; their sides."""
        sides = [whole[places] for whole, places in zip(left, self.places(nodes), strict=True)]
        for part, some in zip(self.parts, sides, strict=True):
            part.divide_by(nodes, child, some)
        return sides


def parts_at(held: HeldRows | None, active: LocalRows) -> Sequence[Part]:
    """A party's rows as it follows them: all of the active party's, in their order, unless it is linked with some."""
    return active.parts if held is None else held.parts
