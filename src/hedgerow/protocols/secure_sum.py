"""Sums over all parties, of which nobody sees a part.

    driver                            party (each)
    any request     ------------->    own words + pads shared with every other party of the request
                    <-------------    MaskedSums
    adds the words of all: the pads cancel

Sees in the clear.  Driver: the sum over the parties named in the request, and nothing if one part is missing.
                    Party: its own words.  Nobody: another party's words (of two parties, each learns the other's).

Pads are keyed by the secret of the pair and a hash of everything the driver has said so far, the request included:
parties that were told different things have pads that do not cancel, and no pad is used for two requests.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Answer, MaskedSums, PlainSums, Request
from hedgerow.corridor.wire import MOST_SMALL, Corridor, sized
from hedgerow.errors import PartyLost, PrivacyError, ProtocolError
from hedgerow.privacy import masks
from hedgerow.protocols.session.participants import enough

ROOM = 4096
"""Bytes an answer may have beside its words."""


class PartyGroup:
    """The driver's side: all parties that take part, asked together."""

    def __init__(self, corridor: Corridor, plan: Plan, present: Sequence[str], deadline: float) -> None:
        self.corridor, self.plan, self.present, self.deadline = corridor, plan, tuple(present), deadline
        self.lost: list[frozenset[str]] = []
        """Those the run went on without, in order."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Who is present, by number in the plan."""
        return tuple(i for i, name in enumerate(self.plan.names) if name in self.present)

    def tell(self, request: Request, most_bytes: int = MOST_SMALL) -> dict[str, Answer]:
        """Everyone's answer to the same request; a party that does not answer is lost."""
        return self.ask_each(dict.fromkeys(self.present, request), most_bytes)

    def ask_each(self, requests: Mapping[str, Request], most_bytes: int = MOST_SMALL) -> dict[str, Answer]:
        """Each party's answer to its own request; the others do not hear it. Who does not answer is lost."""
        answers, loss = self._asked(requests, most_bytes)
        if loss is not None:
            raise loss
        return answers

    def _asked(self, requests: Mapping[str, Request], most_bytes: int) -> tuple[dict[str, Answer], PartyLost | None]:
        """The answers that came, and the loss of those that did not; a party that refuses ends the run."""
        answers, missing = self.corridor.ask(requests, self.deadline, most_bytes)
        if not missing:
            return {party: answers[party] for party in requests}, None
        reasons, refused = self.corridor.transport.reasons, sorted(self.corridor.transport.refusals)
        if refused:
            raise ProtocolError(f"Party {refused[0]!r} refuses to go on: {reasons[refused[0]]}")
        why = " ".join(reasons[p] for p in sorted(missing) if p in reasons)
        names = ", ".join(map(repr, sorted(missing)))
        return answers, PartyLost(f"No answer from {names}. {why}".strip(), missing)

    def opened_sum(self, request: Request, n_words: int, parties: Sequence[int]) -> NDArray[np.int64]:
        """The sum of these parties' words; the others hear the request too, and say nothing.

        What becomes known here: the sum. If a part is missing, nothing. Where the run goes on after a loss, that of a
        party whose part was not asked for does not keep the sum closed: asking again would open it for two sets.
        """
        answers, names = self.answers(request, 8 * n_words + ROOM, parties), self.plan.names
        if self.plan.protection == "plain":
            return np.asarray(sum(_words(answers[names[i]], PlainSums, "words", n_words, names[i]) for i in parties))
        return masks.unmasked_sum(
            [_words(answers[names[i]], MaskedSums, "masked_words", n_words, names[i]) for i in parties]
        )

    def answers(self, request: Request, most_bytes: int, parties: Sequence[int]) -> dict[str, Answer]:
        """Everyone's answer, these parties' at least; the others' loss is no harm where the run goes on after one."""
        answers, loss = self._asked(dict.fromkeys(self.present, request), most_bytes)
        if loss is not None:
            if loss.parties & {self.plan.names[i] for i in parties} or not self.goes_on(loss):
                raise loss
            self.lose(loss.parties)
        return answers

    def goes_on(self, loss: PartyLost) -> bool:
        """Whether the run goes on without the lost parties: by consent of all, and only if they are really gone.

        Without the opener of sealed sums it never does.
        The part of a party that is merely late could still arrive, and the same sum then be opened for two sets.
        """
        needed = self.corridor.transport.here() | {self.plan.opener}
        return self.plan.on_loss == "continue" and not loss.parties & needed

    def lose(self, parties: frozenset[str]) -> None:
        """Go on without these; too few left is an error."""
        plan, left = self.plan, tuple(p for p in self.present if p not in parties)
        if not enough(plan, len(left)):
            fewest = next(n for n in range(1, len(plan.members) + 1) if enough(plan, n))
            raise PartyLost(
                f"{', '.join(map(repr, sorted(parties)))} is lost and only {len(left)} parties remain; "
                f"at least {fewest} must. Resume the run when it is back.",
                parties,
            )
        self.present = left
        self.lost.append(parties)


def _words(answer: Answer, kind: type[Answer], field: str, n_words: int, name: str) -> NDArray[Any]:
    if not isinstance(answer, kind):
        raise ProtocolError(f"Party {name!r} answered {type(answer).__name__} where {kind.__name__} was asked for.")
    return sized(getattr(answer, field), n_words, "words")


def given(own: Sequence[tuple[NDArray[np.int64], masks.Pads | None]], threads: int) -> list[Answer]:
    """The words of each party as they leave it: masked in place, or plain where it has no pads."""
    masked = iter(masks.mask([(words, pads) for words, pads in own if pads is not None], threads))
    return [PlainSums(words.reshape(-1)) if pads is None else MaskedSums(next(masked)) for words, pads in own]


class SumRules(NamedTuple):
    """A party's side: whom it may be summed with."""

    plan: Plan
    own_number: int
    introduced: tuple[int, ...]
    fewest: int
    """Parties that a sum must be over, by the plan and the owner's policy."""

    def check(self, parties: Sequence[int]) -> None:
        """Refuse a sum over too few parties, or over others than were introduced."""
        if self.own_number not in parties or len(set(parties)) != len(parties):
            raise ProtocolError("A sum was asked for over parties that are not as the plan says.")
        if self.plan.protection == "plain":
            return
        if len(parties) < self.fewest:
            raise PrivacyError(
                f"A sum over {len(parties)} parties would show one party's part; at least {self.fewest} must take part."
            )
        if any(p not in self.introduced for p in parties):
            raise PrivacyError("A sum was asked for with a party that was never introduced.")
