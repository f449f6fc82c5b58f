"""The rows of a vertical run, with a note of what becomes known of passive columns as the trees grow.

Sees in the clear.  What `vertical` says the active party sees; nothing more is asked for.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow.protocols.learnt_bins import LearntBins
from hedgerow.protocols.vertical import VerticalRows
from hedgerow.trees.grow import Summed
from hedgerow.trees.splits import Cuts, Nodes


class NotedRows:
    """Does what the rows do, and notes what they were told."""

    def __init__(self, rows: VerticalRows, learnt: LearntBins) -> None:
        self.rows, self.learnt = rows, learnt

    def start_round(self, round_: int) -> None:
        """As without a note."""
        self.rows.start_round(round_)
        self.learnt.start_round()

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """The sums, noted."""
        out = self.rows.histograms(nodes)
        self._count()
        self.learnt.sums(nodes, out, self.rows.own.parts[0], self.rows.own_gradients)
        return out

    def _count(self) -> None:
        for told in self.rows.opened:
            self.learnt.count(*told)
        self.rows.opened.clear()

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """As without a note."""
        return self.rows.counts(nodes)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """The sides, noted."""
        sizes = self.rows.divide(cuts)
        own = self.rows.own
        self.learnt.sides(cuts, [part for part in own.parts if part.sample is own.own])
        return sizes

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """As without a note."""
        return self.rows.leaf_sums(leaves)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """As without a note, but for how much was opened."""
        self.rows.finish_round(leaves, values)
        self._count()

    def held_out_sums(self, metric: Summed, n_rounds: int) -> NDArray[np.int64]:
        """As without a note."""
        return self.rows.held_out_sums(metric, n_rounds)
