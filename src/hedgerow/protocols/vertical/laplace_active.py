"""The active party's side of FedTree's noise; `laplace` has the conversation.

Sees in the clear.  Its own table; sums of the others' columns, of gradients with noise; sides of rows.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from hedgerow.protocols.vertical.active import VerticalRows
from hedgerow.protocols.vertical.answer_checks import ClaimedSums, SaidBefore
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.laplace import SumNoise
from hedgerow.protocols.vertical.talk import Talk
from hedgerow.trees.local import LocalRows
from hedgerow.trees.splits import Cuts, Nodes


class NothingClaimed(ClaimedSums):
    """Sums with noise are not those of any rows, so nothing follows from them that could be checked."""

    def give(self, nodes: Nodes, sums: NDArray[np.int64], absolute: NDArray[np.int64]) -> None:
        """Taken as it is."""

    def forget(self) -> None:
        """Nothing was kept."""


class NothingCompared(SaidBefore):
    """A tree that is grown again has other noise, and so other cuts."""

    def hear(self, answers: Mapping[str, Iterable[NDArray[np.generic]]]) -> None:
        """Taken as it is."""


class LaplaceRows(VerticalRows):
    """The active party's own rows, and everybody's columns, whose sums of gradients have noise."""

    claims = NothingClaimed

    def __init__(self, talk: Talk, own: LocalRows, joint: AllColumns, done: int, noise: SumNoise) -> None:
        self.noise = noise
        super().__init__(talk._replace(before=NothingCompared()), own, joint, done)

    @property
    def summand(self) -> int:
        """As the noise has it."""
        return self.noise.summand

    def _joined(self, own: NDArray[np.int64], opened: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64]:
        """Own histograms get noise here; that of the others is in what they returned."""
        noised = own.copy()  # totals of nodes, which are last, are as they are
        noised[:, :-1] += self.noise.words(len(own), own.shape[1] - 1)
        return super()._joined(noised, opened)

    def exact(self, sums: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Hessians alone, which number the rows."""
        without = np.array([0, 1], np.int32)
        return sums * without, self.now.own_gradients * without

    def _check_cuts(self, cuts: Cuts, sizes: Mapping[str, NDArray[np.int64]]) -> None:
        """Nothing was claimed."""
