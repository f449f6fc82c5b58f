"""A party's rows once everything is fixed: binned under the agreed cut points, scored by the trees so far.

Nothing is said here; `horizontal` has the conversation.
"""

import hashlib

import numpy as np

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Begin, BeginNoised, Trees
from hedgerow.corridor.wire import Frame
from hedgerow.data.table import Column
from hedgerow.errors import ModelError, ProtocolError
from hedgerow.model.file import check_forest
from hedgerow.model.prepare import n_categories, scales_of
from hedgerow.protocols.horizontal.laplace import clipped, laplace_of
from hedgerow.protocols.party_rows import PartyTable
from hedgerow.protocols.told_trees import Beginning, ToldTrees, begin
from hedgerow.trees.bins import GREATEST, MOST_BINS, Grid
from hedgerow.trees.forest import Forest
from hedgerow.trees.local import RoundSettings
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


def grid_of(request: Begin | BeginNoised, columns: tuple[Column, ...], max_bin: int) -> Grid:
    """The agreed cut points, if they are in order and no more than the plan allows."""
    starts, n = request.cut_starts, len(columns)
    if len(starts) != n + 1 or len(request.has_missing) != n or starts[0] != 0 or starts[-1] != len(request.cuts):
        raise ProtocolError("The cut points that the driver sent do not fit the agreed columns.")
    sizes = np.diff(starts)
    categorical = np.array([c.kind == "categorical" for c in columns])
    most = np.where(categorical, MOST_BINS - 1, max_bin - 1)
    fits = sizes == np.maximum(n_categories(columns), 1) - 1
    if (categorical & (~fits | ~request.has_missing)).any():
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
    """The own rows under what is fixed before the first tree; made once, whatever happens to the run afterwards."""

    def __init__(self, plan: Plan, rows: PartyTable, request: Begin, loss: Loss) -> None:
        self.plan, self.rows, self.loss, self.base = plan, rows, loss, request.base
        facts = LabelFacts(request.low, request.high, request.max_weight)
        rows.check(facts)
        if request.valid_facts[2] <= 0 or abs(request.base) > float(np.finfo(np.float32).max):
            raise ProtocolError("The first score or a greatest weight that the driver sent cannot be used.")
        self.grid = grid_of(request, rows.columns, plan.params.max_bin)
        noised = laplace_of(plan, len(rows.columns))
        params = plan.params if noised is None else noised.params(plan.params)
        scales = scales_of(loss, facts, request.base, params) if noised is None else noised.clip.scales
        self.metric = metric_of(plan, loss, LabelFacts(*request.valid_facts)) if plan.goal.follow else None
        settings = RoundSettings.of(params, loss, scales, request.base)
        after = rows.binned(self.grid, settings, None if not plan.method.local_cuts else plan.params.max_bin)
        self.rows_after = after if noised is None else clipped(after, noised, self.grid)
        """The own rows, with the scores that some trees give them."""
        self.digest = begun_digest(request)

    def first_place(self, frame: Frame, round_: int) -> ToldTrees:
        """Where a party is told trees from this round on."""
        return frame.derived(begin, Beginning(self.plan, self.grid, self.loss.n_trees, round_))


def begun_digest(request: Begin) -> bytes:
    """A hash of everything but the trees."""
    whole = hashlib.sha256()
    for name in Begin.__struct_fields__:
        value = getattr(request, name)
        if name != "forest":
            whole.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return whole.digest()
