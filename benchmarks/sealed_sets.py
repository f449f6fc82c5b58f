"""The sets of the benchmark of sealed prediction: 60 % of the rows to train on, 20 % to test on, 20 % for neither.

Fed-EINI's third set is not public; `jdt` is generated in its size.
"""

from functools import partial
from typing import Any

from sklearn.model_selection import train_test_split

from benchmarks.ciphers_shapes import Shape, shapes
from benchmarks.generated import APPLICANT_COLUMNS, generate_applicants
from benchmarks.sets import CREDIT1, CREDIT2, DEFAULT1, DEFAULT2, DataSet, Split, read_csv

JDT_ROWS, FEWER_ROWS = 512_082, 30_000


def fifths(X: Any, y: Any) -> Split:
    """Three fifths of the rows to train on and one to test on, drawn with seed 0; the last would choose settings."""
    X_rest, X_test, y_rest, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    X_train, _, y_train, _ = train_test_split(X_rest, y_rest, test_size=0.25, random_state=0)
    return Split(X_train, y_train, X_test, y_test)


def load_credit(file: str, label: str) -> Split:
    """A real set."""
    return fifths(*read_csv(file, label))


def load_applicants(rows: int) -> Split:
    """The generated one, in some size."""
    return fifths(*generate_applicants(rows, APPLICANT_COLUMNS, seed=0))


SETS = {
    each.name: each
    for each in (
        DataSet("credit1", partial(load_credit, CREDIT1, DEFAULT1), (CREDIT1,)),
        DataSet("credit2", partial(load_credit, CREDIT2, DEFAULT2), (CREDIT2,)),
        DataSet("jdt", partial(load_applicants, JDT_ROWS)),
        DataSet("jdt-30k", partial(load_applicants, FEWER_ROWS)),
    )
}

USUAL = (10_000, 50, 100)
"""Rows, passive columns and trees of the sweep, of which one changes at a time."""
SWEEP: dict[str, Shape] = shapes(
    *((rows, *USUAL[1:]) for rows in (10_000, 20_000, 40_000, 80_000)),
    *((USUAL[0], columns, USUAL[2]) for columns in (5, 20, 100)),
    *((*USUAL[:2], trees) for trees in (10, 30)),
)
FEW: dict[str, Shape] = shapes((1000, 50, 100), (2000, 50, 100), (1000, 5, 100), (1000, 50, 10))
MEMORY: dict[str, Shape] = shapes((30_000, 108, 100), (10_000, 108, 100))
EVERY = (*SETS, *SWEEP, *FEW, *MEMORY)
