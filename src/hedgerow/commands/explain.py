"""`hedgerow explain`: the columns a model uses, the direction of their effects, the reasons of rows."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from hedgerow.commands import options as opt
from hedgerow.commands.option_names import in_options
from hedgerow.commands.print_tables import note, print_grid
from hedgerow.commands.read_tables import Roles, read_like
from hedgerow.data.table import Table
from hedgerow.errors import ModelError, ParameterError
from hedgerow.model.file import content_of, decoded
from hedgerow.model.meanings import load_meanings
from hedgerow.model.model import Model
from hedgerow.model.part import is_part
from hedgerow.report.explain import COLUMN_FACTS, MOST_REASONS, Explanation, explain_model
from hedgerow.report.explain_files import check_folder, write_explanation
from hedgerow.report.explain_reasons import Reasons, largest, shap_reasons
from hedgerow.threads import threads_of

FIRST_ROWS, MOST_ROWS = 5, 100

MeaningFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--meanings", help="What another party discloses of its columns; may be repeated.", show_default=False
    ),
]
Rows = Annotated[
    str | None,
    typer.Option("--data", help="Rows whose scores are explained, as the model's columns.", show_default=False),
]
Wanted = Annotated[
    str | None,
    typer.Option(
        "--rows",
        help=f"Which rows: numbers from 0 and ranges, such as 0,7-9; with --id, their ids. (default: the first "
        f"{FIRST_ROWS}; at most {MOST_ROWS})",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for explanation.html, columns.csv, reasons.csv and pictures; files in it are overwritten.",
        show_default=False,
    ),
]


def explain(
    model: opt.ModelFile,
    meanings: MeaningFiles = None,
    data: Rows = None,
    rows: Wanted = None,
    out: Out = None,
    id_: opt.Id = None,
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    n_jobs: opt.Jobs = None,
) -> None:
    """Tell which columns a model uses, whose they are, how they change the score, and why rows have theirs.

    Columns of other parties have names and effects where their owners disclose them. Of the active party's part of a
    vertical model, reasons of rows are those of its own columns.
    """
    if data is None and (rows is not None or id_ is not None):
        raise ParameterError("--rows and --id choose rows of a table; name it with --data.")
    if out is not None:
        check_folder(out)
    content = content_of(model)
    if is_part(content):
        raise ModelError(
            f"{model} is a passive party's part of a model, without scores to explain; see its cuts with hedgerow "
            "show, and tell the active party of its columns with hedgerow disclose."
        )
    loaded = decoded(content, str(model))
    explanation = explain_model(loaded, {str(path): load_meanings(path) for path in meanings or ()})
    if data is not None:
        roles = Roles(None, id_, None, loaded.absent, tuple(ignore or ()), delimiter, decimal)
        table = _table(loaded, data, roles)
        explanation = explanation.with_reasons(_reasons(loaded, table, rows, explanation, threads_of(n_jobs)))
    _print(explanation)
    if out is not None:
        typer.echo(f"page: {write_explanation(explanation, out)}")


def _table(model: Model, data: str, roles: Roles) -> Table:
    """The rows with the model's columns; of an active party's part, with its own."""
    own, columns = model.ownership, model.columns
    if own is not None and not own.whole:
        columns = columns[slice(*own.span(own.active))]
    if not columns:
        raise ModelError("The active party has no columns of its own to explain rows by; leave out --data.")
    table = read_like(data, columns, roles)
    for sentence in table.remarks:
        note(in_options(sentence))
    return table


def _reasons(model: Model, table: Table, rows: str | None, explanation: Explanation, threads: int) -> Reasons:
    chosen = _chosen(table, rows)
    named = [str(row) if table.ids is None else str(table.ids[row]) for row in chosen]
    return shap_reasons(model, table.take(np.array(chosen, np.int64)), named, explanation.uses, threads)


def _chosen(table: Table, rows: str | None) -> list[int]:
    """The numbers of the rows that are asked for."""
    if rows is None:
        return list(range(min(FIRST_ROWS, table.n_rows)))
    words = [word.strip() for word in rows.split(",") if word.strip()]
    found = _numbered(words, table.n_rows) if table.ids is None else _with_ids(words, table)
    if not 0 < len(found) <= MOST_ROWS:
        raise ParameterError(f"--rows names {len(found)} rows; from 1 to {MOST_ROWS} can be explained at once.")
    return found


def _numbered(words: Sequence[str], n_rows: int) -> list[int]:
    found: dict[int, None] = {}
    for word in words:
        match = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", word)
        if match is None:
            raise ParameterError(f"--rows takes numbers and ranges, such as 0,7-9; {word!r} is neither.")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < n_rows:
            raise ParameterError(f"--rows {word} is not there: the table has rows 0 to {n_rows - 1}.")
        found |= dict.fromkeys(range(first, min(last, first + MOST_ROWS) + 1))
    return list(found)


def _with_ids(words: Sequence[str], table: Table) -> list[int]:
    places = {} if table.ids is None else {str(id_): row for row, id_ in enumerate(table.ids.tolist())}
    for word in words:
        if word not in places:
            raise ParameterError(f"--rows names the id {word!r}, which no row of the table has.")
    return list(dict.fromkeys(places[word] for word in words))


def _print(explanation: Explanation) -> None:
    wanted = [name for name in COLUMN_FACTS if name != "trees"]
    if explanation.model.ownership is None:
        wanted = [name for name in wanted if name not in ("party", "known by", "meaning")]
    at = [COLUMN_FACTS.index(name) for name in wanted]
    rows = [[row[i] for i in at] for row in explanation.column_rows()]
    print_grid(wanted, rows, wanted.index("splits"))
    if explanation.reasons is not None:
        shown = largest(explanation.reasons.reasons, MOST_REASONS)
        rows = [[reason.row, reason.label, f"{reason.contribution:+.4f}"] for reason in shown]
        print_grid(["row", "column", "adds to the score"], rows, 2)
    for sentence in explanation.notes():
        note(sentence)
