"""From the sources that a run names to the parties' tables: rows to learn from, and rows that are held out."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.data import partition
from hedgerow.data.builtin import BUILTIN, BUILTIN_LABEL, read_builtin
from hedgerow.data.read import LIBSVM, libsvm_first_index, read_table
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.run.options import DataOptions
from hedgerow.run.runfile import RunFile, Source

_KEYS = {
    "label": "label",
    "id_column": "id",
    "weight": "weight",
    "categorical": "categorical",
    "n_columns": "n_columns",
    "first_index": "first_index",
}
_KEYWORD = re.compile(rf"\b({'|'.join(_KEYS)})=")


@dataclass(frozen=True, eq=False)
class Split:
    """Each party's rows to learn from, and those it holds out; all in one process."""

    training: dict[str, Table]
    valid: dict[str, Table]


def party_tables(run: RunFile) -> Split:
    """The tables of all parties of a simulation."""
    if run.partition is not None:
        cut = run.partition
        whole = read(_counted(run), cut.data)
        parts = partition.rows(
            whole, n=cut.parties, how=cut.how, alpha=cut.alpha, noise=cut.noise, seed=cut.seed, names=cut.names
        )
        return _held_out(run, parts)
    run.check_files()
    sources = {entry.name: entry.data for entry in run.parties if entry.data is not None}
    options = _counted(run)
    tables = _alike(options, sources)
    split = _held_out(run, tables)
    for entry in run.parties:
        if entry.valid is not None:
            split.training[entry.name] = tables[entry.name]
            split.valid[entry.name] = _valid(options, entry.valid, tables[entry.name])
    return split


def _counted(run: RunFile) -> DataOptions:
    """How files are read; LIBSVM files all count their columns from the same number."""
    options = run.data
    cut = [] if run.partition is None else [run.partition.data]
    named = [source for entry in run.parties for source in (entry.data, entry.valid)]
    files = [s for s in (*cut, *named, options.test) if isinstance(s, Path) and _is_libsvm(options, s) and s.is_file()]
    if options.first_index is not None or not files:
        return options
    return replace(options, first_index=min(map(libsvm_first_index, files)))


def own_tables(run: RunFile, name: str, data: Source, valid: Source | None) -> tuple[Table, Table | None]:
    """The tables of one party, in its own process."""
    alone = _is_libsvm(run.data, data) and (run.data.first_index is None or run.data.n_columns is None)
    if alone and len(run.parties) > 1:
        raise ParameterError(
            "[data] lacks first_index or n_columns, without which LIBSVM files of several parties may not mean the "
            "same columns; add both at every party, like first_index = 1 and n_columns = 123."
        )
    table = read(run.data, data)
    if valid is not None:
        return table, _valid(run.data, valid, table)
    split = _held_out(run, {name: table})
    return split.training[name], split.valid.get(name)


def rows_to_measure(run: RunFile, columns: Sequence[Column]) -> Table | None:
    """The rows on which the final metrics are computed, in a model's columns; one that is not there is missing."""
    if run.data.test is None:
        return None
    options = _counted(run)
    return shaped_like(read(options, run.data.test, _width(options, run.data.test, columns)), columns)


def shaped_like(table: Table, columns: Sequence[Column]) -> Table:
    """A table in a model's columns; one that it lacks is missing throughout."""
    return table.widened([column for column in columns if column.name not in table.names]).aligned(columns)


def read(options: DataOptions, source: Source, n_columns: int | None = None) -> Table:
    """One table, with labels."""
    if isinstance(source, str) and source.startswith(BUILTIN):
        if options.label not in (None, BUILTIN_LABEL) or options.id or options.weight:
            raise ParameterError(
                f"{source} has its own label, {BUILTIN_LABEL!r}; leave out [data] label, id and weight."
            )
        return read_builtin(source, options.categorical)
    libsvm = _is_libsvm(options, source)
    if options.label is None and not libsvm:
        raise ParameterError(f'[data] lacks label, and {source} needs one; add label = "NAME OF A COLUMN".')
    width = (n_columns or options.n_columns) if libsvm else None
    try:
        return read_table(
            source, label=options.label, id_column=options.id, weight=options.weight, n_columns=width,
            categorical=options.categorical, absent=options.absent if libsvm else "missing", kind=options.format,
            first_index=options.first_index if libsvm else None,
        )  # fmt: skip
    except (DataError, ParameterError) as error:
        said = _KEYWORD.sub(lambda found: f"[data] {_KEYS[found[1]]} = ", str(error))
        raise type(error)(said if str(source) in said else f"{source}: {said}") from None


def digest(table: Table) -> str:
    """A hash of everything in a table."""
    whole = hashlib.sha256(repr((table.columns, str(table.absent))).encode())
    values: Any = table.values
    dense = isinstance(values, np.ndarray)
    for part in (values,) if dense else (values.data, values.indices, values.indptr):
        whole.update(np.ascontiguousarray(part).data)
    for beside in (table.labels, table.weights, table.ids):
        whole.update(b"\0" if beside is None else repr(beside.tolist()).encode())
    return whole.hexdigest()


def _held_out(run: RunFile, tables: dict[str, Table]) -> Split:
    if run.validation_share == 0:
        return Split(dict(tables), {})
    return Split(*partition.hold_out(tables, run.validation_share, run.params.random_state))


def _alike(options: DataOptions, sources: dict[str, Source]) -> dict[str, Table]:
    """All tables; LIBSVM files are as wide as the widest, because each is only as wide as its last entry."""
    tables = {name: read(options, source) for name, source in sources.items()}
    widest = max((table.n_columns for table in tables.values()), default=0)
    for name, source in sources.items():
        if tables[name].n_columns < widest and _is_libsvm(options, source):
            tables[name] = read(options, source, widest)
    return tables


def _valid(options: DataOptions, source: Source, like: Table) -> Table:
    return read(options, source, _width(options, source, like.columns))


def _width(options: DataOptions, source: Source, columns: Sequence[Column]) -> int | None:
    """How wide a LIBSVM file must be to fit these columns."""
    return max(len(columns), options.n_columns or 0) if _is_libsvm(options, source) else None


def _is_libsvm(options: DataOptions, source: Source) -> bool:
    suffix = str(source).lower().removesuffix(".gz").rpartition(".")[2]
    return options.format == "libsvm" or (options.format is None and suffix in LIBSVM)
