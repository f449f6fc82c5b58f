"""The tables of a hybrid run: the active party's file may repeat ids, and each passive party has some of them, once.

Whoever simulates all parties joins them here: the active party's rows, with gaps where a party lacks a row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hedgerow.data.holders import NOBODY, Units, holder_of, with_holder
from hedgerow.data.hybrid_partition import pooled
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.model import dense
from hedgerow.protocols.align.lists import texts_of
from hedgerow.run.file.vertical_tables import side_by_side


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


def same_rows(tables: Mapping[str, Table], active: str) -> dict[str, Table]:
    """Every party's table over the active party's rows, in their order; missing where it has none of that id."""
    own = tables[active]
    ids = texts_of(own)
    return {name: table if name == active else _linked(table, ids) for name, table in tables.items()}


def joined(tables: Mapping[str, Table], active: str, groups: Sequence[Sequence[str]] = (), units: Units = ()) -> Table:
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
