"""The data sets that come along, by name: those of scikit-learn ("builtin:iris"), and a generated payment network."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.data.named_network import PAYMENTS, is_network, named_network
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError

BUILTIN = "builtin:"
BUILTIN_SETS = ("breast_cancer", "diabetes", "digits", "iris", "wine", PAYMENTS)
BUILTIN_LABEL = "target"


def read_builtin(data: str, categorical: Sequence[str] = ()) -> Table:
    """A data set by its name, with its labels."""
    name = data.removeprefix(BUILTIN)
    check_builtin(data)
    if is_network(name):
        made = named_network(name).together()
        return Table.of(made.values, made.labels, names=made.names, categorical=categorical, ids=made.ids)
    from sklearn import datasets  # slow to import

    bunch: Any = getattr(datasets, f"load_{name}")()
    labels = bunch.target
    if name not in ("diabetes", "digits"):
        labels = np.array(bunch.target_names)[labels].astype(object)
    names = [str(column) for column in bunch.feature_names]
    return Table.of(bunch.data, labels, names=names, categorical=categorical)


def check_builtin(data: str) -> None:
    """Refuse a name that is no data set's, or knobs that a network does not have."""
    name = data.removeprefix(BUILTIN)
    if is_network(name):
        named_network(name)
    elif name not in BUILTIN_SETS:
        known = ", ".join(BUILTIN + known for known in BUILTIN_SETS)
        raise ParameterError(f"{data} is unknown; the data sets that come along are {known}.")
