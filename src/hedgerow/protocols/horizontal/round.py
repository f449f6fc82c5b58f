"""A party's side of the rounds: its rows go down the trees as it is told, and what the trees are known by.

The folder has the conversation and who sees what.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.frame import Frame
from hedgerow.corridor.messages import AskHistograms, AskLeafSums, FinishRound, NextRound, NodeList
from hedgerow.protocols.horizontal import checks
from hedgerow.protocols.horizontal.checks import Beginning, ToldTrees, Way
from hedgerow.protocols.horizontal.prepare import BegunRows
from hedgerow.protocols.on_wire import cut_list, nodes_of
from hedgerow.protocols.party_rows import PartyRows
from hedgerow.trees.bins import Grid
from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import joined_cuts
from hedgerow.trees.local import Adding, Step
from hedgerow.trees.splits import NO_CUTS, Cuts
from hedgerow.trees.watched_metrics import Metric


class PartyRound:
    """A party's side: its rows on their way down the trees, as far as it was told to grow them."""

    def __init__(self, place: ToldTrees, rows: PartyRows, metric: Metric | None) -> None:
        self.place, self.rows, self.metric = place, rows, metric
        self.counted = place.plan.params.min_child_rows > 1
        self.clipped = 0
        """Gradients that were cut off before this round."""
        self.begins = False
        """Whether gradients are computed in the last step."""

    @property
    def n_trees(self) -> int:
        """The trees of a round."""
        return self.rows.n_trees

    def way(self, frame: Frame) -> Way:
        """Where a request leads from here, or a refusal; nothing is changed, and nothing depends on the own rows."""
        return frame.derived(checks.follow, self.place)

    def steps(self, request: AskHistograms | AskLeafSums, way: Way) -> tuple[Step, ...]:
        """Begin the next round, or divide the rows as told; then own sums at the nodes asked for, or at all leaves."""
        before, leaves = self.place, isinstance(request, AskLeafSums)
        self.place, cuts, nodes = way
        self.begins = False
        if request.level == 0:
            again = before.level > 0 and request.round == before.round
            self.begins = self.rows.put_at_roots(request.round)
            if self.begins or not again:
                self.clipped = self.rows.clipped
        return self.rows.steps(self.begins, cuts, nodes, leaves, self.counted and not leaves)

    def sums(self, steps: Sequence[Step]) -> NDArray[np.int64]:
        """Own sums of steps, where no others are taken with them."""
        return self.rows.taken(steps, _native.take_steps(steps, self.rows.threads) if steps else ())

    def finish(self, request: FinishRound, way: Way) -> tuple[NDArray[np.int64], list[Adding]]:
        """Own sums of the metric, and what is still to be added to own scores. A second time only the sums."""
        again = self.place.finished
        self.place, _, leaves = way
        adds = [] if again else self.rows.adding(leaves, request.values)
        clipped = self.rows.clipped - self.clipped
        if self.metric is None:
            return np.array([clipped]), adds
        _native.add_values(adds, self.rows.threads)
        return np.array([clipped, *self._metric_sums(self.metric)], np.int64), []

    def digest(self, request: FinishRound) -> Callable[[], str]:
        """Makes a hash of the round's trees, as `trees_digest` makes it of the trees themselves."""
        return partial(_told_digest, self.place.grid, self.place.cuts, request)

    def _metric_sums(self, metric: Metric) -> NDArray[np.int64]:
        if not self.rows.validated:
            return np.zeros(metric.n_sums, np.int64)
        return self.rows.held_out_sums(metric, self.place.round + 1)


def begin_rounds(frame: Frame, plan: Plan, begun: BegunRows, forest: Forest) -> PartyRound:
    """The first round after these trees."""
    rows, first = begun.rows_after(forest), forest.n_trees // begun.loss.n_trees
    return PartyRound(frame.derived(checks.begin, Beginning(plan, begun.grid, rows.n_trees, first)), rows, begun.metric)


class Joined(NamedTuple):
    """The two requests that are one, each with its frame: a party answers them as if they had come one by one."""

    finish: FinishRound
    finish_frame: Frame
    first: AskHistograms
    first_frame: Frame


def joined(frame: Frame, n_trees: int) -> Joined:
    """What a `NextRound` stands for, in rounds of so many trees."""
    request = cast(NextRound, frame.request)
    ends, parties = request.round, request.parties
    finish = FinishRound(ends, request.level, parties, request.leaves, request.values)
    roots = NodeList(np.arange(n_trees), np.zeros(n_trees, np.int64))
    first = AskHistograms(ends + 1, 0, parties, cut_list(NO_CUTS), roots)
    return Joined(finish, Frame.of(finish), first, Frame.of(first))


def _told_digest(grid: Grid, levels: Sequence[Cuts], request: FinishRound) -> str:
    cuts = joined_cuts([NO_CUTS, *levels])
    by_set = cuts.bin < 0
    thresholds = np.where(by_set, np.float32(0), grid.thresholds(cuts.column, cuts.bin))
    order = np.lexsort((cuts.nodes.node, cuts.nodes.tree))
    told = (*cuts.nodes, cuts.child, cuts.column, thresholds, cuts.missing_left)
    leaves = nodes_of(request.leaves.tree, request.leaves.node)
    last = np.lexsort((leaves.node, leaves.tree))
    sets = cuts.left_bins[order][by_set[order]]
    return _hash([part[order] for part in told], sets, [*leaves.at(last), request.values[last]])


def trees_digest(forest: Forest) -> str:
    """A hash of what trees say to a row; not of gains and covers, which a party is not told."""
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.roots))
    node = np.arange(len(tree)) - forest.roots[tree]
    cut, leaf = np.flatnonzero(forest.columns >= 0), np.flatnonzero(forest.columns < 0)
    child = forest.children[cut].astype(np.int64) - forest.roots[tree[cut]]
    told = [tree[cut], node[cut], child, forest.columns[cut], forest.thresholds[cut], forest.missing_left[cut]]
    by_set = forest.sets[cut]
    sets = forest.category_sets[by_set[by_set >= 0]]
    return _hash(told, sets, [tree[leaf], node[leaf], forest.values[leaf]])


def _hash(cuts: Sequence[NDArray[Any]], sets: NDArray[np.uint64], leaves: Sequence[NDArray[Any]]) -> str:
    whole = hashlib.sha256()
    for part in (*cuts, sets, *leaves):
        whole.update(len(part).to_bytes(8, "little") + part.tobytes())
    return whole.hexdigest()
