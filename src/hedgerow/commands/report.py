"""`hedgerow report`: a run or a model as one page to look at, to print and to pass on."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.commands.explain_rows import FIRST_ROWS, MOST_ROWS
from hedgerow.commands.print_tables import check_writable
from hedgerow.commands.read_tables import Roles
from hedgerow.commands.report_rows import with_rows
from hedgerow.errors import ModelError, ParameterError
from hedgerow.model.file import content_of, decoded, is_bag, write_whole
from hedgerow.model.meanings import load_meanings
from hedgerow.model.model import Model
from hedgerow.model.part import is_part
from hedgerow.report.page.gather import Given, of_model, of_run
from hedgerow.report.page.page import page
from hedgerow.report.page.several import is_several, page_of_folder
from hedgerow.run.folder.kept_run import read_run
from hedgerow.threads import threads_of

PAGE = "report.html"
Run = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run's folder, finished or not; or a model file.", show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option(
        help=f"Where the page goes; else {PAGE} in the run's folder, or beside the model.", show_default=False
    ),
]
Rows = Annotated[
    str | None,
    typer.Option(
        "--data", help="Labelled rows, as the model's columns, of which curves are drawn.", show_default=False
    ),
]
Wanted = Annotated[
    str | None,
    typer.Option(
        "--rows",
        help=f"Rows of --data that get reasons: numbers from 0 and ranges; with --id, ids. (default: the first "
        f"{FIRST_ROWS}; at most {MOST_ROWS})",
        show_default=False,
    ),
]
MeaningFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--meanings", help="What another party discloses of its columns; may be repeated.", show_default=False
    ),
]
Beside = Annotated[
    list[str] | None,
    typer.Option(
        "--beside",
        metavar="[NAME=]PATH",
        help="A run's folder, or a file of `evaluate --json` or `baselines --json`, to compare with; may be repeated.",
        show_default=False,
    ),
]
Trees = Annotated[int, typer.Option(help="How many trees are drawn.", min=0, max=50)]


def report(
    run: Run,
    out: Out = None,
    data: Rows = None,
    rows: Wanted = None,
    label: opt.Label = None,
    id_: opt.Id = None,
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    meanings: MeaningFiles = None,
    beside: Beside = None,
    trees: Trees = 3,
    n_jobs: opt.Jobs = None,
) -> None:
    """Write what is known of a run here as one HTML page, which needs no other file and no network.

    What a run's folder does not hold, such as curves at a coordinator without rows, the page names with the reason.
    The page shows what its maker may see: think before you pass it on.
    """
    if data is None and any(word is not None for word in (rows, label, id_)):
        raise ParameterError("--rows, --label and --id go with a table; name it with --data.")
    if is_several(run):
        if data is not None or meanings or beside:
            raise ParameterError(f"{run} is of several runs; name one run's folder for --data, --meanings or --beside.")
        _write(out or run / PAGE, lambda: page_of_folder(run, trees))
        return
    kept = read_run(run) if run.is_dir() else None
    place = out or (run / PAGE if kept is not None else run.with_name(f"{run.stem}-{PAGE}"))
    check_writable(place)
    model = kept.model if kept is not None else _model_in(run)
    roles = Roles(
        None, id_, None, "missing" if model is None else model.absent, tuple(ignore or ()), delimiter, decimal
    )
    given = Given(
        {str(path): load_meanings(path) for path in meanings or ()},
        beside=[_named(text) for text in beside or ()], n_trees_drawn=trees, threads=threads_of(n_jobs),
    )  # fmt: skip
    if data is not None:
        given = with_rows(given, model, data, roles, label, rows)
    if kept is not None:
        subject = of_run(kept, given)
    else:
        assert model is not None  # noqa: S101  # it was read
        subject = of_model(model, run.name, given)
    _write(place, lambda: page(subject))


def _write(place: Path, make: Callable[[], str]) -> None:
    check_writable(place)
    write_whole(place, make().encode())
    typer.echo(f"page: {place}")


def _model_in(path: Path) -> Model:
    """The model in a file; refuses what is only a part of one, or several."""
    content = content_of(path)
    if is_part(content) or is_bag(content):
        what = "a passive party's part of a model" if is_part(content) else "a bag of several models"
        raise ModelError(f"{path} is {what}; name the run's folder of one party instead, or see it with hedgerow show.")
    return decoded(content, str(path))


def _named(text: str) -> tuple[str, Path]:
    """A name and a path, from NAME=PATH or PATH."""
    name, sign, path = text.partition("=")
    return (name.strip(), Path(path)) if sign and not Path(text).exists() else ("", Path(text))
