"""The methods of differential privacy beside each other, at an epsilon of 1 on one table."""

from collections.abc import Iterator
from statistics import fmean

from benchmarks.dp_accuracy import measured, predicted
from benchmarks.dp_sets import SETS as SETS
from benchmarks.horizontal_rows import Figure, Line
from benchmarks.rows import Row
from benchmarks.settings import Request
from hedgerow.agreement.dp import DP, PrivateMethod

FULL = tuple(SETS)
QUICK = ("abalone",)
METHODS: tuple[PrivateMethod, ...] = ("auto", "additive", "random", "greedy")
SEEDS = 3
SHEET = "test AUC (abalone: RMSE) by method at epsilon 1, five parties, one may collude"


def run(request: Request) -> Iterator[Row]:
    """A line for each set."""
    for name in request.sets:
        private = SETS[name]
        tables = private.tables()
        figures: dict[str, Figure] = {}
        scores = {}
        for method in METHODS:
            dp = DP(epsilon=1, method=method, **private.declared)
            seeds = range(1 if request.quick else SEEDS)
            scores[method] = figures[method] = fmean(
                measured(private, predicted(private, tables, dp, s), tables[1]) for s in seeds
            )
        yield Line(name, "real", scores["auto"], None, None, None, SHEET, figures)
