"""Agreed bins: the few bins of a column that are shown to people, made from the places where a model cuts it.

Edges are places of cuts, at most one fewer than there may be bins, written with as few digits as keep them apart. Every
cut belongs to the edge nearest to it: by the rows between them where rows are given, else by the cuts between them.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.trees.bins import GREATEST

Floats = NDArray[np.float64]
MOST_DIGITS = 9
"""Of a float32."""
NARROW = 1e-6
"""Of all between the first and the last edge."""


def check_most(most_bins: int) -> None:
    """Refuse a number of bins that cannot be."""
    if most_bins < 1:
        raise ParameterError(f"The most bins of a column must be a whole number from 1 on; it is {most_bins}.")


def agreed_edges(
    thresholds: NDArray[np.float32], most_bins: int, own_values: NDArray[np.float32] | None = None
) -> tuple[tuple[float, ...], NDArray[np.int64]]:
    """Edges between at most so many bins, and for each cut the number of the edge that is nearest to it.

    A cut that only tells missing values from the others has the number behind the last edge.
    """
    check_most(most_bins)
    numbers = np.zeros(len(thresholds), np.int64)
    real = thresholds < GREATEST
    places, of_cut, counts = np.unique(thresholds[real], return_inverse=True, return_counts=True)
    if most_bins == 1 or not len(places):
        return (), numbers
    ranks = _ranks(places, counts, own_values)
    chosen = np.arange(len(places)) if len(places) < most_bins else _spread(ranks, most_bins)
    nearest = np.abs(ranks[:, None] - ranks[chosen]).argmin(axis=1)
    numbers[real], numbers[~real] = nearest[of_cut], len(chosen)
    return rounded(places[chosen].astype(np.float64)), numbers


def _ranks(places: NDArray[np.float32], counts: NDArray[np.int64], own_values: NDArray[np.float32] | None) -> Floats:
    """How much lies below each place, from 0 to 1: rows, or cuts with half of those at the place itself."""
    present = np.empty(0, np.float32) if own_values is None else np.sort(own_values[~np.isnan(own_values)])
    if len(present):
        return np.asarray(np.searchsorted(present, places, side="left") / len(present), np.float64)
    return np.asarray((np.cumsum(counts) - counts / 2) / counts.sum(), np.float64)


def _spread(ranks: Floats, most_bins: int) -> NDArray[np.int64]:
    """The places nearest to where edges between bins of equal size would be."""
    wanted = np.arange(1, most_bins) / most_bins
    return np.unique(np.abs(ranks[:, None] - wanted).argmin(axis=0))


def rounded(edges: Floats) -> tuple[float, ...]:
    """Ascending numbers with the fewest digits that move none by more than a quarter of the way to the next."""
    if len(edges) == 1:
        gaps = np.abs(edges) / 5
    else:
        apart = np.diff(edges)
        gaps = np.minimum(np.append(apart, np.inf), np.append(np.inf, apart))
    return tuple(_short(edge, gap / 4) for edge, gap in zip(edges.tolist(), gaps.tolist(), strict=True))


def _short(number: float, tolerance: float) -> float:
    for digits in range(1, MOST_DIGITS):
        short = float(f"{number:.{digits}g}")
        if abs(short - number) <= tolerance:
            return short
    return float(f"{number:.{MOST_DIGITS}g}")


def category_groups(n_categories: int, sets: NDArray[np.uint64], most_bins: int) -> list[list[int]]:
    """Categories in at most so many groups, each by its codes: those that cuts send the same way as a rule together."""
    check_most(most_bins)
    if most_bins == 1:
        return []
    if n_categories <= most_bins:
        return [[code] for code in range(n_categories)]
    left = goes_left(sets, list(range(n_categories))).sum(axis=0) if len(sets) else np.zeros(n_categories)
    ordered = np.argsort(left, kind="stable")
    return [sorted(part.tolist()) for part in np.array_split(ordered, most_bins)]


def goes_left(sets: NDArray[np.uint64], codes: Sequence[int]) -> NDArray[np.bool_]:
    """Whether each of the sets of categories that go left has each of these categories (sets x categories)."""
    at = np.asarray(codes, np.int64)
    bits = sets[:, at // 64] >> (at % 64).astype(np.uint64)
    return (bits & np.uint64(1)).astype(np.bool_)


def edge_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """How the bins between edges are called; one too narrow to see is about a number."""
    if not edges:
        return ("any value",)
    thin = NARROW * (edges[-1] - edges[0])
    text = [f"{edge:.9g}" for edge in edges]
    between = []
    for i, (low, high) in enumerate(pairwise(edges)):
        if high - low < thin:
            between.append(f"about {text[i]}")
            text[i + 1] = text[i]
        else:
            between.append(f"{text[i]} to {text[i + 1]}")
    return (f"below {text[0]}", *between, f"{text[-1]} and more")
