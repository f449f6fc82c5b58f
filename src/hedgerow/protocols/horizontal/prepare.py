"""A party's rows once everything is fixed: binned under the agreed cut points, scored by the trees so far.

Nothing is said here; `horizontal` has the conversation.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Begin, Trees
from hedgerow.data.table import Column, Table
from hedgerow.errors import ModelError, ProtocolError
from hedgerow.model import labels as ground
from hedgerow.model.file import check_forest
from hedgerow.protocols.horizontal.cut_points import OwnRows, valid_weights
from hedgerow.trees import bins
from hedgerow.trees.bins import GREATEST, MOST_BINS, BinMatrix, Grid
from hedgerow.trees.fedtree_histograms import InterpolatedRows, Spread
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.forest import Forest
from hedgerow.trees.local import LocalRows, RoundSettings, Sample
from hedgerow.trees.losses import LabelFacts, Loss
from hedgerow.trees.watched_metrics import OWN, Metric


def trees_of(forest: Forest) -> Trees:
    """Trees as they travel."""
    return Trees(*(getattr(forest, name) for name in Trees.__struct_fields__))


def forest_of(trees: Trees, columns: tuple[Column, ...], n_trees: int) -> Forest:
    """Trees that arrived, if a walk through them is safe."""
    arrays = {name: getattr(trees, name) for name in Trees.__struct_fields__}
    if arrays["category_sets"].size % 4:
        raise ProtocolError("The trees that the driver sent cannot be used: a set of categories has a wrong size.")
    arrays["category_sets"] = arrays["category_sets"].reshape(-1, 4)
    forest = Forest(**arrays)
    try:
        check_forest(forest, list(columns))
    except ModelError as error:
        raise ProtocolError(f"The trees that came cannot be used: {error}.") from None
    if forest.n_trees % n_trees:
        raise ProtocolError(f"{forest.n_trees} trees came, not a multiple of {n_trees}.")
    return forest


def grid_of(request: Begin, columns: tuple[Column, ...], max_bin: int) -> Grid:
    """The agreed cut points, if they are in order and no more than the plan allows."""
    starts, n = request.cut_starts, len(columns)
    if len(starts) != n + 1 or len(request.has_missing) != n or starts[0] != 0 or starts[-1] != len(request.cuts):
        raise ProtocolError("The cut points that the driver sent do not fit the agreed columns.")
    sizes = np.diff(starts)
    categorical = np.array([c.kind == "categorical" for c in columns])
    most = np.where(categorical, MOST_BINS - 1, max_bin - 1)
    n_categories = np.array([len(c.categories) for c in columns])
    if (categorical & ((sizes != np.maximum(n_categories, 1) - 1) | ~request.has_missing)).any():
        raise ProtocolError("The cut points that the driver sent do not fit the agreed categories.")
    inner = np.ones(max(len(request.cuts) - 1, 0), np.bool_)
    edges = starts[1:-1]
    inner[edges[(edges > 0) & (edges < len(request.cuts))] - 1] = False
    if (sizes < 0).any() or (sizes > most).any() or (np.diff(request.cuts)[inner] <= 0).any():
        raise ProtocolError("The cut points that the driver sent are not in order, or too many.")
    return Grid(request.cuts, starts, request.has_missing, categorical)


def check_grown(trees: Forest, grid: Grid, max_depth: int) -> None:
    """Refuse trees that no steps could have led to: deeper than agreed, or cut beside the agreed cut points."""
    cut = np.flatnonzero(trees.columns >= 0)
    for column in np.unique(trees.columns[cut]):
        own = cut[trees.columns[cut] == column]
        places = grid.cuts[grid.cut_starts[column] : grid.cut_starts[column + 1]]
        if not grid.categorical[column] and not np.isin(trees.thresholds[own], [*places, GREATEST]).all():
            raise ProtocolError("The driver shows a tree that is not cut at the agreed cut points.")
    level = trees.roots[:-1]
    for _ in range(max_depth):
        level = level[trees.columns[level] >= 0]
        level = np.concatenate([trees.children[level], trees.children[level] + 1]).astype(np.int64)
    if (trees.columns[level] >= 0).any():
        raise ProtocolError(f"The driver shows a tree that is deeper than the {max_depth} levels of the plan.")


def metric_of(plan: Plan, loss: Loss, facts: LabelFacts) -> Metric:
    """The metric that the plan follows."""
    return Metric(plan.goal.eval_metric or OWN[loss.name], loss, facts)


class BegunRows:
    """Bins of the own rows and of the validation rows; made once, whatever happens to the run afterwards."""

    def __init__(self, plan: Plan, rows: OwnRows, request: Begin, loss: Loss, threads: int) -> None:
        self.plan, self.rows, self.loss, self.base = plan, rows, loss, request.base
        facts = LabelFacts(request.low, request.high, request.max_weight)
        rows.check(facts)
        if request.valid_facts[2] <= 0 or abs(request.base) > float(np.finfo(np.float32).max):
            raise ProtocolError("The first score or a greatest weight that the driver sent cannot be used.")
        self.grid = grid_of(request, rows.table.columns, plan.params.max_bin)
        self.scales = Scales(*loss.bounds(facts, request.base, plan.params.constant_hessian), plan.params.gradient_bits)
        self.metric = metric_of(plan, loss, LabelFacts(*request.valid_facts)) if plan.goal.follow else None
        self._check_missing(rows)
        self.matrix = self._bins(rows.table, self.grid, threads)
        self.valid_matrix = None if rows.valid is None else self._bins(rows.valid, self.grid, threads)
        self.digest = begun_digest(request)

    def _check_missing(self, rows: OwnRows) -> None:
        """A gap without a bin of its own would count as the least value in silence."""
        if any(not self.grid.has_missing[column] for column in rows.gappy):
            raise ProtocolError("The agreed cut points have no place for this party's missing values.")

    def _bins(self, table: Table, grid: Grid, threads: int) -> BinMatrix:
        fullest = bins.fullest_under(grid, table.values, table.absent, threads)
        return bins.to_bins(grid, fullest, table.values, table.absent, threads)

    def local_rows(self, forest: Forest, threads: int) -> LocalRows:
        """The own rows, with the scores that these trees give them."""
        params, rows = self.plan.params, self.rows
        own = self._sample(rows.table, self.matrix, rows.labels, rows.weights, forest, not params.average)
        held_out = None
        if rows.valid is not None and self.valid_matrix is not None:
            labels = ground.labels_of(rows.valid, rows.classes)
            held_out = self._sample(rows.valid, self.valid_matrix, labels, valid_weights(rows.valid), forest, True)
        settings = RoundSettings(
            self.loss,
            self.scales,
            params.subsample,
            params.random_state,
            params.constant_hessian,
            self.base,
            params.average,
        )
        if not self.plan.method.local_cuts:
            return LocalRows(own, settings, threads, held_out)
        return self._interpolated(own, settings, threads, held_out)

    def _sample(
        self,
        table: Table,
        matrix: BinMatrix,
        labels: NDArray[np.float32],
        weights: NDArray[np.float32],
        forest: Forest,
        follows: bool,
    ) -> Sample:
        # The mean of a random forest is taken over sums that begin at 0.
        first = 0.0 if self.plan.params.average and follows else self.base
        scores = np.full((table.n_rows, self.loss.n_trees), first, np.float32)
        if forest.n_trees and follows:
            forest.add_scores(table.values, table.absent, scores, 1)
        keys = table.row_keys() if self.plan.params.subsample < 1 else np.empty(0, np.uint64)
        return Sample(matrix, labels, weights, keys, np.ascontiguousarray(scores.T))

    def _interpolated(self, own: Sample, settings: RoundSettings, threads: int, held_out: Sample | None) -> LocalRows:
        table = self.rows.table
        n_categories = np.array([len(c.categories) for c in table.columns], np.int64)
        found, _ = bins.find(table.values, table.absent, n_categories, self.plan.params.max_bin, 1, threads)
        grid = Grid(found.cuts, found.cut_starts, self.grid.has_missing, self.grid.categorical)
        spread = Spread(grid, self.grid, table.ranges())
        return InterpolatedRows(own, settings, threads, held_out, self._bins(table, grid, threads), spread)


def begun_digest(request: Begin) -> bytes:
    """A hash of everything but the trees."""
    whole = hashlib.sha256()
    for name in Begin.__struct_fields__:
        value = getattr(request, name)
        if name != "forest":
            whole.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return whole.digest()
