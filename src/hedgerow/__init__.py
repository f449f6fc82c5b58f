"""Trees over data that several organisations hold and none may share."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow.agreement.active_parties import Bagged
from hedgerow.agreement.options import (
    DP,
    Horizontal,
    Hybrid,
    Lattice,
    NoPrivacy,
    Paillier,
    SecureAggregation,
    Vertical,
    WholeTrees,
)
from hedgerow.data import partition
from hedgerow.data.read import read_table
from hedgerow.data.table import Column, Table
from hedgerow.model.file import load_model
from hedgerow.model.model import Model
from hedgerow.trees.boost import Round

if TYPE_CHECKING:
    from hedgerow.data.folds import HashFolds, PartyTables
    from hedgerow.data.pieces import read_in_pieces
    from hedgerow.estimators.gbdt import GBDTClassifier, GBDTRegressor
    from hedgerow.estimators.random_forest import ForestClassifier, ForestRegressor
    from hedgerow.model import quality as metrics
    from hedgerow.model.bag import load_bag
    from hedgerow.report import plots

__version__ = "0.1.0"
__all__ = [
    "DP",
    "Bagged",
    "Column",
    "ForestClassifier",
    "ForestRegressor",
    "GBDTClassifier",
    "GBDTRegressor",
    "HashFolds",
    "Horizontal",
    "Hybrid",
    "Lattice",
    "Model",
    "NoPrivacy",
    "Paillier",
    "PartyTables",
    "Round",
    "SecureAggregation",
    "Table",
    "Vertical",
    "WholeTrees",
    "load_bag",
    "load_model",
    "metrics",
    "partition",
    "plots",
    "read_in_pieces",
    "read_table",
]


MODULES = {"metrics": "hedgerow.model.quality", "plots": "hedgerow.report.plots"}
"""Modules that users know by another name than ours."""

SELDOM = {
    "HashFolds": "hedgerow.data.folds",
    "PartyTables": "hedgerow.data.folds",
    "load_bag": "hedgerow.model.bag",
    "read_in_pieces": "hedgerow.data.pieces",
}
"""Where names are that few need."""


def __getattr__(name: str) -> Any:
    """The estimators and plots, when they are first asked for: what they need takes long to load."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in MODULES:
        return import_module(MODULES[name])
    return getattr(import_module(SELDOM.get(name, "hedgerow.estimators")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
