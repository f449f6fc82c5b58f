"""The direction of a column's effect: what its bins add to the score on average, by the covers of the trees alone.

Partial dependence without data: at cuts of the column a row goes as its bin does, at all others both ways, each as
likely as its cover (the sum of hessians that lay there in training) says. Cuts are rounded to the nearest edge of a
bin, so that of a disclosed column nothing finer shows than its owner agreed to, and own columns read alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.model.agreed_bins import agreed_edges, category_groups, edge_labels, goes_left
from hedgerow.model.meanings import Meaning, edges_of_cuts
from hedgerow.model.model import Model
from hedgerow.report.importance import ColumnUse
from hedgerow.report.tree_text import listed
from hedgerow.trees.forest import Forest

Floats = NDArray[np.float64]
MISSING = "missing"
MOST_BINS = 16
"""Of own columns."""
MOST_IN_GROUP = 3
"""Categories of a group that are named."""
FLAT, MOSTLY = 1e-9, 0.75


@dataclass(frozen=True, eq=False)
class Effect:
    """What a column adds to the score on average, bin by bin, the missing last."""

    use: ColumnUse
    bins: tuple[str, ...]
    adds: Floats
    """Scores x bins, each less the score of a row of which nothing is known."""
    ordered: bool
    """Whether bins follow each other, as those of numbers do."""
    classes: tuple[str, ...]
    """Whose the scores are, where there are several."""

    @property
    def direction(self) -> str:
        """In a word, where there is one score and bins follow each other: rises, falls, mixed, none.

        Mostly, if three quarters of all steps from bin to bin, by their size, go that way.
        """
        if not self.ordered or len(self.adds) > 1:
            return ""
        steps = np.diff(self.adds[0, :-1])
        up, down = float(steps[steps > 0].sum()), float(-steps[steps < 0].sum())
        if up + down < FLAT:
            return "none"
        word, share = ("rises", up / (up + down)) if up > down else ("falls", down / (up + down))
        return word if share == 1 else f"mostly {word}" if share >= MOSTLY else "mixed"


class _Bins(NamedTuple):
    labels: tuple[str, ...]
    left: Floats
    """Which share of each bin goes left at each cut of the column (cuts x bins)."""


def effects(model: Model, uses: list[ColumnUse], meanings: Mapping[int, Meaning] | None = None) -> list[Effect]:
    """Of each column that is the reader's own, or of which bins are disclosed."""
    forest = model.forest
    shares, levels = left_shares(forest), _levels(forest)
    found = []
    for use in uses:
        bins = _bins(model, use, (meanings or {}).get(use.column))
        if bins is None:
            continue
        at = np.flatnonzero(forest.columns == use.column)
        left = np.column_stack([bins.left, forest.missing_left[at]])
        unknown = _averages(forest, levels, shares, at[:0], left[:0, :1])
        adds = _scores(model, _averages(forest, levels, shares, at, left)) - _scores(model, unknown)
        ordered = model.columns[use.column].kind == "numeric"
        several = tuple(map(str, model.classes)) if len(adds) > 1 else ()
        found.append(Effect(use, (*bins.labels, MISSING), adds, ordered, several))
    return found


def left_shares(forest: Forest) -> Floats:
    """The share of each cut's cover that lies left of it; a half where there is none, 0 for a leaf."""
    shares = np.zeros(len(forest.columns))
    at = np.flatnonzero(forest.columns >= 0)
    left, right = (forest.covers[forest.children[at] + side].astype(np.float64) for side in (0, 1))
    shares[at] = np.where(left + right > 0, left / np.maximum(left + right, np.finfo(np.float64).tiny), 0.5)
    return shares


def _bins(model: Model, use: ColumnUse, meaning: Meaning | None) -> _Bins | None:
    forest = model.forest
    at = np.flatnonzero(forest.columns == use.column)
    if meaning is not None:
        if not meaning.has_bins:
            return None
        if meaning.kind == "categorical":
            groups = [(list(group.names), list(group.codes)) for group in meaning.groups]
            return _of_groups(groups, forest.category_sets[forest.sets[at]])
        return _of_edges(meaning.edges, edges_of_cuts(model, use.column, meaning))
    if use.known != "own":
        return None
    column = model.columns[use.column]
    if column.kind == "categorical":
        sets = forest.category_sets[forest.sets[at]]
        coded = category_groups(len(column.categories), sets, MOST_BINS)
        return _of_groups([([column.categories[code] for code in codes], codes) for codes in coded], sets)
    return _of_edges(*agreed_edges(forest.thresholds[at], MOST_BINS))


def _of_edges(edges: tuple[float, ...], nearest: NDArray[np.int64]) -> _Bins:
    """A cut at an edge sends the bins below it left; one behind all edges, all bins."""
    return _Bins(edge_labels(edges), (np.arange(len(edges) + 1) <= nearest[:, None]).astype(np.float64))


def _of_groups(groups: list[tuple[list[str], list[int]]], sets: NDArray[np.uint64]) -> _Bins:
    left = [goes_left(sets, codes).mean(axis=1) for _, codes in groups]
    return _Bins(tuple(listed(names, MOST_IN_GROUP) for names, _ in groups), np.column_stack(left))


def _levels(forest: Forest) -> list[NDArray[np.int64]]:
    """The cuts of all trees, level by level from the roots."""
    found, level = [], forest.roots[:-1].astype(np.int64)
    while len(level := level[forest.columns[level] >= 0]):
        found.append(level)
        child = forest.children[level].astype(np.int64)
        level = np.concatenate([child, child + 1])
    return found


def _averages(
    forest: Forest, levels: list[NDArray[np.int64]], shares: Floats, at: NDArray[np.int64], left: Floats
) -> Floats:
    """What each tree gives on average (trees x bins), if bins go left at the cuts `at` as `left` says."""
    number = np.full(len(forest.columns), -1, np.int64)
    number[at] = np.arange(len(at))
    value = np.repeat(forest.values.astype(np.float64)[:, None], left.shape[1], axis=1)
    for nodes in reversed(levels):
        share = np.repeat(shares[nodes][:, None], left.shape[1], axis=1)
        own = number[nodes] >= 0
        share[own] = left[number[nodes[own]]]
        child = forest.children[nodes]
        value[nodes] = share * value[child] + (1 - share) * value[child + 1]
    return np.asarray(value[forest.roots[:-1]], np.float64)


def _scores(model: Model, of_trees: Floats) -> Floats:
    """Scores x bins, without the first score, which all bins have."""
    total = of_trees.reshape(model.n_rounds, model.loss.n_trees, -1).sum(axis=0)
    return np.asarray(total / max(model.n_rounds, 1) if model.params.average else total, np.float64)
