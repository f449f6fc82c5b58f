"""Which of several passive parties speaks for a row that more than one of them holds.

Each party has a claim on each row: a hash of the row's id and the party's name, which anybody can compute who knows
both. The party with the least claim among those that hold the row speaks for it. The rule needs no order of parties
and no exchange, spreads rows evenly, and stays the same for all other rows when a party leaves.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError

NOBODY = -1
"""Stands for a party where no party holds the row."""


def claims(keys: NDArray[np.uint64], party: str) -> NDArray[np.uint64]:
    """A party's claim on each row; `keys` are those of `Table.row_keys`.

    SipHash-2-4 of the key, its own key being the first 16 bytes of a SHA-256 of the party's name: five million rows
    take a fraction of a second.
    """
    digest = hashlib.sha256(b"hedgerow holder of a row\0" + party.encode()).digest()
    return _native.draws(keys, int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little"))


def holder_of(keys: NDArray[np.uint64], held: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.intp]:
    """The number, in the order of `held`, of the party that speaks for each row; `NOBODY` where none holds it.

    `held` says of each party, by name, which of the rows it holds. Of equal claims that of the name that sorts first
    is taken, so that the order of the parties changes nothing but their numbers.
    """
    holder = np.full(len(keys), NOBODY, np.intp)
    least = np.zeros(len(keys), np.uint64)
    names = list(held)
    for name in sorted(names):
        rows = np.flatnonzero(held[name])
        if len(held[name]) != len(keys):
            raise ParameterError(f"{len(keys)} rows need as many answers of party {name!r}, not {len(held[name])}.")
        own = claims(keys[rows], name)
        taken = (holder[rows] == NOBODY) | (own < least[rows])
        holder[rows[taken]], least[rows[taken]] = names.index(name), own[taken]
    return holder


HOLDER = "(holder)"
"""The column that says which unit, a party or several with the same columns, a row belongs to; missing: none."""
Units = Sequence[Sequence[str]]


def with_holder(table: Table, units: Units, holder: NDArray[np.intp]) -> Table:
    """The table with the number of each row's unit in a column behind all others."""
    if HOLDER in table.names:
        raise DataError(f"The active party has a column {HOLDER!r}, which is kept for who holds a row; rename it.")
    column = Column(HOLDER, "categorical", tuple(", ".join(unit) for unit in units))
    if not isinstance(table.values, np.ndarray):
        raise DataError("Subtrees of single parties need a dense table of the active party's; make it dense.")
    codes = np.where(holder == NOBODY, np.nan, holder).astype(np.float32)
    return replace(table, columns=(*table.columns, column), values=np.column_stack([table.values, codes]))
