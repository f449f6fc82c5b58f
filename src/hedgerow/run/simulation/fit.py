"""`fit` over several parties' tables: what the estimators do where they have a federation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hedgerow.agreement.options import Federation, Hybrid, Vertical
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.agreement.private_params import settled_params
from hedgerow.errors import ParameterError
from hedgerow.model.model import Model
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.party_tables import alike, settled, tables_of, unused_labels
from hedgerow.run.simulation.simulate import simulate
from hedgerow.trees.boost import Callback
from hedgerow.trees.params import TreeParams


def fit_parties(
    parties: Any,
    eval_set: Any,
    federation: Federation,
    goal: Goal,
    params: TreeParams,
    *,
    notes: list[str],
    threads: int = 1,
    callbacks: Sequence[Callback] = (),
    tell: Tell = silent,
) -> Model:
    """Train over the parties' tables, all in this process."""
    tables = tables_of(parties)
    valid = {} if eval_set is None else tables_of(eval_set)
    strange = sorted(set(valid) - set(tables))
    if strange:
        raise ParameterError(f"eval_set names {strange[0]!r}, which is not a party.")
    if goal.early_stopping_rounds is not None and not valid:
        raise ParameterError("early_stopping_rounds needs held-out rows; give some as eval_set.")
    who, identities = members(list(tables))
    goal = replace(goal, follow=any(table.n_rows for table in valid.values()))
    notes += federation.warnings(len(who))
    method = settled(federation, tables, valid)
    if isinstance(method, Vertical):
        params = settled_params(method.dp, params)
        method = method.scheduled(params.max_depth)
    if isinstance(method, Hybrid):
        method = method.sharing(alike(method.active, tables))
        notes += unused_labels(method.active, tables)
    plan = Plan("fit", who, goal, params, method)
    simulation = Simulation(tables, valid, threads, callbacks, identities=identities, notes=notes, tell=tell)
    model, _ = simulate(plan, simulation)
    return model
