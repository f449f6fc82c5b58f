"""Cuts that a plan gives, so that nobody searches for them: those that a hash draws, and those that deal rows to units.

Nothing is said here.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import DEALING
from hedgerow.agreement.plan import Plan
from hedgerow.protocols.vertical.columns import JOINT, PASSIVE_ONLY, AllColumns, ColumnSpan, levels_of
from hedgerow.protocols.vertical.private_cuts import has_private_model
from hedgerow.protocols.vertical.talk import Asks
from hedgerow.trees.drawn_cuts import DrawnCuts, GivenCuts, GivenLevels, Ints
from hedgerow.trees.grow import Growth
from hedgerow.trees.splits import Nodes
from hedgerow.trees.unit_subtrees import UnitSubtrees


def planned(growth: Growth, plan: Plan, joint: AllColumns, asks: Asks) -> Growth:
    """The same by the plan: which columns may be cut in a round, by which rows, how deep, and where cuts are given."""
    holder = _holder(joint) if plan.units else None

    def among(round_: int) -> NDArray[np.bool_]:
        found = joint.columns_of(asks(round_))
        if holder is not None:
            found[holder] = False
        return found

    sampled = plan.method.passive_rows < 1
    columns = replace(growth.columns, among=among)
    return replace(
        growth,
        columns=columns,
        sampled=sampled,
        given=given_cuts(plan, joint, asks),
        levels=levels_of(plan.schedule),
        dealing=holder,
        max_depth=len(plan.schedule) or growth.max_depth,
    )


def given_cuts(plan: Plan, joint: AllColumns, asks: Asks) -> GivenCuts | None:
    """None where all cuts are searched for."""
    drawn = _drawn(plan, joint, asks) if plan.method.draws_cuts else None
    if not plan.units:
        return drawn
    dealt = UnitSubtrees(_holder(joint), len(plan.units), plan.schedule.index(DEALING))
    spans = np.array([_span(joint, unit) for unit in plan.units])

    def unit_of(nodes: Nodes) -> Ints:
        unit = dealt.unit_of(nodes)
        return np.where(unit >= 0, spans[unit], -1)

    return GivenLevels((dealt,) if drawn is None else (dealt, replace(drawn, unit_of=unit_of)))


def _holder(joint: AllColumns) -> int:
    """The column that says which unit holds a row: the active party's last."""
    return next(owned.last for owned in joint.owned if owned.party == joint.own) - 1


def _span(joint: AllColumns, unit: tuple[str, ...]) -> int:
    """Whose columns a unit has, by their number among the passive parties' columns."""
    return next(i for i, owned in enumerate(joint.passive()) if owned.party in unit)


def _drawn(plan: Plan, joint: AllColumns, asks: Asks) -> DrawnCuts:
    """The cuts of all levels at which only passive columns are cut; of a private model, of all levels and columns."""
    every = has_private_model(plan)
    owners, letters = (joint.owned, JOINT) if every else (joint.passive(), PASSIVE_ONLY)

    def is_open(owned: ColumnSpan, round_: int) -> bool:
        return owned.party == joint.own or any(party in asks(round_) for party in joint.holders(owned))

    return DrawnCuts(
        joint.grid,
        [(owned.first, owned.last) for owned in owners],
        frozenset(depth for depth, letter in enumerate(plan.schedule) if letter in letters),
        plan.params.random_state,
        lambda round_: np.array([is_open(owned, round_) for owned in owners], np.bool_),
    )
