"""The trees of a round as a party is told to grow them, and the checks of what it is told.

Nothing here depends on anybody's rows: only on the plan, the agreed cut points and the requests. A `ToldTrees` never
changes; a request that passes the checks leads to another one, and one that does not changes nothing. Parties of one
process that are at the same place and hear the same request, not merely an equal one, share what comes of it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.memo import remembered
from hedgerow.corridor.messages import AskHistograms, AskLeafSums, CutList, FinishRound
from hedgerow.errors import ProtocolError
from hedgerow.protocols.on_wire import LOWEST, nodes_of
from hedgerow.trees.bins import Grid
from hedgerow.trees.grow import most_at_once
from hedgerow.trees.splits import Cuts, Nodes

WRONG = {
    1: "The driver cuts a node that is not at the lowest level, or twice, or out of order.",
    2: "The driver numbers the children of its cuts in another order than agreed.",
    3: "The driver cuts a column that is not among the agreed ones.",
    4: "The driver cuts at a place that is not on the agreed cut points.",
    5: "The driver asks for nodes that are not at the lowest level, or twice.",
    6: "The leaves that the driver names do not divide the rows of this party.",
}
"""What `follow_step` finds."""


class ToldTrees(NamedTuple):
    """How far a round has come."""

    plan: Plan
    grid: Grid
    round: int
    status: NDArray[np.uint8]
    """What each node is (trees x nodes); like all arrays here it cannot be written to."""
    sizes: NDArray[np.int64]
    """Nodes of each tree."""
    most_nodes: int = 1
    """As many as a tree can have by now."""
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
        if not leaves and len(nodes.tree) > max(most_at_once(width, counted), len(self.sizes)):
            raise ProtocolError("The driver asks for the sums of more nodes at once than it may.")
        cuts = before.told_cuts(request) if len(request.cuts.tree) else None
        most_nodes = before.most_nodes + (0 if cuts is None else 2 * len(cuts.child))
        status, sizes = before.checked(cuts, nodes, leaves, most_nodes)
        all_cuts = before.cuts if cuts is None else (*before.cuts, cuts)
        level = request.level + 1
        place = before._replace(status=status, sizes=sizes, most_nodes=most_nodes, level=level, cuts=all_cuts)
        return Way(place, cuts, nodes)

    def finish(self, request: FinishRound) -> "Way":
        """The values of all leaves; a second time nothing more is done."""
        if not self.level or (request.round, request.level) != (self.round, self.level):
            raise ProtocolError("The driver finishes a round that this party did not grow.")
        leaves = nodes_of(request.leaves.tree, request.leaves.node)
        if self.finished:
            return Way(self, None, leaves)
        self.checked(None, leaves, True, self.most_nodes)
        if len(request.values) != len(leaves.tree):
            raise ProtocolError("The driver's values are not as many as the leaves.")
        return Way(self._replace(finished=True), None, leaves)

    def _place(self, request: AskHistograms | AskLeafSums) -> "ToldTrees":
        """Where the request goes on: here, or at the roots of the round that it begins."""
        if request.level == 0 and request.round == self.round + self.finished and (self.finished or self.level < 2):
            if request.round >= self.plan.params.n_estimators:
                raise ProtocolError(
                    f"The driver grows more than the {self.plan.params.n_estimators} rounds of the plan."
                )
            return at_roots(self.plan, self.grid, len(self.sizes), request.round)
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

    def checked(
        self, cuts: Cuts | None, nodes: Nodes, leaves: bool, most_nodes: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Cuts on the agreed grid and at the lowest level; nodes not summed before, or leaves that divide the rows."""
        status, sizes = self.status.copy(), self.sizes.copy()
        if most_nodes >= status.shape[1]:
            status = np.concatenate([status, np.zeros((len(sizes), most_nodes), np.uint8)], axis=1)
        wrong = _native.follow_step(status, sizes, cuts, self.grid, nodes, leaves)
        if wrong:
            raise ProtocolError(WRONG[wrong])
        status.flags.writeable = sizes.flags.writeable = False
        return status, sizes


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
    status, sizes = np.zeros((n_trees, 64), np.uint8), np.ones(n_trees, np.int64)
    status[:, 0] = LOWEST
    status.flags.writeable = sizes.flags.writeable = False
    return ToldTrees(plan, grid, round_, status, sizes)


def begin(plan: Plan, grid: Grid, n_trees: int, round_: int) -> ToldTrees:
    """The first round to be grown; the same place for all that begin, one after the other, from equal ones of these."""
    last = _begun[0]
    if (
        last is None
        or (last.round, len(last.sizes), last.plan) != (round_, n_trees, plan)
        or not last.grid.equals(grid)
    ):
        last = _begun[0] = at_roots(plan, grid, n_trees, round_)
    return last


def _follow(place: ToldTrees, request: AskHistograms | AskLeafSums | FinishRound) -> Way:
    return place.finish(request) if isinstance(request, FinishRound) else place.step(request)


follow = remembered(_follow, calls=2)
"""Where a request leads; worked out again unless one of the last two (a round's end, the next) was this one, here."""


_begun: list[ToldTrees | None] = [None]
