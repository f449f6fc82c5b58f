"""Who takes part in a round of trees: a function of the plan, the round and who is present, known to everybody.

Here, too, is what a party holds the driver to: the parties that it may be summed with.
"""

from collections.abc import Sequence

import numpy as np

from hedgerow import _native
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.messages import AskHistograms, AskLeafSums, FinishRound
from hedgerow.plan import FEWEST_MASKED, Plan
from hedgerow.protocols.followed import Followed

Stepping = AskHistograms | AskLeafSums | FinishRound
"""The steps of a round."""

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
    if round_ < plan.local_trees:
        return ()
    passive = [number for number, name in enumerate(plan.names) if name != plan.active]
    here = [number for number in passive if plan.names[number] in present]
    return tuple(plan.names[number] for number in drawn(plan, round_, here, passive))


def remaining(
    plan: Plan, request: Stepping, now: Followed, alive: tuple[int, ...], round_set: tuple[int, ...], own: int
) -> tuple[int, ...]:
    """Of those alive, who remains once party `own` has answered; a request for a set that may not be summed is refused.

    A tree has one set (`round_set`): the round's draw among those that remain. Who is out stays out.
    """
    parties = request.parties
    if not isinstance(request, FinishRound) and request.level > 0:
        if parties != round_set:
            raise PrivacyError("The driver asks for sums of one tree over two sets of parties; this party stops.")
        return alive
    expected = _expected(plan, request, now, alive, round_set)
    if parties != expected:
        if not (plan.on_loss == "continue" and parties and set(parties) < set(expected)):
            raise ProtocolError("A sum was asked for over parties that are not as the plan says.")
        if own in expected and own not in parties:
            raise PrivacyError("The driver speaks to this party as if it were lost; this party stops.")
        gone = set(expected) - set(parties)
        alive = tuple(p for p in alive if p not in gone)
    if not enough(plan, len(alive)):
        raise PrivacyError(f"Only {len(alive)} parties are left, too few to hide among; this party stops.")
    return alive


def _expected(
    plan: Plan, request: Stepping, now: Followed, alive: tuple[int, ...], round_set: tuple[int, ...]
) -> tuple[int, ...]:
    """Whom the end of a round, or its first step, must be for if nobody more is lost."""
    if isinstance(request, FinishRound):
        return alive
    if not 0 <= request.round <= plan.params.n_estimators:
        raise ProtocolError("The driver asks for a round that is not among those of the plan.")
    again = not now.finished and now.level == 1 and request.round == now.round
    return round_set if again and plan.on_loss == "continue" else drawn(plan, request.round, alive)


def enough(plan: Plan, left: int) -> bool:
    """Whether a run may go on with so many parties: where only sums are opened, three of them take part in a tree."""
    return left == len(plan.members) or (left > 0 and plan.drawn(left) >= (FEWEST_MASKED if plan.only_sums else 1))
