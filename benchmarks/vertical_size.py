"""What vertical runs under lattice encryption cost as rows become more; each is measured in a fresh process."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.generated import generate
from benchmarks.horizontal_rows import Figure, Line
from benchmarks.horizontal_runs import Recipe
from benchmarks.peak import CLEAR_REFS, can_measure, high_water_mib
from benchmarks.quiet import Neighbours
from benchmarks.rows import RatioAtMost
from benchmarks.sets import REPOSITORY
from benchmarks.sets import SETS as OTHERS
from benchmarks.settings import Request, Settings
from benchmarks.vertical_runs import dealt
from hedgerow.agreement.options import Lattice, Vertical
from hedgerow.corridor.messages import Answer
from hedgerow.corridor.messages import Request as Asked
from hedgerow.data.table import Table

FULL = ("credit2", "10k", "100k", "1m")
QUICK = ("10k", "100k")
PARTIES, BINS = 2, 32
SHEET = "size, 2 parties, 32 bins, lattice, all in one process"
NEVER_GROWS = RatioAtMost(1.05)  # a twentieth more is taken for noise


@dataclass(frozen=True)
class Size:
    """A table of some size, and how many trees are grown of it."""

    load: Callable[[], tuple[Any, Any]]
    trees: int
    origin: str = "generated"
    file: str = ""

    @property
    def at_hand(self) -> bool:
        """Whether its file is there."""
        return not self.file or OTHERS[self.file].at_hand


def load_credit2() -> tuple[Any, Any]:
    """All 150 000 rows."""
    split = OTHERS["credit2"].load()
    return np.vstack([split.X_train, split.X_test]), np.concatenate([split.y_train, split.y_test])


SIZES = {
    "10k": Size(partial(generate, 10_000, seed=0), 5),
    "100k": Size(partial(generate, 100_000, seed=0), 5),
    "1m": Size(partial(generate, 1_000_000, seed=0), 3),
}
SETS = {"credit2": Size(load_credit2, 50, "real", "credit2"), **SIZES}


class Bytes:
    """Counts what crosses."""

    total = 0

    def __call__(self, sender: str, receiver: str, message: Asked | Answer, frame: bytes) -> None:  # noqa: ARG002
        """A listener."""
        self.total += len(frame)


def run(request: Request) -> Iterator[Line]:
    """A line for every size; where rows become more, what a row costs must not."""
    taken = {}
    for name in request.sets:
        with Neighbours() as neighbours:
            told = measured(name, replace(request.settings, bins=BINS, trees=SETS[name].trees))
        size, others = SETS[name], neighbours.cores
        a_row = told["seconds"] / told["rows"] / size.trees * 1e6
        figures: dict[str, Figure] = {
            "rows": told["rows"],
            "trees": size.trees,
            "seconds": told["seconds"],
            "us/row, tree": a_row,
            "MB": told["bytes"] / 1e6,
            "peak MiB": told["peak"],
        }
        if size.origin == "generated":
            taken[told["rows"]] = a_row
        fewer = max((rows for rows in taken if rows < told["rows"]), default=None)
        known = taken[fewer] if fewer and size.origin == "generated" else None
        bar = NEVER_GROWS if known else None
        yield Line(f"{name}: cost", size.origin, a_row, known, bar, others, SHEET, figures)


def measured(name: str, settings: Settings) -> dict[str, Any]:
    """One training in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.vertical_size", name, json.dumps(asdict(settings))]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def measure_here(name: str, settings: Settings) -> dict[str, Any]:
    """Loads the table, forgets the peak that took, trains, and tells what it cost."""
    X, y = SETS[name].load()
    recipe, heard = Recipe.of(settings, y), Bytes()
    if can_measure():
        CLEAR_REFS.write_text("5")
    began = time.perf_counter()
    recipe.federated(dealt(Table.of(X, y), PARTIES), Vertical(Lattice()), (heard,))
    seconds = time.perf_counter() - began
    peak = high_water_mib() if can_measure() else None
    return {"rows": len(y), "seconds": seconds, "bytes": heard.total, "peak": peak}


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1], Settings(**json.loads(sys.argv[2])))))
