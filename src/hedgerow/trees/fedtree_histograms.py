"""FedTree's histograms: summed over a party's own cut points, then spread linearly onto the common ones.

Between two cut points of its own a party takes its gradients as evenly spread (the FedTree paper's equation 8). Sums
along the bins are interpolated and rounded, so every column still adds up to the node's total.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.bins import BinMatrix, Grid
from hedgerow.trees.local import LocalRows, RoundSettings, Sample, Step, Taken
from hedgerow.trees.splits import Cuts, Nodes


class Spread:
    """How sums over one grid's bins become sums over another's."""

    def __init__(self, own: Grid, common: Grid, ranges: NDArray[np.float64]) -> None:
        self.own, self.common = own, common
        self.below: list[NDArray[np.int64]] = []
        self.share: list[NDArray[np.float64]] = []
        for c in range(common.n_columns):
            points = common.cuts[common.cut_starts[c] : common.cut_starts[c + 1]].astype(np.float64)
            inner = own.cuts[own.cut_starts[c] : own.cut_starts[c + 1]].astype(np.float64)
            edges = np.concatenate([[min([ranges[c, 0], *inner[:1]])], inner, [max([ranges[c, 1], *inner[-1:]])]])
            at = np.clip(np.searchsorted(edges, points, side="right") - 1, 0, len(inner))
            width = edges[at + 1] - edges[at]
            inside = np.divide(points - edges[at], width, out=np.ones_like(points), where=width > 0)
            self.below.append(at)
            self.share.append(np.clip(inside, 0, 1))

    def __call__(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sums (nodes x own bins + 1 x 2) as sums over the common bins, each node's total last."""
        own, common = self.own, self.common
        out = np.empty((len(sums), int(common.offsets[-1]) + 1, 2), np.int64)
        out[:, -1] = sums[:, -1]
        for c in range(common.n_columns):
            a, b = int(own.offsets[c]), int(own.offsets[c + 1])
            to, end = int(common.offsets[c]), int(common.offsets[c + 1])
            if common.categorical[c]:
                out[:, to:end] = sums[:, a:b]
                continue
            n = int(own.n_values[c])
            along = np.cumsum(sums[:, a : a + n], axis=1)
            before = np.concatenate([np.zeros_like(along[:, :1]), along], axis=1)
            low, high = before[:, self.below[c]], before[:, self.below[c] + 1]
            inner = low + np.rint((high - low) * self.share[c][None, :, None]).astype(np.int64)
            edges = np.concatenate([np.zeros_like(along[:, :1]), inner, along[:, -1:]], axis=1)
            out[:, to : to + inner.shape[1] + 1] = np.diff(edges, axis=1)
            if common.has_missing[c]:
                out[:, end - 1] = sums[:, b - 1]
        return out


class InterpolatedRows(LocalRows):
    """Rows divided at common cut points, but summed over this table's own."""

    one_step = False

    def __init__(
        self,
        own: Sample,
        settings: RoundSettings,
        threads: int,
        held_out: Sample | None,
        summed: BinMatrix,
        spread: Spread,
    ) -> None:
        super().__init__(own, settings, threads, held_out)
        self.summed, self.spread, self.counted = summed, spread, False

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of the rows that count, spread onto the common bins."""
        counted, bits = self.parts[0], self.settings.scales.bits
        sums = _native.histograms(self.summed, self.pairs, bits, counted.orders, counted.spans, nodes, self.threads)
        return self.spread(sums)

    def steps(self, begins: bool, cuts: Cuts | None, nodes: Nodes, leaves: bool, counted: bool) -> tuple[Step, ...]:
        """Summed over this table's own bins; rows are counted when the step was taken."""
        self.counted = counted
        (step,) = super().steps(begins, cuts, nodes, leaves, False)
        return (step._replace(summed=self.summed),)

    def taken(self, steps: Sequence[Step], found: Sequence[Taken]) -> NDArray[np.int64]:
        """The same, spread onto the common bins."""
        (step,), words = steps, super().taken(steps, found)
        if step.leaves:
            return words
        spread = self.spread(words.reshape(len(step.nodes.tree), -1, 2)).reshape(-1)
        return np.concatenate([spread, self.counts(step.nodes).reshape(-1)]) if self.counted else spread
