"""Sealed prediction beside asking for ways over a link of 20 ms and 100 Mbit/s, with the passive party as a process.

The passive party dials through `sealed_slow_link`; both ways of predicting have a link of their own, take turns, and
have joined before anything is measured.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.horizontal_rows import Figure, Line, RatioAndGoal
from benchmarks.horizontal_turns import Contenders, Taken, take_turns, turn
from benchmarks.rows import RatioAtMost
from benchmarks.sealed_asking import asking
from benchmarks.sealed_processes import Link, Running, SealedPlace
from benchmarks.sealed_rows import A_ROW, WithinSteps
from benchmarks.sealed_runs import Rows, Trained, dealt, first
from benchmarks.sealed_sets import SETS
from benchmarks.sets import DataSet
from benchmarks.settings import Request
from hedgerow.protocols.predict.active import Asking
from hedgerow.run.real.rejoin import Scoring

FULL = ("credit1",)
QUICK = FULL

LINK = Link(0.02, 100.0)
ROWS, FEWER_ROWS = (1, 16, 64, 256, 1024, 4096), (1, 16, 64, 1024)
BARRED = (1, 16)
TURNS, FEWER_TURNS = 9, 5

BESIDE_BATCHED = RatioAndGoal(0.5, 0.1)
OF_SERIAL = 0.05
SHEET = "link, 20 ms and 100 Mbit/s, joined"


@dataclass(frozen=True, eq=False)
class Joined:
    """Both ways of predicting, over the link."""

    trained: Trained
    sealed: Scoring
    interactive: Asking

    def contenders(self, rows: Rows) -> Contenders:
        """The two that take turns."""
        return {"sealed": partial(self.by_seals, rows), "batched": partial(self.by_ways, rows, None)}

    def by_seals(self, rows: Rows) -> object:
        """Scores in one sealed round."""
        return self.sealed.scores(next(iter(rows.values())))

    def by_ways(self, rows: Rows, together: int | None) -> object:
        """Scores by ways, so many trees together."""
        leaves = self.interactive.leaves(next(iter(rows.values())), together)
        return self.trained.model.scores_at(leaves)


def run(request: Request) -> Iterator[Line]:
    """The lines of every set asked for."""
    for name in request.sets:
        yield from lines_of(SETS[name], request)


def lines_of(data: DataSet, request: Request) -> Iterator[Line]:
    """One set: some numbers of rows, then where both ways take equally long, then bytes."""
    split = data.load()
    trained = Trained.of(split.X_train, split.y_train, request.settings.threads)
    rows, numbers = dealt(split.X_test), FEWER_ROWS if request.quick else ROWS
    beside_batched, beside_serial = {}, {}
    with tempfile.TemporaryDirectory(prefix="hedgerow-benchmark-") as folder, Running() as running:
        place = SealedPlace(Path(folder), trained.model, rows, request.settings.threads)
        one, other = (place.run_file(name, running, LINK) for name in ("sealed", "interactive"))
        place.serve(running, one)
        place.answer(running, other)
        with place.scoring(one) as sealed, asking(other, place.model, place.identity()) as interactive:
            joined = Joined(trained, sealed, interactive)
            for contender in joined.contenders(first(rows, 1)).values():
                contender()
            for n in numbers:
                lines = list(compared(data, joined, first(rows, n), FEWER_TURNS if request.quick else TURNS))
                beside_batched[n], beside_serial[n] = (line.ratio or 0.0 for line in lines[:2])
                yield from lines
    yield crossing(data, "batched is faster", beside_batched)
    yield crossing(data, f"sealed takes more than {OF_SERIAL} of one by one", beside_serial, OF_SERIAL)
    yield bytes_a_row(data, trained, first(rows, max(numbers)))


def compared(data: DataSet, joined: Joined, rows: Rows, turns: int) -> Iterator[Line]:
    """The same rows in both ways, and once tree by tree, which takes seconds."""
    n = next(iter(rows.values())).n_rows
    told = f"{n} row{'s' if n > 1 else ''}"
    taken = take_turns(joined.contenders(rows), turns)
    sealed, batched = taken["sealed"], taken["batched"]
    bar = BESIDE_BATCHED if n in BARRED else None
    yield line_of(data, f"{told}, sealed / batched, s", sealed, batched, bar)
    serial = turn(partial(joined.by_ways, rows, 1))
    barred = RatioAtMost(OF_SERIAL) if n in BARRED else None
    yield line_of(data, f"{told}, sealed / one by one, s", sealed, serial, barred)
    largest = float(np.abs(sealed.made - batched.made).max())
    right = WithinSteps(largest, joined.trained.error)
    figures: dict[str, Figure] = {"sealed": largest, "interactive": None, "ratio": None, "bar": str(right)}
    yield Line(f"{data.name}: {told}, error", data.origin, largest, bar=right, sheet=SHEET, figures=figures)


def line_of(data: DataSet, name: str, ours: Taken, theirs: Taken, bar: RatioAndGoal | RatioAtMost | None) -> Line:
    """Seconds of both."""
    ratio = ours.seconds / theirs.seconds
    figures: dict[str, Figure] = {"sealed": ours.seconds, "interactive": theirs.seconds, "ratio": ratio}
    figures["bar"] = str(bar or "")
    name = f"{data.name}: {name}"  # others are not told: the other party and the links would count among them
    return Line(name, data.origin, ours.seconds, theirs.seconds, bar, sheet=SHEET, figures=figures)


def crossing(data: DataSet, what: str, ratios: Mapping[int, float], level: float = 1.0) -> Line:
    """From how many rows on the ratio is above a level; between measured numbers, logarithms lie on a line."""
    found = crossed({n: ratio / level for n, ratio in ratios.items()})
    told = f"{data.name}: rows from which {what}"
    name = told if found is not None else f"{told}: more than {max(ratios)}"
    figures: dict[str, Figure] = {"sealed": found and round(found), "interactive": None, "ratio": None, "bar": ""}
    return Line(name, data.origin, found or float(max(ratios)), sheet=SHEET, figures=figures)


def crossed(ratios: Mapping[int, float]) -> float | None:
    """Where the ratio is one; None: nowhere."""
    logs: Sequence[tuple[float, float]] = [(float(np.log(n)), float(np.log(ratios[n]))) for n in sorted(ratios)]
    for (n, ratio), (more, higher) in pairwise(logs):
        if ratio <= 0 < higher:
            return float(np.exp(n + (more - n) * -ratio / (higher - ratio)))
    return None


def bytes_a_row(data: DataSet, trained: Trained, rows: Rows) -> Line:
    """What crosses for a row of a large batch, both ways."""
    sealed, batched = trained.sealed(rows), trained.interactive(rows)
    ratio = sealed.kilobytes / batched.kilobytes
    figures: dict[str, Figure] = {"sealed": sealed.kilobytes, "interactive": batched.kilobytes, "ratio": ratio}
    figures["bar"] = str(A_ROW)
    name = f"{data.name}: kB a row of {len(sealed.scores)}"
    return Line(name, data.origin, sealed.kilobytes, batched.kilobytes, A_ROW, sheet=SHEET, figures=figures)
