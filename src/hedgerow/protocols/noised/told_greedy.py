"""What a party is told to grow of greedy trees, checked, and its own exact sums as they follow from it.

Nothing here is said to anybody.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import sized
from hedgerow.errors import ProtocolError
from hedgerow.protocols.noised.places import Kind, Place, greedy_places
from hedgerow.protocols.noised.told import AnySchedule, Asked, PublicTrees, ToldSums
from hedgerow.protocols.told_trees import ToldTrees, Way, at_roots
from hedgerow.trees.bins import Grid
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.clipped_rows import ClippedRows
from hedgerow.trees.noised.fit_greedy import chosen_of
from hedgerow.trees.noised.greedy_rule import GreedySchedule, greedy_schedule
from hedgerow.trees.noised.growing import GreedyTrees, Start
from hedgerow.trees.noised.rule import Terms, require
from hedgerow.trees.noised.sums import OwnSums

I64 = NDArray[np.int64]
NOBODY: tuple[int, ...] = ()


class ToldGreedy(ToldSums):
    """Own rows on their way down the trees that this attempt has told."""

    may_miss: tuple[Kind, ...] = ("cuts", "level")

    def __init__(self, own: OwnSums, terms: Terms, plan: Plan, loss: Loss) -> None:
        super().__init__(own, terms)
        self.plan, self.loss = plan, loss
        self.trees: GreedyTrees | None = None
        self.told: ToldTrees | None = None
        self.rows: ClippedRows | None = None
        self.way: Way | None = None
        """Where the last request led: its nodes are those whose sums are asked for."""

    def schedule(self, n_rows: float) -> AnySchedule:
        """What is released when so many rows are told."""
        return greedy_schedule(self.terms, n_rows, chosen_of(self.plan.params))

    def begin(self, grid: Grid, told: AnySchedule, trees: PublicTrees) -> None:  # noqa: ARG002  # none are drawn
        """Everything that is fixed before the first tree."""
        if self.grid is not None or not isinstance(told, GreedySchedule):
            raise ProtocolError("The driver begins trees that have begun.")
        self.grid, self.places, self.trees = grid, greedy_places(told), GreedyTrees(told)
        self.own.begin(grid, told.before)
        plan = replace(self.plan, params=self.trees.params(self.plan.params))
        self.told = at_roots(plan, grid, self.loss.n_trees, 0)

    def _fits(self, request: Asked, place: Place) -> bool:
        if isinstance(request, m.AskNoisedRoot):
            return place.kind == "root"
        if isinstance(request, m.AskNoisedLevel):
            return place.kind in ("level", "ends")
        return super()._fits(request, place)

    def hear(self, place: Place, request: Asked) -> None:
        """Values of the round before, cuts, and which nodes are asked for: all as the plan allows, or refused."""
        if isinstance(request, m.AskNoisedLevel):
            self._hear(place, request)
        self._last = place.number

    def _hear(self, place: Place, request: m.AskNoisedLevel) -> None:
        depth, leaves = require(self.trees).schedule.max_depth, place.kind == "ends"
        round_, level = (place.round, depth) if leaves else divmod(place.round, depth)
        told = self._at_first(round_, request) if level == 0 else require(self.told)
        if level:
            sized(request.base, 0, "scores")
            sized(request.values, 0, "values")
        step = told.level if level else 0
        asked: m.AskHistograms | m.AskLeafSums = (
            m.AskLeafSums(round_, step, NOBODY, request.cuts, request.nodes)
            if leaves
            else m.AskHistograms(round_, step, NOBODY, request.cuts, request.nodes)
        )
        self.way = told.step(asked)
        self.told, cuts, _ = self.way
        if level == 0:
            require(self.rows).start_round(round_)
        elif cuts is not None:
            require(self.rows).divide(cuts)

    def _at_first(self, round_: int, request: m.AskNoisedLevel) -> ToldTrees:
        """The end of the round before, or the first score of all rows."""
        told, trees, grid = require(self.told), require(self.trees), require(self.grid)
        if round_ == 0:
            (base,) = sized(request.base, 1, "scores").tolist()
            sized(request.values, 0, "values")
            start = Start(grid, self.loss, base, trees.params(self.plan.params))
            self.rows = trees.own_rows(self.own.matrix, self.own.own.labels, start, self.own.threads)
            return told
        sized(request.base, 0, "scores")
        ends = m.FinishRound(round_ - 1, told.level, NOBODY, request.before, request.values)
        told, _, leaves = told.finish(ends)
        require(self.rows).finish_round(leaves, request.values)
        return told

    def own_words(self, place: Place, request: Asked) -> I64:
        """Own exact sums of this release, to which noise must be added."""
        if isinstance(request, m.AskNoisedRoot):
            return require(self.trees).root_words(self.own.targets)
        if not isinstance(request, m.AskNoisedLevel):
            return super().own_words(place, request)
        rows, nodes = require(self.rows), require(self.way).nodes
        return (rows.leaf_sums(nodes) if place.kind == "ends" else rows.histograms(nodes)).reshape(-1)
