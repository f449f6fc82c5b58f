"""From what is fixed before the first tree to the last tree, by whoever chooses the cuts: the driver, or an opener."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Begin
from hedgerow.data.table import Column
from hedgerow.model.model import Model
from hedgerow.model.prepare import growth_of, scales_of
from hedgerow.protocols.columns import Common, assemble, loss_of
from hedgerow.protocols.horizontal.driver import HorizontalRows
from hedgerow.protocols.horizontal.laplace import laplace_of
from hedgerow.protocols.horizontal.prepare import grid_of, metric_of, trees_of
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Start
from hedgerow.trees.boost import Boosted, Callback, Kept, Stopping, boost
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import LabelFacts, Loss
from hedgerow.trees.watched_metrics import Metric


def begin_of(start: Start, trees: Forest) -> Begin:
    """What everybody is told before the first tree, or before the next."""
    facts, valid, grid = start.facts, start.valid_facts, start.grid
    return Begin(
        low=facts.low,
        high=facts.high,
        max_weight=facts.max_weight,
        valid_facts=(valid.low, valid.high, valid.max_weight),
        base=start.base,
        cuts=grid.cuts,
        cut_starts=grid.cut_starts,
        has_missing=grid.has_missing,
        forest=trees_of(trees),
    )


def start_of(begin: Begin, columns: tuple[Column, ...], plan: Plan) -> Start:
    """The same as it was told."""
    facts = LabelFacts(begin.low, begin.high, begin.max_weight)
    return Start(facts, LabelFacts(*begin.valid_facts), begin.base, grid_of(begin, columns, plan.params.max_bin))


def followed(plan: Plan, loss: Loss, start: Start) -> Metric | None:
    """The metric on the validation rows, if one is followed."""
    return metric_of(plan, loss, start.valid_facts) if plan.goal.follow else None


def rows_of(group: SummingGroup, loss: Loss, start: Start) -> HorizontalRows:
    """The rows of all parties, reached through their group."""
    return HorizontalRows(group, start.grid, followed(group.plan, loss, start), loss.n_trees)


def boosted(
    rows: HorizontalRows,
    loss: Loss,
    start: Start,
    threads: int,
    *,
    callbacks: Sequence[Callback],
    before: Forest,
    history: tuple[float, ...],
    before_values: Callable[[Forest], None],
    kept: Kept | None = None,
) -> Boosted:
    """Grow the plan's trees after those before; see `boost` for what is called along the way."""
    plan = rows.group.plan
    noised = laplace_of(plan, start.grid.n_columns)
    params = plan.params if noised is None else noised.params(plan.params)
    scales = scales_of(loss, start.facts, start.base, params) if noised is None else noised.clip.scales
    own_noise = plan.method.dp is not None  # of every node, a larger sibling's too
    growth = replace(growth_of(start.grid, params, scales, threads), subtracts=not own_noise)
    metric = followed(plan, loss, start)
    stopping = Stopping(metric, plan.goal.early_stopping_rounds) if metric is not None else None
    done = boost(
        rows if noised is None else noised.settled(rows, start.grid, None),
        growth,
        params,
        scales,
        loss.n_trees,
        stopping,
        callbacks=callbacks,
        start=before if before.n_trees else None,
        resumed=history,
        kept=kept,
        before_values=before_values,
    )
    rows.end()
    return done


def model_of(plan: Plan, shared: Common, start: Start, done: Boosted) -> Model:
    """The finished model."""
    metric = followed(plan, loss_of(plan, shared.classes), start)
    return assemble(plan, shared, start.base, done.forest, done.history, metric.name if metric else None)
