"""Audit logs: whether they are as they were written, what they tell; and whether sealed weights were honest."""

import re
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands.audit_opening import opening
from hedgerow.commands.print_tables import print_grid
from hedgerow.errors import ParameterError, RunError
from hedgerow.report.tree_text import plain
from hedgerow.storage.audit import Unread, read
from hedgerow.storage.audit import verify as verify_log

BROKEN, UNREAD = 1, 4

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Audit logs.", show_default=False)]
File = Annotated[Path, typer.Argument(help="An audit log.", show_default=False)]
Last = Annotated[
    str | None,
    typer.Option(metavar="HASH", help="Hash with which the log must end, as the run's manifest has it; for one FILE."),
]


def verify(files: Files, last: Last = None) -> None:
    """Check that no line was changed, removed or swapped: exit code 1 if one was, 4 if a log cannot be read."""
    if last is not None and len(files) != 1:
        raise ParameterError("--last is the hash of one log; name one FILE with it.")
    if last is not None and not re.fullmatch("[0-9a-f]{64}", last.lower()):
        raise ParameterError("--last must be a hash of 64 hexadecimal digits; copy it whole from the manifest.")
    found_wrong: set[int] = set()
    for file in files:
        try:
            found = verify_log(file, last and last.lower())
        except RunError as error:
            found_wrong.add(UNREAD if isinstance(error, Unread) else BROKEN)
            typer.echo(f"hedgerow: {plain(str(error))}", err=True)
        else:
            lines = f"{found.n_lines} line{'s' * (found.n_lines != 1)}"
            typer.echo(f"ok: {lines}, last hash {found.last}, {file} kept by {plain(found.who)}")
    if found_wrong:
        raise typer.Exit(min(found_wrong))  # a broken log is said before one that is not there


def show(file: File) -> None:
    """Count the events of a log and, for messages, the bytes of each type."""
    lines: Counter[tuple[str, str]] = Counter()
    volume: Counter[tuple[str, str]] = Counter()
    for line in read(file):
        what = (str(line["event"]), str(line.get("type", "")))
        lines[what] += 1
        size = line.get("bytes")
        volume[what] += size if isinstance(size, int) else 0
    rows = [[*what, f"{count:,}", f"{volume[what]:,}" if volume[what] else ""] for what, count in lines.items()]
    print_grid(["event", "type", "lines", "bytes"], rows, n_names=2)


COMMANDS = (verify, show, opening)
