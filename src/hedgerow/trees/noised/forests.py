"""Noised values as an ordinary forest: one-column trees over the bins of a column, and drawn trees.

Covers come from noised counts or hessians, none below nothing; a column whose counts are all noise has the least cover
that lets it be explained.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.drawn_cuts import N_BINS
from hedgerow.trees.forest import Forest, join
from hedgerow.trees.noised.additive import Iterate
from hedgerow.trees.noised.public_trees import CHILDREN, drawn
from hedgerow.trees.noised.rule import N_LEAVES, Terms

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
LEAST_COVER = 1e-3


@dataclass(frozen=True)
class Scale:
    """What scores are worth in labels: classes have them as they are, numbers in the declared range."""

    low: float
    span: float

    @classmethod
    def of(cls, terms: Terms) -> "Scale":
        """The declared one."""
        low, high = terms.label_range or (0.0, 1.0)
        return cls(low, high - low)

    def base(self, start: Iterate) -> float:
        """The first score; several scores have theirs in the first trees."""
        return float(np.float32(self.low + self.span * start.base[0])) if len(start.base) == 1 else 0.0


def additive_forest(grid: Grid, start: Iterate, rows: F64, scale: Scale) -> Forest:
    """One tree a column (and score)."""
    trees = []
    for column in range(grid.n_columns):
        at = slice(int(grid.offsets[column]), int(grid.offsets[column + 1]))
        covers = np.maximum(rows[at], LEAST_COVER)
        trees += [one_column(grid, column, values * scale.span, covers) for values in start.values[:, at]]
    return with_bases(join(trees), start)


def with_bases(forest: Forest, start: Iterate) -> Forest:
    """With the first scores of several classes in the leaves of their first trees; a single one is the model's."""
    if len(start.base) == 1:
        return forest
    values = forest.values.copy()
    for base, first, end in zip(start.base, forest.roots, forest.roots[1:], strict=False):
        leaves = forest.columns[first:end] < 0
        values[first:end][leaves] += np.float32(base)
    return replace(forest, values=values)


def one_column(grid: Grid, column: int, values: F64, covers: F64) -> Forest:
    """A tree with a leaf for each bin: first what is missing is told apart, then bins by halves.

    What is missing goes right of all numbers, and left of all categories, of which some must go right in any cut.
    """
    halves = _halves(grid, column)
    leaves = halves.order[halves.edges[halves.children < 0, 0]]
    return _tree(
        grid,
        children=halves.children,
        columns=np.full(len(halves.middles), column, np.int32),
        bins_=halves.middles - 1,
        missing_left=halves.missing_left,
        sets=halves.sets,
        values=values[leaves],
        covers=covers[leaves],
    )


class ColumnCuts(NamedTuple):
    """The cuts of such a tree, in the order of its nodes."""

    node: NDArray[np.int64]
    child: NDArray[np.int64]
    """The left one; the right one follows it."""
    bin: NDArray[np.int32]
    """-1 of categories, where only the set tells."""
    missing_left: NDArray[np.bool_]
    sets: NDArray[np.uint64]


def column_cuts(grid: Grid, column: int) -> ColumnCuts:
    """The cuts of the tree that `one_column` makes, whatever its values are."""
    halves = _halves(grid, column)
    node = np.flatnonzero(halves.children >= 0)
    bins_ = np.where(grid.categorical[column], -1, halves.middles - 1).astype(np.int32)
    return ColumnCuts(node, halves.children[node].astype(np.int64), bins_, halves.missing_left, halves.sets)


class _Halves(NamedTuple):
    order: NDArray[np.int64]
    """Of the bins, left to right."""
    edges: NDArray[np.int64]
    """Of each node, its first bin and the one behind its last, in this order."""
    children: NDArray[np.int32]
    middles: NDArray[np.int32]
    """Of each cut."""
    missing_left: NDArray[np.bool_]
    sets: NDArray[np.uint64]


