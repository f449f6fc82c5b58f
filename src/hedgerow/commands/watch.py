"""`hedgerow watch`: the page of a run while it goes on, in a browser on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands.print_tables import note
from hedgerow.errors import ParameterError
from hedgerow.report.page.live import LOOPBACK, LivePage, LiveServer

Run = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run's folder, also one that is not there yet.", show_default=False)
]
Host = Annotated[str, typer.Option(help="Where to listen; elsewhere than here, whoever reaches it sees the page.")]
Port = Annotated[int, typer.Option(help="The port; 0: one that is free.", min=0, max=65535)]
Every = Annotated[float, typer.Option(help="Seconds between two looks.", min=0.2, max=3600)]


def watch(run: Run, host: Host = LOOPBACK[0], port: Port = 0, every: Every = 2.0) -> None:
    """Show a run's page in a browser while the run goes on, at the driver or at a party, until Ctrl-C.

    It reads the run's folder and writes nothing. It listens on this machine alone, unless --host says otherwise.
    """
    if run.exists() and not run.is_dir():
        raise ParameterError(f"{run} is a file; name the run's folder, or use hedgerow report.")
    if host not in LOOPBACK:
        note(f"Whoever reaches {host} can read this page; it has no password and is not encrypted.")
    with LiveServer(LivePage(run, every), host, port) as server:
        typer.echo(f"page: {server.address} (Ctrl-C ends it)")
        try:
            server.serve_forever(0.2)
        except KeyboardInterrupt:
            typer.echo()
