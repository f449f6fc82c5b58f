"""What a party was told, and has already answered: never the same step for other cuts or another set of parties.

The journal lies in the party's audit log: a process that was killed and started again still knows.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from hedgerow.corridor.wire import Frame, chained
from hedgerow.errors import PrivacyError

ALIGNING = "aligning"
"""The line that counts alignments."""
SETUP = -1
"""The round under which counts and moments are written down."""
MOST_TIMES = 5
"""Alignments of a kind that a run may begin, over all processes: each lets whoever drives bring other ids. One is
needed, and one more whenever a process ends before all parties know what is common."""


class Log(Protocol):
    """An append-only log that survives the process."""

    def note(self, event: str, /, **facts: int | str | list[str]) -> None:
        """Write one line."""

    def lines(self) -> Iterator[dict[str, Any]]:
        """What was written."""

    def sync(self) -> None:
        """Return when what was written survives a loss of power."""


class NoLog:
    """Nothing is kept: for parties that live in one process and end with it."""

    def note(self, event: str, /, **facts: int | str | list[str]) -> None:
        """Nothing."""

    def lines(self) -> Iterator[dict[str, Any]]:
        """None."""
        return iter(())

    def sync(self) -> None:
        """Nothing."""


def _told(frame: Frame, before: bytes) -> tuple[bytes, str]:
    digest = chained(frame, before)
    return digest, digest.hex()


class StepRecord(NamedTuple):
    """A step of a round for these parties, and hashes of all that was told before it and with it."""

    step: tuple[int, int]
    parties: tuple[int, ...]
    before: bytes
    told: bytes
    told_hex: str


class Journal:
    """Steps of rounds that sums were given for: what was told up to the step, and for which parties."""

    def __init__(self, log: Log, run: str) -> None:
        self.log, self.run, self.kept = log, run, not isinstance(log, NoLog)
        self.answered: dict[tuple[int, int], tuple[str, tuple[int, ...]]] = {}
        self.finished: dict[int, str | Callable[[], str]] = {}
        """A hash of each round's trees, or what makes it where it may never be needed."""
        self.settled: dict[str, str] = {}
        self.gradients: dict[str, dict[int, tuple[int, ...]]] = {}
        """By a hash of the own gradients: the rounds that were grown from them, and for which parties."""
        self.alignments: Counter[str] = Counter()
        """How often an alignment was begun, by what was aligned."""
        self.attempt = 0
        self.members: frozenset[str] | None = None
        """Who is in the run, once the parties were introduced."""
        for line in log.lines():
            if line.get("run") == run:
                self._recall(line)
        self._told = self._before = b""
        """Hashes of all that was told with the last step, and before it."""
        self._step: tuple[int, int] | None = None

    def _recall(self, line: dict[str, Any]) -> None:
        """What a process before this one wrote down."""
        event = line["event"]
        if event == "answered":
            self.answered[line["round"], line["step"]] = (line["told"], tuple(int(p) for p in line["parties"]))
        elif event == "finished":
            self.finished[line["round"]] = line["trees"]
        elif event == "settled":
            self.settled[line["what"]] = line["sha256"]
        elif event == "gradients":
            self.gradients.setdefault(line["sha256"], {})[line["round"]] = tuple(int(p) for p in line["parties"])
        elif event == ALIGNING:
            self.alignments[line["what"]] += 1
        elif event == "introduced":
            self.attempt, self.members = line["attempt"], frozenset(line["members"])

    def introduce(self, attempt: int, names: Sequence[str]) -> None:
        """An attempt begins with these parties; refuse one made before, or with a party that was left out."""
        if attempt <= self.attempt:
            raise PrivacyError("The driver repeats an attempt that this party has already made; this party stops.")
        if self.members is not None and not self.members >= set(names):
            raise PrivacyError("The driver brings back a party that was left out; sums of two sets could be compared.")
        self.log.note("introduced", run=self.run, attempt=attempt, members=list(names))
        self.attempt, self.members = attempt, frozenset(names)

    def leave_out(self, names: Sequence[str]) -> None:
        """The run goes on with these parties; who is not among them stays out."""
        if self.members != frozenset(names):
            self.log.note("introduced", run=self.run, attempt=self.attempt, members=list(names))
            self.members = frozenset(names)

    def differs(self, what: str, digest: bytes) -> bool:
        """Whether something was fixed otherwise before."""
        return self.settled.get(what, digest.hex()) != digest.hex()

    def settle(self, what: str, digest: bytes) -> None:
        """Something is fixed for the whole run; refuse it when it was fixed otherwise before."""
        if self.differs(what, digest):
            raise PrivacyError(f"The driver changes {what} in the middle of the run; this party stops.")
        if what not in self.settled:
            self.log.note("settled", run=self.run, what=what, sha256=digest.hex())
            self.settled[what] = digest.hex()

    def align(self, what: str, sizes: Sequence[int]) -> None:
        """An alignment is about to begin, of lists as long as in the run's first, and not too often.

        Other lists of other ids would tell of these ids, too, whether all parties have them.
        """
        if self.alignments[what] >= MOST_TIMES:
            raise PrivacyError(
                f"This run has begun {MOST_TIMES} alignments of {what}, each of which could try out other ids; this "
                "party stops. Start a new run if all is well."
            )
        lengths, settled = [str(n) for n in sizes], f"how many {what} everyone has"
        digest = hashlib.sha256(" ".join(lengths).encode()).digest()
        if self.differs(settled, digest):
            raise PrivacyError(
                f"A party brings more or fewer {what} than when this run began, which could try out other ids; this "
                "party stops, start a new run."
            )
        self.settle(settled, digest)
        self.log.note(ALIGNING, run=self.run, what=what, sizes=lengths)
        self.log.sync()
        self.alignments[what] += 1

    def begin(self, state: bytes) -> None:
        """A round (or the setup) begins from this state: everything its gradients depend on."""
        self._told = self._before = state
        self._step = None

    def answer(self, round_: int, step: int, content: Frame, parties: tuple[int, ...], may_shrink: bool) -> None:
        """Write down that this step is about to be answered; refuse it if it was answered otherwise before.

        `content` is the request without its set of parties. With `may_shrink`, the last step answered may be answered
        again for fewer parties: nothing of it can have been opened, because one of them did not answer.
        """
        self.write_step(self.check_step(round_, step, content, parties, may_shrink))

    def write_step(self, told: StepRecord) -> None:
        """Write down a step that was checked and is about to be answered."""
        step, entry = told.step, (told.told_hex, told.parties)
        if self.answered.get(step) != entry:
            if self.kept:
                names = [str(p) for p in told.parties]
                self.log.note("answered", run=self.run, round=step[0], step=step[1], told=entry[0], parties=names)
            self.answered[step] = entry
        self._told, self._before, self._step = told.told, told.before, step

    def check_step(
        self, round_: int, step: int, content: Frame, parties: tuple[int, ...], may_shrink: bool
    ) -> StepRecord:
        """Refuse what `answer` would refuse; what is to be written down. Nothing is yet."""
        before = self._before if self._step == (round_, step) else self._told
        told, told_hex = content.derived(_told, before)
        known = self.answered.get((round_, step))
        entry = (told_hex, parties)
        if known is not None and known != entry:
            same, fewer = known[0] == entry[0], set(parties) < set(known[1])
            later = (round_, step + 1) in self.answered
            if not (may_shrink and same and fewer and not later):
                raise PrivacyError(
                    f"Step {step} of round {round_} was answered before for other cuts or other parties; "
                    "the difference would show single parties' rows, so this party stops."
                )
        return StepRecord((round_, step), parties, before, told, told_hex)

    def give(self, round_: int, gradients: bytes, parties: Sequence[int]) -> None:
        """Sums of gradients with this hash are about to be given; refuse them if a round before gave them for others.

        Of the same round, `answer` has decided.
        """
        rounds, now = self.gradients.setdefault(gradients.hex(), {}), tuple(parties)
        if any(before != now for other, before in rounds.items() if other != round_):
            raise PrivacyError(
                f"In round {round_} this party's gradients are those of an earlier round, in which other parties took "
                "part: the trees change nothing. The difference of the two sums would show single parties' rows, so "
                "this party stops; grow fewer trees, or let all parties take part in each."
            )
        if rounds.get(round_) != now:
            rounds[round_] = now
            if self.kept:
                names = [str(p) for p in parties]
                self.log.note("gradients", run=self.run, round=round_, sha256=gradients.hex(), parties=names)

    def finish(self, round_: int, trees: str | Callable[[], str]) -> None:
        """A round's trees are complete; refuse other trees than those finished before. A hash is written down."""
        if round_ in self.finished:
            self.check(round_, trees if isinstance(trees, str) else trees())
            return
        self.finished[round_] = trees
        if isinstance(trees, str):
            self.log.note("finished", run=self.run, round=round_, trees=trees)

    def check(self, round_: int, trees: str, known: bool = False) -> None:
        """Refuse trees of a round other than those this party helped to finish; with `known`, also unknown rounds."""
        kept = self.finished.get(round_, "" if known else trees)
        if (kept if isinstance(kept, str) else kept()) != trees:
            raise PrivacyError(
                f"The driver shows other trees of round {round_} than this party helped to grow; start a new run."
            )
