"""Trees over data that several organisations hold and none may share."""

from hedgerow.data import partition
from hedgerow.data.read import read_table
from hedgerow.data.table import Column, Table
from hedgerow.estimators import ForestClassifier, ForestRegressor, GBDTClassifier, GBDTRegressor
from hedgerow.federation import Horizontal, NoPrivacy, SecureAggregation, WholeTrees
from hedgerow.model import Model
from hedgerow.saved import load_model
from hedgerow.trees.boost import Round

__version__ = "0.1.0"
__all__ = [
    "Column",
    "ForestClassifier",
    "ForestRegressor",
    "GBDTClassifier",
    "GBDTRegressor",
    "Horizontal",
    "Model",
    "NoPrivacy",
    "Round",
    "SecureAggregation",
    "Table",
    "WholeTrees",
    "load_model",
    "partition",
    "read_table",
]
