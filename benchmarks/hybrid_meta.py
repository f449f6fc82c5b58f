"""How many trees one passive rule fixes (figure 3a of the HybridTree paper), with the control that it lacks.

`python -m benchmarks.hybrid_meta PICTURE.png` draws the figure.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.sets import SETS as OTHERS
from benchmarks.settings import Request
from hedgerow.data.hybrid_partition import HybridCut, hybrid
from hedgerow.data.payments import ACCOUNT_COLUMNS, PRESETS, generate_payments
from hedgerow.data.table import Table
from hedgerow.model.meta_rules import MetaRules, meta_rules
from hedgerow.model.train import Task
from hedgerow.report.pictures.rules import meta_rule_picture
from hedgerow.report.plots import save_picture
from hedgerow.trees.losses import Loss

Made = tuple[Table, tuple[str, ...], float]
"""A pooled table, its passive columns, and the least share of rows that a rule must have."""
SEEDS, QUICK_SEEDS = (0, 1, 2), (0,)
PAYMENTS = 200_000
CLAIMED = 0.9
SHEET = "meta-rules: the largest share of 40 pooled trees that one passive rule fixes, mean of the seeds"


@dataclass(frozen=True)
class RuleSet:
    """A pooled table, made by a seed."""

    make: Callable[[int], Made]
    file: str = ""

    @property
    def at_hand(self) -> bool:
        """Whether its file is there."""
        return not self.file or OTHERS[self.file].at_hand

    @property
    def origin(self) -> str:
        """The word every row says about its data."""
        return "real" if self.file else "generated"


def of_file(name: str, passive: Any, seed: int) -> Made:
    """Training rows of a set; which columns are passive is drawn by the seed, where a number is given."""
    split = OTHERS[name].load()
    values = split.X_train.toarray() if hasattr(split.X_train, "toarray") else split.X_train
    table = Table.of(np.asarray(values), split.y_train)
    names = next(iter(hybrid(table, HybridCut(passive, 1, seed=seed)).passive.values())).names
    return table, names, 0.01


def of_payments(preset: str, seed: int) -> Made:
    """Payments with their accounts' columns; anomalies are rare, and so are the rows of a rule."""
    return generate_payments(PAYMENTS, PRESETS[preset], 25, seed).together(), ACCOUNT_COLUMNS, 0.0002


SETS = {
    "adult-102": RuleSet(partial(of_file, "a9a", 21), "a9a"),
    "adult-20": RuleSet(partial(of_file, "a9a", 103), "a9a"),
    "cod-rna": RuleSet(partial(of_file, "cod-rna", (0, 1)), "cod-rna"),
    "AD": RuleSet(partial(of_payments, "AD")),
    "DEV": RuleSet(partial(of_payments, "DEV")),
}
FULL = tuple(SETS)
QUICK = ("cod-rna", "DEV")


def run(request: Request) -> Iterator[Line]:
    """A line for every set; nothing is asked of the figures."""
    for name in request.sets:
        measures = measured(name, QUICK_SEEDS if request.quick else SEEDS, request.settings.threads)
        yield line(name, measures)


def measured(name: str, seeds: tuple[int, ...], threads: int) -> list[MetaRules]:
    """The measure and its control for each seed."""
    found = []
    for seed in seeds:
        table, passive, least = SETS[name].make(seed)
        task = Task(Loss("logistic"), (0, 1), threads=threads)
        found.append(meta_rules(table, passive, task, least_support=least, seed=seed))
    return found


def line(name: str, measures: list[MetaRules]) -> Line:
    """The means, and how far seeds lie apart."""
    nearly = [one.passive.nearly for one in measures]
    figures: dict[str, Figure] = {
        "one leaf": mean(one.passive.exactly for one in measures),
        "shuffled ": mean(one.shuffled.exactly for one in measures),
        "nearly one value": mean(nearly),
        "least": min(nearly),
        "most": max(nearly),
        "shuffled": mean(one.shuffled.nearly for one in measures),
        "rules": round(mean(one.passive.rules for one in measures)),
    }
    return Line(name, SETS[name].origin, mean(nearly), sheet=SHEET, figures=figures)


def draw(place: Path) -> None:
    """Figure 3a, of the sets that are at hand."""
    found = {name: measured(name, SEEDS, 2) for name in FULL if SETS[name].at_hand}
    save_picture(meta_rule_picture(found, claimed=CLAIMED), place)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
