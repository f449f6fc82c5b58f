"""Training on one table, with differential privacy or without."""

from typing import Any

from hedgerow.agreement.dp import DP
from hedgerow.data.table import Table
from hedgerow.model.model import Model
from hedgerow.model.noised_train import train_noised
from hedgerow.model.train import Task, train
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams


def train_table(table: Table, params: TreeParams, dp: DP | None, loss: Loss, **task: Any) -> tuple[Model, list[str]]:
    """The model, and what the user should know; `task` is the rest of a `Task`."""
    whole = Task(loss, **task)
    model = train(table, params, whole) if dp is None else train_noised(table, params, whole, dp)
    return model, whole.notes
