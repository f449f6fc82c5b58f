"""`hedgerow disclose`: what an owner's policy tells of its columns in a vertical model, as a file."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.commands.option_names import in_options
from hedgerow.commands.print_tables import check_writable, note, print_grid
from hedgerow.commands.read_tables import Roles, read_like
from hedgerow.errors import ModelError
from hedgerow.model.file import content_of
from hedgerow.model.meanings import Meaning, disclosed, save_meanings
from hedgerow.model.part import decoded, is_part
from hedgerow.run.file.policy import read_policy

PartFile = Annotated[Path, typer.Argument(help="Own part of a vertical model.", show_default=False)]
Rules = Annotated[
    Path, typer.Option("--policy", help="Own rules (.toml), with a section [disclose].", show_default=False)
]
Out = Annotated[
    Path, typer.Option(help="File of meanings to write, for the active party; overwritten.", show_default=False)
]
Rows = Annotated[
    str | None,
    typer.Option(
        "--data", help="Own rows, by which bins have about equally many rows; without them, cuts.", show_default=False
    ),
]


def disclose(
    part: PartFile,
    policy: Rules,
    out: Out,
    data: Rows = None,
    id_: opt.Id = None,
    ignore: opt.Ignore = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
) -> None:
    """Write what the policy discloses of the own columns in a vertical model, and print it.

    The file is for the active party's `hedgerow explain`; read what is printed before you give it away.
    """
    check_writable(out)
    rules = read_policy(policy)
    content = content_of(part)
    if not is_part(content):
        raise ModelError(f"{part} is not a passive party's part of a vertical model, of which columns are disclosed.")
    own = decoded(content, str(part))
    own_table = None
    if data is not None:
        own_table = read_like(
            data, own.columns, Roles(None, id_, None, "missing", tuple(ignore or ()), delimiter, decimal)
        )
        for sentence in own_table.remarks:
            note(in_options(sentence))
    told = disclosed(own, rules, own_table)
    save_meanings(told, out)
    print_grid(["number", "column", "meaning", "told of its bins"], [_told(column) for column in told.columns], 4)
    hidden = len(own.columns) - len(told.columns)
    typer.echo(f"Not disclosed: {hidden} of {len(own.columns)} columns.")
    if any(column.has_bins for column in told.columns):
        note(
            "With these bins the active party can place rows of the training in them, by the sides it was told then; "
            "most_bins = 1 in the policy discloses meanings alone."
        )
    typer.echo(f"meanings: {out}")


def _told(column: Meaning) -> list[str]:
    bins = "nothing"
    if column.groups:
        bins = f"{len(column.groups)} groups of categories"
    elif column.has_bins:
        edges = ", ".join(f"{edge:.9g}" for edge in column.edges)
        bins = f"{len(column.edges) + 1} bins ({edges}), and the nearest edge of {len(column.cuts)} cuts"
    return [str(column.number), column.name, column.description, bins]
