"""What both sides of a vertical run make alike: numbers of columns and bins, and what is sealed for a step.

Nothing is said here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import BeginSealed, NamedColumns, OwnColumns
from hedgerow.privacy import shapes
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.vertical.allowed_cuts import CutPlaces
from hedgerow.trees.bins import Grid
from hedgerow.trees.local import Part
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Nodes

RUN_SUMS = 4
"""Sums of a group and node that a run is laid out for: a gradient and a hessian, each twice, because a level may be
asked for again after a loss."""


class ColumnSpan(NamedTuple):
    """The columns of one party among all: numbers `first` up to `last`."""

    party: str
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class AllColumns:
    """All columns, parties in the order of the plan; cut points are known here of the own columns only."""

    grid: Grid
    owned: tuple[ColumnSpan, ...]
    own: str
    names: Mapping[str, tuple[str, ...]]
    """Of the columns of parties that told them."""

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
            found[owned.first : owned.last] = owned.party == self.own or owned.party in parties
        return found


def bins_of(grid: Grid) -> NDArray[np.int64]:
    """How many bins each column has, the one for missing values included."""
    return np.asarray(grid.n_values + grid.has_missing, np.int64)


def run_nodes(params: TreeParams, n_trees: int) -> int:
    """Nodes that all trees of a run can ask about: the roots, and below one of every two siblings."""
    return n_trees * params.n_estimators << max(params.max_depth - 1, 0)


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
    def of(cls, begin: BeginSealed, part: Part, nodes: Nodes, once: bool) -> "Asked":
        """What is sealed and asked for at these nodes."""
        sizes, rows = part.sizes(nodes), part.rows(nodes)
        tree, among = np.repeat(nodes.tree, sizes), shapes.Nodes.in_order(sizes)
        if once:
            whole = np.sort(part.orders[0])
            places = np.searchsorted(whole, rows) + tree * len(whole)
            n_trees = len(part.orders)
            among = shapes.Nodes(places, among.starts)
            tree, rows = np.repeat(np.arange(n_trees), len(whole)), np.tile(whole, n_trees)
        if not len(rows):
            return cls(None, tree, rows, among, once)
        plan = RowsPlan(
            rows=len(rows),
            bounds=(begin.bound, begin.bound),
            groups=begin.groups,
            columns=begin.columns,
            nodes=len(sizes),
            most_rows=0 if once else int(sizes.max()),
            run_sums=begin.run_sums,
            by_holder=True,
        )
        return cls(plan, tree, rows, among, once)

    def sealed_now(self, level: int) -> bool:
        """Whether rows are sealed for this step, or were for the first of the tree."""
        return level == 0 or not self.once
