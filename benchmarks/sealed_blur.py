"""What an owner's blur costs: AUC and KS of sealed scores that are moved at random, beside those that are not.

Two parties in this process. A blur is drawn anew each time, so that figures are means over a few predictions.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.sealed_rows import WithinSteps
from benchmarks.sealed_runs import LATTICE, Trained, auc_ks, dealt, first
from benchmarks.sealed_sets import SETS
from benchmarks.sets import DataSet
from benchmarks.settings import Request

FULL = ("credit1", "credit2")
QUICK = ("credit1",)

WIDTHS = (0, 5, 10, 25, 50, 125)
"""Thousandths of the largest score; the last is the most that always fits."""
DRAWS, FEWER_DRAWS = 5, 1
SHEET = "blurred scores, by at most so many thousandths of the largest; means over the draws"


def run(request: Request) -> Iterator[Line]:
    """A line for every set and width."""
    draws = FEWER_DRAWS if request.quick else DRAWS
    for name in request.sets:
        yield from lines_of(SETS[name], request.settings.threads, draws)


def lines_of(data: DataSet, threads: int, draws: int) -> Iterator[Line]:
    """Of all test rows; the bar is that no score is moved further than the blur and fixed point allow."""
    split = data.load()
    trained = Trained.of(split.X_train, split.y_train, threads)
    rows, y = first(dealt(split.X_test), len(split.y_test)), split.y_test
    exact = trained.interactive(rows).scores
    unblurred = auc_ks(y, exact)[0]
    for permille in WIDTHS:
        times = draws if permille else 1
        told = [trained.sealed(rows, LATTICE, permille).scores for _ in range(times)]
        auc, ks = np.mean([auc_ks(y, scores) for scores in told], axis=0).tolist()
        width = trained.blur(permille)
        off = max(float(np.abs(scores - exact).max()) for scores in told)
        figures: dict[str, Figure] = {
            "AUC": auc,
            "KS": 100 * ks,
            "AUC lost": unblurred - auc,
            "draws": times,
            "blur at most": width,
            "spread of scores": float(exact.std()),
            "largest change": off,
        }
        bar = WithinSteps(off, width + trained.error)
        yield Line(f"{data.name}: blur {permille}", data.origin, auc, unblurred, bar, sheet=SHEET, figures=figures)
