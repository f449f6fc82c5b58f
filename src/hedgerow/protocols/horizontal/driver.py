"""The driver's side of a horizontal run: sums over all parties instead of rows.

The folder has the conversation and who sees what.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import FEWEST_MASKED
from hedgerow.corridor.messages import AskHistograms, AskLeafSums, FinishRound, NextRound, NodeList
from hedgerow.errors import PartyLost
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.session.participants import drawn
from hedgerow.protocols.told_trees import cut_list
from hedgerow.trees.bins import Grid
from hedgerow.trees.grow import NoMoreSums, Summed
from hedgerow.trees.splits import NO_CUTS, Cuts, Nodes
from hedgerow.trees.watched_metrics import Metric


class RoundLosses:
    """The parties that the run went on without, and in which round."""

    def __init__(self, group: SummingGroup) -> None:
        self.group = group
        self.all: list[tuple[int, frozenset[str]]] = []
        self.keep: Callable[[], None] = lambda: None
        """Called when the run goes on without parties, before the others hear of it."""
        self._n_kept = 0

    def note(self, round_: int) -> None:
        """Those that the group has lost since were lost in this round."""
        self.all += [(round_, parties) for parties in self.group.lost[len(self.all) :]]

    def keep_new(self) -> None:
        """Those that are not kept yet."""
        if len(self.all) > self._n_kept:
            self.leave_to_trees()
            self.keep()

    def leave_to_trees(self) -> None:
        """They are kept when the trees of the round are."""
        self._n_kept = len(self.all)


class HorizontalRows:
    """The driver's side: rows it never sees, reached through the group of parties."""

    counts_every = False
    """Counts of a larger sibling follow from the others."""

    def __init__(self, group: SummingGroup, grid: Grid, metric: Metric | None, n_trees: int) -> None:
        self.group, self.width, self.n_trees = group, int(grid.offsets[-1]) + 1, n_trees
        self.round, self.level, self.cuts = -1, 0, NO_CUTS
        self.parties: tuple[int, ...] = ()
        """Those that the sums of the round are over."""
        self.n_metric = metric.n_sums if metric is not None else 0
        self.clipped, self.losses = 0, RoundLosses(group)
        self.closed = False
        """Whether the round was closed early, so that it cannot be grown again."""
        self.keep_finished: Callable[[], None] = lambda: None
        """Called when everybody has the values of a round that ended in the next one's first request."""
        self.ending: FinishRound | None = None
        """The end of a round, until the next request takes it along."""
        self._metric_sums = np.empty(0, np.int64)
        self._counts = np.empty((0, self.width), np.int64)

    def start_round(self, round_: int) -> None:
        """Nothing is said yet; the first request of the round says it."""
        self.round, self.level, self.cuts, self.closed = round_, 0, NO_CUTS, False
        self.parties = drawn(self.group.plan, round_, self.group.numbers)

    def divide(self, cuts: Cuts) -> None:
        """The cuts travel with the next request."""
        self.cuts = cuts

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """What becomes known to the driver: the sums over all parties at these nodes."""
        n_words, counted = len(nodes.tree) * self.width, self.group.plan.params.min_child_rows > 1
        words = self._opened(AskHistograms, nodes, n_words * (3 if counted else 2))
        self._counts = words[2 * n_words :].reshape(-1, self.width)
        return words[: 2 * n_words].reshape(len(nodes.tree), self.width, 2)

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:  # noqa: ARG002  # the nodes just asked for
        """They came with the histograms."""
        return self._counts

    def node_sums(self, nodes: Nodes) -> None:  # whichever
        """They would have to be asked for."""

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """What becomes known to the driver: the sums over all parties at the leaves."""
        return self._opened(AskLeafSums, leaves, 2 * len(leaves.tree)).reshape(-1, 2)

    def _opened(self, kind: type[AskHistograms | AskLeafSums], nodes: Nodes, n_words: int) -> NDArray[np.int64]:
        if self.ending is not None and len(nodes.tree) == self.n_trees:
            return self._next_round(self.ending, n_words)
        self.end()  # where the sums at all roots are too many for one request
        while True:
            cuts, listed = cut_list(self.cuts), NodeList(nodes.tree, nodes.node)
            request = kind(self.round, self.level, self.parties, cuts, listed)
            try:
                words = self.group.opened_sum(request, n_words, self.parties)
            except PartyLost as loss:
                self._go_on(loss)
                if self.level:
                    self.level += 1  # those that remain have answered this step
                    self.closed = True
                    self.losses.leave_to_trees()
                    raise NoMoreSums from None
                # Nothing of this round was opened yet, so it begins anew for those of its parties that remain.
                self.parties = tuple(p for p in self.parties if p in self.group.numbers)
                if len(self.parties) < (FEWEST_MASKED if self.group.plan.only_sums else 1):
                    raise
                self.losses.keep_new()
                continue
            self.losses.note(self.round)
            self.level += 1
            self.cuts = NO_CUTS
            return words

    def _next_round(self, ending: FinishRound, n_words: int) -> NDArray[np.int64]:
        """The sums at the roots; what becomes known besides: how many gradients were cut off in the round before."""
        request = NextRound(ending.round, ending.level, ending.parties, ending.leaves, ending.values)
        words = self.group.opened_sum(request, n_words + 1, ending.parties)
        self._ended(words[-1:])
        self.level += 1
        return words[:-1]

    def _ended(self, words: NDArray[np.int64]) -> None:
        self.ending = None
        self.clipped += int(words[0])
        self.keep_finished()

    def end(self) -> None:
        """Say a round's end by itself, if it waits for the next one's beginning."""
        if self.ending is not None:
            self._ended(self.group.opened_sum(self.ending, 1, self.ending.parties))

    def _go_on(self, loss: PartyLost) -> None:
        """Without the lost parties, where all have consented to that and they are gone; else the attempt ends."""
        if not self.group.goes_on(loss):
            raise loss
        self.group.lose(loss.parties)
        self.losses.note(self.round)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """Everyone present adds the values; what becomes known: the metric's sums over all validation rows."""
        listed = NodeList(leaves.tree, leaves.node)
        while True:
            self.losses.keep_new()
            present = self.group.numbers
            request = FinishRound(self.round, self.level, present, listed, values)
            if self.group.plan.joins_rounds:
                self.ending = request
                return
            try:
                words = self.group.opened_sum(request, 1 + self.n_metric, present)
            except PartyLost as loss:
                self._go_on(loss)
                continue
            self.losses.note(self.round)
            self.clipped += int(words[0])
            self._metric_sums = words[1:]
            return

    def held_out_sums(self, metric: Summed, n_rounds: int) -> NDArray[np.int64]:  # noqa: ARG002  # just finished
        """They came when the round was finished."""
        return self._metric_sums
