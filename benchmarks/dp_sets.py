"""The sets of the benchmark of differential privacy, with what everybody may know of each before a row is seen.

The bars were measured on these splits: a9a on its own test file, the others with the first three quarters of a
permutation (NumPy's RandomState(0)) to train on. They are not the other benchmarks' splits.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.horizontal_sets import ABALONE, SEXES
from benchmarks.sets import CREDIT1, CREDIT2, DEFAULT1, DEFAULT2, Split, data_folder, load_a9a, read_csv
from hedgerow.data.table import Table

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True)
class Private:
    """A set, the bars and goals at every epsilon, and the options of DP that say what is declared of it."""

    name: str
    files: tuple[str, ...]
    load: Callable[[], Split]
    bars: tuple[float, ...]
    goals: tuple[float, ...]
    categorical: tuple[int, ...] = ()
    declared: dict[str, Any] = field(default_factory=dict)

    @property
    def at_hand(self) -> bool:
        """Whether all its files lie in the data folder."""
        return all((data_folder() / file).is_file() for file in self.files)

    @property
    def numbers(self) -> bool:
        """Whether numbers are learnt; the error counts, not the AUC."""
        return "label_range" in self.declared

    def tables(self) -> tuple[Table, Table]:
        """Rows to train on and to test on."""
        split = self.load()
        return (
            Table.of(split.X_train, split.y_train, categorical=self.categorical),
            Table.of(split.X_test, split.y_test, categorical=self.categorical),
        )


def permuted(X: Any, y: Any) -> Split:
    """Three quarters of the rows to train on, in the order of a permutation."""
    order = np.random.RandomState(0).permutation(len(y))
    train, test = np.split(order, [3 * len(y) // 4])
    return Split(X[train], y[train], X[test], y[test])


def load_written_a9a() -> Split:
    """Adult with its zeros written out, so that every column is one of two categories."""
    split = load_a9a()
    return Split(split.X_train.toarray(), split.y_train, split.X_test.toarray(), split.y_test)


def load_abalone() -> Split:
    """Abalone, its rings from 0 to 1: (rings - 1) / 28."""
    import pandas as pd

    frame = pd.read_csv(data_folder() / ABALONE)
    rings = frame.pop("Rings").to_numpy(dtype="float64")
    frame["Sex"] = frame["Sex"].map(SEXES)
    return permuted(frame.to_numpy(dtype="float32"), (rings - 1) / 28)


def load_credit(file: str, label: str) -> Split:
    """A credit set."""
    return permuted(*read_csv(file, label))


TWO = {f"f{i}": ("0", "1") for i in range(123)}
CLASSES = (0, 1)
SETS = {
    each.name: each
    for each in (
        Private(
            "a9a", ("a9a.libsvm.gz", "a9a.t.libsvm.gz"), load_written_a9a,
            (0.884, 0.897, 0.899, 0.900, 0.901), (0.890, 0.900, 0.9015, 0.9025, 0.9032),
            tuple(range(123)), {"max_nonzero": 14, "classes": CLASSES, "categories": TWO},
        ),
        Private(
            "credit1", (CREDIT1,), partial(load_credit, CREDIT1, DEFAULT1),
            (0.750, 0.768, 0.775, 0.779, 0.783), (0.765, 0.778, 0.782, 0.785, 0.788), (), {"classes": CLASSES},
        ),
        Private(
            "credit2", (CREDIT2,), partial(load_credit, CREDIT2, DEFAULT2),
            (0.853, 0.861, 0.863, 0.865, 0.866), (0.860, 0.864, 0.8665, 0.868, 0.868), (), {"classes": CLASSES},
        ),
        Private(
            "abalone", (ABALONE,), load_abalone,
            (0.108, 0.097, 0.095, 0.093, 0.089), (0.100, 0.088, 0.086, 0.085, 0.083), (0,),
            {"label_range": (0, 1), "categories": {"f0": ("1", "2", "3")}},
        ),
    )
}  # fmt: skip
