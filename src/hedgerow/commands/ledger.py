"""A data owner's ledger, which lies beside its key: what it counts over all its runs."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands.print_tables import note, print_grid
from hedgerow.protocols.session.owner_ledger import MOST_WRONG, Ledger
from hedgerow.run.folder.ledger_file import existing_log

File = Annotated[Path, typer.Argument(help="A ledger, or the audit log of a run.", show_default=False)]


def show(file: File) -> None:
    """Show how many wrong hashes of rows were heard, and how many rows of each model were predicted."""
    log = existing_log(file)
    ledger = Ledger(log)
    rows = [["wrong hashes of rows", "", f"{ledger.wrong} of {MOST_WRONG}"]]
    rows += [["rows predicted", model, f"{n:,}"] for model, n in ledger.predicted.items()]
    print_grid(["counted", "model", "number"], rows, n_names=2)
    log.close()


def reset_guesses(file: File) -> None:
    """Let the owner's parties answer again after wrong hashes of their rows; the reset stays in the ledger."""
    log = existing_log(file)
    n = Ledger(log).reset_guesses()
    log.close()
    typer.echo(f"reset: {n} wrong hash{'es' * (n != 1)} forgotten, noted in {file}")
    note("Wrong hashes come from other rows or another order at the active party, or from one that tries out ids. Ask "
         "which before the next run.")  # fmt: skip


COMMANDS = (show, reset_guesses)
