"""What the active party keeps of sealed predictions, if it wants to be able to show an auditor what it sealed."""

from dataclasses import dataclass
from typing import Protocol

import msgspec

from hedgerow.corridor.messages import AskScores, Key


class SessionHead(msgspec.Struct, frozen=True, array_like=True, tag="session"):
    """What all requests of a session have in common."""

    plan: bytes
    """The text that all parties agreed to."""
    certificate: bytes
    """The active party's."""
    session: bytes
    keys: tuple[Key, ...]
    """Those of the parties that are asked."""
    public_key: bytes

    @property
    def names(self) -> tuple[str, ...]:
        """The parties that are asked."""
        return tuple(key.name for key in self.keys)


class KeepsOpenings(Protocol):
    """Where the active party keeps openings; what is kept of a session is safe when each call returns."""

    def begin(self, head: SessionHead) -> None:
        """A session has begun."""

    def keep(self, party: str, request: AskScores) -> None:
        """A request is about to leave."""

    def end(self, key: bytes) -> None:
        """The session is over, and this is its secret key; more than once is once."""


@dataclass(frozen=True, eq=False)
class SessionOpening:
    """A session as the active party opens it for an auditor."""

    head: SessionHead
    requests: tuple[tuple[str, AskScores], ...]
    """By party, in the order in which they left."""
    key: bytes
    """The secret key."""
