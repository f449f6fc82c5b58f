"""Noised values as an ordinary forest: one-column trees over the bins of a column, and drawn trees.

Covers come from noised counts or hessians, none below nothing; a column whose counts are all noise has the least cover
that lets it be explained.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.drawn_cuts import N_BINS, Places
from hedgerow.trees.forest import Forest, join
from hedgerow.trees.noised.additive import Iterate
from hedgerow.trees.noised.public_trees import CHILDREN, PublicTrees
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
        trees.append(one_column(grid, column, start.values[:, at] * scale.span, covers))
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
    """Trees (one a score) with a leaf for each bin: first what is missing is told apart, then bins by halves.

    What is missing goes right of all numbers, and left of all categories, of which some must go right in any cut.
    """
    children, places, leaves = halves_of(grid, column)
    many = [places] * len(values)
    return _trees(grid, children, many, values[:, leaves], np.tile(covers[leaves], (len(values), 1)))


class Halves(NamedTuple):
    """The shape of such a tree, whatever its values are."""

    children: NDArray[np.int32]
    """Of each node, the left one, which the right one follows; -1 of a leaf."""
    places: Places
    """Of each cut, in the order of nodes."""
    leaves: NDArray[np.int64]
    """Of each leaf, its bin."""


def halves_of(grid: Grid, column: int) -> Halves:
    """How the bins of a column are told apart."""
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
    words = np.packbits(sets, axis=1, bitorder="little").view(np.uint64)
    places = Places(np.full(len(middles), column, np.int32), middles.astype(np.int32) - 1, sets[:, n], words)
    return Halves(np.array(children, np.int32), places, order[edges[~cut, 0]])


class DrawnRound(NamedTuple):
    """A drawn tree for each score, alike but for what their leaves hold (scores x leaves)."""

    number: int
    values: F32
    covers: F64


def drawn_forest(trees: PublicTrees, rounds: Sequence[DrawnRound], scale: Scale) -> Forest:
    """The drawn trees of these rounds, each once for each score."""
    places = [trees.places(one.number) for one in rounds for _ in one.covers]
    values = np.concatenate([one.values for one in rounds]).reshape(-1, N_LEAVES).astype(np.float64)
    covers = np.maximum(np.concatenate([one.covers for one in rounds]), LEAST_COVER)
    return _trees(trees.grid, CHILDREN, places, values * scale.span, covers)


def _trees(grid: Grid, children: NDArray[np.int32], cuts: Sequence[Places], values: F64, covers: F64) -> Forest:
    """Trees of one shape, each with its cuts and leaves (trees x leaves), in the order of its nodes."""
    columns, bins_, missing_left, sets = (np.concatenate(each) for each in zip(*cuts, strict=True))
    n, cut = len(children), np.tile(children >= 0, (len(cuts), 1))
    by_set = grid.categorical[columns]
    thresholds = np.where(by_set, np.float32(0), grid.thresholds(columns, bins_)).astype(np.float32)
    cover, gains = _worth(children, cut, values, covers)
    of_set = np.full(cut.size, -1, np.int32)
    of_set[np.flatnonzero(cut)[by_set]] = np.arange(int(by_set.sum()))
    roots = np.arange(len(cuts) + 1, dtype=np.int64) * n
    return Forest(
        columns=_spread(cut, columns, np.int32(-1)).reshape(-1),
        thresholds=_spread(cut, thresholds, np.float32(0)).reshape(-1),
        missing_left=_spread(cut, missing_left, np.bool_(False)).reshape(-1),
        children=np.where(children >= 0, children + roots[:-1, None], -1).astype(np.int32).reshape(-1),
        sets=of_set,
        category_sets=sets[by_set],
        values=_spread(~cut, values.astype(np.float32).reshape(-1), np.float32(0)).reshape(-1),
        gains=gains.reshape(-1),
        covers=cover.astype(np.float32).reshape(-1),
        roots=roots,
    )


def _spread(where: NDArray[np.bool_], what: NDArray[Any], rest: Any) -> NDArray[Any]:
    out = np.full(where.shape, rest)
    out[where] = what
    return out


def _worth(children: NDArray[np.int32], cut: NDArray[np.bool_], values: F64, covers: F64) -> tuple[F64, F64]:
    """Covers of all nodes (trees x nodes), and of each cut how far apart it takes the values, weighted by cover."""
    cover, mean = _spread(~cut, covers.reshape(-1), 0.0), _spread(~cut, values.reshape(-1), 0.0)
    gains = np.zeros(cut.shape)
    for node in np.flatnonzero(children >= 0)[::-1].tolist():  # children stand behind their parents
        two = slice(int(children[node]), int(children[node]) + 2)
        cover[:, node] = cover[:, two].sum(axis=1)
        mean[:, node] = (cover[:, two] * mean[:, two]).sum(axis=1) / cover[:, node]
        gains[:, node] = (cover[:, two] * (mean[:, two] - mean[:, [node]]) ** 2).sum(axis=1)
    return cover, gains
