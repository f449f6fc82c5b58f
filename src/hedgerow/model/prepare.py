"""What every training does with a table before its first tree: of one table alone, of a party's, of parts of either."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.pieces import PiecedTable
from hedgerow.data.table import Column, Table
from hedgerow.errors import ParameterError
from hedgerow.model import pieces
from hedgerow.trees import bins
from hedgerow.trees.bins import BinMatrix, Grid
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import Growth
from hedgerow.trees.local import RoundSettings, Sample
from hedgerow.trees.losses import LabelFacts, Loss
from hedgerow.trees.params import TreeParams
from hedgerow.trees.sampling import ColumnSampler
from hedgerow.trees.splits import Rules


def n_categories(columns: Sequence[Column]) -> NDArray[np.int64]:
    """How many categories each column has; 0 for a numeric one."""
    return np.array([len(column.categories) for column in columns], np.int64)


AnyTable = Table | PiecedTable
"""Rows here, or in files that are read in pieces."""


def own_cuts(table: AnyTable, max_bin: int, min_rows: int, threads: int) -> tuple[Grid, NDArray[np.int32]]:
    """The cut points of a table by its own rows, and each column's fullest bin where it pays to leave that out."""
    if isinstance(table, PiecedTable):
        return pieces.own_cuts(table, max_bin, min_rows, threads)
    return bins.find(table.values, table.absent, n_categories(table.columns), max_bin, min_rows, threads)


def to_bins(table: AnyTable, grid: Grid, fullest: NDArray[np.int32], threads: int) -> BinMatrix:
    """The bins of a table."""
    if isinstance(table, PiecedTable):
        return pieces.binned(table, grid, fullest, threads)
    return bins.to_bins(grid, fullest, table.values, table.absent, threads)


def under_cuts(table: Table, grid: Grid, threads: int) -> BinMatrix:
    """The bins of a table under cut points that are not, or not only, its own."""
    fullest = bins.fullest_under(grid, table.values, table.absent, threads)
    return to_bins(table, grid, fullest, threads)


def check_signs(constraints: Sequence[int], n_columns: int, whose: str) -> None:
    """Refuse monotone constraints that are not as many as the columns; `whose` says who has those."""
    if constraints and len(constraints) != n_columns:
        raise ParameterError(f"monotone_constraints has {len(constraints)} entries; {whose} {n_columns} columns.")


def check_numeric(constraints: Sequence[int], columns: Sequence[Column]) -> None:
    """Refuse a monotone constraint on a column whose values have no order."""
    for constraint, column in zip(constraints, columns, strict=False):
        if constraint and column.kind == "categorical":
            raise ParameterError(f"Column {column.name!r} is categorical and cannot have a monotone constraint.")


def check_constraints(constraints: Sequence[int], columns: Sequence[Column], whose: str) -> None:
    """Refuse monotone constraints that do not fit the columns."""
    check_signs(constraints, len(columns), whose)
    check_numeric(constraints, columns)


def scales_of(loss: Loss, facts: LabelFacts, base: float, params: TreeParams) -> Scales:
    """The units of gradients and hessians as integers."""
    return Scales(*loss.bounds(facts, base, params.constant_hessian), params.gradient_bits)


def growth_of(grid: Grid, params: TreeParams, scales: Scales, threads: int) -> Growth:
    """How trees over these cut points grow."""
    sampler = ColumnSampler(grid.n_columns, params.colsample_bytree, params.colsample_bynode, params.random_state)
    return Growth(grid, Rules.of(params, scales), sampler, params.max_depth, threads)


class Binned(NamedTuple):
    """A table with its bins, and its labels and weights as numbers."""

    table: Table
    matrix: BinMatrix
    labels: NDArray[np.float32]
    weights: NDArray[np.float32]
    """Empty if all are 1."""

    def sample(self, settings: RoundSettings, trees: Forest | None, threads: int, held_out: bool = False) -> Sample:
        """The rows with the scores they have after these trees.

        In a random forest every tree is grown from the first score; only held-out rows follow the trees, and the mean
        over these is taken of sums that begin at 0.
        """
        table, follows = self.table, held_out or not settings.average
        first = 0.0 if settings.average and held_out else settings.base
        scores = np.full((table.n_rows, settings.loss.n_trees), first, np.float32)
        if trees is not None and trees.n_trees and follows:
            trees.add_scores(table.values, table.absent, scores, threads)
        keys = table.row_keys() if min(settings.subsample, settings.choosing) < 1 else np.empty(0, np.uint64)
        return Sample(self.matrix, self.labels, self.weights, keys, np.ascontiguousarray(scores.T))
