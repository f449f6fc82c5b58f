"""A passive party whose cuts are drawn by a hash: it tells the sides of its rows, and is asked for no sums.

It draws the cuts itself, so that the active party cannot choose which of its values it learns.

Sees in the clear.  Which of its rows share a node that its columns cut. Nothing comes sealed; no gradient comes at all.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hedgerow.corridor import messages as m
from hedgerow.errors import ProtocolError
from hedgerow.protocols.told_trees import nodes_of
from hedgerow.protocols.vertical.columns import JOINT, PASSIVE_ONLY
from hedgerow.protocols.vertical.passive_rows import Giving, OpenRound, PassiveRows
from hedgerow.trees.drawn_cuts import OpenBins, OwnDraws
from hedgerow.trees.splits import Cuts

OTHER_LEVEL = "The active party asks for sides of another level than the next of the passive parties' by the plan."
NOT_DRAWN = "The active party cuts a column of this party otherwise than the hash of the node has drawn."


class DrawnPassiveRows(PassiveRows):
    """Rows on their way down trees whose cuts of own columns are drawn."""

    def begin(self, request: m.BeginSealed) -> m.Done:
        """Take over the sizes of the run, in which no sum is given."""
        done = self.run.begin(request, 0)
        self.now = None
        return done

    def answer(self, request: Giving) -> m.Sides:
        """Sides of rows at drawn cuts, and nothing else."""
        if not isinstance(request, m.AskDrawnSides):
            raise ProtocolError(f"The plan of this run does not allow {type(request).__name__}.")
        return self.drawn_sides(request)

    def drawn_sides(self, request: m.AskDrawnSides) -> m.Sides:
        """What becomes known to the active party: which rows go left at the cuts that are drawn of these nodes."""
        run, begun = self.run, self.run.has_begun()
        if run.finished and request.round == run.round + 1:
            run.check_start(request.round)
        elif run.finished or request.round != run.round:
            raise ProtocolError("The active party asks for sides of another round than the next.")
        run.check_whole()
        now = self.now
        if run.finished or now is None:
            run.start(request.round)
            now = self.now = OpenRound(run.table.parts(begun.n_trees, request.round), self._roots(begun), None)
            self._open.start()
        told = self._followed_moves(now.nodes, request.moves)
        # A level is cut at once: whoever came back with further nodes of it would have seen the sides of some.
        letter = run.table.levels[told.depth : told.depth + 1]
        if not told.depth == request.level >= now.level or letter not in (PASSIVE_ONLY, JOINT):
            raise ProtocolError(OTHER_LEVEL)
        self._follow_cuts(request.moves)
        cuts = self._own_cuts(told, request.cuts)
        self._check_drawn(request.round, cuts)
        run.underway = True
        self._move_all(now, request.moves)
        now.nodes, now.level = told, request.level + 1
        return self._told_sides(now, cuts)

    @cached_property
    def _draws(self) -> OwnDraws:
        return OwnDraws.of(self.run.table.grid, self.run.table.params.random_state)

    @cached_property
    def _open(self) -> OpenBins:
        return OpenBins(self._draws)

    def _follow_cuts(self, every: Sequence[m.Moves]) -> None:
        """Which bins the own cuts of this round leave at the nodes below them."""
        own: dict[tuple[int, int], tuple[int, int]] = {}
        for cuts in self.run.cuts:
            names = zip(cuts.nodes.tree.tolist(), cuts.nodes.node.tolist(), strict=True)
            own |= dict(zip(names, zip(cuts.column.tolist(), cuts.bin.tolist(), strict=True), strict=True))
        for moves in every:
            names = zip(moves.tree.tolist(), moves.node.tolist(), strict=True)
            found = np.array([own.get(name, (0, -1)) for name in names], np.int32).reshape(-1, 2)
            self._open.follow(nodes_of(moves.tree, moves.node), moves.child, found[:, 0], found[:, 1])

    def _check_drawn(self, round_: int, cuts: Cuts) -> None:
        """Each node is cut where its hash says, or not at all."""
        if not len(self._draws.can_be_cut):
            raise ProtocolError(NOT_DRAWN)
        drawn = self._draws.places(round_, cuts.nodes, self._open)
        if not all(map(np.array_equal, drawn, (cuts.column, cuts.bin, cuts.missing_left, cuts.left_bins))):
            raise ProtocolError(NOT_DRAWN)

    def _most_sealed(self, begun: m.BeginSealed) -> int:  # noqa: ARG002  # whatever the sizes
        """Nothing is sealed."""
        return 0
