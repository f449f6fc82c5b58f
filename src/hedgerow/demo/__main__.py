"""`make demo`: what three organisations learn alone, together, and what they would learn with their data in one place.

Twice, on scikit-learn's handwritten digits (is it odd?): once each has some of the pictures (masked sums), once each
has a part of every picture (sealed gradients). Every organisation is a process of its own.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn import datasets
from sklearn.model_selection import train_test_split

from hedgerow.agreement.plan import Plan
from hedgerow.commands.print_tables import print_grid
from hedgerow.commands.progress_bar import size
from hedgerow.data.table import Table
from hedgerow.demo.organisations import Federation, Ran, run
from hedgerow.errors import HedgerowError, MissingExtra
from hedgerow.estimators import GBDTClassifier
from hedgerow.model import part as parts
from hedgerow.model.file import load_model, save
from hedgerow.model.model import Model, class_numbers
from hedgerow.model.quality import auc
from hedgerow.report import plots
from hedgerow.run.folder.folder import MODEL, PART
from hedgerow.run.forecast.disclosures import leaks

SEED = 7
ORGANISATIONS = ("alder", "birch", "cedar")
DRIVER = "driver"
TREES: dict[str, Any] = {
    "n_estimators": 40,
    "max_depth": 4,
    "learning_rate": 0.2,
    "gradient_bits": 8,
    "min_cut_rows": 50,
}
SETTINGS = '{method}\n[data]\nlabel = "label"\nid = "id"\ntask = "classify"\n[trees]\n{trees}\n'
Out = Annotated[
    Path, typer.Option(help="Folder for all that the organisations write; an earlier demonstration there is removed.")
]


@dataclass(frozen=True, eq=False)
class Case:
    """One way in which the data is shared out."""

    each_has: str
    protected: str
    federation: Federation
    train: Table
    """Everything in one place."""
    test: Table


def demo(out: Out = Path("demo-output")) -> None:
    """Three organisations learn together, as real processes, and nobody shows anybody's data."""
    train, test = _digits()
    typer.echo(
        f"Three organisations, {', '.join(ORGANISATIONS)}: each a process with its own certificate, on localhost.\n"
        f"Which handwritten digits are odd? {train.n_rows} to learn from, {test.n_rows} to test on; "
        f"{TREES['n_estimators']} trees.\n"
    )
    rows: list[list[str]] = []
    found: list[tuple[Case, Ran, Model, bool]] = []
    for case in (_by_rows(train, test), _by_columns(train, test)):
        typer.echo(f"training: each has {case.each_has} ...", err=True)
        ran = run(case.federation, out / case.federation.name)
        together = _model(case.federation, ran.folders)
        pooled, seconds = _pooled(case.train)
        rows += _lines(case, ran, together, pooled, seconds)
        found.append((case, ran, together, together.forest == pooled.forest))
    typer.echo(err=True)
    print_grid(["each has", "who learns", "auc", "seconds", "bytes"], rows, n_names=2)
    _end(out, found)


def _end(out: Path, found: list[tuple[Case, Ran, Model, bool]]) -> None:
    for case, _, _, same in found:
        forests = "the same forest, bit for bit" if same else "DIFFERENT forests"
        typer.echo(f"each has {case.each_has}: together and in one place, {forests}.")
    for case, ran, _, _ in found:
        typer.echo(f"\nWho saw what, where each has {case.each_has}:")
        for sentence in leaks(Plan.read(ran.manifest["plan"].encode())):
            typer.echo(f"- {sentence}")
        typer.echo(f"  whole list: {ran.folders[case.federation.driver] / 'manifest.json'}")
    whole = found[-1][2]
    save(whole, out / MODEL)
    typer.echo(f"\npicture: {_picture(whole, out / 'model.png')}")
    typer.echo(f"model:   {out / MODEL}")
    if not all(same for _, _, _, same in found):
        raise typer.Exit(1)


