"""How large the sets are: rows, columns, missing values and classes, as they are loaded here."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.horizontal_sets import SETS as TABLES
from benchmarks.hybrid_sets import SETS as HYBRID
from benchmarks.hybrid_sets import HybridSet
from benchmarks.sealed_sets import SETS as SEALED
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request


@dataclass(frozen=True)
class Sized:
    """A set that can be loaded as training and test rows."""

    name: str
    load: Callable[[], Split]
    origin: str
    at_hand: bool

    @classmethod
    def of(cls, data: DataSet) -> "Sized":
        """A table."""
        return cls(data.name, data.load, data.origin, data.at_hand)

    @classmethod
    def together(cls, data: HybridSet) -> "Sized":
        """A network of parties, in one table; payments as most tables have them."""

        def load() -> Split:
            whole = data.whole(0, True)
            return Split(whole.train.values, whole.train.labels, whole.test.values, whole.test.labels)

        return cls(data.name, load, data.origin, data.at_hand)


SETS: Mapping[str, Sized] = {
    **{name: Sized.of(TABLES[name]) for name in ("breast", "abalone", "a9a", "cod-rna", "mnist", "credit1", "credit2")},
    "jdt": Sized.of(SEALED["jdt"]),
    **{name: Sized.together(HYBRID[name]) for name in ("payments-ad", "payments-dev")},
}
FULL, QUICK = tuple(SETS), ("breast",)
SHEET = "the sets"


def run(request: Request) -> Iterator[Line]:
    """A line for every set asked for."""
    for name in request.sets:
        split = SETS[name].load()
        figures = {"train": rows(split.X_train), "test": rows(split.X_test), "columns": int(split.X_train.shape[1])}
        yield Line(name, SETS[name].origin, float(figures["train"]), sheet=SHEET, figures=figures | told(split))


def rows(X: Any) -> int:
    """How many."""
    return int(X.shape[0])


def told(split: Split) -> dict[str, Figure]:
    """What is to be predicted, and how much is missing."""
    X, y = split.X_train, np.asarray(split.y_train)
    missing = 0.0 if hasattr(X, "toarray") else float(np.isnan(X).mean())
    classes = 0 if y.dtype.kind == "f" and len(np.unique(y)) > 2 else len(np.unique(y))
    positive = float(np.mean(y > 0)) if classes == 2 else None
    return {"classes": classes, "positive": positive, "missing": missing}
