"""XGBoost on all rows with FedTree's settings: what the first column of its table 1 is here."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.horizontal_runs import Recipe
from benchmarks.horizontal_sets import SETS as SETS
from benchmarks.horizontal_tables import FEDTREE, PUBLISHED, Published
from benchmarks.measure import score
from benchmarks.seats import xgboost_learner
from benchmarks.settings import Request

FULL = ("breast", "a9a", "cod-rna", "mnist", "abalone")
SHEET = "XGBoost with FedTree's settings"


def run(request: Request) -> Iterator[Line]:
    """A line for every set asked for."""
    for name in request.sets:
        split = SETS[name].load()
        recipe = Recipe.of(request.settings, split.y_train, **FEDTREE)
        learner: Any = xgboost_learner(request.settings, not recipe.classes, **FEDTREE)
        learner.fit(split.X_train, split.y_train)
        if recipe.classes:
            ours = score(split.y_test, learner.predict_proba(split.X_test))
        else:
            ours = float(np.sqrt(np.mean((learner.predict(split.X_test) - split.y_test) ** 2)))
        said = PUBLISHED.get(name, Published()).pooled
        figures: dict[str, Figure] = {"score": recipe.metric, "XGBoost": ours, "theirs": said}
        yield Line(name, SETS[name].origin, ours, said, sheet=SHEET, figures=figures)
