"""Fed-EINI's figure 8: seconds as rows, passive columns or trees become more, of generated applicants in one process.

What would take too long is measured on few rows and multiplied: always with Paillier, and where trees are asked about
one by one on the rows of the last column, if these are fewer.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.generated import ACTIVE_COLUMNS, generate_applicants
from benchmarks.horizontal_rows import Figure, Line
from benchmarks.sealed_rows import WithinSteps
from benchmarks.sealed_runs import PAILLIER, Trained, dealt, first
from benchmarks.sealed_sets import FEW, SWEEP
from benchmarks.settings import Request

SETS = {**SWEEP, **FEW}
FULL, QUICK = tuple(SWEEP), tuple(FEW)

TRAINING_ROWS = 20_000
PAILLIER_ROWS, FEWER_PAILLIER_ROWS = 40, 8
SERIAL_ROWS = 10_000
SHEET = "figure 8, rows x passive columns x trees, seconds without joining, in one process"


def run(request: Request) -> Iterator[Line]:
    """A line for every shape."""
    with_paillier = FEWER_PAILLIER_ROWS if request.quick else PAILLIER_ROWS
    for name in request.sets:
        yield line_of(name, request.settings.threads, with_paillier)


def line_of(name: str, threads: int, paillier_rows: int) -> Line:
    """One shape; the bar is about scores."""
    n, passive, trees = SETS[name].numbers
    columns = ACTIVE_COLUMNS + passive
    trained = Trained.of(*generate_applicants(TRAINING_ROWS, columns, seed=0), threads, trees)
    rows = dealt(generate_applicants(n, columns, seed=1)[0])
    trained.sealed(first(rows, 16))  # loads and starts everything
    sealed, batched = trained.sealed(rows), trained.interactive(rows)
    few, serial_rows = min(paillier_rows, n), min(SERIAL_ROWS, n)
    paillier = trained.sealed(first(rows, few), PAILLIER)
    serial = trained.interactive(first(rows, serial_rows), together=1)
    serial_seconds = serial.seconds * n / serial_rows
    figures: dict[str, Figure] = {
        "lattice s": sealed.seconds,
        "kB/row": sealed.kilobytes,
        "Paillier s, scaled": paillier.seconds * n / few,
        "scaled from": few,
        "batched s": batched.seconds,
        "one by one s": serial_seconds,
        "measured on": serial_rows,
    }
    off = [np.abs(way.scores - batched.scores[: len(way.scores)]).max() for way in (sealed, paillier)]
    bar = WithinSteps(float(max(off)), trained.error)
    return Line(name, "generated", sealed.seconds, serial_seconds, bar, sealed.others, SHEET, figures)
