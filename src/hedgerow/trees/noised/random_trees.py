"""Values of a drawn tree's leaves, from noised sums of gradients and hessians."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.noised.rule import GRADIENT_UNITS, N_LEAVES, Schedule

F32, F64, I64 = NDArray[np.float32], NDArray[np.float64], NDArray[np.int64]


def leaf_values(schedule: Schedule, words: I64) -> tuple[F32, F64]:
    """Values (scores x leaves, in one row) and covers of a round's tree.

    A leaf's value is the mean of what its noised sums say under a prior of values of about `tau`, times the rate.
    """
    rule = schedule.trees
    assert rule is not None
    sums = words.reshape(schedule.terms.n_scores, N_LEAVES, 2) / GRADIENT_UNITS
    gradients, hessians = sums[:, :, 0], np.maximum(sums[:, :, 1] / rule.hessian_scale, 0.0)
    variance = rule.leaves.variance / GRADIENT_UNITS**2
    weight = hessians / (hessians * (hessians + 1) + (variance / sqrt(rule.rounds) + hessians) / rule.tau**2)
    return (-rule.rate * gradients * weight).astype(np.float32).reshape(-1), hessians
