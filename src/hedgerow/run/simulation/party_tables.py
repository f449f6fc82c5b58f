"""The tables of parties that all lie in this process: by name, and what is seen by comparing them."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from hedgerow.agreement.dp import DP
from hedgerow.agreement.options import Align, Federation, Horizontal, Vertical
from hedgerow.data.ids import AS_TEXT, check_rows_per_id, n_common, nearly_common
from hedgerow.data.table import Table
from hedgerow.errors import DataError
from hedgerow.model import labels
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.session.notify import Tell


def tables_of(parties: Any) -> dict[str, Table]:
    """Named tables, one a party, from a mapping or a list of tables or of pairs (X, y)."""
    if not isinstance(parties, Mapping):
        if not isinstance(parties, (list, tuple)):
            raise DataError("A federation learns from several tables: give a list of them, or a mapping by party name.")
        parties = {f"party{i + 1}": table for i, table in enumerate(parties)}
    tables = {}
    for name, given in parties.items():
        table = given if isinstance(given, Table) else Table.of(*given) if isinstance(given, tuple) else None
        if table is None:
            raise DataError(f"Party {name!r} must have a Table, or a pair of table and labels.")
        tables[str(name)] = table
    if not tables:
        raise DataError("There is no party; give at least one table.")
    return tables


def are_parties(X: Any) -> bool:
    """Whether these are several parties' tables, by name or in a list, and not one table."""
    parts = X.values() if isinstance(X, Mapping) else X if isinstance(X, list | tuple) else ()
    return any(isinstance(part, Table) for part in parts)


def parties_of(X: Any) -> dict[str, Table | None]:
    """Tables by party; None stays, for a party that is absent."""
    named = X if isinstance(X, Mapping) else {f"party{i + 1}": table for i, table in enumerate(X)}
    present = tables_of({name: table for name, table in named.items() if table is not None})
    return {str(name): present.get(str(name)) for name in named}


def settled(federation: Federation, tables: Mapping[str, Table], valid: Mapping[str, Table]) -> Federation:
    """A user's options with what a plan must name: who is active, whether rows are aligned, that two were accepted."""
    if isinstance(federation, Horizontal):
        return federation.allowing_two(len(tables))
    if not isinstance(federation, Vertical):
        return federation
    active = federation.active or _active(tables)
    align = federation.align or (None if federation.links else _align(tables, valid))
    return msgspec.structs.replace(federation, active=active, align=align or "private")


def unused_labels(active: str | None, tables: Mapping[str, Table]) -> list[str]:
    """Which passive parties have labels that a hybrid run does not look at, in sentences."""
    having = [name for name, table in tables.items() if name != active and table.labels is not None]
    return [f"Party {name!r} is passive; its labels are not used." for name in having]


def alike(active: str | None, tables: Mapping[str, Table]) -> list[list[str]]:
    """Passive parties whose columns have the same names and kinds, group by group."""
    found: dict[frozenset[tuple[str, str]], list[str]] = {}
    for name, table in tables.items():
        if name != active:
            found.setdefault(frozenset((column.name, column.kind) for column in table.columns), []).append(name)
    return list(found.values())


def _active(tables: Mapping[str, Table]) -> str:
    """The only party with labels."""
    labelled = [name for name, table in tables.items() if table.labels is not None]
    if len(labelled) != 1:
        raise DataError(
            f"{len(labelled)} parties have labels; a vertical run has one active party: name it (active=...)."
        )
    return labelled[0]


def _align(tables: Mapping[str, Table], valid: Mapping[str, Table]) -> Align:
    """Whether the rows of a vertical run are the same at all parties and in order, or must be found by their ids."""
    keys = [[table.row_keys() for table in part.values()] for part in (tables, valid)]
    same = all(np.array_equal(part[0], other) for part in keys for other in part[1:])
    return "given" if same else "private"


def note_ids(parties: Mapping[str, Table], note: Tell) -> None:
    """Tell how many more rows would be found if ids were written alike; only whoever simulates all parties can know."""
    if any(table.ids is None for table in parties.values()):
        return
    ids = [texts_of(table) for table in parties.values()]
    more, ways = nearly_common(ids)
    if not more:
        return
    alike = f"without {ways}; {AS_TEXT}, so write them alike everywhere."
    if not n_common(ids):
        raise DataError(f"No id is common to all parties' rows, and {more} would be {alike}")
    note(f"{more} more ids would be common to all parties {alike}")


def check_persons(parties: Iterable[Table], dp: DP) -> None:
    """Refuse rows of which an id has more than everybody was told, in all tables together."""
    if dp.of_persons:
        check_rows_per_id((one for table in parties if table.ids is not None for one in table.ids), dp.rows_per_id)


def note_left_out(parties: Mapping[str, Table], dp: DP, note: Tell) -> None:
    """Rows that each party leaves out by itself; real ones tell nobody but their owner."""
    for name, table in parties.items():
        n = int(labels.left_out(table, dp.classes).sum())
        if n:
            note(f"Party {name!r}: {labels.left_out_sentence(n)}")
