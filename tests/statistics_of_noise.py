"""Whether words could be anything: a chi-square test of their bytes, place by place."""

import numpy as np
from scipy import stats

UNLIKELY = 1e-9


def looks_like_noise(words) -> bool:
    """False if some byte of 64-bit words is not uniform; needs a few hundred words to tell."""
    table = np.ascontiguousarray(words).reshape(-1).view(np.uint8).reshape(-1, 8)
    assert len(table) >= 200, "too few words to tell"
    by_place = [np.bincount(column >> 4, minlength=16) for column in table.T]
    return all(stats.chisquare(counts).pvalue > UNLIKELY for counts in by_place)
