"""The trees of a round as a party is told to grow them, the cuts and sides as they travel, and checks of what is told.

Nothing here depends on anybody's rows: only on the plan, the agreed cut points and the requests. What is told never
changes; a request that passes the checks leads to another place, and one that does not changes nothing. Parties of
horizontal and of vertical runs follow the nodes of their trees alike (`ToldNodes`) and refuse with sentences of their
own; a horizontal run's steps are followed too (`ToldTrees`). Parties of one process that are at the same place and
hear the same frame, not merely an equal one, share what comes of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskHistograms, AskLeafSums, CutList, FinishRound
from hedgerow.corridor.wire import Frame
from hedgerow.errors import ProtocolError
from hedgerow.trees.bins import Grid
from hedgerow.trees.grow import most_at_once
from hedgerow.trees.levels import ALIKE, Levels
from hedgerow.trees.splits import Cuts, Nodes

LOWEST, ASKED = 3, 4
"""What a node is at the lowest level: not summed yet, or summed; lower numbers are cut nodes and leaves above it.

Nodes above that the level looks at again are at the lowest level too.
"""
LEAF = 2

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
    levels: Levels = ALIKE
    """Whose columns compete where."""
    born: NDArray[np.uint8] | None = None
    """The level at which each node came to be, where it matters."""

    @classmethod
    def at_roots(cls, n_trees: int, levels: Levels = ALIKE) -> "ToldNodes":
        """Before the first step."""
        status, sizes = np.zeros((n_trees, 64), np.uint8), np.ones(n_trees, np.int64)
        status[:, 0] = LOWEST
        status.flags.writeable = sizes.flags.writeable = False
        return cls(status, sizes, levels=levels, born=np.zeros_like(status) if levels.owners else None)

    def step(
        self, cuts: Cuts | None, grid: Grid, nodes: Nodes, wrong: Mapping[int, str], leaves: bool = False
    ) -> "ToldNodes":
        """After cuts of the lowest level on this grid, and after nodes there were asked about, or all leaves.

        A step that cannot be is refused with its sentence in `wrong`, and changes nothing.
        """
        status, sizes, most = self._widened(cuts, wrong)
        return self._after(
            _native.follow_step(status, sizes, cuts, grid, nodes, leaves), cuts, (status, sizes, most), wrong
        )

    def cut(self, cuts: Cuts, grid: Grid, wrong: Mapping[int, str]) -> "ToldNodes":
        """After cuts of the lowest level, of whose children nobody asks anything before they are cut themselves."""
        status, sizes, most = self._widened(cuts, wrong)
        return self._after(_native.follow_cuts(status, sizes, cuts, grid), cuts, (status, sizes, most), wrong)

    def _widened(self, cuts: Cuts | None, wrong: Mapping[int, str]) -> tuple[NDArray[np.uint8], NDArray[np.int64], int]:
        """Copies that have room for the children of these cuts."""
        if cuts is not None and len(cuts.child) > self.n_lowest:  # before memory is taken for their children
            raise ProtocolError(wrong[NODE])
        most, status = self.most + (0 if cuts is None else 2 * len(cuts.child)), self.status
        more = np.zeros((len(self.sizes), most if most >= status.shape[1] else 0), np.uint8)
        return np.concatenate([status, more], axis=1), self.sizes.copy(), most

    def _after(
        self,
        found: int,
        cuts: Cuts | None,
        grown: tuple[NDArray[np.uint8], NDArray[np.int64], int],
        wrong: Mapping[int, str],
    ) -> "ToldNodes":
        if found:
            raise ProtocolError(wrong[found])
        status, sizes, most = grown
        told = self._replace(status=status, sizes=sizes, most=most)
        if cuts is not None:
            told = told._replace(depth=self.depth + 1, born=self._reopened(cuts, status))
        status.flags.writeable = sizes.flags.writeable = False
        return told

    def _reopened(self, cuts: Cuts, status: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        """Nodes that were not cut and are looked at again are at the lowest level; when each came to be."""
        if self.born is None:
            return None
        born = np.zeros_like(status)
        born[:, : self.born.shape[1]] = self.born
        for child in (cuts.child, cuts.child + 1):
            born[cuts.nodes.tree, child] = self.depth + 1
        status[(status == LEAF) & self.levels.again(born, self.depth + 1)] = LOWEST
        return born

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


def nodes_of(tree: NDArray[np.int64], node: NDArray[np.int64]) -> Nodes:
    """Nodes that arrived."""
    if tree.shape != node.shape:
        raise ProtocolError("A list of nodes is not well formed.")
    return Nodes(tree, node)


def cut_list(cuts: Cuts) -> CutList:
    """Cuts as they travel."""
    nodes = cuts.nodes
    return CutList(nodes.tree, nodes.node, cuts.child, cuts.column, cuts.bin, cuts.missing_left, cuts.left_bins)


def sides_of(bits: NDArray[np.uint8], sizes: Sequence[int], refusal: str) -> list[NDArray[np.bool_]]:
    """Sides that arrived, a bit a row, for parts of so many rows; another number of them is refused."""
    if len(bits) != (sum(sizes) + 7) // 8:
        raise ProtocolError(refusal)
    left = np.unpackbits(bits, count=sum(sizes), bitorder="little").astype(np.bool_)
    return np.split(left, np.cumsum(sizes)[:-1])


WRONG = {
    NODE: "The driver cuts a node that is not at the lowest level, or twice, or out of order.",
    CHILDREN: "The driver numbers the children of its cuts in another order than agreed.",
    COLUMN: "The driver cuts a column that is not among the agreed ones.",
    PLACE: "The driver cuts at a place that is not on the agreed cut points.",
    TWICE: "The driver asks for nodes that are not at the lowest level, or twice.",
    LEAVES: "The leaves that the driver names do not divide the rows of this party.",
}
"""What a step is refused with."""


@dataclass(frozen=True, eq=False)
class ToldTrees:
    """How far a round has come; a place is the same as another only if it is one object."""

    plan: Plan
    grid: Grid
    round: int
    nodes: ToldNodes
    most_asked: int
    """Nodes whose sums may be asked for at once."""
    level: int = 0
    """The next step of the round."""
    cuts: tuple[Cuts, ...] = ()
    """Those of the levels so far."""
    finished: bool = False

    def step(self, request: AskHistograms | AskLeafSums) -> "Way":
        """The next step of this round, or the first of the next: cuts, then nodes to be summed, or all leaves."""
        before = self._place(request)
        leaves = isinstance(request, AskLeafSums)
        listed = request.leaves if isinstance(request, AskLeafSums) else request.nodes
        nodes = nodes_of(listed.tree, listed.node)
        if not leaves and len(nodes.tree) > self.most_asked:
            raise ProtocolError("The driver asks for the sums of more nodes at once than it may.")
        cuts = before.told_cuts(request) if len(request.cuts.tree) else None
        told = before.nodes.step(cuts, self.grid, nodes, WRONG, leaves)
        all_cuts = before.cuts if cuts is None else (*before.cuts, cuts)
        place = replace(before, nodes=told, level=request.level + 1, cuts=all_cuts)
        return Way(place, cuts, nodes)

    def finish(self, request: FinishRound) -> "Way":
        """The values of all leaves; a second time nothing more is done."""
        if not self.level or (request.round, request.level) != (self.round, self.level):
            raise ProtocolError("The driver finishes a round that this party did not grow.")
        leaves = nodes_of(request.leaves.tree, request.leaves.node)
        if self.finished:
            return Way(self, None, leaves)
        self.nodes.step(None, self.grid, leaves, WRONG, leaves=True)
        if len(request.values) != len(leaves.tree):
            raise ProtocolError("The driver's values are not as many as the leaves.")
        return Way(replace(self, finished=True), None, leaves)

    def _place(self, request: AskHistograms | AskLeafSums) -> "ToldTrees":
        """Where the request goes on: here, or at the roots of the round that it begins."""
        if request.level == 0 and request.round == self.round + self.finished and (self.finished or self.level < 2):
            if request.round >= self.plan.params.n_estimators:
                raise ProtocolError(
                    f"The driver grows more than the {self.plan.params.n_estimators} rounds of the plan."
                )
            return at_roots(self.plan, self.grid, len(self.nodes.sizes), request.round)
        if request.round != self.round or request.level != self.level or self.finished:
            raise ProtocolError(
                f"The driver asks for step {request.level} of round {request.round}; "
                f"this party is at step {self.level} of round {self.round}."
            )
        return self

    def told_cuts(self, request: AskHistograms | AskLeafSums) -> Cuts:
        """Cuts as told, if they are no deeper than agreed."""
        cuts = _well_formed(request.cuts)
        if request.level == 0 or len(self.cuts) >= self.plan.params.max_depth:
            raise ProtocolError(f"The driver cuts deeper than the {self.plan.params.max_depth} levels of the plan.")
        return cuts


class Way(NamedTuple):
    """Where a request leads, by which cuts if there are any, and the nodes or leaves that it names."""

    place: ToldTrees
    cuts: Cuts | None
    nodes: Nodes


def _well_formed(listed: CutList) -> Cuts:
    child, column, bin_, missing_left = listed.child, listed.column, listed.bin, listed.missing_left
    n = len(listed.tree)
    alike = len(listed.node) == len(child) == len(column) == len(bin_) == len(missing_left) == n
    if not alike or len(listed.left_bins) != 4 * n:
        raise ProtocolError("The driver's cuts are not well formed.")
    sets = listed.left_bins.reshape(n, 4)
    return Cuts(Nodes(listed.tree, listed.node), child, column, bin_, missing_left, sets)


def at_roots(plan: Plan, grid: Grid, n_trees: int, round_: int) -> ToldTrees:
    """A round before its first step."""
    most = most_at_once(int(grid.offsets[-1]) + 1, plan.params.min_child_rows > 1)
    return ToldTrees(plan, grid, round_, ToldNodes.at_roots(n_trees), max(most, n_trees))


@dataclass(frozen=True, eq=False)
class Beginning:
    """What the first round to be grown depends on; equal to another of an equal plan and the same cut points."""

    plan: Plan
    grid: Grid
    n_trees: int
    round: int

    def __hash__(self) -> int:
        return hash((self.plan.digest, self.n_trees, self.round))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Beginning) or (self.n_trees, self.round) != (other.n_trees, other.round):
            return False
        return self.plan == other.plan and self.grid.equals(other.grid)


def begin(_: Frame, first: Beginning) -> ToldTrees:
    """The first round to be grown; all that hear the same frame begin at the same place, if from the same."""
    return at_roots(first.plan, first.grid, first.n_trees, first.round)


def follow(frame: Frame, place: ToldTrees) -> Way:
    """Where a request leads."""
    request = cast(AskHistograms | AskLeafSums | FinishRound, frame.request)
    return place.finish(request) if isinstance(request, FinishRound) else place.step(request)
