"""`make demo`: models on scikit-learn's bundled data, a picture, and five parties that learn together under masks."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn import datasets
from sklearn.model_selection import train_test_split

from hedgerow import plots
from hedgerow.commands.outputs import print_grid
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import MissingExtra
from hedgerow.estimators import ForestClassifier, GBDTClassifier, GBDTRegressor
from hedgerow.federation import LEAST_CUT_ROWS, Horizontal, SecureAggregation
from hedgerow.metrics import auc, rmse
from hedgerow.model import Model, class_numbers
from hedgerow.saved import save

SEED = 7
Estimator = GBDTClassifier | ForestClassifier | GBDTRegressor
Out = Annotated[Path, typer.Option(help="Folder for the picture and the model; created if it is not there.")]


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows to learn from, and rows to test on."""

    name: str
    train: Table | dict[str, Table]
    """One table, or one for each party."""
    test: Table


def demo(out: Out = Path("demo-output")) -> None:
    """Train boosted trees and a random forest on tumours, boosted trees on diabetes, and show how good they are."""
    out.mkdir(parents=True, exist_ok=True)
    cancer, diabetes = _breast_cancer(), _diabetes()
    boosted, first = _run(cancer, "boosted trees", GBDTClassifier(n_estimators=150, max_depth=4))
    _, second = _run(cancer, "random forest", ForestClassifier(n_estimators=300, random_state=SEED))
    _, third = _run(diabetes, "boosted trees", GBDTRegressor(n_estimators=150, max_depth=3, learning_rate=0.05))
    print_grid(["data", "model", "metric on test rows", "seconds"], [first, second, third], n_names=2)
    save(boosted, out / "model.json")
    typer.echo(f"picture: {_picture(boosted, out / 'model.png')}")
    typer.echo(f"model:   {out / 'model.json'}\n")
    _together(cancer)


def _together(data: DataSet) -> None:
    """Five parties alone, together under masks, and with their rows in one place."""
    parties = partition.rows(data.train, n=5, seed=SEED)
    alone = [GBDTClassifier(n_estimators=150, max_depth=4).fit(t, t.labels).model_ for t in parties.values()]
    scores = [auc(class_numbers(np.asarray(data.test.labels), m.classes), m.predict(data.test)) for m in alone]
    masked = GBDTClassifier(n_estimators=150, max_depth=4, federation=Horizontal(privacy=SecureAggregation()))
    central = GBDTClassifier(n_estimators=150, max_depth=4, min_cut_rows=LEAST_CUT_ROWS)
    together, second = _run(replace(data, train=parties), "together, masked sums", masked)
    pooled, third = _run(data, "rows in one place", central)
    first = [data.name, "each alone (mean)", f"auc {np.mean(scores):.4f}", ""]
    print_grid(["data", "five parties", "metric on test rows", "seconds"], [first, second, third], n_names=2)
    same = "the same forest, bit for bit" if together.forest == pooled.forest else "DIFFERENT forests"
    typer.echo(f"together and in one place: {same}")


def _breast_cancer() -> DataSet:
    bunch = datasets.load_breast_cancer()
    names = np.array(["malignant", "benign"], object)
    return _divided("breast cancer", Table.of(bunch.data, names[bunch.target], names=list(bunch.feature_names)), True)


def _diabetes() -> DataSet:
    bunch = datasets.load_diabetes(scaled=False)
    return _divided("diabetes", Table.of(bunch.data, bunch.target, names=list(bunch.feature_names)), False)


def _divided(name: str, table: Table, by_class: bool) -> DataSet:
    """Three quarters of the rows to train on, one to test on, drawn by a fixed seed."""
    strata = table.labels if by_class else None
    train, test = train_test_split(np.arange(table.n_rows), test_size=0.25, random_state=SEED, stratify=strata)
    return DataSet(name, table.take(train), table.take(test))


def _run(data: DataSet, name: str, estimator: Estimator) -> tuple[Model, list[str]]:
    """The trained model, and its row of the table."""
    began = time.perf_counter()
    model = estimator.fit(data.train, getattr(data.train, "labels", None)).model_
    seconds = time.perf_counter() - began
    return model, [data.name, name, _measured(model, data.test), f"{seconds:.2f}"]


def _measured(model: Model, test: Table) -> str:
    labels = np.asarray(test.labels)
    if not model.classes:
        return f"rmse {rmse(labels, model.predict(test)):.1f}"
    return f"auc {auc(class_numbers(labels, model.classes), model.predict(test)):.4f}"


def _picture(model: Model, path: Path) -> str:
    try:
        plots.save_picture(plots.model_picture(model), path)
    except MissingExtra as absent:
        return f"none. {absent}"
    return str(path)


if __name__ == "__main__":
    typer.run(demo)
