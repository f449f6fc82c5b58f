"""`fit` and `predict` over several parties' tables, where an estimator has a federation."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.estimators.parameters import tree_params
from hedgerow.model.model import Model
from hedgerow.protocols.session.notify import Tell
from hedgerow.run.simulation.fit import fit_parties
from hedgerow.run.simulation.party_tables import are_parties, parties_of, tables_of
from hedgerow.run.simulation.predict import predict_parties
from hedgerow.run.simulation.score import sealed_scores
from hedgerow.threads import threads_of
from hedgerow.trees.boost import Callback
from hedgerow.trees.losses import LossName


def fit_over_parties(
    parties: Any,
    eval_set: Any,
    own: Mapping[str, Any],
    objective: tuple[LossName | None, float],
    task: Mapping[str, Any],
    *,
    average: bool,
    callbacks: Sequence[Callback],
    notes: list[str],
    tell: Tell,
) -> Model:
    """Train over the parties' tables; `own` are the estimator's parameters, `task` the rest of the goal."""
    tables, vertical = tables_of(parties), isinstance(own["federation"], Vertical)
    widths = [table.n_columns for table in tables.values()]
    few_bits = own["federation"].few_bits and objective[0] is None and not _weighted(tables, task)
    params = tree_params(own, sum(widths) if vertical else min(widths), average, few_bits)
    return fit_parties(
        tables, eval_set, own["federation"], Goal(*objective, **task), params,
        notes=notes, threads=threads_of(own["n_jobs"]), callbacks=callbacks, tell=tell,
    )  # fmt: skip


def leaves_over_parties(model: Model, parties: Any) -> NDArray[np.int32]:
    """Where the active party's rows end in every tree."""
    return predict_parties(model, parties_of(parties))


def sealed_over_parties(model: Model, parties: Any, n_jobs: int | None) -> NDArray[np.float32]:
    """Raw scores of the active party's rows, by sealed prediction."""
    if not are_parties(parties):
        raise ParameterError("Only the parties of a vertical model predict sealed; give a mapping of their tables.")
    return sealed_scores(model, parties_of(parties), threads=threads_of(n_jobs))


def _weighted(tables: Mapping[str, Table], task: Mapping[str, Any]) -> bool:
    """Whether rows of different classes, or rows at all, do not weigh the same."""
    return task.get("scale_pos_weight", 1.0) != 1 or any(table.weights is not None for table in tables.values())
