"""Rows in parts that lie elsewhere, each in the hands of something that can be asked: their sums are added up.

Sums are integers, so where a part lies changes no tree. A part that was lost is made again from where it came from, and
the round begins anew: the trees are the same.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import RowsLost, Summed
from hedgerow.trees.splits import Cuts, Nodes


class PartLost(Exception):
    """Raised where a part does not answer any more."""


class Parts(Protocol):
    """Parts that all have the same methods, by number."""

    def total(self, ask: str, *given: Any) -> Any:
        """The sum of what all answer."""

    def each(self, ask: str, *given: Any) -> list[Any]:
        """What each answers, in the order of their numbers."""

    def some(self, numbers: Sequence[int], ask: str, *given: Any) -> None:
        """Has some of them do something."""

    def restore(self) -> list[int]:
        """Make those anew that were lost; returns their numbers."""


class PartedRows:
    """Rows in parts, each of which has the methods of rows; `begin` has parts of these numbers begin after a forest."""

    counts_every = False
    """Counts of a larger sibling follow from the others."""

    def __init__(self, parts: Parts, begin: Callable[[Sequence[int], Forest], None]) -> None:
        self.parts, self._begin = parts, begin

    def restore(self, forest: Forest) -> None:
        """Parts that were lost are made again, as they were after these trees."""
        numbers: set[int] = set()
        while True:
            try:
                numbers.update(self.parts.restore())
                self._begin(sorted(numbers), forest)
            except PartLost:  # one more, meanwhile
                continue
            return

    def _each(self, ask: str, *given: Any) -> None:
        try:
            self.parts.each(ask, *given)
        except PartLost:
            raise RowsLost(self.restore) from None

    def _total(self, ask: str, *given: Any) -> NDArray[np.int64]:
        try:
            return np.asarray(self.parts.total(ask, *given))
        except PartLost:
            raise RowsLost(self.restore) from None

    def start_round(self, round_: int) -> None:
        """Every part does."""
        self._each("start_round", round_)

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of all parts."""
        return self._total("histograms", nodes)

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of all parts."""
        return self._total("counts", nodes)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """Sizes over all parts."""
        return self._total("divide", cuts)

    def node_sums(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of all parts."""
        return self._total("node_sums", nodes)

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """Sums of all parts."""
        return self._total("leaf_sums", leaves)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """Scores stay with their rows."""
        self._each("finish_round", leaves, values)

    def held_out_sums(self, metric: Summed, n_rounds: int) -> NDArray[np.int64]:
        """Sums of all parts."""
        return self._total("held_out_sums", metric, n_rounds)
