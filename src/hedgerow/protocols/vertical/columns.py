"""What both sides of a vertical run make alike: columns and bins, what is sealed for a step, cuts that are allowed.

Which cuts leave rows enough on both sides (`min_child_rows`) is told by the owner of a column without numbers of rows
(`CutPlaces`). Of a numeric column a bit says for every place of a cut, with missing values on either side, whether both
sides have the rows that the plan asks for. A node's sibling, whose sums nobody is asked for, is told of too.

Categories are cut in the order of their sums, which their owner cannot read: it does not know which sets of them are
possible cuts. Of them it tells how many rows each has at a node, as of nothing else.

Sees in the clear.  Active: these bits, and the rows of categories.  Of the rest nothing is said.

The active party turns the bits into numbers of rows that are not the true ones, but allow and refuse the same cuts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import DEALING
from hedgerow.corridor.messages import AllowedSums, BeginSealed, NamedColumns, OwnColumns
from hedgerow.privacy import shapes
from hedgerow.privacy.additive import Merging
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.trees.bins import Grid
from hedgerow.trees.levels import Levels
from hedgerow.trees.local import Part
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Nodes

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ACTIVE_ONLY, PASSIVE_ONLY, JOINT = "APJ"
"""Whose columns compete at a level of a schedule: the active party's, the passive parties', or all."""
OWNERS = {
    ACTIVE_ONLY: frozenset({"active"}),
    PASSIVE_ONLY: frozenset({"passive"}),
    JOINT: frozenset({"active", "passive"}),
    DEALING: frozenset({"holders"}),
}
POSITIVE = (False, True)
"""Whether none is negative: of gradients, and of hessians."""
RUN_SUMS = 4
"""Sums of a group and node that a run is laid out for: a gradient and a hessian, each twice, because a level may be
asked for again after a loss."""


class ColumnSpan(NamedTuple):
    """The columns of one party among all: numbers `first` up to `last`."""

    party: str
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class CutPlaces:
    """Where a party's columns can be cut, by number of their bins; both sides make it alike."""

    n_bins: int
    column: Ints
    """Of each bin."""
    missing: Ints
    """Of each column, the bin of missing values; -1: none."""
    either: Ints
    """The bins of numbers that a cut can come after: all of a column, or all but the last where none is missing."""
    beside: Ints
    """Those of them in columns with missing values, which such a cut sends to one side or the other."""
    categories: Ints
    """Bins of categories but each column's last, whose rows follow."""
    last: Ints
    """The last bin of each column of categories."""

    @classmethod
    def of(cls, n_values: Ints, has_missing: Bools, categorical: Bools) -> "CutPlaces":
        """Of columns with so many bins, that of missing values not counted."""
        widths = np.asarray(n_values + has_missing, np.int64)
        ends = np.cumsum(widths)
        n_bins = int(widths.sum())
        column = np.repeat(np.arange(len(widths)), widths)
        is_last = np.zeros(n_bins, np.bool_)
        is_last[ends - 1] = True
        numeric = ~categorical[column]
        either = np.flatnonzero(numeric & ~is_last)
        categories = ~numeric
        return cls(
            n_bins,
            column,
            np.where(has_missing, ends - 1, -1),
            either,
            either[has_missing[column[either]]],
            np.flatnonzero(categories & ~is_last),
            np.flatnonzero(categories & is_last),
        )

    @property
    def n_bits(self) -> int:
        """Of a node."""
        return len(self.either) + len(self.beside)

    def n_bytes(self, nodes: int) -> int:
        """Of all that is told of so many nodes."""
        return (nodes * self.n_bits + 7) // 8 + 8 * nodes * len(self.categories)

    def room(self, nodes: int, n_rows: int) -> int:
        """Bits that what is told of so many nodes has room for: a number of rows is one of a table of so many."""
        return nodes * (self.n_bits + len(self.categories) * n_rows.bit_length())

    def told(self, own_counts: Ints, fewest: int) -> tuple[NDArray[np.uint8], Ints]:
        """What becomes known of these rows a node and bin, each node's total last: bits, and rows of categories."""
        counts, total = own_counts[:, :-1], own_counts[:, -1:]
        below = np.cumsum(counts, axis=1)
        first = np.searchsorted(self.column, self.column)
        left = below - np.where(first > 0, below[:, first - 1], 0)
        missing = np.where(self.missing >= 0, counts[:, self.missing], 0)
        some = left[:, self.beside]
        both = np.concatenate([left[:, self.either], some + missing[:, self.column[self.beside]]], axis=1)
        allowed = np.minimum(both, total - both) >= fewest
        # Before any number there is no cut, whatever is missing: it would be that after the last, the other way round.
        allowed[:, len(self.either) :] &= some > 0
        rows = np.ascontiguousarray(counts[:, self.categories], np.int64).reshape(-1)
        return np.packbits(allowed.reshape(-1), bitorder="little"), rows

    def split(self, answer: AllowedSums, nodes: int) -> tuple[Bools, Ints] | None:
        """What was told of so many nodes, node by node; none if it is of another number of them."""
        n_bits, rows = nodes * self.n_bits, answer.counts
        if len(answer.allowed) != (n_bits + 7) // 8 or len(rows) != nodes * len(self.categories):
            return None
        bits = np.unpackbits(answer.allowed, count=n_bits, bitorder="little").astype(np.bool_)
        return bits.reshape(nodes, self.n_bits), rows.reshape(nodes, -1)

    def rows(self, bits: Bools, known: Ints, total: Ints, fewest: int) -> Ints:
        """Numbers of rows a node and bin that allow what the bits do, for nodes of so many; of categories the true."""
        out = self._numbers(bits, total, fewest)
        out[:, self.categories] = known
        for last in self.last:
            out[:, last] = total - known[:, self.column[self.categories] == self.column[last]].sum(axis=1)
        return out

    def _numbers(self, bits: Bools, total: Ints, fewest: int) -> Ints:
        """One row is missing, and the rows up to a cut are so many that it decides, or that it does not matter.

        In a node of just twice the fewest rows it always decides, so where both sides are allowed none is missing.
        """
        right = np.zeros((len(bits), self.n_bins), np.bool_)
        left = right.copy()
        right[:, self.either], left[:, self.beside] = bits[:, : len(self.either)], bits[:, len(self.either) :]
        most = total[:, None] - fewest
        up_to = np.where(right, np.where(left, fewest, most), np.where(left, fewest - 1, -2))
        first = np.searchsorted(self.column, np.arange(len(self.missing)))
        out = np.diff(up_to, axis=1, prepend=0)
        out[:, first] = up_to[:, first]
        there = np.flatnonzero(self.missing >= 0)
        none = (most == fewest) & np.logical_or.reduceat(right & left, first, axis=1)[:, there]
        out[:, self.missing[there]] = ~none
        return out


