"""What is shown of a run while it goes on: a bar on a terminal, plain lines elsewhere; all on stderr."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from hedgerow.commands import log
from hedgerow.report.tree_text import plain
from hedgerow.run.folder.recorder import MOST_LINES, Progress


class Live:
    """Shows a run; sentences may come from any thread."""

    def __init__(self, n_rounds: int, bar: Bar | None) -> None:
        self._bar, self._every = bar, max(1, n_rounds // MOST_LINES)
        self._line = bar.add_task("", total=n_rounds) if bar is not None else None
        self._lock = threading.Lock()
        self.said: set[str] = set()

    def after_tree(self, told: Progress) -> None:
        """One more tree."""
        now = told.round
        metric = "" if now.value is None else f"{now.metric} {now.value:.5g}"
        beside = [metric, size(told.bytes) if told.bytes else "", f"{told.seconds:.1f} s"]
        text = "  ".join(part for part in beside if part)
        log.current().tree(
            f"tree {now.number}/{now.n_rounds}  {text}", number=now.number, of=now.n_rounds, metric=now.metric,
            value=now.value, bytes=told.bytes, seconds=round(told.seconds, 3),
        )  # fmt: skip
        if log.current().bare:
            return
        if self._bar is not None and self._line is not None:
            self._bar.update(self._line, completed=now.number, description=text)
        elif now.number % self._every == 0 or now.number in (1, now.n_rounds):
            self._print(f"tree {now.number}/{now.n_rounds}  {text}")

    def say(self, sentence: str) -> None:
        """A line of its own."""
        self.said.add(sentence)
        if log.current().said(sentence):
            self._print(sentence)

    def _print(self, sentence: str) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.console.print(Text(plain(sentence)))
            else:
                typer.echo(plain(sentence), err=True)


@contextmanager
def live(n_rounds: int, bar: bool = True) -> Iterator[Live]:
    """The display, as long as the run goes on."""
    if not bar or not sys.stderr.isatty() or log.current().bare:
        yield Live(n_rounds, None)
        return
    columns = (TextColumn("tree"), MofNCompleteColumn(), BarColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
        yield Live(n_rounds, shown)


def size(n_bytes: int) -> str:
    """Bytes for people."""
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= least:
            return f"{n_bytes / least:.1f} {unit}"
    return f"{n_bytes} B"
