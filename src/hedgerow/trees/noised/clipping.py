"""Gradients of single rows as integers of bounded length: what makes the sensitivity of a sum.

All numbers that a row adds to one place of a release (of all classes, or gradient and hessian) are clipped *together*:
their L2 length in integer units never exceeds the limit. Clipping each alone would let a row add more.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.noised.rule import GRADIENT_UNITS, Terms

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
SHORTER = 1 - 1e-9
"""So that rounding in floats cannot leave a shortened vector longer than the limit."""


def targets_of(labels: F32, terms: Terms) -> F32:
    """Labels as they are summed: numbers of classes, or numbers from 0 to 1 in the declared range."""
    if terms.label_range is None:
        return labels
    low, high = terms.label_range
    return np.clip((labels.astype(np.float64) - low) / (high - low), 0, 1).astype(np.float32)


def clipped_pairs(scores: F32, targets: F32, terms: Terms, hessian_units: int, clip: int, threads: int) -> I32:
    """Gradients and hessians (scores x rows x 2) in units, those of a row together no longer than `clip`.

    Without units hessians are 0, and gradients alone are held within the limit.
    """
    if terms.n_scores == 1:
        loss = ("squared", 0.0, 1.0) if terms.regression else ("logistic", 0.0, 0.0)
        units = (GRADIENT_UNITS, hessian_units)
        return _native.clipped_pairs(loss, units, clip, scores[0], targets, threads)[None]
    mean = np.ascontiguousarray(_native.softmax(scores).T)
    gradients = mean - (targets == np.arange(terms.n_scores)[:, None])
    both = np.stack([gradients * GRADIENT_UNITS, mean * (1 - mean) * hessian_units], axis=2)
    return together(both, clip)


def together(vectors: F64, clip: int) -> I32:
    """A row's numbers (scores x rows x 2) as integers towards zero, all shortened alike where they are too long."""
    whole = np.trunc(np.nan_to_num(vectors))
    length = np.sqrt((whole**2).sum(axis=(0, 2)))
    factor = np.where(length > clip, clip / np.maximum(length, 1.0) * SHORTER, 1.0)
    return np.asarray(np.trunc(whole * factor[:, None]), np.int32)
