"""The tables of a hybrid run: the active party's file may repeat ids, and each passive party has some of them, once.

Whoever simulates all parties joins them here: the active party's rows, with gaps where a party lacks a row.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hedgerow.data.holders import NOBODY, Units, holder_of, with_holder
from hedgerow.data.hybrid_partition import HybridCut, HybridTables, hybrid, hybrid_pair, pooled
from hedgerow.data.named_network import NamedNetwork
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.model import dense
from hedgerow.protocols.align.lists import texts_of
from hedgerow.run.file.options import PartitionOptions
from hedgerow.run.file.vertical_tables import Groups, named, side_by_side, told_apart


def check_once(party: str, active: str, table: Table | None) -> None:
    """Refuse a passive party's table in which an id stands in several rows."""
    if table is None or table.ids is None:
        return
    n_more = table.n_rows - len(set(table.ids.tolist()))
    if n_more:
        raise DataError(
            f"Party {party!r} is passive, and {n_more} of its {table.n_rows} rows repeat the id of another; keep one "
            f"row for each id there, only {active!r} may repeat them."
        )


def check_valid(active: str, valid: Mapping[str, Table]) -> None:
    """Refuse validation rows of passive parties alone, which have no labels."""
    if valid and active not in valid:
        raise ParameterError(
            f"[[party]] {active!r} lacks valid; in a hybrid run the active party has the validation rows, and a "
            "passive party's data serves for these too."
        )


def cut(options: PartitionOptions, whole: Table | None, groups: Groups, notes: list[str]) -> dict[str, Table]:
    """One table as the active party's and the passive ones', or a network's (without a table) as its own parties.

    Sparse tables are written out.
    """
    made = options.hybrid.tables() if isinstance(options.hybrid, NamedNetwork) else hybrid(*_cut_of(options, whole))
    return by_party(made, options.names[0], groups, notes)


def cut_test(options: PartitionOptions, whole: Table | None, test: Table, groups: Groups) -> dict[str, Table]:
    """Test rows as the same parties'."""
    table, how = _cut_of(options, whole)
    made = hybrid_pair(table, _dense(test), how, test_rows=options.test_rows)[1]
    return by_party(made, options.names[0], groups, [])


def _cut_of(options: PartitionOptions, whole: Table | None) -> tuple[Table, HybridCut]:
    if whole is None or not isinstance(options.hybrid, HybridCut):
        raise ParameterError(
            "[data] test is a table that is cut like that of [partition], and a payment network is not cut; leave it "
            "out, and add [validation] share."
        )
    return _dense(whole), options.hybrid


def _dense(table: Table) -> Table:
    return replace(table, values=dense(table), absent=float("nan"))


def by_party(made: HybridTables, active: str, groups: Groups, notes: list[str]) -> dict[str, Table]:
    """The tables by party, a column of one name at two of them with the party's before it, or that of its group."""
    tables = {active: made.active, **made.passive}
    first, twice = told_apart(tables, groups, notes)
    return {name: named(table, first[name], twice) for name, table in tables.items()}


def same_rows(tables: Mapping[str, Table], active: str) -> dict[str, Table]:
    """Every party's table over the active party's rows, in their order; missing where it has none of that id."""
    own = tables[active]
    ids = texts_of(own)
    return {name: table if name == active else _linked(table, ids) for name, table in tables.items()}


def joined(tables: Mapping[str, Table], active: str, groups: Groups = (), units: Units = ()) -> Table:
    """The columns of all parties in one table of the active party's rows; those that a group shares, once.

    Where units have subtrees of their own, it says of each row whose it is, in a column behind the active party's.
    """
    if units:
        tables = _dealt(tables, active, units)
    alone = {name: table for name, table in tables.items() if not any(name in group for group in groups)}
    bare = replace(tables[active], columns=(), values=np.empty((tables[active].n_rows, 0), np.float32))
    by_group = {group[0]: pooled(bare, {name: tables[name] for name in group}) for group in groups}
    return side_by_side({**same_rows(alone, active), **by_group}, active)


def _dealt(tables: Mapping[str, Table], active: str, units: Units) -> dict[str, Table]:
    """Each passive party's rows that are dealt to it, and the active party's with the unit that holds each."""
    own, names = tables[active], [name for unit in units for name in unit]
    ids = np.array(texts_of(own))
    holder = holder_of(own.row_keys(), {name: np.isin(ids, texts_of(tables[name])) for name in names})
    unit_of = np.array([number for number, unit in enumerate(units) for _ in unit])
    out = {**tables, active: with_holder(own, units, np.where(holder == NOBODY, NOBODY, unit_of[holder]))}
    for number, name in enumerate(names):
        out[name] = tables[name].take(np.isin(texts_of(tables[name]), ids[holder == number]))
    return out


def _linked(table: Table, ids: list[str]) -> Table:
    place = {one: row for row, one in enumerate(texts_of(table))}
    rows = np.array([place.get(one, -1) for one in ids], np.int64)
    values, known = np.full((len(ids), table.n_columns), np.nan, np.float32), rows >= 0
    values[known] = dense(table)[rows[known]]
    return replace(table, values=values, absent=float("nan"), labels=None, weights=None, ids=np.array(ids))
