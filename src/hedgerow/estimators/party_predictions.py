"""Predictions over several parties' tables, where an estimator was fitted by a federation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.model.bag import Bag
from hedgerow.model.model import Model
from hedgerow.run.simulation.party_tables import are_parties, parties_of
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