def with_siblings(nodes: Nodes) -> Nodes:
    """These nodes, then the sibling of each that is no root: children lie side by side, an odd one first."""
    below = nodes.at(nodes.node > 0)
    return Nodes(np.concatenate([nodes.tree, below.tree]), np.concatenate([nodes.node, ((below.node - 1) ^ 1) + 1]))


@dataclass(frozen=True, eq=False)
class AllColumns:
    """All columns, parties in the order of the plan; cut points are known here of the own columns only."""

    grid: Grid
    owned: tuple[ColumnSpan, ...]
    own: str
    names: Mapping[str, tuple[str, ...]]
    """Of the columns of parties that told them."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Passive parties that have the same columns, group by group; of each the first stands for all."""

    @classmethod
    def of(cls, own: str, own_grid: Grid, told: Mapping[str, OwnColumns], order: Sequence[str]) -> "AllColumns":
        """The grid of all parties' columns."""
        cuts, n_values, missing, categorical, owned, first = [], [], [], [], [], 0
        for party in order:
            grid = own_grid if party == own else None
            shape: Grid | OwnColumns = own_grid if grid is not None else told[party]
            n = np.asarray(shape.n_values)
            cuts.append(own_grid.cuts if grid is not None else np.zeros(int((n - 1).sum()), np.float32))
            n_values.append(n)
            missing.append(shape.has_missing)
            categorical.append(shape.categorical)
            owned.append(ColumnSpan(party, first, first := first + len(n)))
        starts = np.concatenate([[0], np.cumsum(np.concatenate(n_values) - 1)]).astype(np.int64)
        grid = Grid(np.concatenate(cuts), starts, np.concatenate(missing), np.concatenate(categorical))
        names = {party: shape.names for party, shape in told.items() if isinstance(shape, NamedColumns)}
        return cls(grid, tuple(owned), own, names)

    def passive(self) -> list[ColumnSpan]:
        """Everybody else's columns."""
        return [o for o in self.owned if o.party != self.own]

    def holders(self, owned: ColumnSpan) -> tuple[str, ...]:
        """The parties that have these columns, each for rows of its own."""
        return self.group_of(owned.party) or (owned.party,)

    def group_of(self, party: str) -> tuple[str, ...]:
        """Those that a party shares its columns with; nobody, if it has columns of its own."""
        return next((group for group in self.groups if party in group), ())

    def bins(self, owned: ColumnSpan) -> NDArray[np.int64]:
        """How many bins each of a party's columns has."""
        return bins_of(self.grid)[owned.first : owned.last]

    def places(self, owned: ColumnSpan) -> CutPlaces:
        """Where a party's columns can be cut."""
        grid, here = self.grid, slice(owned.first, owned.last)
        return CutPlaces.of(grid.n_values[here], grid.has_missing[here], grid.categorical[here])

    def columns_of(self, parties: Sequence[str]) -> NDArray[np.bool_]:
        """Which columns belong to these parties, or to the active one."""
        found = np.zeros(self.grid.n_columns, np.bool_)
        for owned in self.owned:
            asked = owned.party == self.own or any(party in parties for party in self.holders(owned))
            found[owned.first : owned.last] = asked
        return found


def bins_of(grid: Grid) -> NDArray[np.int64]:
    """How many bins each column has, the one for missing values included."""
    return np.asarray(grid.n_values + grid.has_missing, np.int64)


