"""The nodes of a round's trees as a party is told to grow them, and whether what it is told next can be.

Nothing here depends on anybody's rows: only on what was told. Parties of horizontal and of vertical runs follow their
trees alike; what they then refuse with is their own sentence.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import ProtocolError
from hedgerow.trees.bins import Grid
from hedgerow.trees.splits import Cuts, Nodes

LOWEST, ASKED = 3, 4
"""What a node is at the lowest level: not summed yet, or summed; lower numbers are cut nodes and leaves above it."""

NODE, CHILDREN, COLUMN, PLACE, TWICE, LEAVES = range(1, 7)
"""What can be wrong with a step: see `_native.follow_step`."""

ANYWHERE = Grid(np.empty(0, np.float32), np.zeros(2, np.int64), np.zeros(1, np.bool_), np.ones(1, np.bool_))
"""For cuts of which a party is told where they are in a tree, not in which column."""


def somewhere(nodes: Nodes, child: NDArray[np.int64]) -> Cuts:
    """Cuts of these nodes, in a column that a party is not told."""
    n = len(nodes.tree)
    column, nothing = np.zeros(n, np.int32), np.zeros((n, 4), np.uint64)
    return Cuts(nodes, child, column, column - np.int32(1), np.zeros(n, np.bool_), nothing)


class ToldNodes(NamedTuple):
    """What each node is; it never changes, and a step leads to another one."""

    status: NDArray[np.uint8]
    """Trees x nodes; like `sizes` it cannot be written to."""
    sizes: NDArray[np.int64]
    """Nodes of each tree."""
    most: int = 1
    """As many as a tree can have by now."""
    depth: int = 0
    """Levels that were cut."""

    @classmethod
    def at_roots(cls, n_trees: int) -> "ToldNodes":
        """Before the first step."""
        status, sizes = np.zeros((n_trees, 64), np.uint8), np.ones(n_trees, np.int64)
        status[:, 0] = LOWEST
        status.flags.writeable = sizes.flags.writeable = False
        return cls(status, sizes)

    def step(
        self, cuts: Cuts | None, grid: Grid, nodes: Nodes, wrong: Mapping[int, str], leaves: bool = False
    ) -> "ToldNodes":
        """After cuts of the lowest level on this grid, and after nodes there were asked about, or all leaves.

        A step that cannot be is refused with its sentence in `wrong`, and changes nothing.
        """
        if cuts is not None and len(cuts.child) > self.n_lowest:  # before memory is taken for their children
            raise ProtocolError(wrong[NODE])
        most, status, sizes = self.most + (0 if cuts is None else 2 * len(cuts.child)), self.status, self.sizes.copy()
        more = np.zeros((len(sizes), most if most >= status.shape[1] else 0), np.uint8)
        status = np.concatenate([status, more], axis=1)
        found = _native.follow_step(status, sizes, cuts, grid, nodes, leaves)
        if found:
            raise ProtocolError(wrong[found])
        status.flags.writeable = sizes.flags.writeable = False
        return ToldNodes(status, sizes, most, self.depth + (cuts is not None))

    def has_lowest(self, nodes: Nodes) -> bool:
        """Whether these nodes, each named once, are at the lowest level."""
        return _native.name_nodes(self.status.copy(), nodes, (LOWEST, ASKED), 0)

    @property
    def n_lowest(self) -> int:
        """Nodes at the lowest level."""
        return int(np.count_nonzero(self.status >= LOWEST))


def check_places(cuts: Cuts, grid: Grid, wrong: str) -> None:
    """Each cut must be on the grid, wherever its node is: checked as if it were alone in a tree of its own."""
    n = len(cuts.column)
    status, sizes = np.zeros((n, 4), np.uint8), np.ones(n, np.int64)
    status[:, 0] = LOWEST
    alone = cuts._replace(nodes=Nodes(np.arange(n), np.zeros(n, np.int64)), child=np.ones(n, np.int64))
    if _native.follow_cuts(status, sizes, alone, grid):
        raise ProtocolError(wrong)
