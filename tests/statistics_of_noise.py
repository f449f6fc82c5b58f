"""Whether words could be anything: a chi-square test of their bytes, place by place; and whether they are Gaussian."""

from math import sqrt

import numpy as np
from scipy import stats

UNLIKELY = 1e-9


def looks_like_noise(words) -> bool:
    """False if some byte of 64-bit words is not uniform; needs a few hundred words to tell."""
    table = np.ascontiguousarray(words).reshape(-1).view(np.uint8).reshape(-1, 8)
    assert len(table) >= 200, "too few words to tell"
    by_place = [np.bincount(column >> 4, minlength=16) for column in table.T]
    return all(stats.chisquare(counts).pvalue > UNLIKELY for counts in by_place)


def has_deviation(noise, variance) -> bool:
    """Whether words are independent Gaussian noise of this variance: by their squares, their ranks, and neighbours.

    Of a release it is the opened sums less the exact ones; a few hundred words tell half the noise.
    """
    noise = np.asarray(noise, np.float64)
    assert len(noise) >= 200, "too few words to tell"
    squares = stats.chi2(len(noise)).cdf((noise**2).sum() / variance)
    neighbours = (noise[:-1] * noise[1:]).sum() / (variance * sqrt(len(noise) - 1))
    found = (2 * min(squares, 1 - squares), stats.kstest(noise / sqrt(variance), "norm").pvalue)
    return min(*found, 2 * stats.norm.sf(abs(neighbours))) > UNLIKELY
