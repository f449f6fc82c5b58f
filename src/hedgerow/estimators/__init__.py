"""The scikit-learn face: boosted trees and random forests as estimators."""

from hedgerow.estimators.gbdt import GBDTClassifier, GBDTRegressor
from hedgerow.estimators.random_forest import ForestClassifier, ForestRegressor

__all__ = ["ForestClassifier", "ForestRegressor", "GBDTClassifier", "GBDTRegressor"]
