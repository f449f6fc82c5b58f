"""Training on a table whose rows lie in parts elsewhere: the model of the same table in one place, to the last bit."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from hedgerow.data.table import Column
from hedgerow.errors import ParameterError
from hedgerow.model import labels as ground
from hedgerow.model.model import Model
from hedgerow.model.parted_table import columns_of, grid_of, had_again
from hedgerow.model.prepare import check_constraints, growth_of, scales_of
from hedgerow.model.rows_part import PartFacts
from hedgerow.model.train import Task, tell_of
from hedgerow.trees.boost import boost
from hedgerow.trees.forest import Forest
from hedgerow.trees.local import RoundSettings
from hedgerow.trees.losses import LabelFacts
from hedgerow.trees.params import TreeParams
from hedgerow.trees.parted_rows import PartedRows, PartLost, Parts


def train_parts(parts: Parts, facts: Sequence[PartFacts], params: TreeParams, task: Task) -> Model:
    """Train on all rows of all parts."""
    _check(task)
    columns = columns_of(facts, task.notes)
    check_constraints(params.monotone_constraints, columns, "the table has")
    return had_again(parts, partial(_trained, parts, facts, columns, params, task))


def _trained(
    parts: Parts, facts: Sequence[PartFacts], columns: tuple[Column, ...], params: TreeParams, task: Task
) -> Model:
    sizes = [one.n_rows for one in facts]
    agreed = (columns, task.classes, task.scale_pos_weight, np.cumsum([0, *sizes])[:-1].tolist())
    ranges: list[LabelFacts] = parts.each("agree", *agreed)
    known = LabelFacts(
        min(one.low for one in ranges), max(one.high for one in ranges), max(one.max_weight for one in ranges) or 1.0
    )
    task.loss.check_labels(known)
    base = _base_score(parts, task, known)
    scales = scales_of(task.loss, known, base, params)
    grid = grid_of(parts, columns, params, sum(sizes))
    settings = RoundSettings.of(params, task.loss, scales, base)

    def begin(numbers: Sequence[int], forest: Forest) -> None:
        parts.some(numbers, "agree", *agreed)
        parts.some(numbers, "begin", grid, settings, forest)

    parts.each("begin", grid, settings, Forest.empty())
    rows = PartedRows(parts, begin)
    done = boost(
        rows, growth_of(grid, params, scales, task.threads), params, scales, task.loss.n_trees, callbacks=task.callbacks
    )
    with suppress(PartLost):  # the trees are complete; what is lost is a remark
        clipped, unseen = parts.total("lost_in_integers").tolist()
        tell_of(task, clipped, unseen, sum(sizes), scales.bits)
    return Model(done.forest, columns, task.loss, base, params, task.classes, label=task.label)


def _check(task: Task) -> None:
    ground.check_first_score(task.loss, task.base_score)
    if task.start is not None:
        raise ParameterError("A table in parts begins a model of its own; leave out the one that is to go on.")
    if task.held_out is not None or task.eval_metric is not None or task.early_stopping_rounds is not None:
        raise ParameterError("A table in parts is trained on without held-out rows; leave out what follows a metric.")


def _base_score(parts: Parts, task: Task, facts: LabelFacts) -> float:
    if task.base_score is not None:
        return float(np.float32(task.loss.base_score(float(task.base_score))))
    return ground.first_score(task.loss, parts.total("moments", facts), facts)
