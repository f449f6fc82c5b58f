"""What a party holds the driver to: the parties that it may be summed with."""

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskHistograms, AskLeafSums, FinishRound
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.protocols.session.participants import drawn, enough
from hedgerow.protocols.told_trees import ToldTrees

Stepping = AskHistograms | AskLeafSums | FinishRound
"""The steps of a round."""


def remaining(
    plan: Plan, request: Stepping, now: ToldTrees, alive: tuple[int, ...], round_set: tuple[int, ...], own: int
) -> tuple[int, ...]:
    """Of those alive, who remains once party `own` has answered the first step of a round, or its end.

    A request for a set that may not be summed is refused. A tree has one set (`round_set`): the round's draw among
    those that remain. Who is out stays out.
    """
    parties = request.parties
    expected = _expected(plan, request, now, alive, round_set)
    if parties != expected:
        if not (plan.goes_on and parties and set(parties) < set(expected)):
            raise ProtocolError("A sum was asked for over parties that are not as the plan says.")
        if own in expected and own not in parties:
            raise PrivacyError("The driver speaks to this party as if it were lost; this party stops.")
        gone = set(expected) - set(parties)
        alive = tuple(p for p in alive if p not in gone)
    if not enough(plan, len(alive)):
        raise PrivacyError(f"Only {len(alive)} parties are left, too few to hide among; this party stops.")
    return alive


def _expected(
    plan: Plan, request: Stepping, now: ToldTrees, alive: tuple[int, ...], round_set: tuple[int, ...]
) -> tuple[int, ...]:
    """Whom the end of a round, or its first step, must be for if nobody more is lost."""
    if isinstance(request, FinishRound):
        return alive
    if not 0 <= request.round <= plan.params.n_estimators:
        raise ProtocolError("The driver asks for a round that is not among those of the plan.")
    again = not now.finished and now.level == 1 and request.round == now.round
    return round_set if again and plan.goes_on else drawn(plan, request.round, alive)
