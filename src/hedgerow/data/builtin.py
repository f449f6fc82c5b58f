"""The data sets that come with scikit-learn, by name: "builtin:iris"."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.data.table import Table
from hedgerow.errors import ParameterError

BUILTIN = "builtin:"
BUILTIN_SETS = ("breast_cancer", "diabetes", "digits", "iris", "wine")
BUILTIN_LABEL = "target"


def read_builtin(data: str, categorical: Sequence[str] = ()) -> Table:
    """A data set by its name, with its labels."""
    name = data.removeprefix(BUILTIN)
    if name not in BUILTIN_SETS:
        known = ", ".join(BUILTIN + known for known in BUILTIN_SETS)
        raise ParameterError(f"{data} is unknown; the data sets that come along are {known}.")
    from sklearn import datasets  # slow to import

    bunch: Any = getattr(datasets, f"load_{name}")()
    labels = bunch.target
    if name not in ("diabetes", "digits"):
        labels = np.array(bunch.target_names)[labels].astype(object)
    names = [str(column) for column in bunch.feature_names]
    return Table.of(bunch.data, labels, names=names, categorical=categorical)
