"""FedTree's tables 6 and 7: real processes in both modes, and asking node by node beside asking level by level.

Table 6: seconds of a tree with every party in a process of its own on loopback, the first tree left out, in which
processes warm up. Table 7: the same over a link of 20 ms and 100 Mbit/s between driver and parties, once as hedgerow
talks, once with a message for every node (`party_processes`); bytes and messages are those of whole runs.
"""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.horizontal_runs import Recipe
from benchmarks.horizontal_sets import SETS as SETS
from benchmarks.horizontal_tables import FEDTREE
from benchmarks.party_processes import Office, Ran
from benchmarks.sealed_processes import Link
from benchmarks.settings import Request
from benchmarks.vertical_runs import dealt
from hedgerow.data import partition
from hedgerow.data.table import Table

FULL = ("breast", "a9a", "cod-rna", "mnist", "abalone")
PARTIES, QUICK_TREES = 2, 2
LINK = Link(0.02, 100.0)
TABLE_6, TABLE_7 = "table 6, seconds of a tree, a process each", "table 7, level by level and node by node over a link"


@dataclass(frozen=True)
class Said:
    """What the paper prints of a set in one mode.

    Seconds of a tree of FedTree and FATE; of 50 trees communication seconds without and with batches, and megabytes.
    """

    fedtree: float
    fate: float
    by_node: float
    by_level: float
    megabytes: float


PUBLISHED: Mapping[str, Mapping[str, Said]] = {
    "horizontal": {
        "breast": Said(0.22, 10.30, 8.82, 4.64, 20.4),
        "a9a": Said(0.66, 23.51, 11.72, 4.04, 14.2),
        "cod-rna": Said(0.34, 27.43, 12.42, 5.4, 33.4),
        "mnist": Said(25.9, 838.04, 30.16, 8.15, 57.3),
        "abalone": Said(0.29, 6.39, 13.156, 5.06, 32.9),
    },
    "vertical": {
        "breast": Said(1.49, 4.72, 16.301, 5.26, 23.5),
        "a9a": Said(8.03, 29.13, 21.56, 6.16, 27.0),
        "cod-rna": Said(9.99, 52.50, 55.46, 14.22, 48.5),
        "mnist": Said(22.77, 506.42, 80.26, 16.72, 59.4),
        "abalone": Said(2.06, 5.39, 13.61, 5.67, 43.3),
    },
}
TREES = {"horizontal": 20, "vertical": 10}
MOST_TOGETHER = 2
"""Classes that one tree a round is enough for."""
FEW = {"mnist": 2}
"""Of ten classes' trees each."""


def run_6(request: Request) -> Iterator[Line]:
    """Every set asked for in both modes, on loopback."""
    for name in request.sets:
        for mode, said in PUBLISHED.items():
            with tempfile.TemporaryDirectory(prefix="hedgerow-benchmark-") as folder:
                made = office(Path(folder), name, mode, request)
                ran, each = made.run("loopback"), per_round(made)
                figures: dict[str, Figure] = {
                    "trees": made.params.n_estimators * each,
                    "s/tree": median(ran.seconds[1:]) / each,
                    "MB/tree": ran.megabytes / (made.params.n_estimators * each),
                    "their s/tree": said[name].fedtree if name in said else None,
                    "FATE's s/tree": said[name].fate if name in said else None,
                }
            yield Line(f"{name}: {mode}", SETS[name].origin, median(ran.seconds[1:]), sheet=TABLE_6, figures=figures)


def run_7(request: Request) -> Iterator[Line]:
    """Every set asked for in both modes, over the link, both ways of asking."""
    for name in request.sets:
        for mode, said in PUBLISHED.items():
            with tempfile.TemporaryDirectory(prefix="hedgerow-benchmark-") as folder:
                made = office(Path(folder), name, mode, request)
                level, node = made.run("level", LINK), made.run("node", LINK, node_by_node=True)
            yield beside(name, mode, level, node, said.get(name))


def office(folder: Path, name: str, mode: str, request: Request) -> Office:
    """Two parties of a set."""
    split = SETS[name].load()
    trees = QUICK_TREES if request.quick else FEW.get(name, TREES[mode])
    recipe = Recipe.of(replace(request.settings, trees=trees), split.y_train, **FEDTREE)
    table = Table.of(split.X_train, split.y_train)
    parties = dealt(table, PARTIES) if mode == "vertical" else partition.rows(table, n=PARTIES, how="even")
    return Office(folder, mode, parties, recipe.params, request.settings.threads, classes=len(recipe.classes))


def per_round(made: Office) -> int:
    """Trees that are grown together: one for each of more than two classes."""
    return made.classes if made.classes > MOST_TOGETHER else 1


def beside(name: str, mode: str, level: Ran, node: Ran, said: Said | None) -> Line:
    """Seconds of all trees but the first, messages and bytes; the forests are the same, so that work is too."""
    ours, slower = sum(level.seconds[1:]), sum(node.seconds[1:])
    figures: dict[str, Figure] = {
        "rounds": len(level.seconds),
        "by level s": ours,
        "by node s": slower,
        "by level messages": level.messages,
        "by node messages": node.messages,
        "by level MB": level.megabytes,
        "by node MB": node.megabytes,
        "their by level s": None if said is None else said.by_level,
        "their by node s": None if said is None else said.by_node,
        "their MB": None if said is None else said.megabytes,
    }
    return Line(f"{name}: {mode}", SETS[name].origin, ours, slower, sheet=TABLE_7, figures=figures)
