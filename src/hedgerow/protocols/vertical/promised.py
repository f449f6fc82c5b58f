"""What a vertical run with differential privacy promises once it is over; the folder says who sees what.

Nothing is said here.
"""

from collections.abc import Sequence

from hedgerow.agreement.dp_vertical import WORDS, way_of
from hedgerow.agreement.plan import Plan
from hedgerow.privacy.ledger import Budget
from hedgerow.privacy.promise import Promise, nothing_told
from hedgerow.trees.boost import Callback, Round


def budget_of(plan: Plan) -> Budget | None:
    """What the run may cost; None where nothing is promised, or nothing that is seen depends on what is protected."""
    dp = plan.method.dp
    if dp is None or dp.epsilon == 0:
        return None
    return Budget(dp.epsilon, dp.delta, dp.unit, WORDS[way_of(dp)][0])


def promise_of_nothing_told(plan: Plan) -> Promise | None:
    """Where no label is in anything that passive parties are told."""
    dp = plan.method.dp
    return nothing_told(dp.unit, *WORDS["drawn"]) if dp is not None and way_of(dp) == "drawn" else None


def to_the_end(plan: Plan, callbacks: Sequence[Callback]) -> Sequence[Callback]:
    """They are told of every round; where something is promised they cannot end training, which would tell."""
    if plan.method.dp is None:
        return callbacks

    def told(round_: Round) -> None:
        for callback in callbacks:
            callback(round_)

    return (told,)
