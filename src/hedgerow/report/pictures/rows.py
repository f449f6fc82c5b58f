"""What a picture is of: a model or a fitted estimator, and labelled rows or what was counted of them."""

from collections.abc import Sequence
from typing import Any, Protocol

from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.bag import Bag
from hedgerow.model.model import Model
from hedgerow.model.own_quality import judge
from hedgerow.model.score_counts import LEAST_ROWS, Judged, ScoreCounts


class Fitted(Protocol):
    """A fitted estimator."""

    model_: Any


Rows = Table | tuple[Any, Any] | Judged
"""Labelled rows: a table, or values and labels; or what was counted of them."""


def model_of(model: Model | Fitted) -> Model:
    """The model, or the one that an estimator has fitted."""
    found = model if isinstance(model, Model) else getattr(model, "model_", None)
    if isinstance(found, Bag):
        name = next(iter(found.models))
        raise ParameterError(f"A bag has a model of each active party; draw one, like model_.models[{name!r}].")
    if not isinstance(found, Model):
        raise ParameterError(f"A picture is of a Model or a fitted estimator, not of a {type(model).__name__}.")
    return found


def table_of(model: Model, data: Any) -> Table:
    """Labelled rows as a table in the model's columns."""
    if not isinstance(data, Table):
        if not isinstance(data, tuple) or len(data) != 2:
            raise ParameterError("Rows are a Table with labels, or a pair of values and labels, like (X, y).")
        data = Table.of(*data, names=None if hasattr(data[0], "columns") else model.names)
    if data.labels is None:
        raise DataError("The rows have no labels to compare predictions with; name the label column.")
    table: Table = data.aligned(model.columns)
    return table


def judged_of(
    model: Model | Fitted | None,
    data: Rows,
    rows: str = "given",
    least_rows: int = LEAST_ROWS,
    threads: int = 1,
) -> Judged:
    """What the model predicts for the rows beside their labels, as counts."""
    if isinstance(data, Judged):
        return data
    if model is None:
        raise ParameterError("Curves of rows need the model that predicts them; give it.")
    known = model_of(model)
    return judge(known, table_of(known, data), rows, threads, least_rows)


def curves_of(told: Judged, what: str) -> Sequence[ScoreCounts]:
    """The classes' curves; refuses rows that have none."""
    if not told.scores:
        why = "numbers have none" if not told.classes else f"there are {len(told.classes)} classes, too many"
        raise ParameterError(f"{what} are of classes: {why}.")
    return told.scores
