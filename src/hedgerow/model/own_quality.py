"""How good a model is on rows that lie here, for whoever has them: counts of its scores, and its learning curve.

Nobody is asked or told. What is kept of it has no row (`score_counts`), but says how many rows of each class have about
which score: it belongs to whoever has the rows.
"""

from typing import Any

import numpy as np

from hedgerow.data.table import Table
from hedgerow.errors import DataError
from hedgerow.model import quality
from hedgerow.model.learning_curve import learning_curve
from hedgerow.model.model import Model, class_numbers
from hedgerow.model.score_counts import LEAST_ROWS, Judged, judged

MOST_FOLLOWED = 20_000
"""Rows of which a learning curve is made, evenly from the table."""


def judge(model: Model, table: Table, rows: str, threads: int = 1, least_rows: int = LEAST_ROWS) -> Judged:
    """What the model predicts for labelled rows, beside their labels."""
    return judge_predicted(model, table, model.predict(table.aligned(model.columns), threads), rows, least_rows)


def judge_predicted(model: Model, table: Table, predicted: Any, rows: str, least_rows: int = LEAST_ROWS) -> Judged:
    """The same of what is predicted already."""
    labels = numbers_of(model, table)
    metrics = quality.allowed(labels, predicted, table.weights, len(model.classes))
    return judged(labels, predicted, table.weights, model.classes, rows=rows, metrics=metrics, least_rows=least_rows)


def numbers_of(model: Model, table: Table) -> Any:
    """Labels as numbers: places among the classes, or as they are."""
    if table.labels is None:
        raise DataError("The rows have no labels to compare predictions with; name the label column.")
    labels = np.asarray(table.labels)
    if model.classes:
        return class_numbers(labels, model.classes)
    if labels.dtype.kind not in "iuf":
        raise DataError("The labels are text, where the model predicts numbers; name another label column.")
    return labels


def followed(model: Model, table: Table, threads: int = 1) -> tuple[float, ...]:
    """The metric after each round, on some of the rows where they are very many."""
    if table.n_rows > MOST_FOLLOWED:
        table = table.take(np.linspace(0, table.n_rows - 1, MOST_FOLLOWED).astype(np.int64))
    return learning_curve(model, table, threads)[1]
