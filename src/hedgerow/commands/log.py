"""Where a command says what happens: on stderr, unless it is to be quiet, and in a file, if one is named.

What happens is a note, a sentence, a tree or an error. As JSON it is an object a line: `at` (UTC), `kind`, `sentence`,
and of a tree `number`, `of`, `metric`, `value`, `bytes` and `seconds`.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated

import typer

from hedgerow.errors import ParameterError
from hedgerow.report.tree_text import plain


class LogFormat(StrEnum):
    """How a line is written."""

    TEXT = "text"
    JSON = "json"


Quiet = Annotated[bool, typer.Option("--quiet", help="Print results and errors alone.")]
LogFile = Annotated[
    Path | None,
    typer.Option("--log-file", help="Also add every remark, every tree and an error, with its time, to this file.",
                 show_default=False),
]  # fmt: skip
Format = Annotated[
    LogFormat,
    typer.Option("--log-format", help="Lines as text or as JSON: those of --log-file, or without it those on stderr."),
]


class Log:
    """Takes what happens, from any thread."""

    def __init__(self, quiet: bool = False, file: IO[str] | None = None, form: LogFormat = LogFormat.TEXT) -> None:
        self.quiet, self._file, self._form = quiet, file, form
        self._lock = threading.Lock()

    @property
    def bare(self) -> bool:
        """Whether stderr gets lines for programs, or none: no bar is drawn there."""
        return self.quiet or (self._form is LogFormat.JSON and self._file is None)

    def note(self, sentence: str) -> None:
        """A remark to the user."""
        self._take("note", sentence)
        self._show("note", f"note: {plain(sentence)}", sentence)

    def said(self, sentence: str) -> bool:
        """A sentence about the run; tells whether whoever asks is to print it."""
        self._take("said", sentence)
        if self.bare and not self.quiet:
            self._show("said", sentence, sentence)
        return not self.bare

    def tree(self, sentence: str, **facts: object) -> None:
        """One more tree; on stderr as JSON alone, for whoever shows a run shows it too."""
        self._take("tree", sentence, **facts)
        if self.bare:
            self._show("tree", sentence, sentence, **facts)

    def failed(self, sentence: str) -> None:
        """What ended it; the command itself prints it."""
        self._take("error", sentence)

    def _take(self, kind: str, sentence: str, **facts: object) -> None:
        if self._file is not None:
            with self._lock:
                self._file.write(_line(self._form, kind, sentence, facts))
                self._file.flush()

    def _show(self, kind: str, text: str, sentence: str, **facts: object) -> None:
        if self.quiet:
            return
        as_json = self._form is LogFormat.JSON and self._file is None
        with self._lock:
            typer.echo(_line(LogFormat.JSON, kind, sentence, facts) if as_json else text, err=True, nl=not as_json)


def _line(form: LogFormat, kind: str, sentence: str, facts: dict[str, object]) -> str:
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if form is LogFormat.JSON:
        return json.dumps({"at": at, "kind": kind, "sentence": sentence, **facts}, ensure_ascii=False) + "\n"
    return f"{at} {kind}: {plain(sentence)}\n"


_open = [Log()]
"""That of the command that runs, last."""


def current() -> Log:
    """Where the command that runs says what happens."""
    return _open[-1]


@contextmanager
def log_to(quiet: bool, path: Path | None, form: LogFormat) -> Iterator[Log]:
    """As long as a command runs; a file that exists is added to."""
    try:
        file = None if path is None else path.open("a", encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"Cannot write the log {path}: {error.strerror or error}; name another.") from None
    _open.append(Log(quiet, file, form))
    try:
        yield _open[-1]
    finally:
        _open.pop()
        if file is not None:
            file.close()
