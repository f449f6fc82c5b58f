"""`hedgerow init`: set up a run of real parties, a folder for each."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.commands.options import TaskName
from hedgerow.commands.print_tables import note
from hedgerow.errors import ParameterError
from hedgerow.run.starter.choices import MODES, PORT, Choices, check_mode
from hedgerow.run.starter.fedtree import choices_of
from hedgerow.run.starter.folders import set_up

WHICH = (
    "horizontal: same columns, different rows; vertical: the same rows, different columns; hybrid: one party's rows, "
    "of which each other party knows some"
)
Place = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="New folder; one for each party is made in it.", show_default=False)
]
Mode = Annotated[str | None, typer.Option(help=f"{WHICH}.", metavar="|".join(MODES), show_default=False)]
Parties = Annotated[
    list[str] | None,
    typer.Option("--party", help="Name of a party that has data; repeat it for each.", show_default=False),
]
Active = Annotated[
    str | None, typer.Option(help="The party with the labels, in vertical and hybrid runs.", show_default=False)
]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the labels.", metavar="COL", show_default=False)]
IdColumn = Annotated[
    str | None, typer.Option("--id", help="Column of the rows' ids.", metavar="COL", show_default=False)
]
TaskOf = Annotated[TaskName | None, typer.Option(help="classify or regress.", show_default=False)]
Address = Annotated[
    str | None,
    typer.Option(help=f"Where the driver is reached: HOST:PORT. (default localhost:{PORT})", show_default=False),
]
RunName = Annotated[
    str | None, typer.Option("--name", help="Name of the run. (default: that of the folder)", show_default=False)
]
OwnKeys = Annotated[
    bool, typer.Option("--own-keys", help="Parties make their keys themselves, and send requests for certificates.")
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="One of FedTree's files (.conf), whose mode, parties and trees are taken over.",
        show_default=False,
    ),
]


def init(
    folder: Place,
    mode: Mode = None,
    party: Parties = None,
    active: Active = None,
    label: LabelColumn = None,
    id_: IdColumn = None,
    task: TaskOf = None,
    address: Address = None,
    name: RunName = None,
    own_keys: OwnKeys = False,
    from_: From = None,
) -> None:
    """Set up a run of real parties: a folder for each, with run file, rules, certificate and what to do.

    What is not given is asked for, where there is a terminal.
    """
    given: dict[str, Any] = {
        "method": mode, "parties": tuple(party or ()) or None, "active": active, "label": label, "id": id_,
        "task": None if task in (None, TaskName.AUTO) else task.value, "address": address,
    }  # fmt: skip
    known = {} if from_ is None else choices_of(from_)
    known |= {key: value for key, value in given.items() if value is not None}
    choices = Choices(name or folder.resolve().name, own_keys=own_keys, **_completed(known))
    folders = set_up(choices, folder)
    for one in folders:
        typer.echo(f"{one.name}: {one}")
    note(f"Read {folder / 'README.md'}: it says what to send to whom.")
    if choices.two:
        note("With two parties, each can subtract its own sums from the total and so learns the other's.")


def _completed(known: dict[str, Any]) -> dict[str, Any]:
    """What is still missing is asked for, or refused where nobody can be asked."""
    method = _asked(known, "method", f"Which mode ({WHICH})?", "--mode")
    check_mode(method)
    if "parties" not in known:
        names = _asked(known, "parties", "Names of the parties that have data, separated by blanks?", "--party")
        known["parties"] = tuple(names.replace(",", " ").split())
    if MODES[method].active:
        _asked(known, "active", "Which of them has the labels?", "--active")
        _asked(known, "id", "Column of the rows' ids?", "--id")
    _asked(known, "label", "Column of the labels?", "--label")
    _asked(known, "task", "classify or regress?", "--task")
    return known


def _asked(known: dict[str, Any], key: str, question: str, option: str) -> str:
    if key not in known:
        if not sys.stdin.isatty():
            raise ParameterError(f"{option} is missing, and there is no terminal to ask at; give it.")
        known[key] = typer.prompt(question, prompt_suffix=" ")
    return str(known[key])
