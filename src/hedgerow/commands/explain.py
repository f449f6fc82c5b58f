"""`hedgerow explain`: the columns a model uses, the direction of their effects, the reasons of rows."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.commands import predict_together, scoring
from hedgerow.commands.explain_rows import FIRST_ROWS, MOST_ROWS, own_columns, rows_of
from hedgerow.commands.print_tables import note, print_grid
from hedgerow.commands.read_tables import Roles
from hedgerow.errors import ModelError, ParameterError
from hedgerow.model.file import content_of, decoded
from hedgerow.model.fixed_scores import BITS
from hedgerow.model.meanings import load_meanings
from hedgerow.model.part import is_part
from hedgerow.report.explain import COLUMN_FACTS, MOST_REASONS, Explanation, explain_model
from hedgerow.report.explain_files import check_folder, write_explanation
from hedgerow.report.explain_reasons import largest, shap_reasons
from hedgerow.threads import threads_of

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
    with_: predict_together.With = None,
    cert: predict_together.Cert = None,
    key: predict_together.KeyFile = None,
    without: predict_together.Without = None,
    folder: predict_together.Folder = None,
    own: scoring.OwnColumns = None,
    bits: scoring.BitsOption = BITS,
    link_mbit: scoring.Link = scoring.LINK_MBIT,
    n_jobs: opt.Jobs = None,
) -> None:
    """Tell which columns a model uses, whose they are, how they change the score, and why rows have theirs.

    Columns of other parties have names and effects where their owners disclose them. Of the active party's part of a
    vertical model, reasons of rows are those of its own columns; --with asks its other parties, which run `hedgerow
    serve`, for theirs by sealed prediction.
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
    parties = predict_together.parties_of(with_, cert, key, without, folder)
    if parties is not None and data is None:
        raise ParameterError("--with asks others about rows; name the own ones with --data.")
    explanation = explain_model(loaded, {str(path): load_meanings(path) for path in meanings or ()})
    if data is not None:
        known = None if parties is None else parties.run.data.id
        roles = Roles(None, id_ or known, None, loaded.absent, tuple(ignore or ()), delimiter, decimal)
        chosen, names = rows_of(loaded, data, roles, rows)
        if parties is None:
            found = shap_reasons(loaded, chosen, names, explanation.uses, threads_of(n_jobs))
        else:
            sealing = scoring.sealing_of(scoring.CipherName.LATTICE, bits, link_mbit, parties)
            wanted = own_columns(loaded, own or ())
            found = scoring.reasons_of(loaded, chosen, parties, sealing, threads_of(n_jobs), wanted)
        explanation = explanation.with_reasons(found)
    _print(explanation)
    if out is not None:
        typer.echo(f"page: {write_explanation(explanation, out)}")


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
