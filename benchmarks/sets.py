"""Data sets by name, each as training and test arrays."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split

from benchmarks.generated import generate

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Split:
    """Training and test rows; a table is float32, dense or CSR, and labels count from 0."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any


@dataclass(frozen=True)
class DataSet:
    """A named set; one without files is generated."""

    name: str
    load: Callable[[], Split]
    files: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """The word every row says about its data."""
        return "real" if self.files else "generated"

    @property
    def at_hand(self) -> bool:
        """Whether all its files lie in the data folder."""
        return all((data_folder() / file).is_file() for file in self.files)


def data_folder() -> Path:
    """Where the real sets lie: HEDGEROW_DATA, or ../shared/data beside the repository."""
    return Path(os.environ.get("HEDGEROW_DATA") or REPOSITORY.parent / "shared" / "data")


def read_libsvm(file: str, columns: int) -> tuple[Any, Any]:
    """A LIBSVM file as a CSR table and 0/1 labels."""
    X, y = load_svmlight_file(str(data_folder() / file), n_features=columns, dtype=np.float32)
    return X, (y > 0).astype(np.int64)


def quartered(X: Any, y: Any) -> Split:
    """Three quarters of the rows to train on, one to test on, drawn with seed 0."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    return Split(X_train, y_train, X_test, y_test)


def load_a9a() -> Split:
    """Adult in LIBSVM's encoding, with its own test file; stays sparse."""
    return Split(*read_libsvm("a9a.libsvm.gz", 123), *read_libsvm("a9a.t.libsvm.gz", 123))


def load_cod_rna() -> Split:
    """cod-rna, dense."""
    X, y = read_libsvm("cod-rna.libsvm.gz", 8)
    return quartered(X.toarray(), y)


def read_csv(file: str, label: str) -> tuple[Any, Any]:
    """The table and labels of a CSV file; its first column numbers the rows and is no feature."""
    import pandas as pd

    frame = pd.read_csv(data_folder() / file)
    frame = frame.drop(columns=frame.columns[0])
    y = frame.pop(label).to_numpy(dtype=np.int64)
    return np.ascontiguousarray(frame.to_numpy(dtype=np.float32)), y


def load_csv(file: str, label: str) -> Split:
    """A CSV file, a quarter of whose rows are there to test on."""
    return quartered(*read_csv(file, label))


def load_mnist() -> Split:
    """Handwritten digits with their own test rows."""
    with np.load(data_folder() / "mnist.npz") as arrays:
        X_train, X_test = (arrays[name].astype(np.float32) for name in ("X_train", "X_test"))
        y_train, y_test = (arrays[name].astype(np.int64) for name in ("y_train", "y_test"))
    return Split(X_train, y_train, X_test, y_test)


def load_generated(rows: int, test_rows: int) -> Split:
    """The generated table and its test rows, from two seeds."""
    return Split(*generate(rows, seed=0), *generate(test_rows, seed=1))


CREDIT1, CREDIT2 = "credit1_uci_default.csv.gz", "credit2_give_me_some_credit.csv.gz"
DEFAULT1, DEFAULT2 = "default.payment.next.month", "SeriousDlqin2yrs"

SETS = {
    each.name: each
    for each in (
        DataSet("a9a", load_a9a, ("a9a.libsvm.gz", "a9a.t.libsvm.gz")),
        DataSet("cod-rna", load_cod_rna, ("cod-rna.libsvm.gz",)),
        DataSet("credit1", partial(load_csv, CREDIT1, DEFAULT1), (CREDIT1,)),
        DataSet("credit2", partial(load_csv, CREDIT2, DEFAULT2), (CREDIT2,)),
        DataSet("mnist", load_mnist, ("mnist.npz",)),
        DataSet("generated-300k", partial(load_generated, 300_000, 30_000)),
        DataSet("generated-5m", partial(load_generated, 5_000_000, 500_000)),
    )
}
