"""One-column trees from one batch of noised sums, added to trees that are there already.

The sums are of the gradients that these trees leave. A column's values are what its sums say, with a prior: they are
about `TAU`, neighbouring bins of numbers differ by about `SMOOTH`. Columns tell in part the same, and one batch does
not show how much of it: so with more columns each takes a smaller part of its step.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.forest import Forest, join
from hedgerow.trees.grow import joined_cuts
from hedgerow.trees.noised.forests import LEAST_COVER, halves_of, one_column
from hedgerow.trees.noised.one_batch_rule import OneBatch
from hedgerow.trees.noised.rule import GRADIENT_UNITS
from hedgerow.trees.splits import NO_CUTS, Cuts, Nodes

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
TAU, SMOOTH = 0.7, 0.3
"""Of classes, in scores."""
OF_NUMBERS = 0.2, 0.05
"""The same of numbers, in their range."""
SPREAD = 0.006
"""The variance of a number's gradient, in its range."""
STEP = -0.25
"""A column's part of its step is the number of columns to this power."""


@dataclass(frozen=True, eq=False)
class Batch:
    """The opened sums of one owner's columns (bins x scores x 2), with noise, and the exact ones of all rows."""

    rule: OneBatch
    noised: I64
    exact: I64

    def of_bins(self, first: int, last: int) -> tuple[F64, F64]:
        """Gradients and hessians (bins x scores) of a column, made to add up to those of all rows."""
        words = self.noised[first:last].astype(np.float64)
        words += (self.exact - words.sum(axis=0)) / (last - first)
        hessians = words[:, :, 1] / self.rule.hessian_units(self.noised.shape[1])
        return words[:, :, 0] / GRADIENT_UNITS, np.maximum(hessians, 1.0)


def column_trees(grid: Grid, columns: range, batch: Batch, n_columns: int) -> Forest:
    """A tree for each of these columns and each score; `n_columns` are those of all owners."""
    first, trees = int(grid.offsets[columns.start]), [Forest.empty()]
    for column in columns:
        at = int(grid.offsets[column]) - first, int(grid.offsets[column + 1]) - first
        gradients, hessians = batch.of_bins(*at)
        low, high = batch.rule.label_range or (0.0, 1.0)
        for score in range(gradients.shape[1]):
            g, h = gradients[:, score], hessians[:, score]
            values = (high - low) * n_columns**STEP * _values(grid, column, g, h, batch.rule)
            trees.append(one_column(grid, column, values[None], np.maximum(h, LEAST_COVER)))
    return join(trees)


def _values(grid: Grid, column: int, gradients: F64, hessians: F64, rule: OneBatch) -> F64:
    """What a column's bins add to scores, as far as their sums tell."""
    numbers = rule.label_range is not None
    tau, smooth = OF_NUMBERS if numbers else (TAU, SMOOTH)
    variance = rule.sums.variance / GRADIENT_UNITS**2 + (SPREAD if numbers else 1.0) * hessians
    centred = gradients - hessians * (gradients.sum() / hessians.sum())
    prior = np.eye(len(hessians)) / tau**2
    if not grid.categorical[column]:
        steps = np.diff(np.eye(len(hessians))[: int(grid.n_values[column])], axis=0)
        prior += steps.T @ steps / smooth**2
    found: F64 = np.linalg.solve(np.diag(hessians**2 / variance) + prior, -hessians / variance * centred)
    return found


def own_cuts(grid: Grid, first: int, n_scores: int) -> tuple[Cuts, I64]:
    """The cuts of these trees as the columns' owner keeps them, the first tree's number being `first`.

    With what each comes after: twice the number of a cut, and one more right of it; -1 at a root.
    """
    cuts, after = list[Cuts](), list[I64]()
    for column in range(grid.n_columns):
        children, places, _ = halves_of(grid, column)
        cut = np.flatnonzero(children >= 0)
        child = children[cut].astype(np.int64)
        bin_ = np.where(grid.categorical[column], -1, places.bin).astype(np.int32)  # of categories only the set tells
        above = np.full(len(children), -1)
        above[child], above[child + 1] = 2 * np.arange(len(cut)), 2 * np.arange(len(cut)) + 1
        for score in range(n_scores):
            tree = np.full(len(cut), first + column * n_scores + score)
            before = sum(len(one.child) for one in cuts)
            nodes = Nodes(tree.astype(np.int64), cut.astype(np.int64))
            cuts.append(Cuts(nodes, child, places.column, bin_, places.missing_left, places.left_bins))
            after.append(np.where(above[cut] >= 0, above[cut] + 2 * before, -1))
    return joined_cuts([NO_CUTS, *cuts]), np.concatenate([np.empty(0, np.int64), *after]).astype(np.int64)
