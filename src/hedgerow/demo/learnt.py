"""What is learnt alone and with everything in one place, beside what the organisations reach together."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.data.table import Table
from hedgerow.demo.organisations import FOLDER, Federation
from hedgerow.demo.tables import Shared
from hedgerow.estimators import GBDTClassifier
from hedgerow.model import own_quality, score_counts
from hedgerow.model import part as parts
from hedgerow.model.file import load_model
from hedgerow.model.model import Model
from hedgerow.model.score_counts import Judged
from hedgerow.report.pictures.comparison import ALONE, POOLED, TOGETHER
from hedgerow.run.folder.folder import MODEL, PART

CURVES = "curves.json"


def compared(shared: Shared, trees: Mapping[str, Any], together: Judged) -> tuple[dict[str, dict[str, float]], Model]:
    """What each organisation that has labels reaches alone, all together, and with all data in one place; the last."""
    figures = {
        f"{ALONE} {name}": _figures(_trained(table, trees), shared.new)
        for name, table in shared.tables.items()
        if table.labels is not None
    }
    pooled = _trained(shared.pooled, trees)
    return {**figures, TOGETHER: dict(together.metrics), POOLED: _figures(pooled, shared.pooled_new)}, pooled


def predicted(file: Path, classes: tuple[Any, ...]) -> Any:
    """Probabilities from the file that `hedgerow predict` wrote, in the order of its rows."""
    with file.open(newline="") as opened:
        lines = list(csv.DictReader(opened))
    return np.array([[float(line[f"probability_{name}"]) for name in classes] for line in lines])


def judged_rows(model: Model, new: Table, probability: Any, place: Path) -> Judged:
    """How good predictions are, kept for the curves of the page; the model is asked for its classes only."""
    found = own_quality.judge_predicted(model, new, probability, "new", least_rows=1)
    (place / CURVES).write_bytes(score_counts.encoded(found))
    return found


def joined(federation: Federation, place: Path) -> Model:
    """All parts of a model put together, which only a demonstration can do."""
    model = load_model(place / federation.driver / FOLDER / MODEL)
    others = [name for name in federation.tables if name != federation.driver]
    files = {name: place / name / FOLDER / PART for name in others}
    return parts.joined(model, {name: parts.decoded(file.read_bytes(), str(file)) for name, file in files.items()})


def _figures(model: Model, new: Table) -> dict[str, float]:
    return dict(own_quality.judge(model, new, "").metrics)


def _trained(table: Table, trees: Mapping[str, Any]) -> Model:
    model: Model = GBDTClassifier(**trees).fit(table, table.labels).model_
    return model
