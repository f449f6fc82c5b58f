"""The active party's side of a vertical run, from its own table to the finished model.

Sees in the clear.  Its own table; of the others' columns how many bins they have, and what `vertical` says.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ProtocolError, RunError
from hedgerow.messages import AskColumns, Done, KeepPart, OwnColumns
from hedgerow.model import ClassLabel, Model
from hedgerow.plan import Plan
from hedgerow.pooled import Ready, Task, growth_of
from hedgerow.pooled import prepare as prepared
from hedgerow.protocols.agreeing import MOST_COLUMNS, Common, loss_of
from hedgerow.protocols.align import Ring
from hedgerow.protocols.ciphers import cipher_of
from hedgerow.protocols.hidden import HiddenRows
from hedgerow.protocols.own_sets import OwnSets
from hedgerow.protocols.passive import rows_digest
from hedgerow.protocols.secure_sum import Circle
from hedgerow.protocols.vertical import Joint, VerticalRows
from hedgerow.trees.bins import MOST_BINS
from hedgerow.trees.boost import Callback, Kept, boost
from hedgerow.trees.forest import Forest


@dataclass(frozen=True, eq=False)
class Active:
    """The party that has the labels, and drives."""

    own_table: Table
    own_valid: Table | None = None


def own_sets(plan: Plan, own: Active, threads: int) -> OwnSets:
    """The active party's side of the alignment; nothing is said."""
    _check_labels(plan, own.own_table)
    return OwnSets(plan, plan.active, (own.own_table, own.own_valid if plan.goal.follow else None), threads)


def aligned(circle: Circle, sets: OwnSets, tell: Callable[[str], None]) -> Active:
    """The rows that all parties have, in the same order everywhere; `align` says what becomes known."""
    sets.introduced()
    ring = Ring(circle, sets, tell)
    ring.align(False)
    if sets.own[True] is not None:
        ring.align(True)
    return Active(*sets.tables)


def _check_labels(plan: Plan, table: Table) -> None:
    if table.labels is None:
        raise DataError(f"The active party {plan.active!r} has no labels; name the label column.")


def prepare(plan: Plan, own: Active, threads: int) -> Ready:
    """Own labels, cut points and bins; nothing is said."""
    table, goal = own.own_table, plan.goal
    _check_labels(plan, table)
    if table.weights is not None and not (table.weights > 0).all():
        raise DataError(
            "Rows with weight 0 cannot be left out of a vertical run; take them out of every party's table."
        )
    if goal.follow and (own.own_valid is None or not own.own_valid.n_rows):
        raise DataError("A metric on validation rows was asked for, but the active party has none; give some.")
    labels = np.asarray(table.labels)
    classes: tuple[ClassLabel, ...] = () if goal.objective is not None else tuple(np.unique(labels).tolist())
    task = Task(
        loss_of(plan, classes),
        classes,
        goal.base_score,
        goal.scale_pos_weight,
        own.own_valid if goal.follow else None,
        goal.eval_metric,
        goal.early_stopping_rounds,
        label=goal.label,
        threads=threads,
    )
    return prepared(table, plan.params, task)


def grow(
    circle: Circle,
    ready: Ready,
    joint: Joint,
    callbacks: Sequence[Callback],
    before: Forest | None,
    history: tuple[float, ...],
    kept: Kept,
) -> Model:
    """All trees; every party has its part of the model when this returns."""
    plan, task = circle.plan, ready.task
    n_trees, done = task.loss.n_trees, 0 if before is None else before.n_trees // task.loss.n_trees
    rows = _rows(circle, ready, joint, n_trees, done)
    growth = growth_of(joint.grid, plan.params, ready.fixed.scales, task.threads)
    grown = boost(
        rows,
        growth,
        plan.params,
        ready.fixed.scales,
        n_trees,
        ready.stopping,
        callbacks,
        before,
        history,
        kept,
        rows.number if isinstance(rows, HiddenRows) else None,
    )
    model = ready.model(grown, columns_of(joint, ready.columns))
    _hand_out(circle, joint, secrets.token_hex(16), model.forest.n_trees)
    return model


def _rows(circle: Circle, ready: Ready, joint: Joint, n_trees: int, done: int) -> VerticalRows:
    """Everybody's columns over the own rows; the parties hear how large the run will be."""
    params, talks = circle.plan.params, (circle.ask_each, ready.rows, joint, cipher_of(circle.plan))
    if circle.plan.hidden_rows:
        return HiddenRows(*talks, params.n_estimators, params.max_depth, done)
    most_nodes = n_trees * params.n_estimators << max(params.max_depth - 1, 0)
    return VerticalRows(*talks, most_nodes, done)


def scores_of(ready: Ready) -> tuple[NDArray[np.float32], ...]:
    """The scores of the own rows, then of the validation rows."""
    samples = (ready.rows.own, ready.rows.held_out)
    return tuple(sample.scores.copy() for sample in samples if sample is not None)


def restore(ready: Ready, scores: tuple[NDArray[np.float32], ...]) -> None:
    """The rows as the trees so far left them, in a process before this one."""
    samples = [sample for sample in (ready.rows.own, ready.rows.held_out) if sample is not None]
    if [sample.scores.shape for sample in samples] != [array.shape for array in scores]:
        raise RunError("The rows are not those with which the run began; give the same data, or start a new run.")
    for sample, array in zip(samples, scores, strict=True):
        sample.scores[...] = array


def common(joint: Joint, ready: Ready, before: Common | None) -> Common:
    """What the model's columns and classes are; refused if they were others before."""
    columns = columns_of(joint, ready.columns)
    if before is not None and before.columns != columns:
        raise RunError("A party's columns are not those with which the run began; start a new run.")
    return Common(columns, ready.task.classes, "", False, ready.task.held_out is not None)


def columns_of_all(circle: Circle, ready: Ready) -> Joint:
    """Everybody's columns by number, once it is sure that all have the same rows."""
    plan, held_out = circle.plan, ready.task.held_out
    request = AskColumns(rows_digest(plan, ready.table), rows_digest(plan, held_out))
    told = {}
    for party, answer in circle.tell(request).items():
        if not isinstance(answer, OwnColumns):
            raise ProtocolError(f"Party {party!r} answered {type(answer).__name__} where columns were asked for.")
        _check_columns(party, answer)
        told[party] = answer
    return Joint.of(plan.active, ready.fixed.grid, told, plan.names)


def _check_columns(party: str, told: OwnColumns) -> None:
    n = len(told.n_values)
    alike = len(told.has_missing) == n == len(told.categorical) and n <= MOST_COLUMNS
    if not alike or (told.n_values < 1).any() or (told.n_values + told.has_missing > MOST_BINS + 1).any():
        raise ProtocolError(f"Party {party!r} described columns that cannot be.")


def columns_of(joint: Joint, own: tuple[Column, ...]) -> tuple[Column, ...]:
    """The model's columns as the active party knows them: the others' by number."""
    named: list[Column] = []
    for owned in joint.owned:
        if owned.party == joint.own:
            named += own
            continue
        for i, categorical in enumerate(joint.grid.categorical[owned.first : owned.last]):
            named.append(Column(f"{owned.party}:{i}", "categorical" if categorical else "numeric"))
    return tuple(named)


def _hand_out(circle: Circle, joint: Joint, model: str, n_trees: int) -> None:
    requests = {o.party: KeepPart(model, o.first, n_trees) for o in joint.passive()}
    for party, answer in circle.ask_each(requests).items():
        if not isinstance(answer, Done):
            raise ProtocolError(f"Party {party!r} answered {type(answer).__name__} where its part was to be kept.")
