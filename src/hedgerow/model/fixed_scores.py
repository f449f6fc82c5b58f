"""Leaf values as whole numbers of few bits, so that a sealed score has room for the score and for little else.

One step, a power of two, for all trees: the smallest with which no sum of one leaf of each tree of a class leaves the
range of so many bits, the sign among them. The first score is no part of it: it is the same for every row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.model.candidates import leaves_of
from hedgerow.model.model import Model
from hedgerow.trees.forest import averaged

BITS = 19
"""Of a score, if nobody says: with a hundred trees an error of a five-thousandth of the range at most.

Three answers have room in the bits that a policy allows about an id, and with one bit more they would not.
"""
FEWEST_BITS, MOST_BITS = 2, 32
BLUR_PART = 8
"""Of the largest score: this part of it is free beyond either end of the range, for owners that blur scores."""


@dataclass(frozen=True, eq=False)
class FixedScores:
    """The leaves of a model as whole numbers of steps."""

    bits: int
    exponent: int
    """Of two: the step."""
    weights: NDArray[np.int64]
    """Of the leaves of all trees, in the order of `leaves_of`."""
    trees: NDArray[np.int64]
    """The tree of each leaf."""
    n_classes: int
    """Trees of a round, and scores of a row."""
    n_rounds: int
    base_score: float
    average: bool

    @property
    def step(self) -> float:
        """What the number one stands for."""
        return float(np.ldexp(1.0, self.exponent))

    @property
    def largest(self) -> int:
        """The largest sum, of either sign, that any row can have."""
        return int(_largest(self.weights, self.trees, self.n_classes).max(initial=0))

    @property
    def reach(self) -> int:
        """What the scores' prime has room for, of either sign: nine eighths of the largest sum."""
        return self.largest + -(-self.largest // BLUR_PART)

    @property
    def error(self) -> float:
        """How far a score may be from that of the leaves as they are."""
        return self.step / 2 if self.average else self.n_rounds * self.step / 2

    def sums(self, ends: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The sums of rows that end at these leaves (rows x leaves, one of each tree), for each class."""
        of_class = self.trees % self.n_classes
        return np.stack([ends[:, of_class == c] @ self.weights[of_class == c] for c in range(self.n_classes)], axis=1)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.float32]:
        """Raw scores, as `Model.scores` gives them, from sums."""
        opened = np.ldexp(sums.astype(np.float64), self.exponent)
        if self.average:
            return averaged(opened.astype(np.float32), self.base_score, self.n_rounds)
        return (self.base_score + opened).astype(np.float32)


def fixed_scores(model: Model, bits: int = BITS) -> FixedScores:
    """The leaves of a model in whole numbers whose sums have at most so many bits."""
    if not FEWEST_BITS <= bits <= MOST_BITS:
        raise ParameterError(f"Scores have from {FEWEST_BITS} to {MOST_BITS} bits; not {bits}.")
    at, n_classes = leaves_of(model), model.loss.n_trees
    values = model.forest.values[at].astype(np.float64)
    trees = np.searchsorted(model.forest.roots, at, side="right") - 1
    exponent = _exponent(values, trees, n_classes, (1 << (bits - 1)) - 1)
    return FixedScores(
        bits=bits,
        exponent=exponent,
        weights=_rounded(values, exponent),
        trees=trees,
        n_classes=n_classes,
        n_rounds=model.n_rounds,
        base_score=model.base_score,
        average=model.params.average,
    )


def _exponent(values: NDArray[np.float64], trees: NDArray[np.int64], n_classes: int, most: int) -> int:
    """The smallest power of two as step with which the sums of every class stay within `most`."""
    largest = float(_largest(values, trees, n_classes).max(initial=0))
    if not largest:
        return 0
    exponent = int(np.floor(np.log2(largest / most))) - 1  # below the smallest that can fit
    while _largest(_rounded(values, exponent), trees, n_classes).max() > most:
        exponent += 1
    return exponent


def _rounded(values: NDArray[np.float64], exponent: int) -> NDArray[np.int64]:
    return np.rint(np.ldexp(values, -exponent)).astype(np.int64)


def _largest(values: NDArray[np.number], trees: NDArray[np.int64], n_classes: int) -> NDArray[np.number]:
    """For each class the sum over its trees of the largest value of either sign."""
    of_tree = np.zeros(int(trees.max(initial=-1)) + 1, values.dtype)
    np.maximum.at(of_tree, trees, np.abs(values))
    of_class = np.zeros(n_classes, values.dtype)
    np.add.at(of_class, np.arange(len(of_tree)) % n_classes, of_tree)
    return of_class
