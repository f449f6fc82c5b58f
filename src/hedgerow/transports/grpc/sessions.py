"""What the driver knows of each party: the process that was last connected, its stream, and what it was asked."""

import time
from dataclasses import dataclass, field

from hedgerow.errors import ProtocolError
from hedgerow.transports.grpc.envelope import Failed, FromParty, Gathering, Head, Part
from hedgerow.transports.grpc.tls_streams import Caller


@dataclass(eq=False)
class Asked:
    """A request under way: settled by an answer, or by the reason why there is none; `gone` once it was sent whole."""

    sequence: int
    frame: bytes
    sha256: bytes
    most_bytes: int
    answer: bytes | None = None
    reason: str | None = None
    refused: bool = False
    gone: bool = False

    @property
    def settled(self) -> bool:
        """Nothing more is awaited."""
        return self.answer is not None or self.reason is not None


@dataclass(eq=False)
class Link:
    """One stream; `sent` is the last request that was sent over it."""

    caller: Caller
    name: str
    start: bytes = b""
    heard: float = field(default_factory=time.monotonic)
    ended: bool = False
    fault: ProtocolError | None = None
    sent: int = 0
    gathering: Gathering | None = None

    def collect(self, message: FromParty, asked: Asked | None) -> bytes | Failed | None:
        """The answer if this message completes it; what belongs to an older request is dropped."""
        if not isinstance(message, (Head, Part, Failed)):
            return None
        if message.sequence > self.sent:
            raise ProtocolError(f"{self.name} answered request {message.sequence}, which it was never sent.")
        if asked is None or asked.settled or message.sequence != asked.sequence:
            self.gathering = None
            return None
        if isinstance(message, Failed):
            return message
        if isinstance(message, Head):
            self.gathering = Gathering(message, asked.most_bytes)
        elif self.gathering is None:
            raise ProtocolError(f"{self.name} sent a part of an answer without its beginning.")
        else:
            self.gathering.add(message)
        whole = self.gathering.whole()
        if whole is not None:
            self.gathering = None
        return whole


@dataclass(eq=False)
class Seat:
    """A party's place: `start` names its last process, `known` the one that knows what was said before."""

    name: str
    link: Link | None = None
    start: bytes | None = None
    known: bytes | None = None
    gone_since: float = field(default_factory=time.monotonic)
    lost: bool = False
    asked: Asked | None = None

    def take(self, link: Link) -> str | None:
        """A new stream takes the place; what to tell of it, if anything."""
        told = "here" if self.start is None else "restarted" if self.start != link.start else "back"
        quiet = told == "back" and not self.lost
        self.link, self.start, self.lost = link, link.start, False
        if self.known is None:
            self.known = link.start
        return None if quiet else told

    def leave(self) -> None:
        """The stream has ended."""
        self.link, self.lost, self.gone_since = None, True, time.monotonic()

    def ask(self, asked: Asked) -> Asked:
        """From now on this is awaited."""
        self.asked = asked
        return asked

    def forget(self) -> None:
        """Nothing is awaited any more; whoever asked knows by now if this party was missing."""
        if self.asked is not None and self.asked.answer is None:
            self.accept()
        self.asked = None

    def give_up(self, reason: str | None) -> None:
        """Await no answer any more, if there is a reason."""
        if self.asked is not None and not self.asked.settled:
            self.asked.reason = reason

    def accept(self) -> None:
        """From now on count on the process that is connected; if none is, still on the one before."""
        if self.link is not None:
            self.known = self.link.start

    def due(self, link: Link) -> Asked | None:
        """The request that is still to be sent over this stream."""
        asked = self.asked
        if asked is None or asked.settled or link.sent == asked.sequence or link.start != self.known:
            return None
        return asked

    def missing(self, grace: float, now: float) -> str | None:
        """Why no answer can come any more, if so."""
        if self.start != self.known:
            return f"{self.name} is a new process that does not know what was said before."
        if self.link is None and now - self.gone_since > grace:
            return f"{self.name} has been away for more than {grace:g} seconds."
        return None
