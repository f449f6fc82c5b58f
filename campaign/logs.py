"""The driver's audit log, read while it is written: what was asked, of whom, who answered, and who was lost when."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

FIRST, LEVELS, LEAVES, FINISH, NEXT = "Begin", "AskHistograms", "AskLeafSums", "FinishRound", "NextRound"
SUMMING = ("AskCounts", "AskMoments", LEVELS, LEAVES, FINISH, NEXT)
BEGINS, SUMS, ENDS = (FIRST, "BeginSealed"), (LEVELS, "AskSealedSums"), (FINISH, "EndRound")
"""What begins the trees, asks for sums of a level and ends a tree, in horizontal and in vertical runs."""
GROWING = (*SUMS, LEAVES, "AskSides", *ENDS, NEXT)


@dataclass
class Asking:
    """A request: to whom it went, and who answered."""

    kind: str
    sha256: str
    at: float
    tree: int
    """The tree it belongs to, from 1 on; 0 before the first."""
    step: int
    """Which request of its tree it is."""
    to: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    """Known once all have answered, or were given up."""

    @property
    def opened(self) -> bool:
        """Every part of the sum came."""
        return self.kind in SUMMING and self.answered == self.to


class Tail:
    """The new lines of a log at each look; a line that is not whole yet comes later."""

    def __init__(self, path: Path) -> None:
        self._path, self._at = path, 0

    def fresh(self) -> Iterator[dict[str, Any]]:
        """What was added since the last look."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._at)
            whole = file.read().rpartition(b"\n")[0]
        for line in whole.splitlines():
            yield msgspec.json.decode(line)
        self._at += len(whole) + (1 if whole else 0)


class DriverLog:
    """The driver's side of a run so far."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self.asked: list[Asking] = []
        self.lost: list[tuple[float, str]] = []
        """When each party was lost, by the clock."""
        self.first_answer: float | None = None
        self.last_line = 0.0
        self.begun = 0
        """How often a tree was begun, those that had to be repeated counted each time."""
        self._finished = 0

    def look(self) -> "DriverLog":
        """Read on."""
        for line in self._tail.fresh():
            at = datetime.fromisoformat(line["at"]).timestamp()
            self.last_line = at
            if line["event"] == "sent":
                self._sent(line, at)
            elif line["event"] == "received":
                self.first_answer = self.first_answer or at
                self._answered(line)
            elif line["event"] == "party lost":
                self.lost.append((at, line["party"]))
        return self

    @property
    def now(self) -> Asking | None:
        """The latest request."""
        return self.asked[-1] if self.asked else None

    @property
    def tree(self) -> int:
        """The tree that is being grown, from 1 on; 0 before the first."""
        return self.asked[-1].tree if self.asked else 0

    def n_sums(self, party: str) -> int:
        """How many sums this party was asked for."""
        return sum(asking.kind in SUMMING and party in asking.to for asking in self.asked)

    def _sent(self, line: dict[str, Any], at: float) -> None:
        before = self.now
        if before is None or before.sha256 != line["sha256"] or line["to"] in before.to:
            self.asked.append(self._next(line, at, before))
        self.asked[-1].to.add(line["to"])

    def _next(self, line: dict[str, Any], at: float, before: Asking | None) -> Asking:
        kind = line["type"]
        starts = kind in SUMS and before is not None and before.kind in (*BEGINS, *ENDS)
        if starts:
            self.begun += 1
        tree = self._finished + 1 if kind in GROWING else 0
        again = before is not None and before.kind == kind and before.tree == tree and before.answered < before.to
        step = 0 if starts or before is None else before.step if again else before.step + 1
        return Asking(kind, line["sha256"], at, tree, step)

    def _answered(self, line: dict[str, Any]) -> None:
        now = self.asked[-1]
        now.answered.add(line["from"])
        if now.kind in (*ENDS, NEXT) and now.answered == now.to:
            self._finished += 1
            self.begun += now.kind == NEXT  # which ends a tree and begins another
