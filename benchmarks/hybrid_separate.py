"""HybridTree as its paper has it, on tables that lie here: below each last node every passive party's own subtree.

The active party grows the first levels from its own columns. Below each of its last nodes every passive party grows the
last levels from its columns, for the rows that it holds; a row's value is the mean over the parties that hold it.
Leaf values are of second order and known to the active party. Nothing is encrypted or exchanged.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.data.hybrid_partition import HybridTables
from hedgerow.data.table import Table
from hedgerow.model.prepare import growth_of, own_cuts
from hedgerow.model.train import Task, prepare
from hedgerow.trees import bins
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.grow import Growth, grow
from hedgerow.trees.local import LocalRows, Part, Sample
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Cuts, Nodes

Floats = NDArray[np.float64]


def separate_scores(train: HybridTables, test: HybridTables, params: TreeParams, task: Task, passive: int) -> Floats:
    """Scores of the test rows; the last `passive` levels of a tree are the passive parties'."""
    above = replace(params, max_depth=params.max_depth - passive)
    ready = prepare(train.active, above, replace(task, held_out=test.active))
    rows, scales = ready.rows, ready.fixed.scales
    growth = growth_of(ready.fixed.grid, above, scales, task.threads)
    below = [Below.of(train, test, name, replace(params, max_depth=passive), scales) for name in train.passive]
    for round_ in range(params.n_estimators):
        rows.start_round(round_)
        leaves = grow(rows, 1, round_, growth).leaves
        own = growth.rules.values(rows.leaf_sums(leaves), scales.wide, None)
        places = [places_at(part, leaves) for part in rows.parts]
        for number, scores in enumerate(_scores(rows)):
            added = Added(np.zeros(len(places[number])), np.zeros(len(places[number]), np.int64))
            for party in below:
                if number == 0:
                    party.grow(rows.pairs, places, len(own), round_)
                party.add(own, number, added)
            scores += params.learning_rate * added.mean(own[places[number]])
    return _scores(rows)[1].astype(np.float64)


def _scores(rows: LocalRows) -> list[NDArray[np.float32]]:
    """Of the training and of the test rows."""
    return [sample.scores[0] for sample in (rows.own, rows.held_out) if sample is not None]


def places_at(part: Part, leaves: Nodes) -> NDArray[np.int64]:
    """At which of the leaves each row is."""
    out = np.empty(part.orders.shape[1], np.int64)
    for number, (begin, end) in enumerate(part.spans[0, leaves.node].tolist()):
        out[part.orders[0, begin:end]] = number
    return out


@dataclass
class Added:
    """What parties add to rows."""

    total: Floats
    holders: NDArray[np.int64]

    def mean(self, own: Floats) -> Floats:
        """Over the holders; rows that nobody holds keep their leaf's value."""
        return np.where(self.holders > 0, self.total / np.maximum(self.holders, 1), own)


@dataclass(eq=False)
class Below:
    """A passive party's rows under the last nodes of the active party, each of which is the root of a tree here."""

    growth: Growth
    scales: Scales
    parts: list[Part]
    """Of the training and the test rows that it holds."""
    rows: list[NDArray[np.int64]]
    """Which of the active party's rows these are."""

    @classmethod
    def of(cls, train: HybridTables, test: HybridTables, name: str, params: TreeParams, scales: Scales) -> "Below":
        """With cut points by its rows that the active party has to train on."""
        table, threads = _linked(train, name), 1
        grid, fullest = own_cuts(table, params.max_bin, params.min_cut_rows, threads)
        parts, rows = [], []
        for tables in (train, test):
            own = _linked(tables, name)
            matrix = bins.to_bins(grid, fullest, own.values, own.absent, threads)
            none = np.empty(0, np.float32)
            sample = Sample(matrix, none, none, np.empty(0, np.uint64), np.zeros((1, own.n_rows), np.float32))
            parts.append(Part(sample, np.zeros((1, own.n_rows), np.uint32), threads))
            rows.append(_rows_of(tables.active, own))
        return cls(growth_of(grid, params, scales, threads), scales, parts, rows)

    def grow(self, pairs: NDArray[np.int32], places: list[NDArray[np.int64]], n_roots: int, round_: int) -> None:
        """Trees from the gradients of the rows that it holds, a root for each place."""
        self.width = 2 << self.growth.max_depth
        for part, rows, place in zip(self.parts, self.rows, places, strict=True):
            own = place[rows]
            part.orders[0] = np.argsort(own, kind="stable")
            ends = np.cumsum(np.bincount(own, minlength=n_roots))
            part.spans = np.zeros((1, n_roots * self.width, 2), np.int64)
            part.spans[0, :: self.width] = np.column_stack([np.append(0, ends[:-1]), ends])
        self.pairs = np.ascontiguousarray(pairs[:, self.rows[0]])
        self.leaves = grow(_Spans(self), n_roots, round_, self.growth).leaves  # type: ignore[arg-type]

    def at(self, nodes: Nodes) -> Nodes:
        """Where the nodes of all roots stand in one tree."""
        return Nodes(np.zeros_like(nodes.tree), nodes.tree * self.width + nodes.node)

    def add(self, own: Floats, which: int, added: Added) -> None:
        """The values of its leaves to its rows; a leaf without training rows has the value of the node above."""
        leaves = self.at(self.leaves)
        sums = _native.leaf_sums(self.pairs, self.parts[0].orders, self.parts[0].spans, leaves, 1)
        values = self.growth.rules.values(sums, self.scales.wide, None)
        values = np.where(sums[:, 1] > 0, values, own[self.leaves.tree])
        part, rows = self.parts[which], self.rows[which]
        spans = part.spans[0, leaves.node]
        order = np.concatenate([part.orders[0, a:b] for a, b in spans.tolist()])
        added.total[rows[order]] += np.repeat(values, spans[:, 1] - spans[:, 0])
        added.holders[rows] += 1


class _Spans:
    """The rows of one party, as growing wants them."""

    counts_every = False

    def __init__(self, party: Below) -> None:
        self.party = party

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """Of the training rows."""
        part, bits = self.party.parts[0], self.party.scales.bits
        matrix, at = part.sample.matrix, self.party.at(nodes)
        return _native.histograms(matrix, self.party.pairs, bits, part.orders, part.spans, at, 1)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """Of training and test rows; the sizes are those of training rows."""
        child = cuts.nodes.tree * self.party.width + cuts.child
        moved = Cuts(self.party.at(cuts.nodes), child, cuts.column, cuts.bin, cuts.missing_left, cuts.left_bins)
        sizes = [part.divide(moved) for part in self.party.parts]
        return sizes[0]


def _linked(made: HybridTables, name: str) -> Table:
    """A passive party's rows that the active party has."""
    own = made.passive[name]
    return own.take(np.flatnonzero(np.isin(own.row_keys(), made.active.row_keys())))


def _rows_of(active: Table, passive: Table) -> NDArray[np.int64]:
    """The active party's row of each of the passive party's."""
    keys = active.row_keys()
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys[order], passive.row_keys())]
