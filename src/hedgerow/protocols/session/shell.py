"""What every party does with a frame: reads it, notes it, answers it by a table of requests, or refuses and stops.

    driver                party
    frame  ---------->    within the size that is expected now?  "received"  a request that its table allows?
           <----------    the answer, "sent" before it leaves; or nothing, "refused", and no further step

Sees in the clear.  Party: what the driver sends.  Nobody else: the log, which stays with the party.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import MOST_SMALL, Frame, TranscriptHash, encode
from hedgerow.errors import HedgerowError, ProtocolError
from hedgerow.protocols.session.journal import Log, NoLog
from hedgerow.protocols.session.owner import Attempt, PartyContext

P = TypeVar("P", covariant=True)
"""An answer that is still to be worked out, with those of other parties of this process."""

Handler = Callable[[Any, Frame], m.Answer | P]
"""The answer to a request of one type, which came as this frame."""
Table = Mapping[type[m.Request], Handler[P]]

Kinds = frozenset[type[m.Request]]
ALIGNMENT: Kinds = frozenset((m.AskSetSize, m.BeginBlinding, m.AskBlinded, m.BlindIds, m.MarkCommon))
"""The steps of an alignment of rows or of names."""
LINKAGE: Kinds = frozenset((m.BeginLink, m.LinkIds, m.ShowIds, m.LinkCounts))
"""The steps of a linkage of the active party's rows with one party's ids."""
PROOFS: Kinds = frozenset((m.AskProofs, m.AskCommonColumns))
"""What ends an alignment of names."""
APART: Kinds = ALIGNMENT | LINKAGE | PROOFS | {m.Propose, m.Introduce}
"""What comes before a transcript, or where each party hears its own; pads do not depend on it."""


class Role(Protocol[P]):
    """What a party is in a run: a horizontal party, an opener, a passive party and so on."""

    @property
    def context(self) -> PartyContext:
        """What it has to work with."""

    @property
    def most_bytes(self) -> int:
        """The bytes that the next request may have."""

    def introduced(self, attempt: Attempt) -> Table[P]:
        """The requests that are answered in this attempt, and what answers them."""

    def stop(self) -> None:
        """Take no more steps until the parties are introduced anew."""


class Shell(Generic[P]):
    """Hears frames and answers frames, one at a time, by a table that changes as the conversation goes on."""

    notes_received = True
    """Whether requests are noted when they come, where there is a log."""

    def __init__(self, log: Log | None, work_out: Callable[[Sequence[bytes | P]], Sequence[bytes]]) -> None:
        self.log: Log = log or NoLog()
        self.logged = log is not None
        self.work_out = work_out
        self.table: Table[P] = {}
        self.role: Role[P] | None = None
        self.transcript: TranscriptHash | None = None
        """Of this attempt, once the parties are introduced."""

    @property
    def most_bytes(self) -> int:
        """The bytes that the next request may have."""
        return MOST_SMALL if self.role is None else self.role.most_bytes

    def answer(self, frame: bytes | Frame) -> bytes:
        """The answer to one frame."""
        begun = self.begin(frame)
        return begun if isinstance(begun, bytes) else self.work_out([begun])[0]

    def begin(self, frame: bytes | Frame) -> bytes | P:
        """The answer to one frame, or where `work_out` makes it with others' all that comes before."""
        if isinstance(frame, bytes):
            frame = Frame(frame)
        try:
            request = frame.read(self.most_bytes)
            if self.logged and self.notes_received:
                self._note("received", request, len(frame), frame.sha256)
            kind = type(request)
            if self.transcript is not None and kind not in APART:
                self.transcript.hear(frame)
            handler = self.table.get(kind)
            if handler is None:
                raise self.refusal(request)
            reply = handler(request, frame)
        except HedgerowError as error:
            self.stop()
            self.log.note("refused", sha256=frame.sha256.hex(), error=type(error).__name__)
            raise
        return self.sent(reply) if isinstance(reply, m.Answer) else reply

    def hear_from(self, plan: Plan, frame: Frame) -> TranscriptHash:
        """An attempt at a plan begins with this frame; the hash of all that is said from now on."""
        self.transcript = TranscriptHash(plan.digest)
        self.transcript.hear(frame)
        return self.transcript

    def refusal(self, request: m.Request) -> ProtocolError:
        """What is said of a request that is not in the table."""
        if self.transcript is None:
            return ProtocolError("The driver asks before it has introduced the other parties.")
        return ProtocolError(f"The plan of this run does not allow {type(request).__name__}.")

    def stop(self) -> None:
        """After a refusal: no more steps, and no pad that cancels, until the parties are introduced anew.

        If steps went on, parties that have accepted different things, each refusing the other's, could be summed.
        """
        if self.role is not None and self.transcript is not None:
            self.role.stop()
            self.transcript.forget()

    def sent(self, reply: m.Answer) -> bytes:
        """An answer as it leaves; every one is noted before."""
        out = encode(reply)
        if self.logged:
            self._note("sent", reply, len(out), hashlib.sha256(out).digest())
        return out

    def _note(self, event: str, message: m.Request | m.Answer, size: int, sha256: bytes) -> None:
        self.log.note(event, type=type(message).__name__, bytes=size, sha256=sha256.hex())
