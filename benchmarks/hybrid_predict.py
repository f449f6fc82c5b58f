"""Table 8 of the HybridTree paper: bytes and exchanges of predicting all test rows, hybrid beside vertical.

Passive parties share their columns, or (vertical) are merged into one that has all rows. Ids, which tell each party the
rows that it has, are counted apart: in the paper rows are linked before. Models are trained by real runs without
encryption, on the first rows of a set, and predict as any model does. Seconds are those of all parties in one process.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.hybrid_published import TABLE_8
from benchmarks.hybrid_runs import Trial
from benchmarks.hybrid_sets import SETS as SETS
from benchmarks.hybrid_sets import HybridSet, Pair, first_rows
from benchmarks.measure import timed
from benchmarks.settings import Request
from hedgerow.agreement.options import Hybrid, NoPrivacy
from hedgerow.corridor import messages as m
from hedgerow.data.hybrid_partition import merged
from hedgerow.run.simulation.predict import predict_parties

FULL = ("cod-rna", "adult-20", "payments-ad", "payments-dev")
QUICK = ("cod-rna",)

SEED, QUICK_TREES = 0, 5
MOST_ROWS = 20_000
"""Rows to train on."""
WAYS = {"AAAAAPP": "AAAAAPP", "AAAAJJJ (default)": "AAAAJJJ", "PPAAAAA": "PPAAAAA"}
VERTICAL = "vertical"
SHEET = "table 8, prediction of all test rows"


class Crossed:
    """What crosses in a prediction: a listener."""

    def __init__(self) -> None:
        self.ids = self.ways = 0
        self.asked: Counter[str] = Counter()
        self._linking = False

    def __call__(self, sender: str, receiver: str, message: Any, frame: bytes) -> None:  # noqa: ARG002
        """An answer belongs to the request before it."""
        if isinstance(message, m.Request):
            self._linking = not isinstance(message, m.AskWays)
            self.asked[receiver] += not self._linking
        if self._linking:
            self.ids += len(frame)
        else:
            self.ways += len(frame)


def run(request: Request) -> Iterator[Line]:
    """The lines of every set."""
    for name in request.sets:
        yield from lines_of(SETS[name], request)


def lines_of(data: HybridSet, request: Request) -> Iterator[Line]:
    """One set: the vertical protocol, and each schedule beside it."""
    train, test = data.pair(SEED, few=True)
    more = {"n_estimators": QUICK_TREES} if request.quick else {}
    whole = Pair(*(made._replace(passive={"merged": merged(made.passive)}) for made in (train, test)))
    vertical = predicted(Trial.of(data, _shorter(whole), request, **more), "JJJJJJJ", shared=False)
    for name, levels in WAYS.items():
        trial = Trial.of(data, _shorter(Pair(train, test)), request, **more)
        found = predicted(trial, levels, shared=True)
        ours, peer = TABLE_8[data.name]
        figures: dict[str, Figure] = {
            "rows": test.active.n_rows,
            "parties": len(train.passive),
            **found,
            **{f"{VERTICAL} {key}": vertical[key] for key in ("MB", "exchanges")},
            "their MB": ours,
            "their vertical MB": peer,
        }
        yield Line(f"{data.name}: {name}", data.origin, found["MB"], vertical["MB"], sheet=SHEET, figures=figures)


def _shorter(pair: Pair) -> Pair:
    return Pair(first_rows(pair.train, MOST_ROWS), pair.test)


def predicted(trial: Trial, levels: str, *, shared: bool) -> dict[str, float]:
    """What it takes to predict the test rows, the trees having these levels."""
    method = Hybrid(NoPrivacy(i_accept_disclosure=True), active="active", align="given", levels=levels, shared=shared)
    model, crossed = trial.federated(method), Crossed()
    tables = {"active": trial.pair.test.active, **trial.pair.test.passive}
    seconds, _ = timed(lambda: predict_parties(model, tables, (crossed,)))
    exchanges = max(crossed.asked.values(), default=0)
    return {"MB": crossed.ways / 1e6, "ids MB": crossed.ids / 1e6, "exchanges": exchanges, "seconds": seconds}