def _digits() -> tuple[Table, Table]:
    """Three quarters of the pictures to learn from, one to test on, drawn by a fixed seed."""
    bunch = datasets.load_digits()
    labels = np.array(["even", "odd"], object)[bunch.target % 2]
    names = [str(name) for name in bunch.feature_names]
    table = Table.of(bunch.data, labels, names=names, ids=np.arange(len(labels)))
    train, test = train_test_split(np.arange(table.n_rows), test_size=0.25, random_state=SEED, stratify=labels)
    return table.take(np.sort(train)), table.take(np.sort(test))


def _by_rows(train: Table, test: Table) -> Case:
    tables = {name: train.take(np.arange(i, train.n_rows, 3)) for i, name in enumerate(ORGANISATIONS)}
    federation = Federation("rows", DRIVER, tables, _settings(""))
    return Case("some of the pictures", "together, masked", federation, train, test)


def _by_columns(train: Table, test: Table) -> Case:
    """The first has the labels and a third of the columns; the others a third of the columns each."""
    at = np.array_split(np.arange(train.n_columns), 3)
    tables = {
        name: _some(train, columns, i == 0) for i, (name, columns) in enumerate(zip(ORGANISATIONS, at, strict=True))
    }
    method = f'method = "vertical"\nactive = "{ORGANISATIONS[0]}"'
    federation = Federation("columns", ORGANISATIONS[0], tables, _settings(method))
    return Case("a part of each picture", "together, encrypted", federation, train, test)


def _some(table: Table, columns: Any, labelled: bool) -> Table:
    labels = table.labels if labelled else None
    return Table.of(table.values[:, columns], labels, names=[table.names[i] for i in columns], ids=table.ids)


def _settings(method: str) -> str:
    trees = "\n".join(f"{key} = {value}" for key, value in TREES.items())
    return SETTINGS.format(method=method, trees=trees)


def _model(federation: Federation, folders: Mapping[str, Path]) -> Model:
    """The model; where every organisation has a part of it, all parts put together for the test."""
    model = load_model(folders[federation.driver] / MODEL)
    others = [name for name in federation.tables if name != federation.driver]
    files = {name: folders[name] / PART for name in others if (folders[name] / PART).exists()}
    return parts.joined(model, {name: parts.decoded(file.read_bytes(), str(file)) for name, file in files.items()})


def _pooled(train: Table) -> tuple[Model, float]:
    began = time.perf_counter()
    model = GBDTClassifier(**TREES).fit(train, train.labels).model_
    return model, time.perf_counter() - began


def _lines(case: Case, ran: Ran, together: Model, pooled: Model, seconds: float) -> Iterator[list[str]]:
    tables = {name: table for name, table in case.federation.tables.items() if table.labels is not None}
    alone = np.mean([_auc(_pooled(table)[0], case.test) for table in tables.values()])
    who = "each alone (mean)" if len(tables) > 1 else f"{next(iter(tables))} alone"
    yield [case.each_has, who, f"{alone:.4f}", "", ""]
    yield [case.each_has, case.protected, f"{_auc(together, case.test):.4f}", f"{ran.seconds:.1f}", size(ran.n_bytes)]
    yield [case.each_has, "all in one place", f"{_auc(pooled, case.test):.4f}", f"{seconds:.1f}", ""]


def _auc(model: Model, test: Table) -> float:
    own = _some(test, [test.names.index(column.name) for column in model.columns], True)
    return auc(class_numbers(np.asarray(own.labels), model.classes), model.predict(own))


def _picture(model: Model, path: Path) -> str:
    try:
        plots.save_picture(plots.plot_model(model), path)
    except MissingExtra as absent:
        return f"none. {absent}"
    return str(path)


if __name__ == "__main__":
    try:
        typer.run(demo)
    except HedgerowError as error:
        typer.echo(f"hedgerow: {error}", err=True)
        raise SystemExit(1) from None
