"""Who takes part in a round of trees: a function of the plan, the round and who is present, known to everybody."""

from collections.abc import Sequence

import numpy as np

from hedgerow import _native
from hedgerow.agreement.options import FEWEST_MASKED
from hedgerow.agreement.plan import Plan

PARTIES = 5
"""The stream of draws that chooses parties; `trees.sampling` and `data.partition` have the others."""


def drawn(plan: Plan, round_: int, present: Sequence[int], everyone: Sequence[int] | None = None) -> tuple[int, ...]:
    """The parties whose rows a round is grown from, by a hash of the seed and the round: everyone knows them.

    They are drawn among `everyone` (all parties of the plan, unless said), whoever is present. So a round that has lost
    one of them is still that of the others, also in another attempt; only where these are too few others join them.
    """
    everyone = range(len(plan.members)) if everyone is None else everyone
    n = plan.drawn(len(everyone))
    if n == len(everyone):
        return tuple(present)
    numbers = np.array(everyone, np.uint64)
    order = np.argsort(_native.draws(numbers, plan.params.random_state, (PARTIES << 60) | round_), kind="stable")
    first = [everyone[i] for i in order[:n] if everyone[i] in present]
    others = [everyone[i] for i in order[n:] if everyone[i] in present]
    least = min(n, FEWEST_MASKED) if plan.only_sums else 1
    return tuple(sorted(first + others[: max(0, least - len(first))]))


def asked(plan: Plan, round_: int, present: Sequence[str]) -> tuple[str, ...]:
    """The passive parties among these whose columns a vertical round may cut; the active party's always are.

    None in the first `local_trees` rounds; later those that are drawn.
    """
    if round_ < plan.vertical.local_trees:
        return ()
    passive = [number for number, name in enumerate(plan.names) if name != plan.active]
    here = [number for number in passive if plan.names[number] in present]
    return tuple(plan.names[number] for number in drawn(plan, round_, here, passive))


def enough(plan: Plan, left: int) -> bool:
    """Whether a run may go on with so many parties: where only sums are opened, three of them take part in a tree."""
    return left == len(plan.members) or (left > 0 and plan.drawn(left) >= (FEWEST_MASKED if plan.only_sums else 1))
