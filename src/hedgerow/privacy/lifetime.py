"""What a data owner's runs cost together: every run adds to what is known of the same rows.

The counts lie in the owner's ledger, beside its key. A run enters all that it has planned before any data moves, so
that runs at the same time cannot exceed the limit together, and at its end what it has made. One that was stopped for
good stays entered with all of its plan: it could be resumed.

Which rows are "the same" nobody can tell from tables that grow and are corrected: one row in common is enough. So all
runs of a ledger have one budget, unless the owner's policy names another for tables that share no row.

Sees in the clear.  Kinds of sums and their noise, as plans say them, and an id of each run; no value of a row.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hedgerow.errors import PolicyError
from hedgerow.privacy.accountant import Release, spent
from hedgerow.privacy.ledger import Log, counted, decoded, encoded, listed

PLANNED, ADDED, ENDED = "releases planned", "release added", "releases ended"
"""The events in the log."""


@dataclass(frozen=True)
class LifetimeLimit:
    """What an owner allows all runs with this budget together."""

    budget: str = ""
    """Empty: the one of all runs that name none."""
    epsilon: float | None = None
    """None: it is counted, and nothing refused."""
    delta: float = 1e-6


NO_LIMIT = LifetimeLimit()
"""Everything is counted, and nothing refused."""


@dataclass(frozen=True)
class RunCost:
    """What one run has entered."""

    budget: str
    unit: str
    releases: Counter[Release]
    is_open: bool
    """Whether it is not over, so that all it has planned counts."""
    entered: Counter[Release] = field(default_factory=Counter)
    """What it has entered before its end, which all that it made is part of."""


@dataclass(frozen=True)
class Total:
    """What the runs of a budget cost together."""

    runs: int
    open_runs: int
    unit: str
    epsilon: float
    delta: float


class OwnerBudget:
    """The runs of one budget, in the log of all runs of an owner."""

    def __init__(self, log: Log, limit: LifetimeLimit) -> None:
        self.log, self.limit = log, limit

    def begin(self, run: str, unit: str, releases: Sequence[Release]) -> None:
        """Enter a run that will make these releases, or has made them; it is on disk before any data moves.

        Refused in one sentence if all runs together would cost more than the owner allows.
        """
        before = runs_in(self.log)
        known = before.get(run)
        most = counted(releases)
        if known is not None:  # resumed, perhaps after its end: it has entered what it may make, and perhaps more
            most |= known.entered
        entered = RunCost(self.limit.budget, unit, most, is_open=True, entered=most)
        self._check({**before, run: entered})
        if known == entered:
            return
        self._note(PLANNED, run, listed(entered.releases), unit)
        try:
            self._check(runs_in(self.log))  # another process of this owner may have begun a run meanwhile
        except PolicyError:
            self._note(ENDED, run, [] if known is None else listed(known.releases), unit)
            raise

    def add(self, run: str, release: Release) -> None:
        """Enter a release beyond those that a run has planned."""
        runs = runs_in(self.log)
        known = runs[run]
        entered = RunCost(known.budget, known.unit, known.releases + counted([release]), is_open=True)
        self._check({**runs, run: entered})
        self._note(ADDED, run, [release], known.unit)
        self._check(runs_in(self.log))

    def end(self, run: str, releases: Sequence[Release]) -> None:
        """A run is over, and has made these; nothing else of its plan counts any longer."""
        known = runs_in(self.log).get(run)
        if known is None:
            raise PolicyError("The ledger knows nothing of this run; name the ledger that its party had.")
        self._note(ENDED, run, releases, known.unit, known.budget)

    def _note(self, event: str, run: str, releases: Sequence[Release], unit: str, budget: str | None = None) -> None:
        texts, budget = [encoded(release) for release in releases], self.limit.budget if budget is None else budget
        self.log.note(event, id=run, budget=budget, unit=unit, releases=texts)
        self.log.sync()

    def _check(self, runs: Mapping[str, RunCost]) -> None:
        if self.limit.epsilon is None:
            return
        own = [run for run in runs.values() if run.budget == self.limit.budget]
        if len({run.unit for run in own}) > 1:
            raise PolicyError(
                f"Runs with this owner's budget promise privacy to a {' and to a '.join(sorted({r.unit for r in own}))}"
                ", which cannot be added up (most_epsilon); name another budget for one of them in the policy."
            )
        found = total_of(own, self.limit.delta)
        if found.epsilon > self.limit.epsilon:
            over = f"{found.runs} run{'s' * (found.runs > 1)}"
            raise PolicyError(
                f"The run would bring all that is released of this owner's rows, over {over}, to an epsilon of "
                f"{found.epsilon:.6g} at a delta of {self.limit.delta:g}, which this party's policy refuses "
                f"(most_epsilon = {self.limit.epsilon:g})."
            )


def total_of(runs: Sequence[RunCost], delta: float) -> Total:
    """What runs of one budget cost together."""
    releases: Counter[Release] = Counter()
    for run in runs:
        releases += run.releases
    units = " and ".join(sorted({run.unit for run in runs}))
    cost = spent(listed(releases), delta)
    return Total(len(runs), sum(run.is_open for run in runs), units, cost.epsilon, delta)


def budgets_in(log: Log) -> dict[str, list[RunCost]]:
    """The runs of each budget in an owner's log."""
    found: dict[str, list[RunCost]] = {}
    for run in runs_in(log).values():
        found.setdefault(run.budget, []).append(run)
    return found


def runs_in(log: Log) -> dict[str, RunCost]:
    """What each run in an owner's log has entered, by its id."""
    runs: dict[str, RunCost] = {}
    for line in log.lines():
        if line["event"] in (PLANNED, ADDED, ENDED):
            releases, is_open = _read(line["releases"]), line["event"] != ENDED
            if line["event"] == ADDED:
                releases += runs[line["id"]].releases
            entered = releases if is_open else runs[line["id"]].entered
            runs[line["id"]] = RunCost(line["budget"], line["unit"], releases, is_open, entered)
    return runs


def _read(texts: Iterable[str]) -> Counter[Release]:
    return counted(map(decoded, texts))
