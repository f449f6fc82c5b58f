"""The bar that `hedgerow train` shows while a model is trained."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hedgerow.commands import log
from hedgerow.trees.boost import Callback, Round
from hedgerow.trees.params import TreeParams


@contextmanager
def rounds_shown(params: TreeParams) -> Iterator[Callback]:
    """A bar on the terminal that shows rounds and the metric; nothing where stderr is no terminal."""
    value = TextColumn("{task.description}")
    columns = (TextColumn("round"), MofNCompleteColumn(), BarColumn(), value, TimeRemainingColumn())
    quiet = not sys.stderr.isatty() or log.current().bare
    bar = Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True)
    line = bar.add_task("", total=params.n_estimators)

    def show_round(told: Round) -> None:
        bar.start()  # no sooner: a table read in pieces has bars of its own before
        log.current().tree(
                f"tree {told.number}/{told.n_rounds}", number=told.number, of=told.n_rounds, metric=told.metric,
                value=told.value,
            )  # fmt: skip
        metric = "" if told.value is None else f"{told.metric} {told.value:.5g}, best in round {told.best}"
        bar.update(line, advance=1, description=metric)

    try:
        yield show_round
    finally:
        bar.stop()
