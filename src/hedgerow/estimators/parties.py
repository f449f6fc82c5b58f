"""`fit` over several parties' tables, where an estimator has a federation."""

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.agreement.active_parties import Bagged
from hedgerow.agreement.options import Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.data.table import Table
from hedgerow.estimators.parameters import tree_params
from hedgerow.model.bag import Bag
from hedgerow.model.model import Model
from hedgerow.protocols.session.notify import Tell
from hedgerow.run.simulation.fit import fit_parties
from hedgerow.run.simulation.party_tables import tables_of
from hedgerow.run.simulation.several_active import fit_bag
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
) -> Model | Bag:
    """Train over the parties' tables; `own` are the estimator's parameters, `task` the rest of the goal."""
    tables, federation = tables_of(parties), own["federation"]
    one = federation.hybrid if isinstance(federation, Bagged) else federation
    vertical, widths = isinstance(one, Vertical), [table.n_columns for table in tables.values()]
    few_bits = one.few_bits and objective[0] is None and not _weighted(tables, task)
    params = tree_params({**own, "federation": one}, sum(widths) if vertical else min(widths), average, few_bits)
    fit: Any = fit_bag if isinstance(federation, Bagged) else fit_parties
    trained: Model | Bag = fit(
        tables, eval_set, federation, Goal(*objective, **task), params,
        notes=notes, threads=threads_of(own["n_jobs"]), callbacks=callbacks, tell=tell,
    )  # fmt: skip
    return trained


def _weighted(tables: Mapping[str, Table], task: Mapping[str, Any]) -> bool:
    """Whether rows of different classes, or rows at all, do not weigh the same."""
    return task.get("scale_pos_weight", 1.0) != 1 or any(table.weights is not None for table in tables.values())
