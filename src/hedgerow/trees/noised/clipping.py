"""Gradients of single rows as integers of bounded length: what makes the sensitivity of a sum.

All numbers that a row adds to one place of a release (over classes, or gradient and hessian) are clipped *together*:
their L2 length in integer units never exceeds the limit. Clipping each alone would let a row add more.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.noised.rule import GRADIENT_UNITS, Terms

F32, F64, I32 = NDArray[np.float32], NDArray[np.float64], NDArray[np.int32]
SHORTER = 1 - 1e-9
"""Rounding of floats cannot make a shortened vector longer than the limit."""


def targets_of(labels: F32, terms: Terms) -> F64:
    """Labels as scores x rows: 0 or 1 for each class, or numbers from 0 to 1 in the declared range."""
    if terms.label_range is not None:
        low, high = terms.label_range
        return np.clip((labels.astype(np.float64)[None] - low) / (high - low), 0, 1)
    if terms.n_scores == 1:
        return labels.astype(np.float64)[None]
    return (labels == np.arange(terms.n_scores)[:, None]).astype(np.float64)


def gradients(scores: F32, targets: F64, terms: Terms, clip: int) -> I32:
    """Gradients (scores x rows) in units, those of a row together no longer than `clip`."""
    return together((means(scores, terms) - targets) * GRADIENT_UNITS, clip)


def pairs(scores: F32, targets: F64, terms: Terms, clip: int, hessian_scale: float) -> I32:
    """Gradients and scaled hessians (scores x rows x 2), those of a row together no longer than `clip`."""
    mean = means(scores, terms)
    hessian = np.ones_like(mean) if terms.regression else mean * (1 - mean)
    both = np.stack([mean - targets, hessian_scale * hessian], axis=1) * GRADIENT_UNITS
    clipped = together(both.reshape(-1, mean.shape[1]), clip)
    return np.ascontiguousarray(clipped.reshape(both.shape).transpose(0, 2, 1))


def means(scores: F32, terms: Terms) -> F64:
    """What scores say of labels."""
    if terms.regression:
        return scores.astype(np.float64)
    if terms.n_scores == 1:
        return _native.logistic(np.ascontiguousarray(scores[0]))[None]
    return np.ascontiguousarray(_native.softmax(np.ascontiguousarray(scores)).T)


def together(vectors: F64, clip: int) -> I32:
    """Vectors (the columns) as integers towards zero, shortened to the limit where they are longer."""
    bounded = np.clip(vectors, -(2.0**30), 2.0**30)
    length = np.sqrt((bounded**2).sum(axis=0))
    factor = np.where(length > clip, clip / np.maximum(length, 1e-300) * SHORTER, 1.0)
    return np.trunc(bounded * factor).astype(np.int32)
