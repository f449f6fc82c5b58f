"""What users of the estimators pass beside a table, as the training takes it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.model import Model, absent_of

EvalSet = tuple[Any, Any] | Sequence[tuple[Any, Any]]


def categorical_in(X: Any, model: Model) -> list[str | int]:
    """The model's categorical columns that are in X, by name in a frame, else by position."""
    columns = [(i, c.name) for i, c in enumerate(model.columns) if c.kind == "categorical"]
    if hasattr(X, "columns"):
        return [name for _, name in columns if name in list(getattr(X, "column_names", X.columns))]
    return [i for i, _ in columns]


def held_out(eval_set: Any, categorical: Sequence[str | int], like: Table) -> Table:
    """The rows to stop early by: a pair of table and labels, or the last of several pairs."""
    pair = eval_set if isinstance(eval_set, tuple) else eval_set[-1] if len(eval_set) else None
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ParameterError("eval_set must be a pair (X, y), or a list of such pairs.")
    if isinstance(pair[0], Table):
        return Table.of(*pair)
    return Table.of(*pair, categorical=categorical, absent=absent_of(like))


def seed_of(random_state: Any) -> int:
    """An integer for what scikit-learn takes as a source of random numbers; None is 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
