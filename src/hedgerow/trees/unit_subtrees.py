"""Trees whose rows are dealt to units below some level, each of which has subtrees of its own for its rows.

A column of categories says whose each row is; where it is missing, nobody's. Forced cuts in that column halve the units
at a node, level by level, until each node has the rows of one of them, or those of nobody. So the trees are ordinary
ones. A node that has a single unit before the last such level is cut all the same, with nothing on the right.
"""

from dataclasses import dataclass, field

import numpy as np

from hedgerow.trees.drawn_cuts import N_BINS, Given, Ints, Places
from hedgerow.trees.splits import Cuts, Nodes


def n_levels(n_units: int) -> int:
    """Levels that deal rows to so many units and to nobody; none where there are no units."""
    return n_units.bit_length() if n_units else 0


@dataclass(eq=False)
class UnitSubtrees:
    """The forced cuts, and whose each node is."""

    column: int
    """The one that says whose each row is: its categories are the units, in order."""
    n_units: int
    depth: int
    """Levels above the first that deals rows."""
    _units: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """The units of a node below: from the first to before the last; `n_units` stands for nobody."""

    def at(self, round_: int, depth: int, nodes: Nodes) -> Given | None:  # noqa: ARG002  # in every round alike
        """Half of the units of each node go left."""
        if depth == 0:
            self._units.clear()
        if not self.depth <= depth < self.depth + n_levels(self.n_units):
            return None
        if depth == self.depth:
            self._units |= dict.fromkeys(_names(nodes), (0, self.n_units + 1))
        n = len(nodes.tree)
        sets = np.zeros((n, N_BINS), np.bool_)
        for i, name in enumerate(_names(nodes)):
            first, middle, _ = self._halves(name)
            sets[i, first:middle] = True
        words = np.packbits(sets, axis=1, bitorder="little").view(np.uint64)
        column, bins = np.full(n, self.column, np.int32), np.full(n, -1, np.int32)
        return Given(np.arange(n), Places(column, bins, sets[:, self.n_units], words))

    def follow(self, cuts: Cuts) -> None:
        """Children have the units of their parents, or half of them."""
        for name, child, column in zip(_names(cuts.nodes), cuts.child.tolist(), cuts.column.tolist(), strict=True):
            if name not in self._units:
                continue
            first, middle, last = self._halves(name)
            halves = ((first, middle), (middle, last)) if column == self.column else (self._units[name],) * 2
            self._units |= {(name[0], child + side): half for side, half in enumerate(halves)}

    def _halves(self, name: tuple[int, int]) -> tuple[int, int, int]:
        first, last = self._units[name]
        return first, (first + last + 1) // 2, last

    def unit_of(self, nodes: Nodes) -> Ints:
        """The unit of each node; -1: nobody's, or of several."""
        none = (0, 0)
        found = (self._units.get(name, none) for name in _names(nodes))
        return np.array([a if b == a + 1 and a < self.n_units else -1 for a, b in found], np.int64)


def _names(nodes: Nodes) -> list[tuple[int, int]]:
    return list(zip(nodes.tree.tolist(), nodes.node.tolist(), strict=True))
