"""Predictions by several parties: `hedgerow predict --with` or `evaluate --with` at the active, `answer` at others."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from hedgerow.agreement.policy import Policy
from hedgerow.commands import options as opt
from hedgerow.commands.option_names import in_options
from hedgerow.commands.print_tables import note
from hedgerow.commands.read_tables import Roles, read_like
from hedgerow.commands.runs import Certificate, Key, LedgerPath, Name, OwnData, PolicyFile, RunPath
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.identity.identity import Identity
from hedgerow.model.model import Model
from hedgerow.model.part import load_part, ownership_of, part_of
from hedgerow.protocols.predict.passive import PartOwner, check_owner
from hedgerow.report.tree_text import plain
from hedgerow.run.file.policy import read_policy
from hedgerow.run.file.read import RunFile, open_run
from hedgerow.run.folder.ledger_file import ledger_beside
from hedgerow.run.real import predict as real_predict
from hedgerow.run.real.predict import Options

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
        help="Party that is not asked: at its cuts all rows go the default way; may be given often.",
        show_default=False,
    ),
]
_FOLDER = "New folder for manifest and audit log, in place of one beside the run's"
Folder = Annotated[Path | None, typer.Option(help=f"{_FOLDER}; goes with --with.", show_default=False)]
AnswerFolder = Annotated[Path | None, typer.Option("--folder", help=f"{_FOLDER}.", show_default=False)]
PartFile = Annotated[
    Path, typer.Option("--part", help="Own part of the model, which `hedgerow join` left.", show_default=False)
]


@dataclass(frozen=True, eq=False)
class Parties:
    """With whom the active party predicts, and as whom."""

    run: RunFile
    identity: Identity
    options: Options


def parties_of(
    run_file: Path | None, cert: Path | None, key: Path | None, without: list[str] | None, folder: Path | None
) -> Parties | None:
    """From the options of `hedgerow predict` or `watched_metrics`; None: the model predicts by itself."""
    if run_file is None:
        for option, given in {"--cert": cert, "--key": key, "--without": without, "--folder": folder}.items():
            if given:
                raise ParameterError(f"{option} goes with --with, a vertical model's run file; add that.")
        return None
    if cert is None or key is None:
        raise ParameterError("--with needs --cert and --key, by which the other parties know this one; add them.")
    return Parties(open_run(run_file), Identity.load(cert, key), Options(folder, _say, tuple(without or ())))


def own_rows(model: Model, data: str, roles: Roles, parties: Parties) -> Table:
    """The active party's rows: its own columns of the model, in their order."""
    return read_like(data, part_of(model, ownership_of(model).active).columns, written_as(parties.run, roles))


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
    return real_predict.predict_together(parties.run, model, own_table, parties.identity, parties.options)


def answer(
    run_file: RunPath,
    name: Name,
    part: PartFile,
    data: OwnData,
    cert: Certificate,
    key: Key,
    id_: opt.Id = None,
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    policy: PolicyFile = None,
    folder: AnswerFolder = None,
    ledger: LedgerPath = None,
) -> None:
    """Answer the active party's prediction requests for this party's splits; ends when done."""
    run, rules = open_run(run_file), Policy() if policy is None else read_policy(policy)
    own, identity = load_part(part), Identity.load(cert, key)
    if name in run.names and name != run.active:
        check_owner(own, name)
    roles = Roles(None, id_ or run.data.id, None, run.data.absent, tuple(ignore or ()), delimiter, decimal)
    table = read_like(str(data), own.columns, written_as(run, roles))
    for sentence in table.remarks:
        note(in_options(sentence))
    options = Options(folder, _say, ledger=ledger or ledger_beside(key))
    place = real_predict.answer(run, PartOwner(name, own, table, rules, identity), options)
    typer.echo(f"folder: {place}")


def _say(sentence: str) -> None:
    typer.echo(plain(sentence), err=True)
