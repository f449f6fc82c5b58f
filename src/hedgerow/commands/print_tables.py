"""What commands print and write: results on stdout, remarks on stderr, files whole or not at all."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from hedgerow.commands import log
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError, Sentence
from hedgerow.model import quality
from hedgerow.model.bag import Bag
from hedgerow.model.model import ClassLabel, Model, class_numbers
from hedgerow.report.tree_text import plain


def note(sentence: str) -> None:
    """A remark to the user."""
    log.current().note(sentence)


def check_writable(path: Path) -> None:
    """Refuse a place where no file can be written, before any work is done for it."""
    folder = path.parent
    if not folder.is_dir():
        raise ParameterError(f"Cannot write {path}: the folder {folder} does not exist; create it first.")
    if path.exists() and not path.is_file():
        raise ParameterError(f"Cannot write {path}: it is a folder or a device; name a file.")
    if not os.access(folder, os.W_OK):
        raise ParameterError(f"Cannot write {path}: the folder {folder} is not writable; choose another place.")


def print_grid(header: Sequence[str], rows: Sequence[Sequence[str]], n_names: int = 1) -> None:
    """A small table: the first columns are names, the others are numbers."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=any(header))
    for i, name in enumerate(header):
        grid.add_column(Text(plain(name)), justify="left" if i < n_names else "right", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(plain(cell)) for cell in row))
    console = Console(highlight=False)
    with console.capture() as drawn:  # printed by typer: rich itself ends the program when a pipe is closed
        console.print(grid)
    typer.echo(drawn.get(), nl=False)


def comparable(labels: NDArray[Any] | None, classes: tuple[ClassLabel, ...]) -> NDArray[Any]:
    """Labels as a model predicts them: numbers of classes, or numbers."""
    if labels is None:
        raise DataError("The table has no labels to compare predictions with; name their column with --label.")
    if classes:
        return class_numbers(labels, classes)
    if labels.dtype.kind not in "iuf":
        raise DataError("The labels are text, where numbers are to be predicted; name another column with --label.")
    return labels


def check_labels(name: str, table: Table, classes: tuple[ClassLabel, ...]) -> None:
    """Refuse labels that predictions cannot be compared with, before anything is predicted."""
    try:
        comparable(table.labels, classes)
    except DataError as error:
        raise DataError(Sentence(f"In the {name} rows: ", error.sentence)) from None


def measured(model: Model, table: Table, threads: int) -> dict[str, float]:
    """Every metric that the table's labels allow."""
    comparable(table.labels, model.classes)  # before anything is predicted
    return measured_by(model, table, model.predict(table, threads))


def measured_by(model: Model | Bag, table: Table, predicted: NDArray[np.float64]) -> dict[str, float]:
    """Every metric that the table's labels allow, of what was predicted for its rows."""
    labels = comparable(table.labels, model.classes)
    found = quality.allowed(labels, predicted, table.weights, len(model.classes))
    if model.classes and (absent := len(model.classes) - len(np.unique(labels))):
        only = " and ".join(found)
        note(f"{absent} of the {len(model.classes)} classes have no row here, so there are only {only}.")
    return found


def metric_rows(columns: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    """A row for each metric, a cell for each table; empty where it was not computed."""
    names = dict.fromkeys(name for of_table in columns.values() for name in of_table)
    return [[name, *(f"{of[name]:.5g}" if name in of else "" for of in columns.values())] for name in names]
