"""`make demo`: what three organisations learn alone, together, and what they would learn with their data in one place.

Three times: other columns of the same people (encrypted, then sealed predictions with reasons), some of the rows of a
payment network (encrypted), and other rows of the same columns (masked). Every organisation is a process of its own.
"""

import signal
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from hedgerow.commands.print_tables import print_grid
from hedgerow.commands.progress_bar import size
from hedgerow.demo import cases
from hedgerow.demo.cases import Found
from hedgerow.demo.organisations import make_room
from hedgerow.errors import HedgerowError
from hedgerow.model.file import write_whole
from hedgerow.report.page.cases import Cases
from hedgerow.report.page.gather import Given
from hedgerow.report.page.several import page_of_cases

METRIC, PAGE = "auc", "report.html"
TITLE = "Three organisations"
ABOUT = (
    "Three organisations learn together three times, each a process with its own folder and certificate on one "
    "machine, and nobody shows anybody a row. Loans and payments are generated; the digits were written by people."
)
INTERRUPTED = 130
CASES = {"loans": cases.loans, "payments": cases.payments, "digits": cases.digits}
Name = StrEnum("Name", {name: name for name in CASES})  # type: ignore[misc]  # of the table above
Out = Annotated[
    Path, typer.Option(help="Folder for all that the organisations write; an earlier demonstration there is removed.")
]
Only = Annotated[list[Name] | None, typer.Option(help="One of the three; may be repeated.", show_default=False)]


def demo(out: Out = Path("demo-output"), only: Only = None) -> None:
    """Three organisations learn together, as real processes, and nobody shows anybody's data."""
    began = time.perf_counter()
    wanted = {name: case for name, case in CASES.items() if not only or name in only}
    for name in wanted:
        make_room(out / name)
    try:
        found = [case(out, typer.echo) for case in wanted.values()]
    except KeyboardInterrupt:
        typer.echo("hedgerow: Stopped; the processes of the organisations have ended.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    kept = Cases(TITLE, ABOUT, METRIC, tuple(one.case for one in found))
    kept.write(out)
    write_whole(out / PAGE, page_of_cases(kept, out, Given(n_trees_drawn=1)).encode())
    typer.echo()
    print_grid(["", "who learns", METRIC, "seconds", "bytes"], _lines(found), n_names=2)
    for one in found:
        if one.same is not None:
            forests = "the same forest, bit for bit" if one.same else "DIFFERENT forests"
            typer.echo(f"{one.case.title}: together and pooled (all data in one place), {forests}.")
    typer.echo(
        f"\nAll of it took {time.perf_counter() - began:.0f} s. Who saw what, reasons and bytes are on the page:"
    )
    typer.echo(f"page: {out / PAGE}")
    if any(one.same is False for one in found):
        raise typer.Exit(1)


def _lines(found: Sequence[Found]) -> list[list[str]]:
    lines = []
    for one in found:
        case = one.case
        seconds, n_bytes = sum(step.seconds for step in case.steps), sum(step.n_bytes for step in case.steps)
        for name, of in case.figures.items():
            cost = [f"{seconds:.1f}", size(n_bytes)] if name.startswith("together") else ["", ""]
            lines.append([case.title, name, f"{of[METRIC]:.4f}", *cost])
    return lines


def _stop(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main() -> None:
    """From the command line; ended by Ctrl-C or a signal it leaves no process behind."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        typer.run(demo)
    except HedgerowError as error:
        typer.echo(f"hedgerow: {error}", err=True)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
