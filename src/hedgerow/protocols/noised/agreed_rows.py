"""The own rows of a noised run as all parties have agreed to see them; nothing here is said to anybody."""

from typing import cast

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import BeginNoised
from hedgerow.corridor.wire import Frame
from hedgerow.data.table import Column
from hedgerow.errors import ProtocolError
from hedgerow.model.noised_terms import terms_of
from hedgerow.protocols.horizontal.own_table import OwnTable
from hedgerow.protocols.horizontal.prepare import grid_of
from hedgerow.protocols.noised.promises import dp_of
from hedgerow.protocols.party_rows import PartyTable
from hedgerow.trees.bins import Grid
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.rule import Terms
from hedgerow.trees.noised.sums import OwnRows, OwnSums


def agreed_terms(plan: Plan, own: PartyTable) -> Terms:
    """What is public before the first release."""
    return terms_of(dp_of(plan), own.columns, len(own.classes))


def own_sums(plan: Plan, own: PartyTable, threads: int) -> OwnSums:
    """Exact sums over the own rows, to which noise is added before anything leaves."""
    if not isinstance(own, OwnTable):
        raise ProtocolError("Differential privacy goes with rows in a table here only, not on a cluster.")
    rows = OwnRows(own.table.values, own.table.absent, own.labels)
    return OwnSums(rows, agreed_terms(plan, own), threads)


def told_trees(_: Frame, grid: Grid, seed: int) -> PublicTrees:
    """The drawn trees over these cut points, once for all parties that hear this frame."""
    return PublicTrees(grid, seed)


def told_grid(frame: Frame, columns: tuple[Column, ...], max_bin: int) -> Grid:
    """The cut points that the driver tells, once for all parties that hear this frame."""
    grid = grid_of(cast(BeginNoised, frame.request), columns, max_bin)
    if not grid.has_missing.all():
        raise ProtocolError("The cut points that the driver sent have no place for missing values.")
    return grid
