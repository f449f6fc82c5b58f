"""From the sources that a run names to the parties' tables: rows to learn from, and rows that are held out."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.agreement.options import Vertical
from hedgerow.data import partition
from hedgerow.data.named_network import NamedNetwork
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.run.file import hybrid_tables, vertical_tables
from hedgerow.run.file.options import DataOptions, PartitionOptions
from hedgerow.run.file.read import RunFile, Source
from hedgerow.run.file.remarks import remark
from hedgerow.run.file.source import counted, is_libsvm, read, width_of


@dataclass(frozen=True, eq=False)
class Split:
    """Each party's rows to learn from, and those it holds out; all in one process."""

    training: dict[str, Table]
    valid: dict[str, Table]
    notes: list[str] = field(default_factory=list)
    """What the user should know of the files, in sentences."""


def party_tables(run: RunFile) -> Split:
    """The tables of all parties of a simulation."""
    notes: list[str] = []
    if run.partition is not None:
        return _held_out(run, _cut(run, run.partition, notes), notes)
    run.check_files()
    if run.active:
        return _by_columns(run)
    sources = {entry.name: entry.data for entry in run.parties if entry.data is not None}
    options = _counted(run)
    tables = _alike(options, sources)
    for name, table in tables.items():
        remark(table, options, sources[name], notes)
    split = _held_out(run, tables, notes)
    for entry in run.parties:
        if entry.valid is not None:
            split.training[entry.name] = tables[entry.name]
            split.valid[entry.name] = _valid(options, entry.valid, tables[entry.name])
    return split


def _by_columns(run: RunFile) -> Split:
    """Files with different columns of the same rows."""
    notes: list[str] = []
    pairs = vertical_tables.files(run, notes)
    valid = {name: beside for name, (_, beside) in pairs.items() if beside is not None}
    tables = {name: own for name, (own, _) in pairs.items()}
    for name, pair in pairs.items():
        _check_ids(run, name, pair, f"Party {name!r}: ")
    if run.method.links:
        hybrid_tables.check_valid(run.active, valid)
        return Split(tables, valid, notes) if valid else _held_out(run, tables, notes)
    if valid and len(valid) < len(tables):
        lacking = next(name for name in tables if name not in valid)
        raise ParameterError(f"[[party]] {lacking!r} lacks valid; in a vertical run all parties have it, or none.")
    if valid:
        return Split(tables, valid, notes)
    return _held_out(run, tables, notes)


def _check_ids(run: RunFile, name: str, pair: vertical_tables.Pair, where: str = "") -> None:
    if run.method.links and name != run.active:
        for table in pair:
            hybrid_tables.check_once(name, run.active, table)
    if isinstance(run.method, Vertical) and run.method.aligns:
        try:
            vertical_tables.check_ids(run.method.most_ids, pair)
        except DataError as error:
            raise DataError(f"{where}{error}") from None


def _cut(run: RunFile, cut: PartitionOptions, notes: list[str]) -> dict[str, Table]:
    """One table as several parties': its rows dealt out, in a vertical run its columns, in a hybrid run both."""
    if isinstance(cut.hybrid, NamedNetwork):
        return hybrid_tables.cut(cut, None, _groups(run), notes)
    whole = read(_counted(run), cut.data)
    remark(whole, run.data, cut.data, notes)
    if cut.hybrid is not None:
        return hybrid_tables.cut(cut, whole, _groups(run), notes)
    if run.active:
        return partition.columns(whole, n=cut.parties, seed=cut.seed, names=cut.names)
    return partition.rows(
        whole, n=cut.parties, how=cut.how, alpha=cut.alpha, noise=cut.noise, seed=cut.seed or 0, names=cut.names
    )


def _counted(run: RunFile) -> DataOptions:
    """How files are read; LIBSVM files all count their columns from the same number."""
    cut = [] if run.partition is None else [run.partition.data]
    named = [source for entry in run.parties for source in (entry.data, entry.valid)]
    return counted(_repeating(run), (*cut, *named, run.data.test))


def _repeating(run: RunFile) -> DataOptions:
    """One id may stand in several rows where a promise is of all its rows."""
    dp = run.method.dp
    return run.data if dp is None or not dp.of_persons else replace(run.data, repeated_ids=True)


