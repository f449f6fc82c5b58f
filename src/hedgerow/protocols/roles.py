"""What a party is in a run, by the method of its plan; nothing is said here."""

from collections.abc import Callable, Mapping

from hedgerow.agreement.options import Horizontal, Hybrid, Method, Vertical, WholeTrees
from hedgerow.agreement.plan import Plan
from hedgerow.protocols.horizontal.batch import Pending
from hedgerow.protocols.horizontal.party import HorizontalParty
from hedgerow.protocols.hybrid.party import HybridParty
from hedgerow.protocols.noised.ways import party_of
from hedgerow.protocols.opener.party import OpenerParty
from hedgerow.protocols.session.owner import PartyContext
from hedgerow.protocols.session.shell import Role
from hedgerow.protocols.vertical.party import VerticalParty
from hedgerow.protocols.whole_trees import WholeTreesParty

ROLES: Mapping[type[Method], Callable[[PartyContext], Role[Pending]]] = {
    Horizontal: HorizontalParty,
    WholeTrees: WholeTreesParty,
    Vertical: VerticalParty,
    Hybrid: HybridParty,
}
"""What a party is in a run of each method, where nobody opens sums for the others."""


def role_of(plan: Plan) -> Callable[[PartyContext], Role[Pending]]:
    """What a party is in a run of this plan."""
    if plan.method.dp is not None and isinstance(plan.method, Horizontal):
        return party_of(plan.method.dp)
    return OpenerParty if plan.opener else ROLES[type(plan.method)]
