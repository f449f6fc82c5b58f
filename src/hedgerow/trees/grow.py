"""Grow the trees of one round from sums alone. The only growing loop in the house.

The grower never sees a row. It asks a `Rows` for histograms and tells it where to divide; whether the rows lie here, in
ten hospitals, or half here and half at a bank is the business of that `Rows`. Of two siblings only the
smaller (by rows, or by hessians where rows are not counted) is asked for; the other is the parent less it.

At levels whose cuts are given (`drawn_cuts`) nothing is searched for: what a cut is worth follows from the rows' sums
where they are known anyway. A node without rows is not cut there, and a leaf without any has the value of the
node above. Where cuts are chosen by a sample of the rows, what they are worth follows from all rows in the same way.

Where not all columns compete at every level, a node that none of them improves waits for a level of others (`levels`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees import splits
from hedgerow.trees.bins import Grid
from hedgerow.trees.drawn_cuts import GivenCuts
from hedgerow.trees.levels import ALIKE, Levels
from hedgerow.trees.sampling import ColumnSampler
from hedgerow.trees.splits import NO_CUTS, Cuts, Nodes, Rules, Slabs, Worth

if TYPE_CHECKING:
    from hedgerow.trees.forest import Forest

Sizes = NDArray[np.int64] | None
"""Rows of the children of each cut, left and right, where it costs nothing to know them."""


class Summed(Protocol):
    """A metric as sums of integers over tables of scores (trees x rows), labels and weights."""

    def sums(
        self, scores: NDArray[np.float32], labels: NDArray[np.float32], weights: NDArray[np.float32]
    ) -> NDArray[np.int64]:
        """What one table adds."""


class NoMoreSums(Exception):
    """Raised by rows of which no further sums can be had in this round."""


class RowsLost(Exception):
    """Raised by rows that were lost and can be had again after the complete trees; then the round begins anew."""

    def __init__(self, restore: "Callable[[Forest], None]") -> None:
        super().__init__("rows were lost")
        self.restore = restore


class Rows(Protocol):
    """The rows under the trees of one round, wherever they lie."""

    @property
    def counts_every(self) -> bool:
        """Whether counts are asked for of every node; else those of a larger sibling are the parent's less the other's.

        So they need not be true ones, as long as they allow and refuse the same cuts.
        """

    def start_round(self, round_: int) -> None:
        """Put all rows at the roots and compute their gradients; called before the trees of a round are grown."""

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of narrow (gradient, hessian) per node and bin of all columns, each node's total last."""

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """Numbers of rows per node and bin of all columns, each node's total last.

        Asked right after the histograms of the same nodes (or of one of every two siblings, see `counts_every`), and
        only if a rule needs them (`min_child_rows` above 1).
        """

    def divide(self, cuts: Cuts) -> Sizes:
        """Move rows to the children of these nodes; returns their sizes (left, right) where it costs nothing.

        Called for every level; where all columns compete at all levels, only for those at which a node is cut.
        """

    def node_sums(self, nodes: Nodes) -> NDArray[np.int64] | None:
        """Sums of narrow (gradient, hessian) of each node, where they cost nothing; asked below cuts that are given."""

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """Sums of wide (gradient, hessian) of each leaf."""

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """Add the leaves' values to the scores of their rows."""

    def held_out_sums(self, metric: "Summed", n_rounds: int) -> NDArray[np.int64]:
        """What the held-out rows add to a metric after so many rounds."""


@dataclass(frozen=True, eq=False)
class Growth:
    """How trees are grown: everything but the rows."""

    grid: Grid
    rules: Rules
    columns: ColumnSampler
    max_depth: int
    threads: int
    given: GivenCuts | None = None
    """Cuts that are not searched for, where there are such."""
    sampled: bool = False
    """Whether cuts are chosen by some of the rows; what they are worth then follows from all that count."""
    levels: Levels = ALIKE
    """Whose columns compete where."""
    dealing: int | None = None
    """The column whose cuts only say whose rows are whose, where there is one."""
    subtracts: bool = True
    """Whether of two siblings the larger's sums are the parent's less the other's; with noise each has its own."""


