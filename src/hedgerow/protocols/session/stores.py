"""Where a party keeps what only itself may know and what must survive its process."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.splits import Cuts


class OwnCuts(NamedTuple):
    """A party's own cuts in the trees of one round."""

    round: int
    cuts: tuple[Cuts, ...]
    after: tuple[NDArray[np.int64], ...] = ()
    """How the cuts lie below each other, as `vertical/passive_rows` has it; none where the party is not told."""


class CutStore(Protocol):
    """Where a party keeps its own cuts, so that they survive the process."""

    def read(self) -> list[OwnCuts]:
        """The cuts of all complete rounds."""

    def append(self, own: OwnCuts) -> None:
        """One more round; returns when it survives a loss of power."""


class PlaceStore(Protocol):
    """Where a party keeps which of its rows are common, so that a process that was killed need not align again."""

    def read(self, held_out: bool, n_rows: int) -> NDArray[np.int64] | None:
        """Their places in a table of so many rows, in order; None if they were not found yet."""

    def write(self, held_out: bool, n_rows: int, places: NDArray[np.int64]) -> None:
        """Keep them; returns when they survive a loss of power."""
