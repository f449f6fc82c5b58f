"""A hybrid run over tables that all lie here, without its encryption, and what it predicts for test rows."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Hybrid, NoPrivacy
from hedgerow.agreement.plan import Goal, Plan
from hedgerow.data.hybrid_partition import HybridTables
from hedgerow.data.table import Table
from hedgerow.run.file.hybrid_tables import by_party, joined
from hedgerow.run.simulation.parties import Simulation, members
from hedgerow.run.simulation.party_tables import alike
from hedgerow.run.simulation.simulate import simulate
from hedgerow.trees.params import TreeParams

ACTIVE = "active"


def hybrid_scores(
    training: HybridTables, test: HybridTables, wanted: Hybrid, goal: Goal, params: TreeParams, threads: int = 1
) -> tuple[NDArray[np.float32], Table]:
    """Raw scores of the active party's test rows (rows x trees of a round), and these rows with everybody's columns."""
    active = ACTIVE + "_" * (ACTIVE in training.passive)
    agreed = wanted.scheduled(params.max_depth).sharing(alike(active, training.passive))
    privacy = NoPrivacy(i_accept_disclosure=True)
    method = msgspec.structs.replace(agreed, privacy=privacy, active=active, align="given", allow_two=True)
    groups = method.groups(list(training.passive))
    tables, rows = (by_party(made, active, groups, []) for made in (training, test))
    who, identities = members(list(tables))
    plan = Plan("baseline", who, goal, params, method)
    model, _ = simulate(plan, Simulation(tables, threads=threads, identities=identities))
    joint = joined(rows, active, groups).aligned(model.columns)
    return model.scores(joint, threads), joint
