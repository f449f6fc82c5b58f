"""The releases of one run: planned before it begins, on disk before bytes leave, stopped before the budget is exceeded.

A party keeps a ledger of the sums to which it gives its share, the driver (or a run on one table) one of those that it
opens. Each line is in the run's audit log, bound to the line before by a hash, and synced before `release` returns: a
process that is killed may have counted what never left, and never the other way round.

Sees in the clear.  What kinds of sums a run opens and with how much noise, which the plan says too; no value of a row.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from hedgerow.errors import PrivacyError, RunError
from hedgerow.privacy.accountant import Release, Spent, mu_of_budget, spent, whole
from hedgerow.storage.audit import AuditLog

BEGUN, RELEASED = "releases begun", "noised release"
"""The events in the log."""
PLAN = "The releases that are planned would cost"


class Log(Protocol):
    """An append-only log that survives the process."""

    def note(self, event: str, /, **facts: int | str | list[str]) -> None:
        """Write one line."""

    def lines(self) -> Iterator[dict[str, Any]]:
        """What was written."""

    def sync(self) -> None:
        """Return when what was written survives a loss of power."""


@dataclass(frozen=True)
class Budget:
    """What a run may cost, and for whom that is promised."""

    epsilon: float
    delta: float
    unit: str = "row"
    neighbours: str = "add or remove one"


class Lifetime(Protocol):
    """What an owner counts over all its runs."""

    def begin(self, run: str, unit: str, releases: Sequence[Release]) -> None:
        """A run will make these releases, or has made them; refused if that is too much."""

    def add(self, run: str, release: Release) -> None:
        """One more, beyond those; refused if that is too much."""

    def end(self, run: str, releases: Sequence[Release]) -> None:
        """The run is over, and has made these."""


class Ledger:
    """What a run releases, in its log or (without one) in memory.

    What is planned is known at the beginning, or (`more_to_come`) in part, and then the owner's count over all runs is
    entered with all of the budget.
    """

    def __init__(
        self,
        budget: Budget,
        planned: Sequence[Release],
        log: Log | None = None,
        run: str = "",
        lifetime: Lifetime | None = None,
        *,
        more_to_come: bool = False,
    ) -> None:
        self.budget, self.run, self.lifetime = budget, run, lifetime
        self.log: Log = AuditLog(None, "", "") if log is None else log
        self.planned = counted(planned)
        self.id = ""
        """Of this run, and of no other by the same plan."""
        self._over = False
        self._made: Counter[Release] = Counter()
        self._last: dict[str, tuple[Release, str, str]] = {}
        """By key, the last release: of what request, and which draw of its noise."""
        for line in self.log.lines():
            if line.get("run") == run:
                self._recall(line)
        self._check(self._made | self.planned, PLAN)
        if not self.id:
            self.id = secrets.token_hex(16)
            self.log.note(BEGUN, run=run, id=self.id)
            self.log.sync()
        if lifetime is not None:
            all_of_it = [whole(mu_of_budget(budget.epsilon, budget.delta))] if more_to_come else planned
            lifetime.begin(self.id, budget.unit, all_of_it)

    def _recall(self, line: dict[str, Any]) -> None:
        """What a process before this one wrote down."""
        if line["event"] == BEGUN:
            self.id = line["id"]
        elif line["event"] == RELEASED:
            self._count(line["key"], decoded(line["release"]), line["told"], line["draw"])

    def _count(self, key: str, release: Release, told: str, draw: str) -> None:
        self._last[key] = (release, told, draw)
        self._made[replace(release, times=1)] += release.times

    def plan(self, releases: Sequence[Release]) -> None:
        """Plan more, where noise depends on what was released before; refused beyond the budget, as at the beginning.

        Only with Gaussian noise, for which it costs nothing to choose later how the squares of mu are shared out, as
        long as their sum is bounded beforehand.
        """
        if any(release.mechanism != "gaussian" for release in releases):
            raise PrivacyError("Releases that are planned during a run must have Gaussian noise; plan others before.")
        planned = self.planned + counted(releases)
        self._check(self._made | planned, PLAN)
        self.planned = planned

    def has(self, key: str) -> bool:
        """Whether anything of this key was released."""
        return key in self._last

    def again(self, key: str, release: Release, told: bytes = b"", draw: str = "") -> bool:
        """Whether the last release of this key was this very one: for a request of this hash, with this draw of noise.

        Then the words that were kept of it may leave again, and nothing else.
        """
        return self._last.get(key) == (release, told.hex(), draw)

    def release(self, key: str, release: Release, told: bytes = b"", draw: str = "") -> None:
        """Count a release; when this returns it is on disk, and may leave. Refused beyond what is planned and paid for.

        One that is made again with new noise is counted again.
        """
        if self._over:
            raise PrivacyError(
                f"The release {release.what!r} is asked for after the end of the run, whose cost was counted then; it "
                "is not given."
            )
        one = replace(release, times=1)
        if one not in self.planned:
            raise PrivacyError(
                f"The release {release.what!r} is not among those that the run has planned, with this noise and "
                "sensitivity; nothing of it leaves, and the run stops."
            )
        after = self._made + Counter({one: release.times})
        if after[one] > self.planned[one]:
            self._check(after | self.planned, f"With the release {release.what!r} once more, all releases would cost")
            if self.lifetime is not None:
                self.lifetime.add(self.id, release)
        self.log.note(RELEASED, run=self.run, key=key, release=encoded(release), told=told.hex(), draw=draw)
        self.log.sync()
        self._count(key, release, told.hex(), draw)

    @property
    def made(self) -> tuple[Release, ...]:
        """All releases so far."""
        return listed(self._made)

    def spent(self) -> Spent:
        """What all releases so far cost together."""
        return spent(self.made, self.budget.delta, self.budget.unit, self.budget.neighbours)

    def finish(self) -> Spent:
        """The run is over: what it cost. What it had planned and not made is no longer reserved, nor released."""
        self._over = True
        if self.lifetime is not None:
            self.lifetime.end(self.id, self.made)
        return self.spent()

    def _check(self, releases: Counter[Release], what: str) -> None:
        found = spent(listed(releases), self.budget.delta).epsilon
        if found > self.budget.epsilon:
            raise PrivacyError(
                f"{what} an epsilon of {found:.6g} at a delta of {self.budget.delta:g}, more than the "
                f"{self.budget.epsilon:g} of the run; nothing more is released."
            )


def run_in(log: Log) -> tuple[str, tuple[Release, ...]]:
    """The id of the run that a log is of, and all that it has released; no id if it has never begun to."""
    id_, made = "", Counter[Release]()
    for line in log.lines():
        if line["event"] == BEGUN:
            id_ = line["id"]
        elif line["event"] == RELEASED:
            made += counted([decoded(line["release"])])
    return id_, listed(made)


def encoded(release: Release) -> str:
    """A release as a line of a log has it."""
    return msgspec.json.encode(release).decode()


def decoded(text: str) -> Release:
    """A release from a line of a log."""
    try:
        return msgspec.json.decode(text, type=Release)
    except msgspec.DecodeError:
        raise RunError("A line of the log does not hold a release; trust nothing that it counts.") from None


def counted(releases: Iterable[Release]) -> Counter[Release]:
    """How often each release is made."""
    counts: Counter[Release] = Counter()
    for release in releases:
        counts[replace(release, times=1)] += release.times
    return counts


def listed(releases: Counter[Release]) -> tuple[Release, ...]:
    """The same, as releases that are made so often."""
    return tuple(replace(release, times=n) for release, n in releases.items() if n)
