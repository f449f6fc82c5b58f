"""Rows that lie here: the plain, unfederated case and every party's own share."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import DataError
from hedgerow.trees import sampling
from hedgerow.trees.bins import BinMatrix
from hedgerow.trees.fixedpoint import WIDE_BITS, Scales
from hedgerow.trees.forest import averaged
from hedgerow.trees.grow import Summed
from hedgerow.trees.losses import Loss
from hedgerow.trees.splits import Cuts, Nodes


@dataclass(eq=False)
class Sample:
    """A table's bins and labels, and the score each row has so far (trees x rows)."""

    matrix: BinMatrix
    labels: NDArray[np.float32]
    weights: NDArray[np.float32]
    """Empty if all are 1."""
    keys: NDArray[np.uint64]
    scores: NDArray[np.float32]


class Draw(NamedTuple):
    """Which rows the trees of a round are grown from."""

    subsample: float = 1.0
    seed: int = 0
    average: bool = False
    """Rows that are not drawn need not follow (a random forest)."""


@dataclass(frozen=True)
class RoundSettings:
    """What a round needs to know besides the rows."""

    loss: Loss
    scales: Scales
    subsample: float = 1.0
    seed: int = 0
    constant_hessian: bool = False
    base: float = 0.0
    average: bool = False
    """Scores of the rows stay as they are (a random forest); only held-out rows follow the trees."""


@dataclass(eq=False)
class Part:
    """Some rows of a sample on their way down the trees: per tree their order, nodes being spans of it."""

    sample: Sample
    orders: NDArray[np.uint32]
    threads: int
    spans: NDArray[np.int64] = field(init=False)
    """(tree, node, begin and end)."""

    def __post_init__(self) -> None:
        trees, rows = self.orders.shape
        self.spans = np.zeros((trees, 64, 2), np.int64)
        self.spans[:, 0, 1] = rows

    def _make_room(self, child: NDArray[np.int64]) -> None:
        last = int(child[-1]) if len(self.spans) == 1 else int(child.max())
        if last + 1 >= self.spans.shape[1]:
            more = np.zeros((self.spans.shape[0], last, 2), np.int64)
            self.spans = np.concatenate([self.spans, more], axis=1)

    def sizes(self, nodes: Nodes) -> NDArray[np.int64]:
        """The number of rows at each node."""
        spans = self.spans[nodes.tree, nodes.node]
        return spans[:, 1] - spans[:, 0]

    def rows(self, nodes: Nodes) -> NDArray[np.uint32]:
        """The rows at these nodes, node after node."""
        spans = self.spans[nodes.tree, nodes.node]
        parts = [self.orders[t, a:b] for t, (a, b) in zip(nodes.tree.tolist(), spans.tolist(), strict=True)]
        return np.concatenate(parts) if parts else np.empty(0, np.uint32)

    def sides(self, cuts: Cuts) -> NDArray[np.bool_]:
        """For every row at the nodes that are cut, in order, whether it goes left."""
        columns, sets = cuts.column, cuts.left_bins
        return _native.row_sides(self.sample.matrix, self.orders, self.spans, cuts.nodes, columns, sets, self.threads)

    def divide_by(self, nodes: Nodes, child: NDArray[np.int64], left: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Moves rows to the sides that are given; returns the number of rows of both children."""
        self._make_room(child)
        return _native.divide_by_sides(self.orders, self.spans, nodes, child, left, self.threads)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """Moves rows; returns the number of rows of both children."""
        self._make_room(cuts.child)
        matrix, columns, sets = self.sample.matrix, cuts.column, cuts.left_bins
        return _native.divide_rows(matrix, self.orders, self.spans, cuts.nodes, cuts.child, columns, sets, self.threads)

    def add(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """Adds each leaf's value to the scores of its rows."""
        _native.add_values(self.sample.scores, self.orders, self.spans, leaves, values, self.threads)


def parts_of(own: Sample, held_out: Sample | None, n_trees: int, draw: Draw, round_: int, threads: int) -> list[Part]:
    """All rows at the roots: those that count first, then those that only follow."""
    every = np.arange(own.matrix.n_rows, dtype=np.uint32)
    if draw.subsample < 1:
        chosen = sampling.rows(own.keys, draw.subsample, draw.seed, round_)
        groups = [(own, every[chosen])] + ([] if draw.average else [(own, every[~chosen])])
    else:
        groups = [(own, every)]
    if held_out is not None:
        groups.append((held_out, np.arange(held_out.matrix.n_rows, dtype=np.uint32)))
    return [Part(sample, np.tile(rows, (n_trees, 1)), threads) for sample, rows in groups]


class LocalRows:
    """Rows of one table, and of a held-out one that follows the same cuts without being summed."""

    def __init__(self, own: Sample, settings: RoundSettings, threads: int, held_out: Sample | None = None) -> None:
        self.own, self.settings, self.threads, self.held_out = own, settings, threads, held_out
        n_trees, n_rows = own.scores.shape
        self.pairs = np.empty((n_trees, n_rows, 2), np.int32)
        self.clipped = 0
        self.unseen = 0
        """Rows whose gradient and hessian both round to 0, in the first round, in the sums that choose cuts."""
        self.parts: list[Part] = []

    def start_round(self, round_: int) -> None:
        """Compute gradients, draw the rows that count, put all rows at the roots."""
        s = self.settings
        loss, scales = (s.loss.name, s.loss.parameter), s.scales
        factors = (1 / scales.wide[0], 1 / scales.wide[1], s.constant_hessian)
        own = self.own
        if not (s.average and self.parts):
            self.clipped += _native.gradient_pairs(
                loss, factors, own.scores, own.labels, own.weights, self.pairs, self.threads
            )
        if not self.parts:
            self.unseen = self._count_unseen()
        draw = Draw(s.subsample, s.seed, s.average)
        self.parts = parts_of(own, self.held_out, len(own.scores), draw, round_, self.threads)

    def _count_unseen(self) -> int:
        bits = self.settings.scales.bits
        if bits > WIDE_BITS:
            return 0
        half = 1 << (WIDE_BITS - bits)
        blocks = (self.pairs[0, at : at + (1 << 20)] for at in range(0, self.pairs.shape[1], 1 << 20))
        return sum(int((np.abs(block).max(axis=1) < half).sum()) for block in blocks)

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of the rows that count."""
        counted = self.parts[0]
        bits = self.settings.scales.bits
        return _native.histograms(self.own.matrix, self.pairs, bits, counted.orders, counted.spans, nodes, self.threads)

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """Numbers of the rows that count, each as one whatever its weight."""
        counted = self.parts[0]
        return _native.count_rows(self.own.matrix, counted.orders, counted.spans, nodes, self.threads)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """Move all rows; the sizes are those of the rows that count."""
        sizes = [part.divide(cuts) for part in self.parts]
        return sizes[0]

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """Wide sums of the rows that count."""
        counted = self.parts[0]
        return _native.leaf_sums(self.pairs, counted.orders, counted.spans, leaves, self.threads)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """Add the values to all rows' scores; in a random forest to the held-out rows' only."""
        for part in self.parts:
            if part.sample is not self.own or not self.settings.average:
                part.add(leaves, values)

    def held_out_sums(self, metric: Summed, n_rounds: int) -> NDArray[np.int64]:
        """The metric's sums over the held-out rows; in a random forest of the mean over its trees."""
        if self.held_out is None:
            raise DataError("Early stopping needs held-out rows; give some as eval_set.")
        scores = self.held_out.scores
        if self.settings.average:
            scores = averaged(scores, self.settings.base, n_rounds)
        return metric.sums(scores, self.held_out.labels, self.held_out.weights)
