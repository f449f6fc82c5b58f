"""What an attacker who trains twice can prove: bounds on mu from models with and without one row, and on opened noise.

The attacker guesses from the model's score of the row whether the row was there. Under mu-Gaussian privacy nobody's
guesses can have rates with `Phi^-1(true positives) - Phi^-1(false positives) > mu`; limits of these rates that hold
with the asked certainty (Clopper and Pearson) make that a limit of mu from below.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, kstest, norm

Floats = NDArray[np.float64]
FIRST_SHARE = 0.25
"""Of the models, to choose the threshold by; the others bound the rates."""


@dataclass(frozen=True)
class Found:
    """What the models show."""

    least_mu: float
    """Mu is at least that, but for the error that was allowed."""
    guess: float
    """What mu looks like."""


def least_mu(with_row: Floats, without: Floats, error: float) -> Found:
    """A limit of mu from below that is too high with at most this probability."""
    a, b = (round(len(scores) * FIRST_SHARE) for scores in (with_row, without))
    sign = np.sign(np.median(with_row[:a]) - np.median(without[:b])) or 1.0
    threshold = _threshold(sign * with_row[:a], sign * without[:b])
    hits = int((sign * with_row[a:] > threshold).sum())
    alarms = int((sign * without[b:] > threshold).sum())
    n, m = len(with_row) - a, len(without) - b
    lowest = beta.ppf(error / 2, hits, n - hits + 1) if hits else 0.0
    highest = beta.ppf(1 - error / 2, alarms + 1, m - alarms) if alarms < m else 1.0
    bound = float(norm.ppf(lowest) - norm.ppf(highest))
    return Found(bound, _apart(hits / n, alarms / m, n))


def _threshold(with_row: Floats, without: Floats) -> float:
    """Where the two tell most of each other apart, away from the ends where rates are known badly."""
    both = np.sort(np.concatenate([with_row, without]))
    tried = both[np.linspace(0.1 * len(both), 0.9 * len(both) - 1, 81).astype(np.int64)]
    apart = [_apart((with_row > t).mean(), (without > t).mean(), len(without)) for t in tried]
    return float(tried[int(np.argmax(apart))])


def _apart(hits: float, alarms: float, n: int) -> float:
    """The mu that rates show, none of them taken for certain."""
    least = 0.5 / n
    return float(norm.ppf(np.clip(hits, least, 1 - least)) - norm.ppf(np.clip(alarms, least, 1 - least)))


@dataclass(frozen=True)
class OpenedNoise:
    """What opened sums have beyond the exact ones, beside the noise that was promised."""

    sigma: float
    """Its standard deviation as a share of the promised one."""
    chance: float
    """How likely noise of the promised size is to look like that (Kolmogorov and Smirnov)."""


def opened_noise(opened: NDArray[np.int64], exact: NDArray[np.int64], variance: float) -> OpenedNoise:
    """The noise in opened sums."""
    apart = (opened - exact).astype(np.float64) / np.sqrt(variance)
    return OpenedNoise(float(np.sqrt((apart**2).mean())), float(kstest(apart, "norm").pvalue))
