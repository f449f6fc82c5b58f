"""The driver's side of greedy trees under differential privacy: rows that it never sees, reached through noised sums.

The folder has the conversation and who sees what.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskNoisedLevel, AskNoisedRoot, BeginNoised, Done, NodeList
from hedgerow.errors import ProtocolError
from hedgerow.protocols.noised.driver import NO_SCORES, GroupReleases
from hedgerow.protocols.noised.places import Place, greedy_places
from hedgerow.protocols.told_trees import cut_list
from hedgerow.trees.grow import Rows, Summed
from hedgerow.trees.noised.greedy_rule import GreedySchedule
from hedgerow.trees.noised.growing import Level, Start
from hedgerow.trees.splits import NO_CUTS, Cuts, Nodes

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class GroupTrees(GroupReleases):
    """What `fit_greedy` asks for, from all parties together."""

    depth = 0

    def begin_trees(self, start: Start, schedule: GreedySchedule) -> None:
        """Everybody is told what is fixed, and works out the rest."""
        grid = start.grid
        self.grid, self.places, self.depth = grid, greedy_places(schedule), schedule.max_depth
        self.entries.plan_rest(schedule)
        self.group.tell(BeginNoised(schedule.n_rows, grid.cuts, grid.cut_starts, grid.has_missing), Done)

    def root(self) -> I64:
        """What becomes known to the driver: the number of all rows and the sum of their labels, with noise."""
        place = self.place("root")
        return self.opened(place, lambda opened: AskNoisedRoot(place.number, opened), 2)

    def rows_at(self, start: Start) -> Rows:
        """Rows at the first score."""
        return GroupRows(self, start)


class GroupRows:
    """Rows of all parties, whose sums come with noise."""

    counts_every = False

    def __init__(self, releases: GroupTrees, start: Start) -> None:
        self.releases, self.width = releases, int(start.grid.offsets[-1]) + 1
        self.round, self.level, self.cuts = -1, 0, NO_CUTS
        self.base = np.array([start.base], np.float32)
        """Told once, with the first request."""
        self.before, self.values = NO_CUTS.nodes, NO_SCORES
        """Leaves of the round before and their values, told with the first request of a round."""

    def start_round(self, round_: int) -> None:
        """Nothing is said yet."""
        self.round, self.level, self.cuts = round_, 0, NO_CUTS

    def histograms(self, nodes: Nodes) -> I64:
        """What becomes known to the driver: the sums of all rows at these nodes, with noise."""
        place = self.releases.place("level", self.round * self.releases.depth + self.level)
        self.level += 1
        asked = Level(len(nodes.tree), self.width, leaves=False)
        return self._opened(place, nodes, asked).reshape(len(nodes.tree), self.width, 2)

    def leaf_sums(self, leaves: Nodes) -> I64:
        """What becomes known to the driver: the sums of all rows at the leaves, with noise."""
        place = self.releases.place("ends", self.round)
        return self._opened(place, leaves, Level(len(leaves.tree), self.width, leaves=True)).reshape(-1, 2)

    def _opened(self, place: Place, nodes: Nodes, asked: Level) -> I64:
        base, before, values, cuts = self.base, self.before, self.values, cut_list(self.cuts)
        listed, leaves = NodeList(nodes.tree, nodes.node), NodeList(before.tree, before.node)
        self.base, self.before, self.values, self.cuts = NO_SCORES, NO_CUTS.nodes, NO_SCORES, NO_CUTS

        def request(opened: bool) -> AskNoisedLevel:
            return AskNoisedLevel(place.number, opened, base, leaves, values, cuts, listed)

        return self.releases.opened(place, request, asked.n_words)

    def divide(self, cuts: Cuts) -> None:
        """The cuts travel with the next request."""
        self.cuts = cuts

    def finish_round(self, leaves: Nodes, values: F32) -> None:
        """The values travel with the next request, those of the last round with the model."""
        self.before, self.values = leaves, values

    def node_sums(self, nodes: Nodes) -> None:
        """Not without another release."""

    def counts(self, nodes: Nodes) -> I64:
        """The rule that needs them is refused."""
        raise ProtocolError(f"Rows of {len(nodes.tree)} nodes would be counted without noise.")

    def held_out_sums(self, metric: Summed, n_rounds: int) -> I64:
        """A metric that is followed is refused."""
        raise ProtocolError(f"{type(metric).__name__} after {n_rounds} rounds would be told without noise.")
