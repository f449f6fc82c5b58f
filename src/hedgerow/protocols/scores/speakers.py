"""Who is asked about which rows of a sealed prediction, where one passive party speaks for each row.

Of parties that share their columns one speaks for each row, as in training: of those that have it, the one that
`data.holders` names. So the active party asks them first which rows they have. A row that none of them has goes the
default way at their cuts, and nobody is asked. Where parties have subtrees of their own, one of all passive parties
speaks, and its unit is what the active party's forced cuts are about: they leave a row the subtrees of its unit alone.
Other parties with columns of their own are asked about every row, and do not tell which they have.

Sees in the clear.  Active: which rows each party has of those of which one speaks.
                    Passive, if it is one of them: the ids of all rows; by what it is not asked about further, that
                    another party has rows that it has too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskKnown, Known
from hedgerow.data.holders import NOBODY, Units, holder_of, with_holder
from hedgerow.data.table import Table
from hedgerow.model.model import dense
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.sessions import Route
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.told_trees import sides_of

Routes = Mapping[Route, NDArray[np.int64]]
"""The rows of each route."""


class Speakers:
    """The parties that are asked, and those among them of which one speaks for each row, group by group."""

    def __init__(self, group: PartyGroup, names: Sequence[str], groups: Sequence[Sequence[str]]) -> None:
        asked = [tuple(name for name in sharing if name in names) for sharing in groups]
        self.group, self.names, self.groups = group, tuple(names), tuple(sharing for sharing in asked if sharing)
        self.shared = tuple(name for sharing in self.groups for name in sharing)

    def routes(self, own_table: Table) -> Routes:
        """The rows of each route."""
        if not self.groups:
            return {self.names: np.arange(own_table.n_rows)}
        held, keys = self._held(texts_of(own_table)), own_table.row_keys()
        speaker = np.stack([holder_of(keys, {name: held[name] for name in sharing}) for sharing in self.groups])
        found, which = np.unique(speaker, axis=1, return_inverse=True)
        routes = (self._route(speakers) for speakers in found.T.tolist())
        return {route: np.flatnonzero(which.reshape(-1) == number) for number, route in enumerate(routes)}

    def _route(self, speakers: Sequence[int]) -> Route:
        spoken = {sharing[n] for sharing, n in zip(self.groups, speakers, strict=True) if n != NOBODY}
        return tuple(name for name in self.names if name in spoken or name not in self.shared)

    def _held(self, ids: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
        """What becomes known: which of these rows each party has of which one speaks for a row."""
        held = {name: np.zeros(len(ids), np.bool_) for name in self.shared}
        for first in range(0, len(ids), tables.MOST_ROWS):
            some = tuple(ids[first : first + tables.MOST_ROWS])
            answers = self.group.ask(dict.fromkeys(self.shared, AskKnown(some)), Known)
            for name, answer in answers.items():
                refusal = f"Party {name!r} did not tell which of the rows it has."
                held[name][first : first + len(some)] = sides_of(answer.known, [len(some)], refusal)[0]
        return held


def with_units(own_table: Table, units: Units, routes: Routes) -> Table:
    """The same rows, with the unit that holds each in a last column, where units have subtrees of their own."""
    if not units:
        return own_table
    holder = np.full(own_table.n_rows, NOBODY, np.intp)
    for route, rows in routes.items():
        for number in (number for number, unit in enumerate(units) if {*route} & {*unit}):
            holder[rows] = number
    return with_holder(replace(own_table, values=dense(own_table), absent=float("nan")), units, holder)
