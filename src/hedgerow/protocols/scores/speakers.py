"""Who is asked about which rows of a sealed prediction, where passive parties share their columns.

Of parties that share their columns one speaks for each row, as in training: of those that have it, the one that
`data.holders` names. So the active party asks them first which rows they have. A row that none of them has goes the
default way at their cuts, and nobody is asked. Parties with columns of their own are asked about every row, and do not
tell which they have.

Sees in the clear.  Active: which rows each of the parties that share columns has.
                    Passive, where it shares columns: the ids of all rows; by what it is not asked about further, that
                    another party has rows that it has too.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskKnown, Known
from hedgerow.data.holders import NOBODY, holder_of
from hedgerow.data.table import Table
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.scores import tables
from hedgerow.protocols.scores.sessions import Route
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.told_trees import sides_of

Routes = Mapping[Route, NDArray[np.int64]]
"""The rows of each route."""


class Speakers:
    """The parties that are asked, and those among them that share columns, group by group."""

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
        """What becomes known: which of these rows each party that shares its columns has."""
        held = {name: np.zeros(len(ids), np.bool_) for name in self.shared}
        for first in range(0, len(ids), tables.MOST_ROWS):
            some = tuple(ids[first : first + tables.MOST_ROWS])
            answers = self.group.ask(dict.fromkeys(self.shared, AskKnown(some)), Known)
            for name, answer in answers.items():
                refusal = f"Party {name!r} did not tell which of the rows it has."
                held[name][first : first + len(some)] = sides_of(answer.known, [len(some)], refusal)[0]
        return held
