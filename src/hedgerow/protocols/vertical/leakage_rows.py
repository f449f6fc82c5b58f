"""The rows of a vertical run, with a note of what becomes known of passive columns as the trees grow.

Sees in the clear.  What `vertical` says the active party sees; nothing more is asked for.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import PartyLost
from hedgerow.protocols.leakage import LearntBins
from hedgerow.protocols.vertical.active import VerticalRows
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.held_rows import RowsByParty
from hedgerow.trees.grow import Summed
from hedgerow.trees.splits import Cuts, Nodes

T = TypeVar("T")
Meanwhile = Callable[[Callable[[], None]], None]
"""Takes work to be done while the next answers are waited for."""


def nothing_learnt(joint: AllColumns, links: RowsByParty, n_rows: int) -> LearntBins:
    """A note of everybody else's columns; those that several share go by the names of all of these."""
    spans = [o._replace(party=", ".join(joint.holders(o))) for o in joint.passive()]
    return LearntBins.of(joint.grid, spans, n_rows, held_rows(joint, links, n_rows))


def held_rows(joint: AllColumns, links: RowsByParty, n_rows: int) -> dict[str, NDArray[np.bool_]]:
    """Which rows each of them has, alone or together, where these are some."""
    held = {}
    for owned in joint.passive():
        linked = [links[party].own for party in joint.holders(owned) if party in links]
        if linked:
            mask = held[", ".join(joint.holders(owned))] = np.zeros(n_rows, np.bool_)
            for rows in linked:
                mask[rows] = True
    return held


class NotedRows:
    """Does what the rows do, and notes what they were told, mostly while the parties work on the next sums.

    Whatever was told is noted when a round is finished, or a party was lost in its middle.
    """

    counts_every = VerticalRows.counts_every

    def __init__(self, rows: VerticalRows, learnt: LearntBins, meanwhile: Meanwhile) -> None:
        self.rows, self.learnt, self.meanwhile = rows, learnt, meanwhile
        self._to_note: list[Callable[[], None]] = []

    def _note(self) -> None:
        while self._to_note:
            self._to_note.pop(0)()

    def _asking(self, ask: Callable[[], T]) -> T:
        """Ask, and meanwhile note what was told before; when this returns, all of that is noted.

        From then on the grower may change the sums of the level before.
        """
        if self.rows.now.asked:
            self.meanwhile(self._note)
        try:
            return ask()
        finally:
            self._note()

    def start_round(self, round_: int) -> None:
        """As without a note."""
        self.rows.start_round(round_)
        self.learnt.start_round()

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """The sums, noted where anybody was asked for them."""
        out, own = self._asking(lambda: self.rows.histograms(nodes)), self.rows.own
        if not self.rows.asking:
            return out
        self._count()
        exact, gradients = self.rows.exact(out)
        self._to_note.append(partial(self.learnt.sums, nodes, exact, own.parts[0], gradients))
        return out

    def _count(self) -> None:
        """What was opened; of those that share columns their total, once."""
        for party, sums, bits in self.rows.opened:
            sharing = self.rows.joint.group_of(party) or (party,)
            if party == sharing[0]:
                self.learnt.count(", ".join(sharing), sums, bits)
        self.rows.opened.clear()

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """As without a note."""
        return self.rows.counts(nodes)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """The sides, noted."""
        try:
            sizes = self.rows.divide(cuts)
        except PartyLost:
            self._note()
            raise
        own = self.rows.own
        self._to_note.append(partial(self.learnt.sides, cuts, [part for part in own.parts if part.sample is own.own]))
        return sizes

    def node_sums(self, nodes: Nodes) -> NDArray[np.int64]:
        """As without a note."""
        return self.rows.node_sums(nodes)

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """As without a note."""
        return self.rows.leaf_sums(leaves)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """As without a note, but for what is left to be noted."""
        self._asking(lambda: self.rows.finish_round(leaves, values))
        self._count()

    def held_out_sums(self, metric: Summed, n_rounds: int) -> NDArray[np.int64]:
        """As without a note."""
        return self.rows.held_out_sums(metric, n_rounds)
