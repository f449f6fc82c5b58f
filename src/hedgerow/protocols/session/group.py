"""All parties of a run that take part, asked together: the driver's side of every conversation.

Sees in the clear.  Whatever the parties answer; what that is, each conversation says.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar, cast

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Answer, Request
from hedgerow.corridor.wire import MOST_SMALL, Corridor, RequestsInTurn
from hedgerow.errors import CipherError, ParameterError, PartyLost, ProtocolError
from hedgerow.protocols.session.participants import enough

ROOM = 4096
"""Bytes an answer may have beside its words."""

A = TypeVar("A", bound=Answer)
Kind = type[A] | tuple[type[A], ...]


def expected(answer: Answer, kind: Kind[A], party: str) -> A:
    """The answer of a party, if it is of the very kind that was asked for, or of one of them; `Answer`: of any."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if type(answer) not in kinds and Answer not in kinds:
        wanted = " or ".join(one.__name__ for one in kinds)
        raise ProtocolError(f"Party {party!r} answered {type(answer).__name__} where {wanted} was asked for.")
    return cast(A, answer)


@contextmanager
def answer_of(party: str) -> Iterator[None]:
    """What is wrong with a sealed answer is said with the name of the party that gave it."""
    try:
        yield
    except (CipherError, ParameterError) as error:
        raise CipherError(f"Party {party!r} answered what cannot be used. {error}") from None


class PartyGroup:
    """The parties that are present; one that does not answer is lost."""

    def __init__(self, corridor: Corridor, plan: Plan, present: Sequence[str], deadline: float) -> None:
        self.corridor, self.plan, self.present, self.deadline = corridor, plan, tuple(present), deadline
        self.lost: list[frozenset[str]] = []
        """Those the run went on without, in order."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Who is present, by number in the plan."""
        return tuple(i for i, name in enumerate(self.plan.names) if name in self.present)

    def tell(self, request: Request, expect: Kind[A], most_bytes: int = MOST_SMALL) -> dict[str, A]:
        """Everyone's answer to the same request, of the kind that is expected."""
        return self.ask(dict.fromkeys(self.present, request), expect, most_bytes)

    def ask(self, requests: Mapping[str, Request], expect: Kind[A], most_bytes: int = MOST_SMALL) -> dict[str, A]:
        """Each party's answer to its own request, of the kind that is expected; the others do not hear it."""
        answers, loss = self._asked(requests, most_bytes)
        if loss is not None:
            raise loss
        return {party: expected(answers[party], expect, party) for party in requests}

    def ask_in_turn(
        self, requests: Mapping[str, Callable[[], Request]], expect: Kind[A], most_bytes: int = MOST_SMALL
    ) -> dict[str, A]:
        """As `ask`, but each request is made when the one before was sent; making it again must change nothing."""
        return self.ask(RequestsInTurn(requests), expect, most_bytes)

    def answers(self, request: Request, most_bytes: int, parties: Sequence[int]) -> dict[str, Answer]:
        """Everyone's answer, these parties' at least; the others' loss is no harm where the run goes on after one."""
        answers, loss = self._asked(dict.fromkeys(self.present, request), most_bytes)
        if loss is not None:
            if loss.parties & {self.plan.names[i] for i in parties} or not self.goes_on(loss):
                raise loss
            self.lose(loss.parties)
        return answers

    def _asked(self, requests: Mapping[str, Request], most_bytes: int) -> tuple[dict[str, Answer], PartyLost | None]:
        """The answers that came, and the loss of those that did not; a party that refuses ends the run."""
        answers, missing = self.corridor.ask(requests, self.deadline, most_bytes)
        if not missing:
            return answers, None
        reasons, refused = self.corridor.transport.reasons, sorted(self.corridor.transport.refusals)
        if refused:
            raise ProtocolError(f"Party {refused[0]!r} refuses to go on: {reasons[refused[0]]}")
        why = " ".join(reasons[p] for p in sorted(missing) if p in reasons)
        names = ", ".join(map(repr, sorted(missing)))
        return answers, PartyLost(f"No answer from {names}. {why}".strip(), missing)

    def goes_on(self, loss: PartyLost) -> bool:
        """Whether the run goes on without the lost parties: by consent of all, and only if they are really gone.

        Without the opener of sealed sums it never does.
        The part of a party that is merely late could still arrive, and the same sum then be opened for two sets.
        """
        needed = self.corridor.transport.here() | {self.plan.opener}
        return self.plan.goes_on and not loss.parties & needed

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