def run_nodes(params: TreeParams, n_trees: int, levels: str = "") -> int:
    """Nodes that all trees of a run can ask about, by the schedule of their levels.

    Where a level has the letter of the one above, of two siblings one is asked about, else both.
    """
    nodes = (1 << depth >> halved for depth, halved in _asked_levels(levels or JOINT * params.max_depth))
    return n_trees * params.n_estimators * max(sum(nodes), 1)


def tree_plans(
    begin: BeginSealed, n_rows: int, params: TreeParams, levels: str, sharing: int = 0, summand: int = 0
) -> Iterator[RowsPlan]:
    """What a round's key is for, at most, where a party answers that has so many rows of every tree that count.

    Both sides work it out alike, so that a key holds no more than that needs: trees are as wide as they can be, and the
    largest node of a level has twice the rows of the mean one. Steps of other trees are answered with the same key.
    Parties that share their columns (`sharing` of them) get one key, on which their pads depend: that of the mean.
    """
    if begin.together:
        n_rows = ceil(begin.together / max(sharing, 1))
    every = max(n_rows * begin.n_trees, 1)
    for depth, halved in _asked_levels(levels or JOINT * params.max_depth):
        rows = max(every // (1 + halved), 1)
        nodes = min(begin.n_trees << depth >> halved, rows)
        yield RowsPlan(
            rows=rows,
            bounds=(begin.bound, begin.bound),
            positive=POSITIVE,
            groups=begin.groups,
            columns=begin.columns,
            nodes=nodes,
            most_rows=min(rows, ceil(2 * rows / nodes)),
            run_sums=begin.run_sums,
            summand=summand,
            by_holder=True,
            together=max(begin.together, rows) if begin.together else 0,
        )


def _asked_levels(letters: str) -> Iterator[tuple[int, bool]]:
    """The levels at which parties are asked: how often a party's nodes were halved above, and whether one of two is.

    Levels that deal rows to parties of which each is asked about its own nodes do not halve these.
    """
    dealing = 0
    for depth, letter in enumerate(letters):
        dealing += letter == DEALING
        if asks(letter):
            yield depth - dealing, depth > 0 and letter == letters[depth - 1]


def levels_of(schedule: str) -> Levels:
    """Which nodes a level of this schedule looks at: as both sides and every table know it."""
    return Levels(tuple(OWNERS[letter] for letter in schedule))


def asks(letter: str) -> bool:
    """Whether passive parties are asked at levels of this letter."""
    return letter in (PASSIVE_ONLY, JOINT)


def wanted(bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums that are asked for in each column: its last bin follows from the node's total."""
    return bins[bins > 1] - 1


class Asked(NamedTuple):
    """The rows that are sealed for a step, and the nodes asked about among them; both sides make it alike.

    A cipher that seals anew for every level has just the rows of these nodes, node after node. One that seals once has
    all rows of all trees that count, and the nodes name theirs among them.
    """

    plan: RowsPlan | None
    """None where there is no row to seal."""
    tree: NDArray[np.int64]
    rows: NDArray[np.uint32]
    nodes: shapes.Nodes
    once: bool

    @classmethod
    def of(
        cls, begin: BeginSealed, part: Part, nodes: Nodes, once: bool, merging: Merging = (), summand: int = 0
    ) -> "Asked":
        """What is sealed and asked for at these nodes, with a key that merges results at these distances.

        What is added to a sum before it is returned has an absolute value of at most `summand`.
        """
        sizes, rows = part.sizes(nodes), part.rows(nodes)
        tree, among = np.repeat(nodes.tree, sizes), shapes.Nodes.in_order(sizes)
        if once:
            whole = np.sort(part.orders[0])
            places = np.searchsorted(whole, rows) + tree * len(whole)
            n_trees = len(part.orders)
            among = shapes.Nodes(places, among.starts)
            tree, rows = np.repeat(np.arange(n_trees), len(whole)), np.tile(whole, n_trees)
        plan = cls.plan_of(begin, part, nodes, once, merging, summand)
        if plan is not None and not len(rows):  # a row that is in no node: a part of a total is given by everybody
            tree, rows = np.zeros(1, np.int64), np.zeros(1, np.uint32)
        return cls(plan, tree, rows, among, once)

    @staticmethod
    def plan_of(
        begin: BeginSealed, part: Part, nodes: Nodes, once: bool, merging: Merging = (), summand: int = 0
    ) -> RowsPlan | None:
        """How the rows of such a step are sealed."""
        sizes = part.sizes(nodes)
        n_rows = int(part.orders.size if once else sizes.sum())
        if not n_rows and not begin.together:
            return None
        return RowsPlan(
            rows=max(n_rows, 1),
            bounds=(begin.bound, begin.bound),
            positive=POSITIVE,
            groups=begin.groups,
            columns=begin.columns,
            nodes=len(sizes),
            most_rows=0 if once else int(sizes.max()),
            run_sums=begin.run_sums,
            summand=summand,
            by_holder=True,
            together=begin.together,
            merging=merging,
        )

    def sealed_now(self, level: int) -> bool:
        """Whether rows are sealed for this step, or were for the first of the tree."""
        return level == 0 or not self.once
