"""What hybrid runs under lattice encryption cost as payments and banks become more; each is run in a fresh process.

A payment network has payments with labels, and its banks know accounts: ids repeat. Rows are linked by private set
intersection, columns are shared, levels are AAAAJJJ. All parties are in one process: what real parties do at the same
time is done one after the other, so that seconds and memory are those of all of them together.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.horizontal_runs import Recipe
from benchmarks.peak import CLEAR_REFS, can_measure, high_water_mib
from benchmarks.quiet import Neighbours
from benchmarks.rows import RatioAtMost
from benchmarks.sets import REPOSITORY
from benchmarks.settings import Request, Settings
from hedgerow.agreement.options import FEW_BITS, Hybrid, Lattice
from hedgerow.corridor import messages as m
from hedgerow.data.hybrid_partition import HybridTables
from hedgerow.data.payments import PRESETS, SIZES, generate_payments
from hedgerow.data.table import Table

NETWORK, LEVELS, BINS = "network", "AAAAJJJ", 32
SHEET = "size: payments and banks, shared columns, AAAAJJJ, 32 bins, lattice, all in one process"
BANKS = "banks: as above"
NEVER_GROWS = RatioAtMost(1.05)  # a twentieth more is taken for noise


@dataclass(frozen=True)
class Size:
    """A network of some size, and how many trees are grown over it."""

    payments: int
    banks: int = 25
    trees: int = 50
    sheet: str = SHEET


SETS = {
    "100k": Size(100_000, trees=10),
    "470k": Size(470_000, trees=10),
    "1.5m": Size(1_500_000, trees=10),
    "ad": Size(SIZES["AD"][0]),
    "5 banks": Size(190_000, 5, 5, BANKS),
    "25 banks": Size(190_000, 25, 5, BANKS),
    "100 banks": Size(190_000, 100, 5, BANKS),
}
FULL, QUICK = tuple(SETS), ("100k",)
HEADINGS = (
    "rows", "banks", "linkage", "linkage cpu", "cut points", "a tree", "a tree cpu", "pooled tree", "linkage MB",
    "a tree MB", "busiest bank MB",
)  # fmt: skip
LINKAGE = (m.BeginLink, m.LinkSize, m.LinkIds, m.LinkedIds, m.LinkCounts)
CUT_POINTS = (m.Agree, m.AskCounts, m.MaskedSums, m.ShareColumns)
TREES = (m.BeginSealed, m.AskSealedSums, m.SealedSums, m.AskSides, m.Sides, m.EndRound)


class Phases:
    """When linkage, cut points and trees began, and the bytes of each."""

    def __init__(self) -> None:
        self.begun: dict[str, tuple[float, float]] = {}
        """By the clock, and by the processor time of all threads."""
        self.bytes: Counter[str] = Counter()
        self.most_to_one: Counter[str] = Counter()
        self.ends: list[tuple[float, float]] = []
        """When the rounds ended."""

    def __call__(self, sender: str, receiver: str, message: Any, frame: bytes) -> None:
        """A listener."""
        now, phase = _now(), _phase(message)
        if phase:
            self.begun.setdefault(phase, now)
            self.bytes[phase] += len(frame)
            self.most_to_one[receiver if isinstance(message, m.Request) else sender] += len(frame)
        if isinstance(message, m.EndRound) and len(self.ends) == message.round:
            self.ends.append(now)

    def told(self) -> dict[str, float]:
        """Seconds and bytes of every phase, and of a tree."""
        starts = [self.begun[name] for name in ("linkage", "cut points", "trees")]
        (linkage, linkage_cpu), (cut_points, _), (trees, trees_cpu) = np.diff([*starts, self.ends[-1]], axis=0).tolist()
        return {
            "linkage": linkage,
            "linkage cpu": linkage_cpu,
            "cut points": cut_points,
            "a tree": trees / len(self.ends),
            "a tree cpu": trees_cpu / len(self.ends),
            "linkage MB": self.bytes["linkage"] / 1e6,
            "a tree MB": self.bytes["trees"] / len(self.ends) / 1e6,
            "busiest bank MB": max(self.most_to_one.values()) / 1e6,
        }


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _phase(message: Any) -> str:
    if isinstance(message, LINKAGE):
        return "linkage"
    return "cut points" if isinstance(message, CUT_POINTS) else "trees" if isinstance(message, TREES) else ""


def run(request: Request) -> Iterator[Line]:
    """A line for every size; where payments become more, what one costs must not."""
    fewer: float | None = None
    for name in request.sets:
        size = SETS[name]
        with Neighbours() as neighbours:
            told = measured(name, replace(request.settings, bins=BINS, trees=size.trees, depth=len(LEVELS)))
        a_row = told["a tree"] / told["rows"] * 1e6
        figures: dict[str, Figure] = {heading: told[heading] for heading in HEADINGS}
        figures |= {"us/row, tree": a_row, "all s": told["seconds"], "peak MiB": told["peak"]}
        grows = size.sheet == SHEET
        bar = NEVER_GROWS if grows and fewer else None
        yield Line(
            f"{name}: a tree", "generated", a_row, fewer if grows else None, bar, neighbours.cores, size.sheet, figures
        )
        fewer = a_row if grows else fewer


def measured(name: str, settings: Settings) -> dict[str, Any]:
    """One training in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.hybrid_size", name, json.dumps(asdict(settings))]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def measure_here(name: str, settings: Settings) -> dict[str, Any]:
    """Generates the network, forgets the peak that took, links, trains, and tells what it cost; then pooled."""
    size = SETS[name]
    tables, together = generated(size)
    recipe, heard = Recipe.of(settings, np.asarray(tables.active.labels), gradient_bits=FEW_BITS), Phases()
    if can_measure():
        CLEAR_REFS.write_text("5")
    began = time.perf_counter()
    method = Hybrid(Lattice(), active=NETWORK, shared=True, levels=LEVELS)
    model = recipe.federated({NETWORK: tables.active, **tables.passive}, method, (heard,))
    ended = time.perf_counter()
    peak = high_water_mib() if can_measure() else None
    recipe.pooled(together.values, together.labels)
    pooled = (time.perf_counter() - ended) / model.forest.n_trees
    costs = {"rows": size.payments, "banks": size.banks, "seconds": ended - began, "peak": peak}
    return costs | heard.told() | {"pooled tree": pooled}


def generated(size: Size) -> tuple[HybridTables, Table]:
    """The parties' tables, and all in one."""
    made = generate_payments(size.payments, PRESETS["AD"], size.banks)
    return made.by_account(np.arange(size.payments)), made.together()


if __name__ == "__main__":
    print(json.dumps(measure_here(sys.argv[1], Settings(**json.loads(sys.argv[2])))))