def _halves(grid: Grid, column: int) -> _Halves:
    n, by_set = int(grid.n_values[column]), bool(grid.categorical[column])
    order = np.arange(n + 1) if not by_set else np.r_[n, :n]
    spans, children = [(0, n + 1)], []
    for first, last in spans:  # grows while it is read
        if last - first == 1:
            children.append(-1)
            continue
        children.append(len(spans))
        middle = (1 if by_set else n) if last - first == n + 1 else (first + last) // 2
        spans += [(first, middle), (middle, last)]
    edges, cut = np.array(spans), np.array(children) >= 0
    middles = edges[np.array(children)[cut], 1]
    sets = np.zeros((len(middles), N_BINS), np.bool_)
    for row, (first, middle) in enumerate(zip(edges[cut, 0], middles, strict=True)):
        sets[row, order[first:middle]] = True
    packed = np.packbits(sets, axis=1, bitorder="little").view(np.uint64)
    return _Halves(order, edges, np.array(children, np.int32), middles.astype(np.int32), sets[:, n], packed)


def drawn_forest(grid: Grid, seed: int, round_: int, values: F32, covers: F64, scale: Scale) -> Forest:
    """The round's drawn tree, once for each score."""
    places = drawn(grid, seed, round_).places
    trees = [
        _tree(
            grid,
            children=CHILDREN,
            columns=places.column,
            bins_=places.bin,
            missing_left=places.missing_left,
            sets=places.left_bins,
            values=own * scale.span,
            covers=np.maximum(hessians, LEAST_COVER),
        )
        for own, hessians in zip(values.reshape(-1, N_LEAVES).astype(np.float64), covers, strict=True)
    ]
    return join(trees)


def _tree(
    grid: Grid,
    *,
    children: NDArray[np.int32],
    columns: NDArray[np.int32],
    bins_: NDArray[np.int32],
    missing_left: NDArray[np.bool_],
    sets: NDArray[np.uint64],
    values: F64,
    covers: F64,
) -> Forest:
    """A tree of these cuts and leaves, in the order of its nodes."""
    cut = children >= 0
    by_set = grid.categorical[columns]
    thresholds = np.where(by_set, np.float32(0), grid.thresholds(columns, bins_)).astype(np.float32)
    n, at = len(children), np.flatnonzero(cut)
    cover, gains = _worth(children, cut, values, covers)
    of_set = np.full(n, -1, np.int32)
    of_set[at[by_set]] = np.arange(int(by_set.sum()))
    return Forest(
        columns=_spread(cut, columns, np.int32(-1)),
        thresholds=_spread(cut, thresholds, np.float32(0)),
        missing_left=_spread(cut, missing_left, np.bool_(False)),
        children=children,
        sets=of_set,
        category_sets=sets[by_set],
        values=_spread(~cut, values.astype(np.float32), np.float32(0)),
        gains=gains,
        covers=cover.astype(np.float32),
        roots=np.array([0, n], np.int64),
    )


def _spread(where: NDArray[np.bool_], what: NDArray[Any], rest: Any) -> NDArray[Any]:
    out = np.full(len(where), rest)
    out[where] = what
    return out


def _worth(children: NDArray[np.int32], cut: NDArray[np.bool_], values: F64, covers: F64) -> tuple[F64, F64]:
    """Covers of all nodes, and of each cut how far apart it takes the values, weighted by cover."""
    cover, mean = _spread(~cut, covers, 0.0), _spread(~cut, values, 0.0)
    gains = np.zeros(len(children))
    for node in np.flatnonzero(cut)[::-1].tolist():  # children stand behind their parents
        two = slice(int(children[node]), int(children[node]) + 2)
        cover[node] = cover[two].sum()
        mean[node] = (cover[two] * mean[two]).sum() / cover[node]
        gains[node] = float((cover[two] * (mean[two] - mean[node]) ** 2).sum())
    return cover, gains
