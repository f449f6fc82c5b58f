"""The active party's way from everybody's columns to the finished model.

Sees in the clear.  Its own table, and what the folder says.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from hedgerow.corridor.messages import Done, KeepPart
from hedgerow.model.model import Model, Ownership
from hedgerow.model.prepare import growth_of
from hedgerow.model.train import Ready
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.state import State
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.given_cuts import planned
from hedgerow.protocols.vertical.leakage_rows import NotedRows, held_rows
from hedgerow.protocols.vertical.noise_on_sums import Noised, to_the_end
from hedgerow.protocols.vertical.rows_kinds import rows_for
from hedgerow.protocols.vertical.schema import columns_of
from hedgerow.protocols.vertical.talk import Talk as Talk
from hedgerow.trees.boost import Callback, Kept, boost


def grow(
    talk: Talk,
    ready: Ready,
    joint: AllColumns,
    state: State,
    callbacks: Sequence[Callback],
    kept: Kept,
    noised: Noised | None = None,
    *,
    commit: Callable[[Model], bytes],
) -> Model:
    """All trees after those of the state; every party has its part of the model when this returns.

    With its part it has a hash of the leaf values (`commit`), which tells nothing of them.

    What was said in attempts before is compared with what is said in this one. What is learnt of bins is noted where
    the state has a place for it.
    """
    group, asks, plan, task, learnt = talk.group, talk.asks, talk.group.plan, ready.task, state.learnt
    before, history = (state.forest, state.history) if state.parts else (None, ())
    done = 0 if before is None else before.n_trees // task.loss.n_trees

    rows, before_values = rows_for(talk, ready, joint, state, done)
    if learnt is not None:
        learnt.follow(joint.grid, held_rows(joint, talk.links, ready.table.n_rows))
    noted = rows if learnt is None else NotedRows(rows, learnt, group.corridor.transport.meanwhile)
    all_rows, params = (noted, plan.params) if noised is None else noised.around(noted, ready, joint)
    scales = ready.rows.settings.scales
    growth = growth_of(joint.grid, params, scales, task.threads)
    grown = boost(
        all_rows,
        replace(planned(growth, plan, joint, asks), subtracts=noised is None or noised.subtracts),
        plan.params,
        scales,
        task.loss.n_trees,
        ready.stopping,
        to_the_end(plan, callbacks),
        start=before,
        resumed=history,
        kept=kept,
        before_values=before_values,
    )
    if noised is not None and noised.after is not None:
        grown = noised.after(talk, ready, joint, grown)
    owned = tuple((o.party, o.last - o.first) for o in joint.owned)
    ownership = Ownership(state.model, plan.active, owned, groups=joint.groups, units=plan.units)
    whole = ready.model(grown, columns_of(joint, ready.columns))
    promise = None if noised is None else noised.promise(joint)
    model = replace(whole, params=plan.params, ownership=ownership, promise=promise)
    _hand_out(group, joint, KeepPart(ownership.model, 0, model.forest.n_trees, commit(model)))
    return model


def _hand_out(group: PartyGroup, joint: AllColumns, keep: KeepPart) -> None:
    every = ((party, o.first) for o in joint.passive() for party in joint.holders(o))
    told = ((party, first) for party, first in every if party in group.present)
    group.ask({party: msgspec.structs.replace(keep, first=first) for party, first in told}, Done)
