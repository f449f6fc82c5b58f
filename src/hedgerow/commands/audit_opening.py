"""`hedgerow audit opening`: whether the active party sealed what it had committed to."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.errors import AuditError, ParameterError, RunError
from hedgerow.model.commitment import kept_opening
from hedgerow.model.file import load_model
from hedgerow.model.part import load_part
from hedgerow.protocols.scores.opening_checks import Audited, Evidence, check
from hedgerow.report.tree_text import plain
from hedgerow.run.folder.openings_file import read_opening
from hedgerow.storage.audit import Line, Unread, read
from hedgerow.threads import threads_of

FAILED = 1

OpeningFile = Annotated[
    Path, typer.Argument(metavar="OPENING", help="A session that the active party kept with --keep-openings.")
]
ModelOption = Annotated[Path, typer.Option("--model", help="The active party's model.", show_default=False)]
Salt = Annotated[Path, typer.Option("--salt", help="The salt beside the active party's model.", show_default=False)]
PartOption = Annotated[Path, typer.Option("--part", help="The passive party's part.", show_default=False)]
Log = Annotated[Path, typer.Option("--log", help="The passive party's audit log.", show_default=False)]


def opening(
    opened: OpeningFile, model: ModelOption, salt: Salt, part: PartOption, log: Log, n_jobs: opt.Jobs = None
) -> None:
    """Check that the active party sealed, in one session, what it had committed to: exit code 1 if it did not.

    Run by an auditor whom the active party trusts with its model, and the passive party with its part and its log.
    """
    loaded, own = load_model(model), load_part(part)
    session, leaves = read_opening(opened), kept_opening(salt, loaded)
    try:
        found = check(session, Evidence(loaded, leaves, own, _lines(log, own.party)), threads_of(n_jobs))
    except AuditError as error:
        typer.echo(f"hedgerow: {plain(str(error))}", err=True)
        raise typer.Exit(FAILED) from None
    typer.echo(f"ok: session {session.head.session.hex()[:16]}, {_told(found)}")


def _lines(log: Path, party: str) -> list[Line]:
    """The lines of a log that holds, and is this party's."""
    try:
        lines = list(read(log))
    except Unread:
        raise
    except RunError as error:
        raise AuditError(str(error)) from None
    if not lines or lines[0].get("who") != party:
        raise ParameterError(f"{log} is not the audit log of {party!r}, whose part this is; name that party's.")
    return lines


def _told(found: Audited) -> str:
    text = f"{found.batches:,} batch{'es' * (found.batches != 1)} of {found.rows:,} rows sealed as committed to"
    if found.unanswered:
        text += f"; {found.unanswered:,} more asked and not answered"
    if found.unchecked:
        text += f"; {found.unchecked:,} weights of a row are other parties' sums, which cannot be checked"
    return text
