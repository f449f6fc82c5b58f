"""Training on one table, with differential privacy or without; also where its rows lie with Dask."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from hedgerow.agreement.dp import DP
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.estimators.parameters import tree_params
from hedgerow.model.model import Model
from hedgerow.model.noised_train import train_noised
from hedgerow.model.parted_table import classes_in, described
from hedgerow.model.parted_train import train_parts
from hedgerow.model.rows_part import RowsPart
from hedgerow.model.train import Task, train
from hedgerow.transports.dask_parts import DaskParts, client_of, sources_of
from hedgerow.transports.dask_parts import is_dask as is_dask
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams


def train_table(table: Table, params: TreeParams, dp: DP | None, loss: Loss, **task: Any) -> tuple[Model, list[str]]:
    """The model, and what the user should know; `task` is the rest of a `Task`."""
    whole = Task(loss, **task)
    model = train(table, params, whole) if dp is None else train_noised(table, params, whole, dp)
    return model, whole.notes


MOST_CLASSES = 1 << 20
"""Classes that are asked for of each part."""


def check_alone(task: Mapping[str, Any], dp: Any) -> None:
    """Refuse what needs all rows in this process."""
    given = [name for name in ("eval_set", "init_model") if task.get(name) is not None]
    if given:
        raise ParameterError(f"{given[0]} does not go with rows that lie with Dask; leave it out.")
    if dp is not None:
        raise ParameterError("dp does not go with rows that lie with Dask; give a table that lies here.")


def fit_cluster(
    X: Any, y: Any, options: Mapping[str, Any], task: Mapping[str, Any], own: Mapping[str, Any], **how: Any
) -> tuple[Model, list[str]]:
    """The model, and what the user should know. `how` has the estimator's loss of labels, and more of the task."""
    loss, classes, average = how.pop("loss"), how.pop("classes"), how.pop("average")
    check_alone(task, own.get("dp"))
    beside = {"y": y, **options}
    read = partial(_part, {name: one for name, one in beside.items() if not is_dask(one) and one is not None})
    parts = DaskParts(client_of(), sources_of(X, beside), read)
    facts = described(parts, MOST_CLASSES if classes else 0)
    chosen, found = loss(np.array(classes_in(facts)))
    rest = {name: value for name, value in task.items() if name not in ("eval_set", "init_model")}
    whole = Task(chosen, found, **rest, **how)
    return train_parts(parts, facts, tree_params(own, len(facts[0].columns), average), whole), whole.notes


def _part(named: Mapping[str, Any], read: tuple[Any, Mapping[str, Any]], number: int, threads: int) -> RowsPart:
    """On a worker: a part of what was read there."""
    X, beside = read
    given = {**named, **beside}
    return RowsPart(Table.of(X, given.pop("y", None), **given), number, threads)
