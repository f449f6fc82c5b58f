"""Noise replaced in tests: left out, weakened, noted, given. The package itself has no way to do any of it.

Whatever draws noise calls `noise.gaussian` or `noise.laplace` of `hedgerow.privacy`, and `test_noise.py` checks that no
module takes these names for itself; so here they are replaced for all, in this process.
"""

from dataclasses import dataclass, field

import numpy as np

from hedgerow.privacy import noise


@dataclass
class Noted:
    """Every call of `gaussian`, in order: the variance asked for, and what was drawn."""

    drawn: list[tuple[int, np.ndarray]] = field(default_factory=list)

    def totals(self, n_parties):
        """The noise of each release that so many parties made, in order: the sums of shares."""
        assert len(self.drawn) % n_parties == 0, "not every party drew for every release"
        groups = [self.drawn[at : at + n_parties] for at in range(0, len(self.drawn), n_parties)]
        return [np.sum([drawn for _, drawn in group], axis=0) for group in groups]


def note(monkeypatch):
    """Noise as ever, and what it was."""
    noted, real = Noted(), noise.gaussian

    def gaussian(n, variance):
        drawn = real(n, variance)
        noted.drawn.append((variance, drawn.copy()))
        return drawn

    monkeypatch.setattr(noise, "gaussian", gaussian)
    return noted


def give(monkeypatch, totals):
    """Each call of `gaussian` gets the next of these; so a pooled run has the noise that parties had together."""
    left = iter(totals)

    def gaussian(n, variance):
        drawn = next(left)
        assert len(drawn) == n, f"{len(drawn)} words of noise are given, {n} are asked for"
        return drawn.copy()

    monkeypatch.setattr(noise, "gaussian", gaussian)


def leave_out(monkeypatch):
    """The sabotage: no noise."""
    monkeypatch.setattr(noise, "gaussian", lambda n, variance: np.zeros(n, np.int64))
    monkeypatch.setattr(noise, "laplace", lambda n, scale: np.zeros(n, np.int64))


def weaken(monkeypatch, share):
    """The sabotage: this share of the deviation, a half for instance."""
    gaussian, laplace = noise.gaussian, noise.laplace
    monkeypatch.setattr(noise, "gaussian", lambda n, variance: gaussian(n, max(1, round(variance * share**2))))
    monkeypatch.setattr(noise, "laplace", lambda n, scale: laplace(n, max(1, round(scale * share))))


def repeat(monkeypatch):
    """The sabotage: every word of a release gets the same noise."""
    gaussian = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda n, variance: np.repeat(gaussian(1, variance), n))
