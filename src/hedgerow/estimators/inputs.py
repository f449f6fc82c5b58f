"""What users of the estimators pass beside a table, as the training takes it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from hedgerow.data.pieces import PiecedTable
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.model import Model, absent_of

EvalSet = tuple[Any, Any] | Sequence[tuple[Any, Any]]
WHOLE = (Table, PiecedTable)
"""Tables that have their labels, weights and ids with them."""


def table_of(X: Any, y: Any, options: Mapping[str, Any], dp: Any) -> Table:
    """What X and what stands beside it are as a table; one that is read in pieces as it is."""
    if not isinstance(X, PiecedTable):
        return Table.of(X, y if y is None or isinstance(y, str) else column_or_1d(y, warn=True), **options)
    given = [name for name, value in {"y": y, **options}.items() if value is not None and len(value)]
    if given:
        raise ParameterError(f"{given[0]} belongs to what read_in_pieces is told, for a table that is read in pieces.")
    if dp is not None:
        raise ParameterError("dp needs the whole table in memory; read it with read_table.")
    return cast(Table, X)  # one in pieces has all that training asks for


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
