"""`hedgerow check`: whether a party could take part in a run, before anybody waits for anybody."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.errors import RunError
from hedgerow.report.tree_text import plain
from hedgerow.run.real.check import DRIVER, Files, findings

Who = Annotated[
    str,
    typer.Option(
        "--as", help=f"Own name, as the run file has it; {DRIVER!r} for a driver without data.", show_default=False
    ),
]
Data = Annotated[Path | None, typer.Option("--data", help="Own rows.", show_default=False)]
Certificate = Annotated[Path | None, typer.Option("--cert", help="Own certificate, PEM.", show_default=False)]
Key = Annotated[Path | None, typer.Option(help="Own key, PEM.", show_default=False)]


def check(
    run_file: opt.RunPath,
    name: Who = DRIVER,
    data: Data = None,
    valid: opt.OwnValid = None,
    cert: Certificate = None,
    key: Key = None,
    policy: opt.PolicyFile = None,
    folder: opt.Folder = None,
) -> None:
    """Look whether all is in order to take part in a run: data, certificate, rules, way to the driver, room on disk.

    Takes the options of `hedgerow join` and `hedgerow drive`. Nothing is sent or written.
    """
    wrong = 0
    for finding in findings(Files(run_file, name, data, valid, cert=cert, key=key, policy=policy, folder=folder)):
        wrong += not finding.fine
        typer.echo(f"{'ok   ' if finding.fine else 'WRONG'}  {finding.what}: {plain(finding.found)}")
    if wrong:
        raise RunError(f"{wrong} {'points are' if wrong > 1 else 'point is'} to be mended before the run; see above.")
