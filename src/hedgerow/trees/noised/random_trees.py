"""Values of a drawn tree's leaves, from noised sums of gradients and hessians."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.noised.additive import base_of
from hedgerow.trees.noised.rule import GRADIENT_UNITS, N_LEAVES, Schedule, require

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


def leaf_values(schedule: Schedule, words: I64) -> tuple[F32, F64]:
    """Values (scores x leaves, in one row) and covers of a round's tree.

    A leaf's value is what its noised sums say of it under a prior of values of about `tau`, times the rate.
    """
    rule, (gradients, hessians) = require(schedule.trees), _sums(schedule, words)
    variance = rule.leaves.variance / GRADIENT_UNITS**2
    weight = hessians / (hessians * (hessians + 1) + (variance / sqrt(rule.rounds) + hessians) / rule.tau**2)
    return (-rule.rate * gradients * weight).astype(np.float32).reshape(-1), hessians


def first_values(schedule: Schedule, words: I64) -> F32:
    """Where random trees are all there is: the first score, as values of a first tree whose leaves are alike."""
    base = base_of(schedule, _sums(schedule, words)[0].sum(axis=1) / schedule.n_rows)
    if schedule.terms.regression:
        base = base - 0.5
    return np.repeat(base, N_LEAVES).astype(np.float32)


def _sums(schedule: Schedule, words: I64) -> tuple[F64, F64]:
    """Gradients and hessians (scores x leaves)."""
    sums = words.reshape(schedule.terms.n_scores, N_LEAVES, 2)
    return sums[:, :, 0] / GRADIENT_UNITS, np.maximum(sums[:, :, 1] / require(schedule.trees).hessian_units, 0.0)
