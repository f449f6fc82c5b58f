"""What can be seen of a run while it goes on: every message written down, and a word after every tree."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from hedgerow.corridor.messages import Answer, Request
from hedgerow.corridor.wire import Frame
from hedgerow.run.folder.manifest import RECEIVED, SENT
from hedgerow.storage.audit import AuditLog, Line
from hedgerow.trees.boost import Round

MOST_LINES = 20
"""About how many rounds are told of, a line each."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come: a round, the bytes of all messages so far, and the seconds since this process began."""

    round: Round
    bytes: int
    seconds: float


Watch = Callable[[Progress], None]
"""Told after every tree."""
Say = Callable[[str], None]
"""Told, in sentences, what happens to the parties."""


def noting(notes: list[str], say: Say) -> Say:
    """Told what must not get lost: it is said at once and kept for the manifest, each sentence once."""

    def note(sentence: str) -> None:
        if sentence not in notes:
            notes.append(sentence)
            say(sentence)

    return note


class Recorder:
    """A listener that writes every message of the driver into its audit log before it leaves, and adds up the bytes."""

    def __init__(self, log: AuditLog, watch: Watch) -> None:
        self.log, self.watch = log, watch
        self.bytes = sum(map(_size, log.lines()))
        self._began = time.perf_counter()
        self._last = Frame(b"")
        """The frame that was noted last: one that all parties are sent is hashed once."""

    def __call__(self, sender: str, receiver: str, message: Request | Answer, frame: bytes) -> None:
        """One message."""
        self.bytes += len(frame)
        if frame is not bytes(self._last):
            self._last = Frame(frame)
        sent = isinstance(message, Request)
        where = {"to": receiver} if sent else {"from": sender}
        event, kind = SENT if sent else RECEIVED, type(message).__name__
        self.log.note(event, **where, type=kind, bytes=len(frame), sha256=self._last.sha256.hex())

    def after_round(self, told: Round) -> None:
        """A callback of the trees."""
        self.watch(Progress(told, self.bytes, time.perf_counter() - self._began))


def _size(line: Line) -> int:
    size = line.get("bytes")
    return size if line["event"] in (SENT, RECEIVED) and isinstance(size, int) else 0
