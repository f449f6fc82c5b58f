"""The trees of a round as a party is told to grow them, and the checks of what it is told.

Nothing here depends on anybody's rows: only on the plan, the agreed cut points and the requests. A `ToldTrees` never
changes; a request that passes the checks leads to another one, and one that does not changes nothing. Parties of one
process that are at the same place and hear the same frame, not merely an equal one, share what comes of it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.frame import Frame
from hedgerow.corridor.messages import AskHistograms, AskLeafSums, CutList, FinishRound
from hedgerow.errors import ProtocolError
from hedgerow.protocols.on_wire import nodes_of
from hedgerow.protocols.told_nodes import CHILDREN, COLUMN, LEAVES, NODE, PLACE, TWICE, ToldNodes
from hedgerow.trees.bins import Grid
from hedgerow.trees.grow import most_at_once
from hedgerow.trees.splits import Cuts, Nodes

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
        width, counted = int(self.grid.offsets[-1]) + 1, self.plan.params.min_child_rows > 1
        if not leaves and len(nodes.tree) > max(most_at_once(width, counted), len(self.nodes.sizes)):
            raise ProtocolError("The driver asks for the sums of more nodes at once than it may.")
        cuts = before.told_cuts(request) if len(request.cuts.tree) else None
        told = before.nodes.step(cuts, self.grid, nodes, WRONG, leaves)
        all_cuts = before.cuts if cuts is None else (*before.cuts, cuts)
        place = ToldTrees(self.plan, self.grid, before.round, told, request.level + 1, all_cuts)
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
    return ToldTrees(plan, grid, round_, ToldNodes.at_roots(n_trees))


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
