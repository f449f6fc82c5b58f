"""Which rows `hedgerow explain` gives reasons for."""

import re
from collections.abc import Sequence

import numpy as np

from hedgerow.commands.option_names import in_options
from hedgerow.commands.print_tables import note
from hedgerow.commands.read_tables import Roles, read_like
from hedgerow.data.table import Table
from hedgerow.errors import ModelError, ParameterError
from hedgerow.model.model import Model
from hedgerow.model.part import ownership_of, part_of

FIRST_ROWS, MOST_ROWS = 5, 100


def rows_of(model: Model, data: str, roles: Roles, rows: str | None) -> tuple[Table, list[str]]:
    """The rows that are asked for, and what each is called: its id, or its number."""
    own, columns = model.ownership, model.columns
    if own is not None and own.units:
        raise ModelError(
            "The trees of this model depend on who holds a row, which no table tells; its rows cannot be explained, "
            "leave out --data."
        )
    if own is not None and not own.whole:
        columns = columns[slice(*own.span(own.active))]
    if not columns:
        raise ModelError("The active party has no columns of its own to explain rows by; leave out --data.")
    table = read_like(data, columns, roles)
    for sentence in table.remarks:
        note(in_options(sentence))
    chosen = _chosen(table, rows)
    names = [str(row) if table.ids is None else str(table.ids[row]) for row in chosen]
    return table.take(np.array(chosen, np.int64)), names


def own_columns(model: Model, names: Sequence[str]) -> list[str]:
    """Own columns by which reasons are given; refuses one that the active party does not have."""
    columns = [column.name for column in part_of(model, ownership_of(model).active).columns]
    for name in names:
        if name not in columns:
            raise ParameterError(f"--own {name} is no own column of the model; it has {', '.join(columns)}.")
    return list(names)


def _chosen(table: Table, rows: str | None) -> list[int]:
    """The numbers of the rows that are asked for."""
    if rows is None:
        return list(range(min(FIRST_ROWS, table.n_rows)))
    words = [word.strip() for word in rows.split(",") if word.strip()]
    found = _numbered(words, table.n_rows) if table.ids is None else _with_ids(words, table)
    if not 0 < len(found) <= MOST_ROWS:
        raise ParameterError(f"--rows names {len(found)} rows; from 1 to {MOST_ROWS} can be explained at once.")
    return found


def _numbered(words: Sequence[str], n_rows: int) -> list[int]:
    found: dict[int, None] = {}
    for word in words:
        match = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", word)
        if match is None:
            raise ParameterError(f"--rows takes numbers and ranges, such as 0,7-9; {word!r} is neither.")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < n_rows:
            raise ParameterError(f"--rows {word} is not there: the table has rows 0 to {n_rows - 1}.")
        found |= dict.fromkeys(range(first, min(last, first + MOST_ROWS) + 1))
    return list(found)


def _with_ids(words: Sequence[str], table: Table) -> list[int]:
    places = {} if table.ids is None else {str(id_): row for row, id_ in enumerate(table.ids.tolist())}
    for word in words:
        if word not in places:
            raise ParameterError(f"--rows names the id {word!r}, which no row of the table has.")
    return list(dict.fromkeys(places[word] for word in words))
