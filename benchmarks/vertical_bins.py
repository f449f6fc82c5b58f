"""What sides and sums tell the active party of the others' bins: the share of each passive column's entropy."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.horizontal_runs import Recipe
from benchmarks.horizontal_sets import SETS
from benchmarks.settings import Request
from benchmarks.vertical_runs import PLAIN, dealt, learnt
from hedgerow.data.table import Table
from hedgerow.protocols.leakage import ColumnTold

FULL = ("credit1", "credit2", "a9a")
QUICK = ("credit1",)
TREES, QUICK_TREES, BINS = (10, 50, 100), (10,), 32
SHEET = "what the active party learns of passive columns' bins, 2 parties (share of their entropy)"


def run(request: Request) -> Iterator[Line]:
    """A line for every set and number of trees. What is told does not depend on the cipher, so none is used."""
    for name in request.sets:
        split = SETS[name].load()
        parties = dealt(Table.of(split.X_train, split.y_train), 2)
        for trees in QUICK_TREES if request.quick else TREES:
            settings = replace(request.settings, trees=trees, bins=BINS)
            told = learnt(Recipe.of(settings, split.y_train), parties, PLAIN).told()
            yield line(f"{name}: {trees} trees", SETS[name].origin, told)


def line(name: str, origin: str, told: list[ColumnTold]) -> Line:
    """The columns that can be cut, at a glance."""
    some = [column for column in told if column.entropy > 0]
    sides, both = sorted(c.sides for c in some), sorted(c.sides_and_sums for c in some)
    figures: dict[str, Figure] = {
        "columns": len(some),
        "sides, least": sides[0],
        "median ": median(sides),
        "most ": sides[-1],
        "with sums, least": both[0],
        "median": median(both),
        "most": both[-1],
    }
    return Line(name, origin, median(both), sheet=SHEET, figures=figures)
