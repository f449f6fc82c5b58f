"""Rows that lie here: the plain, unfederated case and every party's own share."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
from hedgerow.trees.params import TreeParams
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
    every: NDArray[np.uint32] = field(init=False)
    """The numbers of all rows; the order in which they stand at a root."""

    def __post_init__(self) -> None:
        self.every = np.arange(self.matrix.n_rows, dtype=np.uint32)


class Draw(NamedTuple):
    """Which rows the trees of a round are grown from."""

    subsample: float = 1.0
    seed: int = 0
    average: bool = False
    """Rows that are not drawn need not follow (a random forest)."""
    choosing: float = 1.0
    """The share of the drawn rows by which cuts are chosen where other parties are asked for sums."""

    @property
    def counted(self) -> int:
        """How many parts have the rows that count; if there are two, those of the first choose."""
        return 2 if self.choosing < 1 else 1


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
    choosing: float = 1.0
    """The share of the drawn rows by which cuts are chosen where other parties are asked for sums."""

    @classmethod
    def of(cls, params: TreeParams, loss: Loss, scales: Scales, base: float, choosing: float = 1.0) -> "RoundSettings":
        """The settings that these parameters mean."""
        hessian, average = params.constant_hessian, params.average
        return cls(
            loss, scales, params.subsample, params.random_state, hessian, base, average=average, choosing=choosing
        )


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

    def make_room(self, child: NDArray[np.int64]) -> None:
        """For the spans of these children and of those behind them."""
        last = int(child[-1:].max(initial=0)) if len(self.spans) == 1 else int(child.max(initial=0))
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
        self.make_room(child)
        return _native.divide_by_sides(self.orders, self.spans, nodes, child, left, self.threads)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """Moves rows; returns the number of rows of both children."""
        self.make_room(cuts.child)
        matrix, columns, sets = self.sample.matrix, cuts.column, cuts.left_bins
        moved = (self.orders, self.spans, cuts.nodes, cuts.child)
        return _native.divide_rows(matrix, *moved, columns, sets, n_threads=self.threads)


def parts_of(own: Sample, held_out: Sample | None, n_trees: int, draw: Draw, round_: int, threads: int) -> list[Part]:
    """All rows at the roots: those that count first, the ones that choose before the others; then those that follow."""
    every = own.every
    if draw.subsample < 1:
        chosen = sampling.rows(own.keys, draw.subsample, draw.seed, round_)
        groups = [(own, every[chosen])] + ([] if draw.average else [(own, every[~chosen])])
    else:
        groups = [(own, every)]
    if draw.choosing < 1:
        keys = own.keys[groups[0][1]]
        chosen = sampling.rows(keys, draw.choosing, draw.seed, round_, sampling.CHOOSING)
        groups[:1] = [(own, groups[0][1][chosen]), (own, groups[0][1][~chosen])]
    if held_out is not None:
        groups.append((held_out, held_out.every))
    return [Part(sample, _at_each_root(rows, n_trees), threads) for sample, rows in groups]


def added(sums: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The sums of several parts together."""
    return sums[0] if len(sums) == 1 else np.sum(sums, axis=0)


def _at_each_root(rows: NDArray[np.uint32], n_trees: int) -> NDArray[np.uint32]:
    orders = np.empty((n_trees, len(rows)), np.uint32)
    orders[:] = rows
    return orders


Gradients = tuple[
    tuple[str, float],
    tuple[float, float, bool],
    NDArray[np.float32],
    NDArray[np.float32],
    NDArray[np.float32],
]
"""Loss, scales, scores, labels and weights of the rows of a round that begins."""


Adding = tuple[
    NDArray[np.float32],
    list[tuple[NDArray[np.uint32], NDArray[np.int64]]],
    Nodes,
    NDArray[np.float32],
]
"""Scores, order and spans of their rows part by part, leaves and the values that they add."""


class Step(NamedTuple):
    """What a table's rows do next: begin a round, be divided, be summed."""

    begins: Gradients | None
    parts: list[tuple[BinMatrix, NDArray[np.uint32], NDArray[np.int64]]]
    """Bins, order and spans: of the rows that count, then of those that only follow."""
    cuts: Cuts | None
    nodes: Nodes
    leaves: bool
    """Whether the nodes are leaves, whose wide pairs are summed; else narrow ones per bin."""
    summed: BinMatrix | None
    """Whose bins are summed; none: those of the rows that count."""
    counted: bool
    """Whether the numbers of rows follow the sums."""
    pairs: NDArray[np.int32]
    gradient_bits: int


Taken = tuple[NDArray[Any], int]
"""What came of a step: its words, and how many gradients were cut off."""


