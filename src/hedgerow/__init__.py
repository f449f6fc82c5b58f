"""Trees over data that several organisations hold and none may share."""

from typing import TYPE_CHECKING, Any

from hedgerow.data import partition
from hedgerow.data.read import read_table
from hedgerow.data.table import Column, Table
from hedgerow.federation import Horizontal, Lattice, NoPrivacy, Paillier, SecureAggregation, Vertical, WholeTrees
from hedgerow.model import Model
from hedgerow.saved import load_model
from hedgerow.trees.boost import Round

if TYPE_CHECKING:
    from hedgerow.estimators import ForestClassifier, ForestRegressor, GBDTClassifier, GBDTRegressor

__version__ = "0.1.0"
__all__ = [
    "Column",
    "ForestClassifier",
    "ForestRegressor",
    "GBDTClassifier",
    "GBDTRegressor",
    "Horizontal",
    "Lattice",
    "Model",
    "NoPrivacy",
    "Paillier",
    "Round",
    "SecureAggregation",
    "Table",
    "Vertical",
    "WholeTrees",
    "load_model",
    "partition",
    "read_table",
]


def __getattr__(name: str) -> Any:
    """The estimators, when they are first asked for: scikit-learn takes longer to load than everything else."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hedgerow import estimators

    return getattr(estimators, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
