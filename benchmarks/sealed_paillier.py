"""Sealed prediction under lattice encryption beside Paillier with 2048 bits, both sides in this process."""

from collections.abc import Iterator

import numpy as np

from benchmarks.ciphers_rows import Faster
from benchmarks.rows import Row
from benchmarks.sealed_rows import AtMost
from benchmarks.sealed_runs import PAILLIER, Trained, dealt, first, middle
from benchmarks.sealed_sets import SETS
from benchmarks.sets import DataSet
from benchmarks.settings import Request

FULL = ("credit1",)
QUICK = FULL

ROWS, FEWER_ROWS = 200, 40
TURNS = 3
BAR = Faster(200, 2000)


def run(request: Request) -> Iterator[Row]:
    """The rows of every set asked for."""
    for name in request.sets:
        yield from rows_of(SETS[name], request)


def rows_of(data: DataSet, request: Request) -> Iterator[Row]:
    """The same rows under both, seconds without joining; the lattice's turns are short, so that the median counts."""
    split = data.load()
    trained = Trained.of(split.X_train, split.y_train, request.settings.threads)
    n = FEWER_ROWS if request.quick else ROWS
    rows = first(dealt(split.X_test), n)
    trained.sealed(rows)  # loads and starts everything
    trained.sealed(first(rows, 1), PAILLIER)
    ours = middle([trained.sealed(rows) for _ in range(TURNS)])
    theirs = trained.sealed(rows, PAILLIER)
    name = f"{data.name}, {n} rows: lattice / Paillier 2048"
    yield Row(f"{name}, s", data.origin, ours.seconds, theirs.seconds, BAR, ours.others)
    yield Row(f"{name}, kB a row", data.origin, ours.kilobytes, theirs.kilobytes)
    largest = float(np.abs(ours.scores - theirs.scores).max())
    yield Row(f"{name}, largest difference", data.origin, largest, bar=AtMost(0))
