"""The plan of a federation that a user wrote as options."""

from typing import Any

from hedgerow.agreement.options import Federation, Horizontal, Lattice, NoPrivacy, Paillier, SecureAggregation, Vertical
from hedgerow.agreement.plan import Align, Goal, Member, Plan
from hedgerow.trees.params import TreeParams


def federated_plan(
    who: tuple[Member, ...],
    federation: Federation,
    goal: Goal,
    params: TreeParams,
    notes: list[str],
    name: str = "fit",
    active: str = "",
    align: Align = "given",
) -> Plan:
    """The plan of a simulation; two parties are allowed whatever is hidden, and it is said what that means."""
    if isinstance(federation, Vertical):
        chosen: dict[str, Any] = {"local_trees": federation.local_trees, "party_share": federation.party_share}
        chosen["hidden_rows"] = federation.hidden_rows
        chosen |= ciphered(federation.privacy)
        return Plan(name, who, goal, params, method="vertical", active=active, align=align, **chosen)
    if not isinstance(federation, Horizontal):
        notes.append("Whole trees of each party are shared, with sums over its own rows in their leaves.")
        few = federation.allow_few_columns
        return Plan(name, who, goal, params, method=federation.order, protection="plain", allow_few_columns=few)
    two = not isinstance(federation.privacy, NoPrivacy) and max(1, round(federation.party_share * len(who))) == 2
    if two:
        one = federation.opener or "each"
        notes.append(f"With two parties, {one} can subtract its own sums from the total and so learns the other's.")
    return Plan(
        name,
        who,
        goal,
        params,
        cut_points=federation.cut_points,
        columns=federation.columns,
        allow_few_columns=federation.allow_few_columns,
        column_names=federation.column_names,
        party_share=federation.party_share,
        allow_two=two,
        opener=federation.opener,
        **ciphered(federation.privacy),
    )


def ciphered(privacy: SecureAggregation | Lattice | Paillier | NoPrivacy) -> dict[str, Any]:
    """What a plan says of its cipher."""
    if isinstance(privacy, Lattice):
        speed = privacy.link_mbit
        return {"protection": "lattice", "link_mbit": None if speed is None else float(speed)}
    if isinstance(privacy, Paillier):
        return {"protection": "paillier", "key_bits": privacy.bits}
    return {"protection": privacy.protection}
