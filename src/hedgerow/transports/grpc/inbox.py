"""A party's desk: the request it works on, and the last answer, kept so that it can be given again.

Requests have increasing numbers. The same one again gets the same answer without being computed again; one with the
same number and other bytes, or with a lower number, is refused. A driver that started anew starts with an empty desk.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hedgerow.errors import HedgerowError, ProtocolError
from hedgerow.transports.grpc.envelope import Failed, Gathering, Goodbye, Head, Part, cut, encode


@dataclass(eq=False)
class Request:
    """A request that arrived whole, and its answer once there is one."""

    sequence: int
    frame: bytes
    taken: bool = False
    answer: bytes | Failed | None = None
    sha256: bytes = b""

    def messages(self) -> Iterator[bytes]:
        """The messages that carry the answer."""
        if isinstance(self.answer, Failed):
            yield encode(self.answer)
        elif self.answer is not None:
            yield from cut(self.sequence, self.answer, self.sha256)


@dataclass(eq=False)
class Line:
    """One stream to the driver; `owed` when the latest request came over it and its answer did not go back yet.

    `silent` when it was cut because nothing ever came over it.
    """

    heard: float
    welcomed: bool = False
    silent: bool = False
    ended: bool = False
    owed: bool = False
    parting: Failed | None = None
    gathering: Gathering | None = field(default=None, repr=False)

    @property
    def stopped(self) -> bool:
        """No further answer goes over it."""
        return self.ended or self.parting is not None


class Desk:
    """What the thread that computes and the threads that carry share; they hold `changed` to touch it.

    Those that carry wait for `changed`, the one that computes for something to do.
    """

    def __init__(self, most_bytes: Callable[[], int]) -> None:
        lock = threading.RLock()
        self.changed, self._to_do = threading.Condition(lock), threading.Condition(lock)
        self._most_bytes = most_bytes
        self._driver: bytes | None = None
        self._highest: tuple[int, bytes] = (0, b"")
        self._latest: Request | None = None
        self._end: Goodbye | HedgerowError | None = None

    def meet(self, driver: bytes) -> bool:
        """The driver's process has said who it is; whether it is another one than before."""
        with self.changed:
            other = self._driver not in (None, driver)
            if other:
                self._highest, self._latest = (0, b""), None
            self._driver = driver
            return other

    def take(self, line: Line, message: Head | Part) -> None:
        """A piece of a request; what may not come is refused."""
        if isinstance(message, Head):
            line.gathering = self._begin(message)
        elif line.gathering is None:
            raise ProtocolError(f"A part of request {message.sequence} came without its beginning.")
        else:
            line.gathering.add(message)
        frame = line.gathering.whole()
        if frame is None:
            return
        sequence, line.gathering = line.gathering.sequence, None
        with self.changed:
            if self._latest is None or self._latest.sequence != sequence:
                self._latest = Request(sequence, frame)
            line.owed = True
            (self._to_do if self._latest.answer is None else self.changed).notify_all()

    def _begin(self, head: Head) -> Gathering:
        sequence, sha256 = self._highest
        if head.sequence < sequence:
            raise ProtocolError(f"Request {head.sequence} came after request {sequence}; the driver repeats itself.")
        if head.sequence == sequence and head.sha256 != sha256:
            raise ProtocolError(f"Request {head.sequence} came twice with different content.")
        gathering = Gathering(head, self._most_bytes())
        self._highest = (head.sequence, head.sha256)
        return gathering

    def next(self) -> Request | Goodbye:
        """Wait for the next request to compute, or for the end; raises the error that ended it."""
        with self.changed:
            while self._end is None and (self._latest is None or self._latest.taken):
                self._to_do.wait(1.0)  # not for ever, so that an interrupt is seen on every system
            if isinstance(self._end, HedgerowError):
                raise self._end
            if self._end is not None:
                return self._end
            assert self._latest is not None  # noqa: S101 (the loop above ended)
            self._latest.taken = True
            return self._latest

    def settle(self, request: Request, answer: bytes | Failed) -> None:
        """The answer to a request; it is sent if nothing newer was asked meanwhile."""
        sha256 = b"" if isinstance(answer, Failed) else hashlib.sha256(answer).digest()
        with self.changed:
            request.answer, request.sha256, request.frame = answer, sha256, b""
            self.changed.notify_all()

    def due(self, line: Line) -> Request | None:
        """The request whose answer is to be sent over this stream now."""
        latest = self._latest
        return latest if line.owed and latest is not None and latest.answer is not None else None

    def is_latest(self, request: Request) -> bool:
        """Nothing newer was asked."""
        return self._latest is request

    def end(self, how: Goodbye | HedgerowError) -> None:
        """There is nothing more to do."""
        with self.changed:
            self._end = self._end or how
            self._to_do.notify_all()
