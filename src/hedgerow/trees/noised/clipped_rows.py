"""Rows whose part in every sum is bounded: what differential privacy needs to know before it adds noise.

A row's derivatives `(g, s h)` of all trees of a round are one vector, shortened to a length in integers. Of a node some
sums are not told, because they follow from others: the total, or where rows are declared to have few values other than
0 the bins of 0. Nothing here has noise, so nothing here may leave as it is: see `greedy`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.fixedpoint import WIDE_BITS, Scales
from hedgerow.trees.local import LocalRows, RoundSettings, Sample, Step, Taken
from hedgerow.trees.noised.rule import GRADIENT_UNITS
from hedgerow.trees.splits import Cuts, Nodes


@dataclass(frozen=True)
class Clip:
    """How long a row's vector may be, and what is one in it."""

    units: int
    """The radius of `(g, s h)`, `GRADIENT_UNITS` being a unit gradient."""
    gradient: float
    """A unit gradient: 1 where labels are classes, else the declared range of the labels."""
    hessian: float
    """What hessians are multiplied by."""

    @property
    def scales(self) -> Scales:
        """Derivatives as integers: of all bits, so that those that choose cuts and those of leaves are the same."""
        one = 2.0**WIDE_BITS / GRADIENT_UNITS
        return Scales(self.gradient * one, one / self.hessian, WIDE_BITS + 1)


def clip_jointly(pairs: NDArray[np.int32], radius: int) -> int:
    """Shorten the rows' vectors (trees x rows x 2, together) to the radius, in place; returns how many were longer.

    In integers, towards 0: `v * radius // ceil(|v|)` can be no longer than the radius.
    """
    squares = np.square(pairs, dtype=np.int64).sum(axis=(0, 2))
    long = np.flatnonzero(squares > radius * radius)
    if len(long):
        lengths = _lengths(squares[long])[None, :, None]
        some = pairs[:, long].astype(np.int64)
        pairs[:, long] = np.sign(some) * (np.abs(some) * radius // lengths)
    return len(long)


def _lengths(squares: NDArray[np.int64]) -> NDArray[np.int64]:
    """Square roots, rounded up."""
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    roots -= roots * roots >= squares
    for _ in range(2):  # a square of more than 53 bits may have lost some on the way
        roots += roots * roots < squares
    return roots


def clip_gradients(pairs: NDArray[np.int32], radius: int) -> int:
    """Cut gradients alone, as FedTree does, which bounds no more than each; returns how many were longer."""
    long = np.abs(pairs[:, :, 0]) > radius
    np.clip(pairs[:, :, 0], -radius, radius, out=pairs[:, :, 0])
    return int(long.sum())


Shorten = Callable[[NDArray[np.int32], int], int]
"""Shortens rows' vectors to a radius, in place."""


class ClippedRows(LocalRows):
    """Rows of one table whose derivatives are clipped; their sums are exact, and for noise to be added to."""

    one_step = False

    def __init__(
        self,
        own: Sample,
        settings: RoundSettings,
        threads: int,
        radius: int,
        untold: NDArray[np.int64],
        shorten: Shorten = clip_jointly,
        leaves_told: bool = True,
    ) -> None:
        super().__init__(own, settings, threads)
        self.radius, self.shorten = radius, shorten
        self.untold, self.leaves_told = untold, leaves_told
        """Places among a node's sums that are not told, and whether sums of leaves are."""

    def start_round(self, round_: int) -> None:
        """Compute gradients and clip them, put all rows at the roots."""
        if self.put_at_roots(round_):
            self._derive()

    def _derive(self) -> None:
        _native.gradient_pairs(*self._begins, self.pairs, self.threads)
        self.shorten(self.pairs, self.radius)

    def steps(self, begins: bool, cuts: Cuts | None, nodes: Nodes, leaves: bool, counted: bool) -> tuple[Step, ...]:
        """As of other rows, but with gradients computed and clipped before the step is taken."""
        if begins:
            self._derive()
        return super().steps(False, cuts, nodes, leaves, counted)

    def taken(self, steps: Sequence[Step], found: Sequence[Taken]) -> NDArray[Any]:
        """The same, without the sums that are not told."""
        (step,), words = steps, super().taken(steps, found)
        if step.leaves:
            return words if self.leaves_told else np.zeros_like(words)
        return self._told(words.reshape(len(step.nodes.tree), -1, 2)).reshape(-1)

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of all rows, but for those that are not told."""
        return self._told(super().histograms(nodes))

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """Sums of all rows, where they are told."""
        return super().leaf_sums(leaves) * self.leaves_told

    def _told(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        sums[:, self.untold] = 0
        return sums
