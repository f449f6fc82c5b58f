"""The best place to cut each node, from sums alone."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.bins import Grid
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.params import TreeParams


class Nodes(NamedTuple):
    """Nodes of the trees of one round: node `node[i]` of tree `tree[i]`."""

    tree: NDArray[np.int64]
    node: NDArray[np.int64]

    def at(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> "Nodes":
        """Some of the nodes."""
        return Nodes(self.tree[which], self.node[which])


class Cuts(NamedTuple):
    """Cuts of nodes. Rows whose bin of the column is in `left_bins` go to `child`, the others to `child + 1`."""

    nodes: Nodes
    child: NDArray[np.int64]
    column: NDArray[np.int32]
    bin: NDArray[np.int32]
    """Bins up to this one go left; -1 for a categorical column, where only the set tells."""
    missing_left: NDArray[np.bool_]
    left_bins: NDArray[np.uint64]


_NONE, _FEW = np.empty(0, np.int64), np.empty(0, np.int32)
NO_CUTS = Cuts(Nodes(_NONE, _NONE), _NONE, _FEW, _FEW, np.empty(0, np.bool_), np.empty((0, 4), np.uint64))


class Worth(NamedTuple):
    """What a cut is worth, and the sums of both sides in narrow units."""

    gain: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rules:
    """What makes a cut good, in the form the kernel reads."""

    gradient_unit: float
    hessian_unit: float
    reg_lambda: float
    reg_alpha: float
    gamma: float
    min_child_weight: float
    min_child_rows: int
    monotone: NDArray[np.int8]

    @property
    def counted(self) -> bool:
        """Whether the number of rows matters."""
        return self.min_child_rows > 1

    @classmethod
    def of(cls, params: TreeParams, scales: Scales) -> "Rules":
        """The rules that these parameters set, for narrow sums."""
        monotone = np.array(params.monotone_constraints, np.int8)
        return cls(
            *scales.narrow,
            reg_lambda=params.reg_lambda,
            reg_alpha=params.reg_alpha,
            gamma=params.gamma,
            min_child_weight=params.min_child_weight,
            min_child_rows=params.min_child_rows,
            monotone=monotone if monotone.any() else monotone[:0],
        )

    def values(
        self, sums: NDArray[np.int64], units: tuple[float, float], bounds: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """The best value of nodes with these sums: `-G / (H + lambda)`, with G drawn towards 0 by alpha."""
        g, h = sums[:, 0] * units[0], sums[:, 1] * units[1]
        shrunk = np.sign(g) * np.maximum(np.abs(g) - self.reg_alpha, 0)
        weight = h + self.reg_lambda
        best: NDArray[np.float64] = np.divide(-shrunk, weight, out=np.zeros_like(g), where=weight > 0)
        return best if bounds is None else np.asarray(np.clip(best, bounds[:, 0], bounds[:, 1]))

    def worth(self, sums: NDArray[np.int64] | None, n: int) -> "Worth":
        """What `n` cuts are worth by the narrow sums of left and right children in turn; nothing if these are unknown.

        A cut that was not searched for can be worth less than none; that counts as nothing.
        """
        if sums is None:
            nothing = np.zeros((n, 2), np.int64)
            return Worth(np.zeros(n), nothing, nothing)
        left, right = sums[::2], sums[1::2]
        gain = self._score(left) + self._score(right) - self._score(left + right)
        return Worth(np.maximum(gain, 0), np.ascontiguousarray(left), np.ascontiguousarray(right))

    def _score(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """What nodes of these sums take off the loss, twice, at their best values."""
        g, h = sums[:, 0] * self.gradient_unit, sums[:, 1] * self.hessian_unit
        shrunk = np.maximum(np.abs(g) - self.reg_alpha, 0)
        weight = h + self.reg_lambda
        return np.asarray(np.divide(shrunk**2, weight, out=np.zeros_like(g), where=weight > 0))


class Slabs(NamedTuple):
    """Histograms of the frontier. Node i's lies in row `places[i, 1]` of slab `places[i, 0]`."""

    arrays: list[NDArray[np.int64]]
    counts: list[NDArray[np.int64]]
    """Numbers of rows, laid out alike; empty if no rule asks for them."""
    places: NDArray[np.int32]


def children_of(tree: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The left children of nodes that are cut, of these trees in order: the next numbers; `sizes` are taken."""
    rank = np.arange(len(tree)) if len(sizes) == 1 else np.arange(len(tree)) - np.searchsorted(tree, tree)
    return np.asarray(sizes[tree] + 2 * rank, np.int64)


def best(
    slabs: Slabs,
    nodes: Nodes,
    grid: Grid,
    rules: Rules,
    allowed: NDArray[np.bool_],
    bounds: NDArray[np.float64],
    sizes: NDArray[np.int64],
    threads: int,
) -> tuple[NDArray[np.int64], Cuts, Worth]:
    """Which nodes (by position) are worth cutting, their best cuts, and what these are worth.

    Nodes come ordered by tree; children get the next numbers of their tree, of which `sizes` are taken.
    """
    found = _native.best_cuts(
        slabs.arrays, slabs.counts, slabs.places, grid, rules, allowed, bounds=bounds, n_threads=threads
    )
    cut, column, bin_, missing_left, gain, left, right, left_bins = found
    tree = nodes.tree[cut]
    cuts = Cuts(Nodes(tree, nodes.node[cut]), children_of(tree, sizes), column, bin_, missing_left, left_bins)
    return cut, cuts, Worth(gain, left, right)
