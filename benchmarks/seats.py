"""The learners that may sit in a seat, through their scikit-learn faces; each is imported only when it sits down."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, Self

from benchmarks.settings import Settings


class Learner(Protocol):
    """What a seat asks of a learner."""

    def fit(self, X: Any, y: Any, /) -> Self:
        """Learn from rows and their labels."""

    def predict_proba(self, X: Any, /) -> Any:
        """One row of class probabilities per row."""


def hedgerow_learner(settings: Settings) -> Learner:
    """Hedgerow's pooled boosting."""
    face: Callable[..., Learner] = import_module("hedgerow").GBDTClassifier
    return face(
        n_estimators=settings.trees,
        max_depth=settings.depth,
        learning_rate=settings.learning_rate,
        max_bin=settings.bins,
        n_jobs=settings.threads,
        reg_lambda=settings.reg_lambda,
        min_child_weight=settings.min_child_weight,
        gradient_bits=settings.gradient_bits,
    )


def xgboost_learner(settings: Settings, numbers: bool = False, **more: Any) -> Learner:
    """XGBoost's hist trees, of classes or of numbers; it has no gradient bits."""
    face: Callable[..., Learner] = getattr(import_module("xgboost"), "XGBRegressor" if numbers else "XGBClassifier")
    return face(**_for_xgboost(settings) | more)


def _for_xgboost(settings: Settings) -> dict[str, Any]:
    return {
        "tree_method": "hist",
        "n_estimators": settings.trees,
        "max_depth": settings.depth,
        "learning_rate": settings.learning_rate,
        "max_bin": settings.bins,
        "n_jobs": settings.threads,
        "reg_lambda": settings.reg_lambda,
        "min_child_weight": settings.min_child_weight,
    }


SEATS: dict[str, Callable[[Settings], Learner]] = {"hedgerow": hedgerow_learner, "xgboost": xgboost_learner}


def can_sit(name: str) -> bool:
    """Whether a learner is installed here with the face we ask for."""
    try:
        SEATS[name](Settings())
    except (ImportError, AttributeError):
        return False
    return True
