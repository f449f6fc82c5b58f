"""Training where all rows lie in one table: what every federation must equal to the last bit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.pieces import PiecedTable
from hedgerow.data.table import Column, Table, sources
from hedgerow.errors import DataError, ModelError, ParameterError
from hedgerow.model import labels as ground
from hedgerow.model.model import ClassLabel, Model, absent_of
from hedgerow.model.prepare import AnyTable, Binned, check_numeric, check_signs, growth_of, own_cuts, scales_of, to_bins
from hedgerow.trees import bins, fixedpoint
from hedgerow.trees.bins import BinMatrix, Grid
from hedgerow.trees.boost import Boosted, Callback, Stopping, boost
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.local import LocalRows, RoundSettings, Sample
from hedgerow.trees.losses import LabelFacts, Loss
from hedgerow.trees.params import TreeParams, check
from hedgerow.trees.watched_metrics import OWN, Metric


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learnt: the loss, the classes if any, and what is done along the way."""

    loss: Loss
    classes: tuple[ClassLabel, ...] = ()
    base_score: float | None = None
    """What every row is predicted before the first tree, as a label or a probability; None: the mean label."""
    scale_pos_weight: float = 1.0
    held_out: Table | None = None
    eval_metric: str | None = None
    early_stopping_rounds: int | None = None
    callbacks: Sequence[Callback] = ()
    start: Model | None = None
    """A model whose training goes on."""
    label: str | None = None
    threads: int = 1
    choosing: float = 1.0
    """The share of the rows by which cuts are chosen where other parties are asked for sums."""
    grid: Grid | None = None
    """Cut points that were found before; None: those of the table."""
    label_range: tuple[float, float] | None = None
    """As declared, with labels beyond it as its nearer end; None: as found in them."""
    notes: list[str] = field(default_factory=list)
    """Filled with sentences about what the user should know."""


@dataclass(frozen=True, eq=False)
class Before:
    """What was declared, or found with noise, before a table is prepared."""

    mean: float | None = None
    """The mean label, or the share of the second class."""
    grid: Grid | None = None
    """Cut points."""
    label_range: tuple[float, float] | None = None
    """The declared one of numbers."""


def train(table: AnyTable, params: TreeParams, task: Task) -> Model:
    """Train on one table."""
    ready = prepare(table, params, task)
    growth = growth_of(ready.fixed.grid, ready.params, ready.fixed.scales, task.threads)
    start = task.start.forest if task.start is not None else None
    done = boost(
        ready.rows,
        growth,
        ready.params,
        ready.fixed.scales,
        task.loss.n_trees,
        ready.stopping,
        callbacks=task.callbacks,
        start=start,
    )
    tell(task, ready.rows, ready.table.n_rows)
    return ready.model(done, ready.columns)


@dataclass(frozen=True, eq=False)
class Ready:
    """A table of which the first tree can be grown."""

    table: Table
    columns: tuple[Column, ...]
    params: TreeParams
    task: Task
    fixed: "Fixed"
    rows: LocalRows
    stopping: Stopping | None

    def model(self, done: Boosted, columns: tuple[Column, ...]) -> Model:
        """The model of these trees."""
        task, metric = self.task, self.stopping.metric.name if self.stopping is not None else None
        return Model(
            done.forest,
            columns,
            task.loss,
            self.fixed.base,
            self.params,
            task.classes,
            label=task.label,
            absent=absent_of(self.table) if task.start is None else task.start.absent,
            history=done.history,
            metric=metric,
        )


def prepare(given: AnyTable, params: TreeParams, task: Task) -> Ready:
    """Everything up to the first tree."""
    if isinstance(given, PiecedTable) and task.start is not None:
        raise ParameterError("A table read in pieces begins a model of its own; leave out the one that is to go on.")
    table = cast(Table, given)  # one read in pieces has all that is asked of it here
    _check(task, params, table)
    columns = _columns(table, task)
    params = _constrained(params, table, columns)
    table = ground.used(table.aligned(columns) if task.start is None else task.start.aligned(table))
    fixed = _fixed(table, params, task)
    rows = _rows(table, columns, params, task, fixed)
    return Ready(table, columns, params, task, fixed, rows, _stopping(task, fixed.facts, rows.held_out))


