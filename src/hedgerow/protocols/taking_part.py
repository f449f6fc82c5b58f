"""Who takes part in a round of trees: a function of the plan, the round and who is present, known to everybody."""

from collections.abc import Sequence

import numpy as np

from hedgerow import _native
from hedgerow.plan import Plan

PARTIES = 5
"""The stream of draws that chooses parties; `trees.sampling` and `data.partition` have the others."""


def drawn(plan: Plan, round_: int, present: Sequence[int]) -> tuple[int, ...]:
    """The parties whose rows a round is grown from, by a hash of the seed and the round: everyone knows them."""
    n = plan.drawn(len(present))
    if n == len(present):
        return tuple(present)
    numbers = np.array(present, np.uint64)
    order = np.argsort(_native.draws(numbers, plan.params.random_state, (PARTIES << 60) | round_), kind="stable")
    return tuple(sorted(int(numbers[i]) for i in order[:n]))


def asked(plan: Plan, round_: int, present: Sequence[str]) -> tuple[str, ...]:
    """The passive parties among these whose columns a vertical round may cut; the active party's always are.

    None in the first `local_trees` rounds; later those that are drawn.
    """
    if round_ < plan.local_trees:
        return ()
    numbers = [number for number, name in enumerate(plan.names) if name in present and name != plan.active]
    return tuple(plan.names[number] for number in drawn(plan, round_, numbers)) if numbers else ()
