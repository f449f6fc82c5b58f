"""`hedgerow answer`: a passive party's side of predictions over a vertical model."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.agreement.policy import Policy
from hedgerow.commands import options as opt
from hedgerow.commands.option_names import in_options
from hedgerow.commands.predict_together import NEW_FOLDER, say, written_as
from hedgerow.commands.print_tables import note
from hedgerow.commands.read_tables import Roles, read_like
from hedgerow.identity.identity import Identity
from hedgerow.model.bagged_part import joined_columns
from hedgerow.model.part import load_part
from hedgerow.protocols.predict.own_part import PartOwner, check_owner
from hedgerow.run.file.policy import read_policy
from hedgerow.run.file.read import open_run
from hedgerow.run.folder.ledger_file import ledger_beside
from hedgerow.run.real import answer as real_answer
from hedgerow.run.real.connect import Options

AnswerFolder = Annotated[Path | None, typer.Option("--folder", help=f"{NEW_FOLDER}.", show_default=False)]
PartFile = Annotated[
    list[Path],
    typer.Option(
        "--part",
        help="Own part of the model, which `hedgerow join` left; repeated for the models of several active parties.",
        show_default=False,
    ),
]


def answer(
    run_file: opt.RunPath,
    name: opt.Name,
    part: PartFile,
    data: opt.OwnData,
    cert: opt.Certificate,
    key: opt.Key,
    id_: opt.Id = None,
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    policy: opt.PolicyFile = None,
    folder: AnswerFolder = None,
    ledger: opt.LedgerPath = None,
) -> None:
    """Answer the active party's prediction requests for this party's splits; ends when done."""
    run, rules = open_run(run_file), Policy() if policy is None else read_policy(policy)
    (own, *more), identity = [load_part(file) for file in part], Identity.load(cert, key)
    if name in run.names and name != run.active:
        for one in (own, *more):
            check_owner(one, name)
    roles = Roles(None, id_ or run.data.id, None, run.data.absent, tuple(ignore or ()), delimiter, decimal)
    columns = joined_columns([one.columns for one in (own, *more)])
    table = read_like(str(data), columns, written_as(run, roles))
    for sentence in table.remarks:
        note(in_options(sentence))
    keeper, options = PartOwner(name, own, table, rules, identity), Options(folder, say=say)
    place = real_answer.answer(run, keeper, options, ledger or ledger_beside(key), tuple(more))
    typer.echo(f"folder: {place}")
