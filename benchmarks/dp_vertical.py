"""What vertical models learn under each promise: credit1, a bank with 17 columns and labels, and a shop with 6.

Beside it what the bank learns alone, and what all columns together learn without any promise. The shop has the six
columns of past payments, which tell most of the label.
"""

from collections.abc import Iterator
from functools import cache
from statistics import fmean, pstdev
from typing import Any

from sklearn.metrics import roc_auc_score

from benchmarks.horizontal_rows import Line
from benchmarks.rows import Row
from benchmarks.sets import SETS as OTHERS
from benchmarks.sets import Split
from benchmarks.settings import Request
from hedgerow.agreement.dp import DP, Protects
from hedgerow.agreement.options import Vertical
from hedgerow.data.table import Table
from hedgerow.estimators.gbdt import GBDTClassifier

SETS = {"credit1": OTHERS["credit1"]}
FULL = QUICK = ("credit1",)
SHOP = tuple(range(5, 11))
PROMISES: tuple[tuple[Protects, tuple[float, ...]], ...] = (
    ("labels", (0.0, 0.5, 1.0, 2.0, 5.0)),
    ("model", (0.5, 1.0, 2.0, 5.0)),
    ("passive", (0.5, 1.0, 2.0, 5.0)),
)
SEEDS = 3
SHEET = "test AUC of a vertical model, 17 columns with labels and 6 without, by what is protected"


def run(request: Request) -> Iterator[Row]:
    """A line for each promise and epsilon."""
    for name in request.sets:
        split = SETS[name].load()
        alone, pooled = _without(split)
        for protects, epsilons in PROMISES:
            for epsilon in epsilons:
                seeds = range(1 if request.quick or epsilon == 0 else SEEDS)
                found = [measured(split, DP(epsilon, protects=protects), seed) for seed in seeds]
                figures: dict[str, Any] = {
                    "protects": protects, "epsilon": epsilon, "AUC": fmean(found), "deviation": pstdev(found),
                    "alone": alone, "all columns, no promise": pooled,
                }  # fmt: skip
                line = f"{name}: {protects}, epsilon {epsilon:g}"
                yield Line(line, "real", fmean(found), None, None, None, SHEET, figures)


def measured(split: Split, dp: DP, seed: int) -> float:
    """The AUC of a model that the two train together, on test rows."""
    ours, theirs = columns()
    training = {"bank": Table.of(split.X_train[:, ours], split.y_train), "shop": Table.of(split.X_train[:, theirs])}
    testing = {"bank": Table.of(split.X_test[:, ours]), "shop": Table.of(split.X_test[:, theirs])}
    federation = Vertical(active="bank", align="given", dp=dp)
    fitted = GBDTClassifier(federation=federation, random_state=seed, n_jobs=2).fit(training)
    return float(roc_auc_score(split.y_test, fitted.predict_proba(testing)[:, 1]))


@cache
def columns() -> tuple[list[int], list[int]]:
    """The bank's, and the shop's."""
    return [c for c in range(23) if c not in SHOP], list(SHOP)


def _without(split: Split) -> tuple[float, float]:
    ours, _ = columns()
    found = []
    for some in (ours, list(range(23))):
        fitted = GBDTClassifier(n_jobs=2).fit(split.X_train[:, some], split.y_train)
        found.append(float(roc_auc_score(split.y_test, fitted.predict_proba(split.X_test[:, some])[:, 1])))
    return found[0], found[1]