@dataclass(frozen=True, eq=False)
class Fixed:
    """What is fixed before the first tree: labels and weights, what is known of them, the scales and the cuts."""

    labels: NDArray[np.float32]
    weights: NDArray[np.float32]
    facts: LabelFacts
    base: float
    scales: Scales
    grid: Grid
    fullest: NDArray[np.int32]


def _fixed(table: Table, params: TreeParams, task: Task) -> Fixed:
    labels, weights = (
        ground.labels_of(table, task.classes),
        ground.weights_of(table, task.classes, task.scale_pos_weight),
    )
    low, high = task.label_range or (float(labels.min()), float(labels.max()))
    if task.label_range is not None:
        labels = ground.within(labels, low, high)
    facts = LabelFacts(low, high, float(weights.max(initial=0)) or 1.0)
    task.loss.check_labels(facts)
    base = _base_score(task, labels, weights, facts)
    scales = scales_of(task.loss, _reached(facts, task, table), base, params)
    if task.grid is None:
        grid, fullest = own_cuts(table, params.max_bin, params.min_cut_rows, task.threads)
    else:
        grid, fullest = task.grid, bins.fullest_under(task.grid, table.values, table.absent, task.threads)
    return Fixed(labels, weights, facts, base, scales, grid, fullest)


def _rows(table: Table, columns: tuple[Column, ...], params: TreeParams, task: Task, fixed: Fixed) -> LocalRows:
    """The training rows, and the held-out ones if there are any, each with the score it begins with."""
    settings = RoundSettings.of(params, task.loss, fixed.scales, fixed.base, task.choosing)
    trees = None if task.start is None else task.start.forest

    def matrix(of: Table) -> BinMatrix:
        return to_bins(of, fixed.grid, fixed.fullest, task.threads)

    own = Binned(table, matrix(table), fixed.labels, fixed.weights).sample(settings, trees, task.threads)
    held_out = None
    if task.held_out is not None:
        seen = ground.used(task.held_out.aligned(columns))
        labelled = Binned(seen, matrix(seen), ground.labels_of(seen, task.classes), ground.own_weights(seen))
        held_out = labelled.sample(settings, trees, task.threads, held_out=True)
    return LocalRows(own, settings, task.threads, held_out)


def tell(task: Task, rows: LocalRows, n_rows: int) -> None:
    """Notes on what the integers could not hold."""
    tell_of(task, rows.clipped, rows.unseen, n_rows, rows.settings.scales.bits)


def tell_of(task: Task, clipped: int, unseen: int, n_rows: int, bits: int) -> None:
    """The same of rows that lie elsewhere."""
    if clipped:
        task.notes.append(
            f"{clipped} gradients were beyond the range the labels suggest and were cut to it; "
            "a smaller learning_rate or scaled labels avoid that."
        )
    task.notes.extend(_too_light(unseen, n_rows, bits))


def too_light(rows: LocalRows, n_rows: int) -> list[str]:
    """A note if gradients of many rows round to nothing, as those of a common class do beside a very rare one."""
    return _too_light(rows.unseen, n_rows, rows.settings.scales.bits)


def _too_light(unseen: int, n_rows: int, bits: int) -> list[str]:
    if unseen <= n_rows // 100:
        return []
    return [
        f"Gradients of {unseen} of {n_rows} rows are too small to be seen in {bits} bits "
        "when cuts are chosen, beside the largest label, the heaviest row or a rare class; raise gradient_bits."
    ]