@dataclass(frozen=True, eq=False)
class Grown:
    """The trees of one round before their leaves have values: cuts, leaves, and the range leaves must keep to."""

    cuts: Cuts
    worth: Worth
    leaves: Nodes
    leaf_bounds: NDArray[np.float64] | None
    closed: bool = False
    """Whether the trees ended early because no more sums could be had."""

    def known_sums(self) -> NDArray[np.int64]:
        """Narrow sums of the leaves, known from the cuts above them (0 for a root that was not cut)."""
        places = self._places()
        for side, sums in enumerate((self.worth.left, self.worth.right)):
            places[self.cuts.nodes.tree, self.cuts.child + side] = sums
        return places[self.leaves.tree, self.leaves.node]

    def sums_above(self, sums: NDArray[np.int64], dealing: int | None = None) -> NDArray[np.int64]:
        """What all leaves below the node above each leaf have together (0 for a root that was not cut).

        Nodes between cuts of the column `dealing` do not count: they have some parties' rows by chance.
        """
        below, above = self._places(), self._places()
        below[self.leaves.tree, self.leaves.node] = sums
        every = list(zip(*self.cuts.nodes, self.cuts.child, self.cuts.column, strict=True))
        for tree, node, child, _ in reversed(every):
            below[tree, node] = below[tree, child] + below[tree, child + 1]
        dealt = {(tree, child + side) for tree, _, child, column in every if column == dealing for side in (0, 1)}
        for tree, node, child, column in every:
            between = column == dealing and (tree, node) in dealt
            above[tree, child : child + 2] = above[tree, node] if between else below[tree, node]
        return above[self.leaves.tree, self.leaves.node]

    def _places(self) -> NDArray[np.int64]:
        """Room for a pair of every node."""
        last = max(int(self.leaves.node.max()), int(self.cuts.child.max(initial=0)) + 1)
        return np.zeros((int(self.leaves.tree.max()) + 1, last + 1, 2), np.int64)


LARGEST_LEVEL = 1 << 29
"""Bytes of histograms kept from one level to the next; a larger level is asked for node by node and kept nowhere."""


