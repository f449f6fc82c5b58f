"""Which of the active party's rows belong to which unit, where passive parties have subtrees of their own.

Nothing is said here.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.holders import NOBODY, Units, with_holder
from hedgerow.data.table import Table
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.vertical.held_rows import RowsByParty


def with_holders(units: Units, own: Active, links: RowsByParty) -> Active:
    """With a column that says which unit holds each row, where units have subtrees of their own."""
    if not units:
        return own
    unit_of = {party: number for number, unit in enumerate(units) for party in unit}
    rows = [(unit_of[party], linked.own) for party, linked in links.items()]
    held_out = [(unit_of[party], linked.held_out) for party, linked in links.items() if linked.held_out is not None]
    valid = own.own_valid
    told = None if valid is None else _told(valid, units, held_out)
    return replace(own, own_table=_told(own.own_table, units, rows), own_valid=told)


def _told(table: Table, units: Units, held: Iterable[tuple[int, NDArray[np.int64]]]) -> Table:
    holder = np.full(table.n_rows, NOBODY, np.intp)
    for number, rows in held:
        holder[rows] = number
    return with_holder(table, units, holder)
