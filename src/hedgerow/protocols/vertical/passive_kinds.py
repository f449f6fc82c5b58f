"""What answers about nodes in a passive party: by whether nodes are told to it, hidden from it, or cut by draws."""

from hedgerow.agreement.plan import Plan
from hedgerow.protocols.vertical.drawn_passive import DrawnPassiveRows
from hedgerow.protocols.vertical.hidden_passive import HiddenPassiveRows
from hedgerow.protocols.vertical.passive_rows import Giving as Giving
from hedgerow.protocols.vertical.passive_rows import PassiveRows
from hedgerow.protocols.vertical.passive_run import PassiveRun

Answers = PassiveRows | HiddenPassiveRows


def answers_of(plan: Plan, run: PassiveRun) -> Answers:
    """As the plan says."""
    if plan.method.hidden_rows:
        return HiddenPassiveRows(run)
    return (DrawnPassiveRows if plan.method.draws_cuts else PassiveRows)(run)
