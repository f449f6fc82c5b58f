"""Predictions by several parties: `hedgerow predict --with` or `evaluate --with` at the active, `answer` at others."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from hedgerow.commands.read_tables import Roles, read_like
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.model.part import told_columns
from hedgerow.report.tree_text import plain
from hedgerow.run.file.read import RunFile, open_run
from hedgerow.run.real import predict as real_predict
from hedgerow.run.real.connect import Options

With = Annotated[
    Path | None,
    typer.Option(
        "--with",
        help="Run file of a vertical model, whose other parties answer (`hedgerow answer`); MODEL is the active "
        "party's, DATA its own rows.",
        show_default=False,
    ),
]
Cert = Annotated[Path | None, typer.Option("--cert", help="Own certificate; goes with --with.", show_default=False)]
KeyFile = Annotated[Path | None, typer.Option("--key", help="Own key; goes with --with.", show_default=False)]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="PARTY",
        help="Party that is not asked: at its splits all rows take the default direction; may be repeated.",
        show_default=False,
    ),
]
NEW_FOLDER = "New folder for manifest and audit log, in place of one beside the run's"
Folder = Annotated[Path | None, typer.Option(help=f"{NEW_FOLDER}; goes with --with.", show_default=False)]


@dataclass(frozen=True, eq=False)
class Parties:
    """With whom the active party predicts, and as whom."""

    run: RunFile
    identity: Identity
    absent: tuple[str, ...]
    folder: Path | None


def parties_of(
    run_file: Path | None, cert: Path | None, key: Path | None, without: list[str] | None, folder: Path | None
) -> Parties | None:
    """From the options of `hedgerow predict` or `evaluate`; None: the model predicts by itself."""
    if run_file is None:
        for option, given in {"--cert": cert, "--key": key, "--without": without, "--folder": folder}.items():
            if given:
                raise ParameterError(f"{option} goes with --with, a vertical model's run file; add that.")
        return None
    if cert is None or key is None:
        raise ParameterError("--with needs --cert and --key, by which the other parties know this one; add them.")
    return Parties(open_run(run_file), Identity.load(cert, key), tuple(without or ()), folder)


def own_rows(model: Model, data: str, roles: Roles, parties: Parties) -> Table:
    """The active party's rows: its own columns of the model, in their order."""
    roles = replace(written_as(parties.run, roles), repeated_ids=parties.run.method.links)
    return read_like(data, told_columns(model), roles)


def written_as(run: RunFile, roles: Roles) -> Roles:
    """How own files are written: as said, or else as the run file says."""
    options = run.data
    return replace(
        roles,
        delimiter=roles.delimiter or options.delimiter,
        decimal=roles.decimal or options.decimal,
        ignore=(*roles.ignore, *options.ignore),
    )


def ask(model: Model, own_table: Table, parties: Parties) -> NDArray[np.int32]:
    """Where the active party's rows end in every tree."""
    options = Options(parties.folder, say=say)
    return real_predict.predict(parties.run, model, own_table, parties.identity, options, parties.absent)


def say(sentence: str) -> None:
    """Tell the user what happens to the parties."""
    typer.echo(plain(sentence), err=True)
