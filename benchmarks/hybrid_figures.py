"""Figures 6, 8 and 9 of the HybridTree paper as lines: more passive parties, and parties whose labels are skewed.

With skewed labels who holds a row tells its label. HybridTree's subtrees learn that, so that it matters whether test
rows are dealt by the same shares ("alike") or evenly: both are measured. Shared subtrees do not know who holds a row.
`hybrid_plots` draws them.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from benchmarks.horizontal_rows import Line
from benchmarks.hybrid_runs import Trial
from benchmarks.hybrid_sets import SETS as SETS
from benchmarks.hybrid_sets import HybridSet
from benchmarks.hybrid_tables import ways
from benchmarks.kept import Found
from benchmarks.settings import Request

FULL = ("cod-rna", "adult-20", "payments-ad", "payments-dev")
QUICK = ("cod-rna", "adult-20")

SEEDS, QUICK_SEEDS = range(3), range(1)
PARTIES = {5: (5, 10, 20, 100), 25: (25, 50, 100)}
"""By the number that a set has."""
QUICK_PARTIES = 2
BETAS, QUICK_BETAS = (0.1, 0.5, 1.0, 10.0), (0.1, 10.0)
TEST_ROWS: tuple[Literal["alike", "even"], ...] = ("alike", "even")

BY_PARTIES, BY_SKEW = "figures 6 and 9, number of passive parties", "figures 8 and 9, labels of passive parties skewed"


def run(request: Request) -> Iterator[Line]:
    """The lines of every set."""
    for name in request.sets:
        data = SETS[name]
        numbers = PARTIES[data.parties][: QUICK_PARTIES if request.quick else None]
        for n in numbers:
            yield line(BY_PARTIES, data, request, {"parties": n}, {"parties": n}, f"{n} parties")
    for name in request.sets:
        data = SETS[name]
        for rows in TEST_ROWS:
            for beta in QUICK_BETAS if request.quick else BETAS:
                cut = {"how": "labels", "alpha": beta, "test_rows": rows}
                yield line(BY_SKEW, data, request, cut, {"beta": beta, "test rows": rows}, f"beta {beta:g}, {rows}")


def line(sheet: str, data: HybridSet, request: Request, cut: dict[str, Any], told: dict[str, Any], what: str) -> Line:
    """Means over the seeds."""
    found = [measured(data, seed, request, cut) for seed in (QUICK_SEEDS if request.quick else SEEDS)]
    mean = {way: float(np.mean([each[way] for each in found])) for way in found[0]}
    return Line(
        f"{data.name}: {what}", data.origin, mean["shared"], mean["pooled"], sheet=sheet, figures={**told, **mean}
    )


def measured(data: HybridSet, seed: int, request: Request, cut: dict[str, Any]) -> Found:
    """The figures of one seed."""
    return ways(Trial.of(data, data.pair(seed, few=True, **cut), request))
