"""`hedgerow share` and `hedgerow bag`: models of several active parties, given away and put together."""

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.commands import options as opt
from hedgerow.commands.print_tables import check_writable
from hedgerow.errors import ModelError
from hedgerow.model.bag import Bag, save_bag
from hedgerow.model.file import load_model, save
from hedgerow.model.model_for_others import for_others, told_by
from hedgerow.model.part import ownership_of
from hedgerow.report.tree_text import plain

ShareOut = Annotated[
    Path, typer.Option("--out", help="File to write, for other active parties; overwritten.", show_default=False)
]
BagOut = Annotated[Path, typer.Option("--out", help="File to write; overwritten.", show_default=False)]
Models = Annotated[
    list[Path],
    typer.Argument(help="The own model, and those that other active parties gave (`hedgerow share`).",
                   show_default=False, metavar="MODEL..."),
]  # fmt: skip
Vote = Annotated[
    bool, typer.Option("--vote", help="Predict the class that most models choose, in place of mean probabilities.")
]


def share(model: opt.ModelFile, out: ShareOut) -> None:
    """Write what other active parties need to score their rows by this hybrid model too, and print what it tells.

    The file is yours to give or to keep: nothing is sent. Passive parties answer for their part of it as before.
    """
    check_writable(out)
    given = for_others(load_model(model))
    save(given, out)
    for sentence in told_by(given):
        typer.echo(plain(sentence))
    typer.echo(f"model for others: {out}")


def bag(models: Models, out: BagOut, vote: Vote = False) -> None:
    """Put models of several active parties into one file, by which `predict` and `evaluate` predict as by one model."""
    check_writable(out)
    named = {}
    for file in models:
        model = load_model(file)
        active = ownership_of(model).active
        if active in named:
            raise ModelError(f"Two of the models are those of {active!r}; give one of each active party.")
        named[active] = model
    save_bag(Bag(named, vote), out)
    typer.echo(f"bag: {out}")
