"""The active party's side where cuts of passive columns are drawn by a hash: nothing is sealed or summed.

    active (drives)                              passive (each)
  every level whose cuts are drawn:
    AskDrawnSides(moves, cuts)  to the owners -->  moves its rows, draws the same cuts of its own columns
                                    <-----------  Sides

Sees in the clear.  Active: sides of rows at drawn cuts, which it could not choose, but for the
                    cut points that parties share.
                    Passive: which rows share a node that its columns cut, and so something of the labels where cuts of
                    the active party lie above; nothing that comes from gradients else.
"""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor import messages as m
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.session.group import ROOM
from hedgerow.protocols.told_trees import cut_list, sides_of
from hedgerow.protocols.vertical.active import VerticalRows
from hedgerow.trees.splits import Cuts


class DrawnRows(VerticalRows):
    """The active party's own rows, and everybody's columns, of which it learns sides only."""

    def _run_nodes(self, n_trees: int) -> int:  # noqa: ARG002  # however many
        """No node's sums are opened."""
        return 0

    def _largest(self, party: str, begin: m.BeginSealed) -> Iterable[RowsPlan]:  # noqa: ARG002  # whatever the sizes
        """Nothing is sealed."""
        return ()

    def _new_sealing(self, asked: Mapping[str, int]) -> None:
        """Nothing is sealed."""

    @property
    def _asked_for(self) -> bytes:
        """Who is asked decides which columns are drawn."""
        return hashlib.sha256("\n".join(self.now.asked).encode()).digest()

    def _told(self, asked: Mapping[str, Cuts]) -> dict[str, list[NDArray[np.bool_]]]:
        """What the owners of these cuts say, once they moved their rows: the sides of those at them, part by part."""
        rows = {party: self._rows_at(party, cuts.nodes) for party, cuts in asked.items()}
        told = self._answers(asked, max(map(sum, rows.values())))
        wrong = "did not tell the sides of the rows it was asked about."
        return {party: sides_of(told[party], rows[party], f"Party {party!r} {wrong}") for party in asked}

    def _answers(self, asked: Mapping[str, Cuts], most_rows: int) -> dict[str, NDArray[np.uint8]]:
        requests = {party: self._drawn(party, cuts) for party, cuts in asked.items()}
        answers = self.group.ask(requests, m.Sides, ROOM + most_rows // 8)
        return {party: answer.left for party, answer in answers.items()}

    def _drawn(self, party: str, cuts: Cuts) -> m.AskDrawnSides:
        moves, self.now.moves[party] = self.now.moves[party], ()
        return m.AskDrawnSides(self.now.number, self.now.depth, moves, cut_list(cuts))
