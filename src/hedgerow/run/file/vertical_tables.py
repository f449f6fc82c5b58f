"""The tables of a vertical run: each party's file has its own columns, and only the active party's the labels.

Rows are taken as they stand: all files must have the same rows in the same order, which the parties check by a hash of
their ids before anything else is said. Where a run aligns them, rows may differ, and ids are checked as files are read.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.data import sparse
from hedgerow.data.builtin import BUILTIN
from hedgerow.data.names import some
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.model import dense
from hedgerow.protocols.align import lists
from hedgerow.protocols.align.progress import ROWS, no_common
from hedgerow.run.file.description import RunFile
from hedgerow.run.file.options import DataOptions
from hedgerow.run.file.remarks import remark
from hedgerow.run.file.section import Source
from hedgerow.run.file.source import counted, read, read_file, width_of

Pair = tuple[Table, Table | None]
"""Rows to learn from, and validation rows from a file of their own."""
Groups = Sequence[Sequence[str]]
"""Passive parties that share their columns."""


def files(run: RunFile, notes: list[str]) -> dict[str, Pair]:
    """The tables of all parties of a simulation; columns of one name at two parties get the party's before it."""
    pairs = {
        entry.name: pair_of(run, entry.name, entry.data, entry.valid, notes)
        for entry in run.parties
        if entry.data is not None
    }
    _check_categories(run.data, [pair[0] for pair in pairs.values()])
    groups = run.method.groups([name for name in pairs if name != run.active])
    first, twice = told_apart({name: own for name, (own, _) in pairs.items()}, groups, notes)
    return {
        party: (named(own, first[party], twice), named(valid, first[party], twice))
        for party, (own, valid) in pairs.items()
    }


def told_apart(tables: Mapping[str, Table], groups: Groups, notes: list[str]) -> tuple[dict[str, str], set[str]]:
    """What stands before a party's columns that others have as well, and which columns these are; groups share one."""
    others = {name for group in groups for name in group[1:]}
    times = Counter(name for party, table in tables.items() if party not in others for name in table.names)
    twice = {name for name, n in times.items() if n > 1}
    if twice:
        notes.append(f"Columns that several parties have are called PARTY.NAME here: {some(sorted(twice))}.")
    first = {name: group[0] for group in groups for name in group}
    return {party: first.get(party, party) for party in tables}, twice


def pair_of(run: RunFile, party: str, data: Source, valid: Source | None, notes: list[str]) -> Pair:
    """One party's tables; a passive party's are without labels, whatever is in its file."""
    options, is_active = counted(run.data, (data, valid)), party == run.active
    options = replace(options, repeated_ids=run.method.links)  # of a passive party `hybrid_tables` refuses them by name

    def table(source: Source, n_columns: int | None = None) -> Table:
        return _labelled(options, source, n_columns) if is_active else _unlabelled(options, source, n_columns, notes)

    own = table(data)
    remark(own, options, data, notes)
    return own, None if valid is None else table(valid, width_of(options, valid, own.columns))


def check_ids(most: int, pair: Pair) -> None:
    """Refuse rows that cannot be aligned: without ids, too many, or with an id twice."""
    for table in pair:
        if table is not None and table.n_rows:
            lists.check_ids(lists.texts_of(table), most)


def common_rows(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The rows that all parties have, for whoever simulates them all: what an alignment finds, in the same order."""
    places = {name: {one: row for row, one in enumerate(lists.texts_of(t))} for name, t in tables.items()}
    shared = sorted(set.intersection(*(set(of) for of in places.values())))
    if not shared:
        raise DataError(no_common(ROWS))
    return {name: table.take([places[name][one] for one in shared]) for name, table in tables.items()}


def side_by_side(tables: Mapping[str, Table], active: str) -> Table:
    """The columns of all parties in one table, for whoever simulates them all."""
    every = list(tables.values())
    own = tables[active]
    parts: list[Any] = [table.values for table in every]
    sparse_alike = all(sparse.is_sparse(t.values) and (t.absent == 0) == (own.absent == 0) for t in every)
    values: Any = sparse.side_by_side(parts) if sparse_alike else np.hstack(list(map(dense, every)))
    columns = tuple(column for table in every for column in table.columns)
    return Table(columns, values, own.absent, own.labels, own.weights, own.ids)


def _labelled(options: DataOptions, source: Source, n_columns: int | None) -> Table:
    return read(_own_categories(options, source, n_columns, labelled=True), source, n_columns)


def _unlabelled(options: DataOptions, source: Source, n_columns: int | None, notes: list[str]) -> Table:
    """Columns that have the names of labels or weights are left out: as features they would give the labels away."""
    if isinstance(source, str) and source.startswith(BUILTIN):
        raise ParameterError(f"{source} is a whole table; in a vertical run give it to [partition] data.")
    bare = _own_categories(replace(options, label=None, weight=None), source, n_columns, labelled=False)
    table = read_file(bare, source, n_columns)
    odd = [name for name in (options.label, options.weight) if name in table.names]
    if odd:
        notes.append(f"{source} is a passive party's; its column {some(odd)} is not used.")
        table = table.aligned([column for column in table.columns if column.name not in odd])
    if not table.n_columns:
        raise DataError(f"{source} has no column beside ids, labels and weights; a passive party needs one.")
    return replace(table, labels=None, weights=None)


def _own_categories(options: DataOptions, source: Source, n_columns: int | None, labelled: bool) -> DataOptions:
    """The options with those of the categorical columns that this file has; the others are other parties'."""
    if not options.categorical or (isinstance(source, str) and source.startswith(BUILTIN)):
        return options
    bare = replace(options, categorical=())
    names = (read if labelled else read_file)(bare, source, n_columns).names
    return replace(options, categorical=tuple(name for name in options.categorical if name in names))


def _check_categories(options: DataOptions, tables: Sequence[Table]) -> None:
    known = {name for table in tables for name in table.names}
    lacking = [name for name in options.categorical if name not in known]
    if lacking:
        raise DataError(f"[data] categorical names {lacking[0]!r}, which is a column of no party.")


def named(table: Any, party: str, shared: set[str]) -> Any:
    """A table in which these columns have the party's name before theirs."""
    if table is None:
        return None
    renamed = (replace(c, name=f"{party}.{c.name}") if c.name in shared else c for c in table.columns)
    return replace(table, columns=tuple(renamed))
