"""Fed-EINI's table IV and figure 7: how well and how fast rows are scored, sealed, by asking for ways, and pooled.

All parties are in this process, and no link is simulated.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.sealed_rows import A_ROW, SameDigits, WithinSteps
from benchmarks.sealed_runs import Asked, Trained, auc_ks, dealt, first, recipe_of
from benchmarks.sealed_sets import SETS as SETS
from benchmarks.sets import DataSet
from benchmarks.settings import Request
from hedgerow.data.table import Table

FULL = ("credit1", "credit2", "jdt")
QUICK = ("credit1", "jdt-30k")

SHARES = (0.2, 0.8, 1.0)
TABLE_4 = "table IV, 100 trees of depth 4"
FIGURE_7 = "figure 7, seconds without joining, in one process"
CROSSED = f"what crosses, kB a row {A_ROW}"


@dataclass(frozen=True)
class Published:
    """What the Fed-EINI paper prints of one set, for each share of the test rows; KS in percent."""

    auc: tuple[float, float, float]
    ks: tuple[float, float, float]


PUBLISHED = {
    "credit1": Published((0.880, 0.853, 0.855), (60.3, 55.0, 54.9)),
    "credit2": Published((0.773, 0.771, 0.771), (43.0, 41.0, 40.9)),
    "jdt": Published((0.636, 0.639, 0.638), (19.9, 19.8, 19.7)),
}


def run(request: Request) -> Iterator[Line]:
    """All sheets' lines of every set asked for, as they come."""
    for name in request.sets:
        yield from lines_of(SETS[name], request.settings.threads)


def lines_of(data: DataSet, threads: int) -> Iterator[Line]:
    """Of each share of the test rows a line on every sheet."""
    split = data.load()
    trained = Trained.of(split.X_train, split.y_train, threads)
    pooled = recipe_of(split.y_train, threads).pooled(split.X_train, split.y_train)
    scores, rows = pooled.scores(Table.of(split.X_test), threads), dealt(split.X_test)
    trained.sealed(first(rows, 16))  # loads and starts everything
    for i, share in enumerate(SHARES):
        n = round(share * len(split.y_test))
        some, y = first(rows, n), split.y_test[:n]
        ways = {"pooled": scores[:n]}
        sealed, batched, serial = trained.sealed(some), trained.interactive(some), trained.interactive(some, together=1)
        ways |= {"interactive": batched.scores, "one by one": serial.scores, "sealed": sealed.scores}
        reached = {way: auc_ks(y, told) for way, told in ways.items()}
        yield accuracy(data, share, reached, i)
        step = WithinSteps(float(np.abs(sealed.scores - scores[:n]).max()), trained.error)
        yield efficiency(data, share, (sealed, batched, serial), step)
        yield crossed(data, share, (sealed, batched, serial))


def accuracy(data: DataSet, share: float, reached: dict[str, tuple[float, float]], i: int) -> Line:
    """Table IV's."""
    said = PUBLISHED.get(data.name)
    apart = max(max(figures) - min(figures) for figures in zip(*reached.values(), strict=True))
    figures: dict[str, Figure] = {}
    for way in ("pooled", "interactive", "sealed"):
        figures |= {f"{way} AUC": reached[way][0], f"{way} KS": 100 * reached[way][1]}
    figures |= {"their AUC": said.auc[i] if said else None, "their KS": said.ks[i] if said else None}
    ours, peer = reached["sealed"][0], reached["pooled"][0]
    name = f"{data.name}: {share:.0%}"
    return Line(name, data.origin, ours, peer, SameDigits(apart), sheet=TABLE_4, figures=figures)


def efficiency(data: DataSet, share: float, ways: tuple[Asked, Asked, Asked], bar: WithinSteps) -> Line:
    """Figure 7's; and no score is off by more than the steps of fixed point allow."""
    sealed, batched, serial = ways
    figures: dict[str, Figure] = {
        "rows": len(sealed.scores),
        "joining s": sealed.joining,
        "sealed s": sealed.seconds,
        "batched s": batched.seconds,
        "one by one s": serial.seconds,
        "largest error": bar.largest,
        "allowed error": bar.allowed,
    }
    busy = max((way.others for way in ways if way.others is not None), default=None)
    name = f"{data.name}: {share:.0%}, s"
    return Line(name, data.origin, sealed.seconds, serial.seconds, bar, busy, FIGURE_7, figures)


def crossed(data: DataSet, share: float, ways: tuple[Asked, Asked, Asked]) -> Line:
    """Bytes a row both ways, and how often the active party asks."""
    sealed, batched, serial = ways
    n = len(sealed.scores)
    figures: dict[str, Figure] = {
        "sealed out B/row": round(sealed.out / n),
        "sealed back B/row": round(sealed.back / n),
        "batched out B/row": round(batched.out / n),
        "batched back B/row": round(batched.back / n),
        "sealed exchanges": sealed.exchanges,
        "batched exchanges": batched.exchanges,
        "one by one exchanges": serial.exchanges,
    }
    name = f"{data.name}: {share:.0%}, kB a row"
    return Line(name, data.origin, sealed.kilobytes, batched.kilobytes, A_ROW, sheet=CROSSED, figures=figures)
