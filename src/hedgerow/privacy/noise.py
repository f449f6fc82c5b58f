"""Noise of differential privacy: exact discrete Gaussian and discrete Laplace integers, and each party's share of it.

The native part draws them by integer arithmetic alone, from ChaCha20 under a fresh seed of the system for every call.
There is no seed to be given, so nobody can draw the same noise again; and no variance of 0, so nobody can leave it out.
Everything in hedgerow that adds noise to a release gets it from here.

Who can read: noise stays with the party that drew it. It is added to that party's own words before they are masked or
sent, and is then lost in them.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import PrivacyError

MOST_VARIANCE = 1 << 55
MOST_SCALE = (1 << 48) - 1


def gaussian(n: int, variance: int) -> NDArray[np.int64]:
    """So many independent integers, each x with a chance in proportion to exp(-x^2 / (2 variance))."""
    _check("variance", variance, MOST_VARIANCE)
    return _native.discrete_gaussian(n, variance)


def laplace(n: int, scale: int) -> NDArray[np.int64]:
    """So many independent integers, each x with a chance in proportion to exp(-|x| / scale)."""
    _check("scale", scale, MOST_SCALE)
    return _native.discrete_laplace(n, scale)


def share_of(variance: int, n_parties: int, colluders: int) -> int:
    """The variance of each party's own noise: what those who do not collude add is at least the variance asked for.

    Colluders know what they added themselves and can take it away; so their shares do not count. An outsider sees the
    noise of all, which is more.
    """
    if not 0 <= colluders < n_parties:
        raise PrivacyError(
            f"Noise is shared among {n_parties} parties of which {colluders} may collude, so that nobody is left whose "
            "noise protects a row; tolerate fewer colluders or have more parties."
        )
    _check("variance", variance, MOST_VARIANCE)
    return -(-variance // (n_parties - colluders))


def _check(what: str, given: object, most: int) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise PrivacyError(
            f"The {what} of noise must be a whole number from 1 to {most}; it is {given!r}. If that is too "
            "large, declare a larger epsilon, or fewer rows an id."
        )
