"""Gaussian differential privacy in closed form (Dong, Roth and Su, 2022, corollary 2.13; Balle and Wang, 2018).

Gaussian noise of standard deviation sigma on a sum that one row can move by at most D (in L2) is mu-GDP with
mu = D / sigma, and any number of such releases is again, with the root of the sum of the squares of their mu. It is
(epsilon, delta)-private exactly where

    Phi(-epsilon / mu + mu / 2) - e^epsilon Phi(-epsilon / mu - mu / 2) <= delta.
"""

import math
from collections.abc import Callable

from hedgerow.errors import ParameterError

LEAST_DELTA = 1e-15
"""Below it, numbers of 64 bits tell nothing reliable."""
_CLOSE = 1e-14
"""Relative to them, how close to each other the two ends of an interval are when a root is found."""


def mu_of(epsilon: float, delta: float) -> float:
    """The most mu that is (epsilon, delta)-private; rounded down."""
    check_target(epsilon, delta)
    return _turn(lambda mu: delta_of(epsilon, mu) > delta)[0]


def epsilon_of(mu: float, delta: float) -> float:
    """The least epsilon of this mu at this delta; rounded up."""
    if not 0 < mu < math.inf:
        raise ParameterError(f"mu must be a number above 0; it is {mu!r}.")
    check_delta(delta)
    if delta_of(0.0, mu) <= delta:
        return 0.0
    return _turn(lambda epsilon: delta_of(epsilon, mu) <= delta)[1]


def delta_of(epsilon: float, mu: float) -> float:
    """The least delta of this mu at this epsilon."""
    from scipy.special import log_ndtr, ndtr  # takes long to load, and few commands come here

    near, far = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    ratio = epsilon + float(log_ndtr(far)) - float(log_ndtr(near))
    return float(ndtr(near)) * -math.expm1(min(ratio, 0.0))


def check_target(epsilon: float, delta: float) -> None:
    """Refuse what is no epsilon or no delta."""
    if isinstance(epsilon, bool) or not 0 < epsilon < math.inf:
        raise ParameterError(f"epsilon must be a number above 0; it is {epsilon!r}.")
    check_delta(delta)


def check_delta(delta: float) -> None:
    """Refuse what is no delta, or one so small that nothing can be computed for it."""
    if isinstance(delta, bool) or not LEAST_DELTA <= delta < 1:
        raise ParameterError(f"delta must be a number from {LEAST_DELTA:g} to less than 1; it is {delta!r}.")


def _turn(is_beyond: Callable[[float], bool]) -> tuple[float, float]:
    """The positive number from which on this holds, from below and from above."""
    low = high = 1.0
    while is_beyond(low):
        low /= 2
    while not is_beyond(high):
        high *= 2
    while high - low > low * _CLOSE:
        middle = (low + high) / 2
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return low, high
