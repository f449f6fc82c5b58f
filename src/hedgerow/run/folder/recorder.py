"""What can be seen of a run while it goes on: every message written down, and a word after every tree."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral

from hedgerow.corridor.frame_hash import sha256_of
from hedgerow.corridor.messages import Answer, Request
from hedgerow.errors import ParameterError
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


class Spoken:
    """What `verbose` has an estimator print: a line for some of the rounds, and sentences as they come."""

    def __init__(self, verbose: object) -> None:
        if not isinstance(verbose, Integral) or int(verbose) < 0:
            raise ParameterError(
                "verbose must be 0 (silent), 1 (about twenty lines) or the number of rounds from one line to the next; "
                f"it is {verbose!r}."
            )
        self.verbose, self.said = int(verbose), set[str]()
        self._began = time.perf_counter()

    def say(self, sentence: str) -> None:
        """One line."""
        if self.verbose:
            self.said.add(sentence)
            print(sentence, flush=True)  # noqa: T201  # what verbose asks for

    def after_round(self, told: Round) -> None:
        """A callback of the trees."""
        every = self.verbose if self.verbose > 1 else max(1, told.n_rounds // MOST_LINES)
        if told.number % every == 0 or told.number in (1, told.n_rounds):
            metric = "" if told.value is None else f"  {told.metric} {told.value:.5g}"
            self.say(f"tree {told.number}/{told.n_rounds}{metric}  {time.perf_counter() - self._began:.1f} s")

    def end(self, notes: Sequence[str]) -> None:
        """What was noted and not yet said."""
        for sentence in notes:
            if sentence not in self.said:
                self.say(sentence)


class Recorder:
    """A listener that writes every message of the driver into its audit log before it leaves, and adds up the bytes."""

    def __init__(self, log: AuditLog, watch: Watch) -> None:
        self.log, self.watch = log, watch
        self.bytes = sum(map(_size, log.lines()))
        self._began = time.perf_counter()

    def __call__(self, sender: str, receiver: str, message: Request | Answer, frame: bytes) -> None:
        """One message."""
        self.bytes += len(frame)
        sent = isinstance(message, Request)
        where = {"to": receiver} if sent else {"from": sender}
        event, kind = SENT if sent else RECEIVED, type(message).__name__
        self.log.note(event, **where, type=kind, bytes=len(frame), sha256=sha256_of(frame).hex())

    def after_round(self, told: Round) -> None:
        """A callback of the trees."""
        self.watch(Progress(told, self.bytes, time.perf_counter() - self._began))


def _size(line: Line) -> int:
    size = line.get("bytes")
    return size if line["event"] in (SENT, RECEIVED) and isinstance(size, int) else 0