def own_tables(
    run: RunFile, name: str, data: Source, valid: Source | None, notes: list[str]
) -> tuple[Table, Table | None]:
    """The tables of one party, in its own process."""
    if run.active:
        own, beside = vertical_tables.pair_of(run, name, data, valid, notes)
        _check_ids(run, name, (own, beside))
        if beside is not None:
            return own, beside
        split = _held_out(run, {name: own})
        return split.training[name], split.valid.get(name)
    alone = is_libsvm(run.data, data) and (run.data.first_index is None or run.data.n_columns is None)
    if alone and len(run.parties) > 1:
        raise ParameterError(
            "[data] lacks first_index or n_columns, without which LIBSVM files of several parties may not mean the "
            "same columns; add both at every party, like first_index = 1 and n_columns = 123."
        )
    table = read(_repeating(run), data)
    remark(table, run.data, data, notes)
    if valid is not None:
        return table, _valid(run.data, valid, table)
    split = _held_out(run, {name: table})
    return split.training[name], split.valid.get(name)


def rows_to_measure(run: RunFile, columns: Sequence[Column], parties: Mapping[str, Table]) -> Table | None:
    """The rows on which the final metrics are computed, in a model's columns; one that is not there is missing.

    In a hybrid run they are the active party's, linked with the other parties' tables.
    """
    if run.data.test is None:
        return None
    if run.method.links:
        parts = test_parties(run, parties)
        own = parts[run.active]
        shared = {f"{run.active}.{name}" for name in own.names} & {column.name for column in columns}
        named = vertical_tables.named(own, run.active, {name.removeprefix(f"{run.active}.") for name in shared})
        return together(run, {**parts, run.active: named}, columns)
    options = _counted(run)
    test = read(options, run.data.test, width_of(options, run.data.test, columns))
    return test.aligned(columns) if run.active else shaped_like(test, columns)


def test_parties(run: RunFile, parties: Mapping[str, Table]) -> dict[str, Table]:
    """The test rows of a hybrid run, by party: the active one's file beside what the others have, or a table cut."""
    if run.data.test is None:
        raise ParameterError('[data] lacks test; name the rows to measure, like test = "test.csv".')
    if run.partition is not None:
        return _cut_test(run, run.partition, run.data.test)
    test, _ = vertical_tables.pair_of(run, run.active, run.data.test, None, [])
    return {**parties, run.active: test}


def _cut_test(run: RunFile, cut: PartitionOptions, source: Source) -> dict[str, Table]:
    options = _counted(run)
    whole = None if isinstance(cut.hybrid, NamedNetwork) else read(options, cut.data)
    test = read(options, source, None if whole is None else width_of(options, source, whole.columns))
    like = test if whole is None else test.aligned(whole.columns)
    return hybrid_tables.cut_test(cut, whole, like, _groups(run))


def together(run: RunFile, tables: dict[str, Table], columns: Sequence[Column]) -> Table:
    """All parties' tables as one, in a model's columns: rows below each other, or columns beside."""
    if run.method.links:
        units = run.method.units([name for name in run.names if name != run.active])
        return hybrid_tables.joined(tables, run.active, _groups(run), units).aligned(columns)
    if run.active:
        shared = vertical_tables.common_rows(tables) if run.method.aligns else tables
        return vertical_tables.side_by_side(shared, run.active).aligned(columns)
    return partition.pooled({name: shaped_like(table, columns) for name, table in tables.items()})


def _groups(run: RunFile) -> vertical_tables.Groups:
    """Passive parties that share their columns."""
    return run.method.groups([name for name in run.names if name != run.active])


def shaped_like(table: Table, columns: Sequence[Column]) -> Table:
    """A table in a model's columns; one that it lacks is missing throughout."""
    return table.widened([column for column in columns if column.name not in table.names]).aligned(columns)


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


def _held_out(run: RunFile, tables: dict[str, Table], notes: Sequence[str] = ()) -> Split:
    if run.validation_share == 0:
        return Split(dict(tables), {}, list(notes))
    if run.method.links:  # of a hybrid run the active party's rows alone
        own = {name: table for name, table in tables.items() if name == run.active}
        training, valid = partition.hold_out(own, run.validation_share, run.params.random_state)
        return Split({**tables, **training}, valid, list(notes))
    return Split(*partition.hold_out(tables, run.validation_share, run.params.random_state), list(notes))


def _alike(options: DataOptions, sources: dict[str, Source]) -> dict[str, Table]:
    """All tables; LIBSVM files are as wide as the widest, because each is only as wide as its last entry."""
    tables = {name: read(options, source) for name, source in sources.items()}
    widest = max((table.n_columns for table in tables.values()), default=0)
    for name, source in sources.items():
        if tables[name].n_columns < widest and is_libsvm(options, source):
            tables[name] = read(options, source, widest)
    return tables


def _valid(options: DataOptions, source: Source, like: Table) -> Table:
    return read(options, source, width_of(options, source, like.columns))