class LocalRows:
    """Rows of one table, and of a held-out one that follows the same cuts without being summed."""

    one_step = True
    """Whether the words of a step are the sums as they are, so that the kernel that makes them may hide them too."""
    counts_every = False
    """Counts of a larger sibling follow from the others."""

    def __init__(self, own: Sample, settings: RoundSettings, threads: int, held_out: Sample | None = None) -> None:
        self.own, self.settings, self.threads, self.held_out = own, settings, threads, held_out
        n_trees, n_rows = own.scores.shape
        self.pairs = np.empty((n_trees, n_rows, 2), np.int32)
        self.clipped = 0
        self.unseen = 0
        """Rows whose gradient and hessian both round to 0, in the first round, in the sums that choose cuts."""
        self.parts: list[Part] = []
        s, wide = settings, settings.scales.wide
        self.draw = Draw(s.subsample, s.seed, s.average, s.choosing)
        factors = (1 / wide[0], 1 / wide[1], s.constant_hessian)
        self._begins: Gradients = ((s.loss.name, s.loss.parameter), factors, own.scores, own.labels, own.weights)

    def start_round(self, round_: int) -> None:
        """Compute gradients, draw the rows that count, put all rows at the roots."""
        first = not self.parts
        if self.put_at_roots(round_):
            self.clipped += _native.gradient_pairs(*self._begins, self.pairs, self.threads)
        if first:
            self.unseen = self._count_unseen()

    @property
    def n_trees(self) -> int:
        """The trees of a round."""
        return len(self.own.scores)

    @property
    def validated(self) -> bool:
        """Whether there are held-out rows."""
        return self.held_out is not None

    def put_at_roots(self, round_: int) -> bool:
        """Draw the rows that count, put all rows at the roots; whether gradients are to be computed then."""
        first = not self.parts
        self.parts = parts_of(self.own, self.held_out, self.n_trees, self.draw, round_, self.threads)
        return first or not self.draw.average

    def steps(self, begins: bool, cuts: Cuts | None, nodes: Nodes, leaves: bool, counted: bool) -> tuple[Step, ...]:
        """What the rows do next, to be taken with others' steps by `_native.take_steps`; then comes `taken`."""
        if cuts is not None:
            for part in self.parts:
                part.make_room(cuts.child)
        parts = [(part.sample.matrix, part.orders, part.spans) for part in self.parts]
        bits = self.settings.scales.bits
        first = self._begins if begins else None
        step = Step(
            first, parts, cuts, nodes, leaves, summed=None, counted=counted, pairs=self.pairs, gradient_bits=bits
        )
        return (step,)

    def with_gradients(self, steps: Sequence[Step]) -> tuple[tuple[Step, ...], bytes]:
        """The first step of a round with its gradients computed, and a hash of them."""
        (step,) = steps
        if step.begins is not None:
            self.clipped += _native.gradient_pairs(*step.begins, step.pairs, self.threads)
        return (step._replace(begins=None),), hashlib.sha256(step.pairs.data).digest()

    def taken(self, steps: Sequence[Step], found: Sequence[Taken]) -> NDArray[Any]:  # noqa: ARG002
        """The sums of a step that was taken, in one row: pairs per node and bin, numbers of rows; or pairs per leaf."""
        ((words, clipped),) = found
        self.clipped += clipped
        return words

    def _count_unseen(self) -> int:
        bits = self.settings.scales.bits
        if bits > WIDE_BITS:
            return 0
        half = 1 << (WIDE_BITS - bits)
        blocks = (self.pairs[0, at : at + (1 << 20)] for at in range(0, self.pairs.shape[1], 1 << 20))
        return sum(int((np.abs(block).max(axis=1) < half).sum()) for block in blocks)

    @property
    def counted_parts(self) -> list[Part]:
        """The rows that count."""
        return self.parts[: self.draw.counted]

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of the rows that count."""
        return added([self._histograms(part, nodes) for part in self.counted_parts])

    def choosing_histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of those of them by which cuts are chosen where other parties are asked."""
        return self._histograms(self.parts[0], nodes)

    def _histograms(self, part: Part, nodes: Nodes) -> NDArray[np.int64]:
        bits = self.settings.scales.bits
        return _native.histograms(self.own.matrix, self.pairs, bits, part.orders, part.spans, nodes, self.threads)

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """Numbers of the rows that count, each as one whatever its weight."""
        every = [
            _native.count_rows(self.own.matrix, part.orders, part.spans, nodes, self.threads)
            for part in self.counted_parts
        ]
        return added(every)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """Move all rows; the sizes are those of the rows that count."""
        sizes = [part.divide(cuts) for part in self.parts]
        return added(sizes[: self.draw.counted])

    def node_sums(self, nodes: Nodes) -> NDArray[np.int64]:
        """Narrow sums of the rows that count."""
        return self._sums(_native.narrow(self.pairs, self.settings.scales.bits), nodes)

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """Wide sums of the rows that count."""
        return self._sums(self.pairs, leaves)

    def _sums(self, pairs: NDArray[np.int32], nodes: Nodes) -> NDArray[np.int64]:
        return added(
            [_native.leaf_sums(pairs, part.orders, part.spans, nodes, self.threads) for part in self.counted_parts]
        )

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """Add the values to all rows' scores; in a random forest to the held-out rows' only."""
        _native.add_values(self.adding(leaves, values), self.threads)

    def adding(self, leaves: Nodes, values: NDArray[np.float32]) -> list[Adding]:
        """What finishes the round, to be done with others' by `_native.add_values`."""
        samples = (
            *(() if self.settings.average else (self.own,)),
            *(() if self.held_out is None else (self.held_out,)),
        )
        parts = [[(part.orders, part.spans) for part in self.parts if part.sample is sample] for sample in samples]
        return [(sample.scores, own, leaves, values) for sample, own in zip(samples, parts, strict=True)]

    def held_out_sums(self, metric: Summed, n_rounds: int) -> NDArray[np.int64]:
        """The metric's sums over the held-out rows; in a random forest of the mean over its trees."""
        if self.held_out is None:
            raise DataError("Early stopping needs held-out rows; give some as eval_set.")
        scores = self.held_out.scores
        if self.settings.average:
            scores = averaged(scores, self.settings.base, n_rounds)
        return metric.sums(scores, self.held_out.labels, self.held_out.weights)
