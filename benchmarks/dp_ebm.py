"""DP-EBM of `interpret-core`, with its defaults, where it is installed."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.dp_sets import Private
from benchmarks.sets import Split


def ebm_scores(private: Private, split: Split, epsilon: float, seed: int) -> NDArray[np.float64] | None:
    """What it predicts for the test rows; None where it is not installed.

    It takes the least and greatest value of every column from the rows, without noise, which favours it. It takes no
    missing values: they become -1.
    """
    try:
        from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
    except ImportError:
        return None
    options: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-6, "random_state": seed, "n_jobs": 1}
    train, test = (np.nan_to_num(values, nan=-1.0) for values in (split.X_train, split.X_test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if private.numbers:
            bounds = {"privacy_target_min": 0.0, "privacy_target_max": 1.0}
            model = DPExplainableBoostingRegressor(**options, **bounds).fit(train, split.y_train)
            return np.asarray(model.predict(test))
        model = DPExplainableBoostingClassifier(**options).fit(train, split.y_train)
        return np.asarray(model.predict_proba(test)[:, 1])