def _check(task: Task, params: TreeParams, table: Table) -> None:
    check("scale_pos_weight", task.scale_pos_weight)
    ground.check_first_score(task.loss, task.base_score)
    if task.start is not None and task.base_score is not None:
        raise ParameterError("base_score is set by the model whose training goes on; leave it out.")
    if task.early_stopping_rounds is not None:
        check("early_stopping_rounds", task.early_stopping_rounds)
        if task.held_out is None:
            raise ParameterError("early_stopping_rounds needs held-out rows; give some as eval_set.")
    if table.labels is None:
        raise DataError("The table has no labels; name the label column.")
    check_signs(params.monotone_constraints, table.n_columns, "the table has")
    fixedpoint.check_rows(table.n_rows)
    start = task.start
    if start is not None and (start.loss, start.classes) != (task.loss, task.classes):
        raise ModelError("Training can go on only with the loss and the classes of the model it starts from.")
    if start is not None and start.params.average != params.average:
        raise ModelError("A random forest can go on only as a random forest, boosted trees only as boosted trees.")


def _columns(table: Table, task: Task) -> tuple[Column, ...]:
    """The model's columns: the table's, where a category too rare to have a bin of its own counts as missing."""
    if task.start is not None:
        return task.start.columns
    columns = []
    for i, column in enumerate(table.columns):
        if len(column.categories) > bins.MOST_BINS:
            kept = _most_frequent(table, i, bins.MOST_BINS)
            task.notes.append(
                f"Column {column.name!r} has {len(column.categories)} categories; the {len(kept)} most frequent are "
                "told apart, the others count as missing."
            )
            column = replace(column, categories=tuple(column.categories[k] for k in kept))
        columns.append(column)
    return tuple(columns)


def _constrained(params: TreeParams, table: Table, columns: tuple[Column, ...]) -> TreeParams:
    """Constraints are given in the order of the table's columns; training follows the model's."""
    if not params.monotone_constraints:
        return params
    order = sources(table.names, [c.name for c in columns])
    constraints = tuple(params.monotone_constraints[i] for i in order)
    check_numeric(constraints, columns)
    return replace(params, monotone_constraints=constraints)


def _reached(facts: LabelFacts, task: Task, table: Table) -> LabelFacts:
    """The labels' range; wider where a model whose training goes on predicts far outside it."""
    if task.start is None or task.loss.name != "squared" or task.start.params.average:
        return facts
    scores, spread = task.start.scores(table, task.threads), facts.high - facts.low
    low, high = float(scores.min()), float(scores.max())
    far = low < facts.low - spread or high > facts.high + spread
    return replace(facts, low=min(facts.low, low), high=max(facts.high, high)) if far else facts


def _most_frequent(table: AnyTable, column: int, n: int) -> list[int]:
    if isinstance(table, PiecedTable):
        return sorted(np.argsort(-table.category_counts(column), kind="stable")[:n].tolist())
    values = table.values
    codes = values[:, column] if isinstance(values, np.ndarray) else values[:, [column]].data
    counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64), minlength=len(table.columns[column].categories))
    return sorted(np.argsort(-counts, kind="stable")[:n].tolist())


def _base_score(task: Task, labels: NDArray[np.float32], weights: NDArray[np.float32], facts: LabelFacts) -> float:
    if task.start is not None:
        return task.start.base_score
    if task.base_score is not None:
        return float(np.float32(task.loss.base_score(float(task.base_score))))
    return ground.first_score(task.loss, ground.moments(labels, weights, facts), facts)


def _stopping(task: Task, facts: LabelFacts, held_out: Sample | None) -> Stopping | None:
    if held_out is None:
        if task.eval_metric is not None:
            raise ParameterError("eval_metric needs held-out rows; give some as eval_set.")
        return None
    name = task.eval_metric or OWN[task.loss.name]
    heaviest = float(held_out.weights.max(initial=0)) or 1.0
    low, high = min(facts.low, float(held_out.labels.min())), max(facts.high, float(held_out.labels.max()))
    return Stopping(Metric(name, task.loss, LabelFacts(low, high, heaviest)), task.early_stopping_rounds)
