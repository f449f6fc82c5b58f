"""Predictions over several parties' tables, where an estimator was fitted by a federation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.bag import Bag
from hedgerow.model.model import Model
from hedgerow.run.simulation.party_tables import are_parties, parties_of, tables_of
from hedgerow.run.simulation.predict import predict_parties
from hedgerow.run.simulation.predict_several import predict_each
from hedgerow.run.simulation.score import sealed_scores
from hedgerow.threads import threads_of


def leaves_over_parties(model: Model, parties: Any) -> NDArray[np.int32]:
    """Where the active party's rows end in every tree."""
    return predict_parties(model, parties_of(parties))


def sealed_over_parties(model: Model, parties: Any, n_jobs: int | None) -> NDArray[np.float32]:
    """Raw scores of the active party's rows, by sealed prediction."""
    if not are_parties(parties):
        raise ParameterError("Only the parties of a vertical model predict sealed; give a mapping of their tables.")
    return sealed_scores(model, parties_of(parties), threads=threads_of(n_jobs))


def each_over_parties(bag: Bag, X: Any, sealed: bool) -> list[NDArray[np.float64]] | None:
    """What each model of several active parties predicts for the rows of one; None: X is one table."""
    if sealed:
        raise ParameterError(
            "Sealed prediction is of one model, and several active parties have several; leave out sealed."
        )
    return predict_each(bag, parties_of(X)) if are_parties(X) else None


def each_in_turn(model: Model, X: Any) -> list[Table]:
    """The tables whose rows are predicted one after the other: all parties', if they have the same columns."""
    tables = list(tables_of(X).values()) if are_parties(X) and model.ownership is None else []
    return tables if all(set(model.names) <= set(table.names) for table in tables) else []


def labels_in(model: Model, X: Any) -> NDArray[Any]:
    """The labels of the rows that are predicted: the active party's, or all parties' in turn, or the table's."""
    if isinstance(X, Table):
        found = [X.labels]
    elif isinstance(X, Mapping) or are_parties(X):
        tables = tables_of(X)
        found = [t.labels for t in tables.values()] if model.ownership is None else [_active(model, tables)]
    else:
        raise DataError("There are no labels to compare with; give y, or tables that have their labels.")
    if any(part is None for part in found):
        raise DataError("A table lacks the labels that predictions are compared with; give them to it.")
    return np.concatenate([part for part in found if part is not None])


def _active(model: Model, tables: Mapping[str, Table]) -> NDArray[Any] | None:
    active = None if model.ownership is None else model.ownership.active
    return tables[active].labels if active is not None and active in tables else None