def most_at_once(width: int, counted: bool) -> int:
    """How many nodes are asked for at once, for so many sums each."""
    return max(1, LARGEST_LEVEL // ((24 if counted else 16) * width))


class _Whole(NamedTuple):
    """Nodes that are not cut, or not yet."""

    nodes: Nodes
    born: NDArray[np.int64]
    """The level at which each came to be."""
    bounds: NDArray[np.float64]
    """The range of their values under monotone constraints, else of none."""
    empty: NDArray[np.bool_]
    """Which are known to have no rows."""

    @classmethod
    def new(cls, nodes: Nodes, depth: int, bounds: NDArray[np.float64]) -> "_Whole":
        """Of a level; nothing is known of their rows."""
        n = len(nodes.tree)
        return cls(nodes, np.full(n, depth), bounds, np.zeros(n, np.bool_))

    def at(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> "_Whole":
        """Some of them."""
        bounds = self.bounds[which] if len(self.bounds) else self.bounds
        return _Whole(self.nodes.at(which), self.born[which], bounds, self.empty[which])

    def beside(self, others: "_Whole") -> "_Whole":
        """These and others, in the order of trees and nodes."""
        nodes = _joined_nodes([self.nodes, others.nodes])
        rest = (np.concatenate(pair) for pair in zip(self[1:], others[1:], strict=True))
        return _Whole(nodes, *rest).at(np.lexsort((nodes.node, nodes.tree)))


class _Frontier:
    """Nodes at the lowest level, with their histograms, and those above that wait for a level of other columns."""

    def __init__(self, n_trees: int, constrained: bool) -> None:
        roots = Nodes(np.arange(n_trees), np.zeros(n_trees, np.int64))
        bounds = np.tile([-np.inf, np.inf], (n_trees, 1)) if constrained else np.empty((0, 2))
        self.now = _Whole.new(roots, 0, bounds)
        self.waiting = self.now.at(np.empty(0, np.int64))
        self.slabs = _no_slabs()
        self.smaller: NDArray[np.int64] | None = None
        """Of each two siblings the one with less, by its place; none at the roots."""

    @property
    def ended(self) -> bool:
        """Whether no node can be cut any more."""
        return not len(self.now.born) and not len(self.waiting.born)

    def reopen(self, levels: Levels, depth: int) -> None:
        """Nodes that wait for the columns of this level join its own; then all are asked for."""
        again = levels.again(self.waiting.born, depth)
        if again.any():
            self.now = self.now.beside(self.waiting.at(again))
            self.waiting = self.waiting.at(~again)
        if again.any() or not levels.alike(depth):
            self.slabs = _no_slabs()

    def given(
        self, growth: Growth, round_: int, depth: int, sizes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Cuts] | None:
        """The cuts of nodes with rows, where they are given; counts their children in `sizes`."""
        if growth.given is None or not len(self.now.born):
            return None
        full = np.flatnonzero(~self.now.empty)
        found = growth.given.at(round_, depth, self.now.nodes.at(full))
        if found is None:
            return None
        cut, places = full[found.which], found.places
        nodes = self.now.nodes.at(cut)
        self.slabs = _no_slabs()  # no sums of these nodes were asked for
        child = splits.children_of(nodes.tree, sizes)
        sizes += 2 * np.bincount(nodes.tree, minlength=len(sizes))
        return cut, Cuts(nodes, child, *places)

    def best(
        self, rows: Rows, growth: Growth, round_: int, sizes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Cuts, Worth]:
        """The best cuts of all nodes; counts their children in `sizes`."""
        nodes, bounds, width = self.now.nodes, self.now.bounds, int(growth.grid.offsets[-1]) + 1
        if not len(nodes.tree):  # all wait for another level
            return nodes.node, NO_CUTS, growth.rules.worth(None, 0)
        counted = growth.rules.counted
        step = most_at_once(width, counted)
        if len(nodes.tree) <= step:
            self._ask(rows, counted, self.smaller if self.slabs.arrays and growth.subtracts else None)
            return _best(self.slabs, nodes, bounds, growth, round_, sizes)
        self.slabs = _no_slabs()
        parts = []
        for first in range(0, len(nodes.tree), step):
            some = nodes.at(np.arange(first, min(first + step, len(nodes.tree))))
            slabs = _asked(rows, some, counted)
            cut, cuts, worth = _best(slabs, some, bounds[first : first + step], growth, round_, sizes)
            parts.append((cut + first, cuts, worth))
        which, all_cuts, all_worth = zip(*parts, strict=True)
        return np.concatenate(which), joined_cuts(all_cuts), _joined_worth(all_worth)

    def _ask(self, rows: Rows, counted: bool, smaller: NDArray[np.int64] | None) -> None:
        """Get histograms: all without a parent; else of the smaller child of each pair, the larger by subtraction."""
        if smaller is None:
            self.slabs = _asked(rows, self.now.nodes, counted)
            return
        new = _asked(rows, self.now.nodes.at(smaller), counted)
        arrays, counts = self.slabs.arrays + new.arrays, self.slabs.counts + new.counts
        asked = new.places + np.array([len(arrays) - 1, 0], np.int32)
        # `places` still are the parents'; the larger child takes over its parent's place.
        _native.subtract(arrays, self.slabs.places, asked)
        if counted and not rows.counts_every:
            _native.subtract(counts, self.slabs.places, asked)
        places = np.repeat(self.slabs.places, 2, axis=0)
        places[smaller] = asked
        if counted and rows.counts_every:
            _put(counts, places, rows.counts(self.now.nodes))
        self.slabs = Slabs(arrays, counts, places)

    def descend(self, growth: Growth, depth: int, level: "_Level") -> _Whole:
        """Go on with the children, whose histograms stay their parents' until asked for; returns nodes that end."""
        cut, cuts, worth, sizes = level
        rest = np.ones(len(self.now.born), np.bool_)
        rest[cut] = False
        whole = self.now.at(rest)
        waits = ~whole.empty & growth.levels.go_on(whole.born, depth)
        if waits.any():
            self.waiting = self.waiting.beside(whole.at(waits))
        bounds = self.now.bounds
        if len(bounds):
            bounds = _child_bounds(growth.rules, cuts, worth, bounds[cut])
        self.now = _Whole.new(_children(cuts), depth + 1, bounds)
        left, right = (worth.left[:, 1], worth.right[:, 1]) if sizes is None else sizes.T
        self.smaller = 2 * np.arange(len(cut)) + (right < left)
        if sizes is not None:
            self.now = self.now._replace(empty=sizes.reshape(-1) == 0)
        if self.slabs.arrays:
            self.slabs = self.slabs._replace(places=self.slabs.places[cut])
        return whole.at(~waits)


def _asked(rows: Rows, nodes: Nodes, counted: bool) -> Slabs:
    """Histograms of these nodes, in a slab of their own."""
    places = np.zeros((len(nodes.tree), 2), np.int32)
    places[:, 1] = np.arange(len(places))
    return Slabs([rows.histograms(nodes)], [rows.counts(nodes)] if counted else [], places)


def _put(slabs: list[NDArray[np.int64]], places: NDArray[np.int32], rows: NDArray[np.int64]) -> None:
    """Rows into their places."""
    for number, slab in enumerate(slabs):
        here = places[:, 0] == number
        slab[places[here, 1]] = rows[here]


def _no_slabs() -> Slabs:
    return Slabs([], [], np.empty((0, 2), np.int32))


def _best(
    slabs: Slabs,
    nodes: Nodes,
    bounds: NDArray[np.float64],
    growth: Growth,
    round_: int,
    sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Cuts, Worth]:
    allowed = growth.columns.allowed(round_, nodes)
    found = splits.best(slabs, nodes, growth.grid, growth.rules, allowed, bounds, sizes=sizes, threads=growth.threads)
    sizes += 2 * np.bincount(found[1].nodes.tree, minlength=len(sizes))
    return found


class _Level(NamedTuple):
    """The cuts of a level: which nodes of it, what they are worth, and how many rows went either way."""

    cut: NDArray[np.int64]
    cuts: Cuts
    worth: Worth
    sizes: Sizes


def _cut(frontier: _Frontier, rows: Rows, growth: Growth, round_: int, depth: int, sizes: NDArray[np.int64]) -> _Level:
    """Divide the rows of a level by cuts that are given, or by the best."""
    given = frontier.given(growth, round_, depth, sizes)
    cut, cuts, worth = frontier.best(rows, growth, round_, sizes) if given is None else (*given, None)
    child_sizes = rows.divide(cuts) if len(cut) or growth.levels.owners else None
    if worth is None or growth.sampled:
        sums = rows.node_sums(_children(cuts)) if len(cut) else None
        worth = growth.rules.worth(sums, len(cut))
    return _Level(cut, cuts, worth, child_sizes)


def _children(cuts: Cuts) -> Nodes:
    """Left and right child of each in turn."""
    return Nodes(np.repeat(cuts.nodes.tree, 2), np.stack([cuts.child, cuts.child + 1], axis=1).reshape(-1))


def grow(rows: Rows, n_trees: int, round_: int, growth: Growth) -> Grown:
    """Grow `n_trees` trees together, level by level."""
    constrained = len(growth.rules.monotone) > 0
    frontier = _Frontier(n_trees, constrained)
    sizes = np.ones(n_trees, np.int64)  # nodes of each tree so far
    levels: list[_Level] = []
    leaves: list[_Whole] = []
    closed = False
    for depth in range(growth.max_depth):
        frontier.reopen(growth.levels, depth)
        if frontier.ended:
            break
        try:
            level = _cut(frontier, rows, growth, round_, depth, sizes)
        except NoMoreSums:
            closed = True
            break
        if growth.given is not None:
            growth.given.follow(level.cuts)
        levels.append(level)
        leaves.append(frontier.descend(growth, depth, level))
    leaves += [frontier.now, frontier.waiting]
    leaf_bounds = np.concatenate([some.bounds for some in leaves]) if constrained else None
    cuts, worth = joined_cuts(level.cuts for level in levels), _joined_worth(level.worth for level in levels)
    return Grown(cuts, worth, _joined_nodes(some.nodes for some in leaves), leaf_bounds, closed)


def _child_bounds(rules: Rules, cuts: Cuts, worth: Worth, bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Below a constrained cut the sides keep to either side of the middle of their values."""
    units = (rules.gradient_unit, rules.hessian_unit)
    left = rules.values(worth.left, units, bounds)
    right = rules.values(worth.right, units, bounds)
    middle = (left + right) / 2
    sign = rules.monotone[cuts.column]
    both = np.repeat(bounds[:, None, :], 2, axis=1)  # node, side, (low, high)
    up, down = sign > 0, sign < 0
    both[up, 0, 1] = both[up, 1, 0] = middle[up]
    both[down, 0, 0] = both[down, 1, 1] = middle[down]
    return both.reshape(-1, 2)


def _joined_nodes(parts: Iterable[Nodes]) -> Nodes:
    return Nodes(*map(np.concatenate, zip(*parts, strict=True)))


def joined_cuts(parts: Iterable[Cuts]) -> Cuts:
    """All cuts, in order."""
    fields = list(zip(*parts, strict=True))
    return Cuts(_joined_nodes(fields[0]), *map(np.concatenate, fields[1:]))


def _joined_worth(parts: Iterable[Worth]) -> Worth:
    return Worth(*map(np.concatenate, zip(*parts, strict=True)))
