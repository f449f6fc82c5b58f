"""What a training with differential privacy takes of a table, and what it refuses: before anything is released."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.dp import DP
from hedgerow.agreement.dp_words import scope_without, taken_from_tables
from hedgerow.data.ids import check_rows_per_id
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model import labels as ground
from hedgerow.model.model import ClassLabel
from hedgerow.model.prepare import n_categories
from hedgerow.model.train import Task
from hedgerow.trees.bins import MOST_BINS
from hedgerow.trees.noised.sums import OwnRows
from hedgerow.trees.params import TreeParams

SCOPE = "the model, and every sum that it was made of"


@dataclass(frozen=True, eq=False)
class Declared:
    """Rows to learn from, with the columns and classes that everybody knows."""

    own: OwnRows
    columns: tuple[Column, ...]
    classes: tuple[ClassLabel, ...]
    scope: str
    """What the promise covers."""

    @property
    def n_categories(self) -> NDArray[np.int64]:
        """Of each column; 0 for a numeric one."""
        return n_categories(self.columns)


def declared(table: Table, params: TreeParams, task: Task, dp: DP) -> Declared:
    """A table as it is learnt from; refused where something would be told without noise."""
    check(params, task, dp, table)
    if dp.of_persons and table.ids is not None:
        check_rows_per_id(table.ids, dp.rows_per_id)
    classes, columns = dp.classes or task.classes, _columns(table, dp, task)
    if classes and not dp.classes:
        task.notes.append("The classes in the table are taken as known to everybody; to be sure, DP(classes=[...]).")
    table = _learnt(table.aligned(columns), classes, task)
    own = OwnRows(table.values, table.absent, ground.labels_of(table, classes))
    return Declared(own, columns, classes, scope_without(taken_from_tables(dp, columns, classes), SCOPE))


def check(params: TreeParams, task: Task, dp: DP, table: Table) -> None:
    """Refuse what would be told without noise, and parameters that the rule sets."""
    numbers = not task.classes
    refused = {
        "rows to stop early by": task.held_out is not None or task.early_stopping_rounds is not None,
        "eval_metric": task.eval_metric is not None,
        "init_model": task.start is not None,
        "base_score": task.base_score is not None,
        "sample weights": table.weights is not None,
        "scale_pos_weight": task.scale_pos_weight != 1,
        "monotone_constraints": bool(params.monotone_constraints),
        f"the {task.loss.name} loss": numbers and task.loss.name != "squared",
        "a random forest": params.average,
    }
    for what, is_asked in refused.items():
        if is_asked:
            raise ParameterError(
                f"Differential privacy does not go with {what}: {WHY.get(what, 'its sensitivity has no bound')}; leave "
                "it out."
            )
    if not numbers and dp.label_range is not None:
        raise ParameterError("label_range is the range of numbers, and classes are learnt; leave it out.")
    if numbers and dp.classes:
        raise ParameterError("A regression has no classes; leave them out of DP.")
    if numbers and dp.label_range is None:
        raise ParameterError(
            "Numbers can be learnt with differential privacy if their range is declared; give DP(label_range=(0, 100)) "
            "or whatever everybody knows of them."
        )
    if table.labels is None:
        raise DataError("The table has no labels; name the label column.")
    dp.check_params(params)


WHY = {
    "rows to stop early by": "a metric of them would be told without noise after every tree",
    "eval_metric": "a metric would be told without noise after every tree",
    "init_model": "what its training told of rows is not counted here",
    "base_score": "the rule finds it from a release",
    "sample weights": "a row of more weight needs more noise",
    "scale_pos_weight": "a row of more weight needs more noise",
    "monotone_constraints": "they are not kept under noise",
    "a random forest": 'its trees are noised as boosted ones, DP(method="random")',
}


def _learnt(table: Table, classes: tuple[ClassLabel, ...], task: Task) -> Table:
    """Without rows of which a refusal would tell, as at a party of several."""
    strange = ground.left_out(table, classes)
    if strange.any():
        task.notes.append(ground.left_out_sentence(int(strange.sum())))
        table = table.take(~strange)
    return table


def _columns(table: Table, dp: DP, task: Task) -> tuple[Column, ...]:
    """The table's columns, with the categories that are declared."""
    declared = dict(dp.categories)
    strange = set(declared) - {column.name for column in table.columns if column.kind == "categorical"}
    if strange:
        raise ParameterError(f"Categories are declared of {sorted(strange)[0]!r}, which is no categorical column.")
    columns = tuple(replace(c, categories=declared.get(c.name, c.categories)) for c in table.columns)
    if most := [c.name for c in columns if len(c.categories) > MOST_BINS]:
        raise DataError(f"Column {most[0]!r} has more than {MOST_BINS} categories; declare those to be told apart.")
    for before, after in zip(table.columns, columns, strict=True):
        if strangers := len(set(before.categories) - set(after.categories)):
            task.notes.append(
                f"{strangers} of {len(before.categories)} categories of column {before.name!r} are not declared, and "
                "count as missing."
            )
    if any(c.kind == "categorical" and c.name not in declared for c in columns):
        task.notes.append(
            "The categories in the table are taken as known to everybody; a rare one would tell of a single row, so "
            "declare them: DP(categories={...})."
        )
    return columns
