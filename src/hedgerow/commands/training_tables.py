"""The tables of `hedgerow train`: in memory, or where the training rows are too many for that, read in pieces."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from hedgerow.commands import log
from hedgerow.commands.option_names import in_options
from hedgerow.commands.print_tables import note
from hedgerow.commands.read_tables import Roles, read_labelled, read_like
from hedgerow.data.builtin import BUILTIN
from hedgerow.data.id_columns import asked_about
from hedgerow.data.parquet_pieces import open_parquet
from hedgerow.data.pieces import PiecedTable, read_in_pieces
from hedgerow.data.read import LIBSVM, is_gzipped, suffix_of
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.model.model import Model

CELL = 14
"""Bytes that a cell of a Parquet file takes while it is read whole: as Arrow has it, as a float, as bins."""
TEXT, GZIPPED = 2, 10
"""Bytes in memory for one of a file of text, and of a gzipped one; rough."""
SHARE = 0.5
"""Of the machine's memory that a table may take."""
INSTEAD = "--no-in-pieces reads it whole"


def read_all(
    sources: dict[str, str | None],
    roles: Roles,
    categorical: Sequence[str],
    start: Model | None,
    in_pieces: bool | None,
) -> dict[str, Table]:
    """All tables with the same columns and categories, refused before any tree is grown."""
    given = {name: data for name, data in sources.items() if data is not None}
    own = given.pop("training")
    asked: list[str] = []
    if start is not None:
        _refuse(in_pieces, "--continue-from needs the whole table in memory")
        table = read_like(own, start.columns, roles)
    elif _pieced(own, in_pieces):
        table = cast(Table, _in_pieces(own, roles, categorical))  # which has all that training asks for
    else:
        table = read_labelled(own, roles, categorical)
    if start is None:
        asked = asked_about(table, categorical, roles.instead)
    others = {name: read_like(data, table.columns, roles) for name, data in given.items()}
    for sentence in (*table.notes(), *asked, *(said for other in others.values() for said in other.remarks)):
        note(in_options(sentence))
    return {"training": table, **others}


def _refuse(in_pieces: bool | None, why: str) -> None:
    if in_pieces:
        raise ParameterError(f"{why}; leave out --in-pieces.")


def _pieced(data: str, asked: bool | None) -> bool:
    """Whether to read in pieces: as it is asked for, else if the table would take too much of the machine's memory."""
    if data.startswith(BUILTIN):
        _refuse(asked, f"{data} is no file")
        return False
    if asked is not None or Path(data).is_dir():
        return asked is not False
    needed, there = _needed(Path(data)), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed < SHARE * there:
        return False
    note(f"{data} would take some {needed / 1e9:.1f} GB of memory, so it is read in pieces; {INSTEAD}.")
    return True


def _needed(path: Path) -> float:
    suffix = suffix_of(path)
    if suffix in LIBSVM or (suffix == "parquet" and is_gzipped(path)):
        return 0.0
    if suffix == "parquet":
        source = open_parquet(path)
        return float(CELL * source.n_rows * len(source.schema.names))
    return float(path.stat().st_size * (GZIPPED if is_gzipped(path) else TEXT))


def _in_pieces(data: str, roles: Roles, categorical: Sequence[str]) -> PiecedTable:
    if roles.label is None:
        raise ParameterError(f"{data} needs a label; name its column with --label.")
    return read_in_pieces(
        data, label=roles.label, id_column=roles.id, weight=roles.weight, categorical=categorical,
        delimiter=roles.delimiter, decimal=roles.decimal, ignore=roles.ignore, told=_Passes().told,
    )  # fmt: skip


def lies_here(table: Table | PiecedTable) -> bool:
    """Whether its values are in memory, so that it can be measured on."""
    return not isinstance(table, PiecedTable)


class _Passes:
    """Shows on a terminal how far each pass over a table is; elsewhere a line when one begins."""

    def __init__(self) -> None:
        self._bars: dict[str, tuple[Progress, TaskID]] = {}
        self._bare = not sys.stderr.isatty() or log.current().bare

    def told(self, what: str, done: int, of: int) -> None:
        """How far it is."""
        if what not in self._bars:
            self._bars[what] = self._begun(what, of)
        bar, line = self._bars[what]
        bar.update(line, completed=done)
        if done >= of:
            bar.stop()

    def _begun(self, what: str, of: int) -> tuple[Progress, TaskID]:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), disable=self._bare, transient=True)
        if self._bare:
            note(f"Reading the table in pieces: {what}.")
        bar.start()
        return bar, bar.add_task(what, total=of)
