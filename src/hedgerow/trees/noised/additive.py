"""Additive rounds: one one-column tree a column, updated from noised sums of gradients in all bins of all columns.

Values have a prior: a bin's value is about `tau`, neighbouring bins of a numeric column differ by about `smooth`. A
round's step is what the noised gradients then say of the values, times the learning rate. The mean of the last half of
the rounds is kept, which averages the noise of many rounds.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees import losses
from hedgerow.trees.bins import Grid
from hedgerow.trees.noised.rule import GRADIENT_UNITS, ROW_UNITS, Additive, Schedule, Terms, require
from hedgerow.trees.noised.sums import zero_bins

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
LONGEST_STEP = 0.5
"""Of the first score, in a round: where noise says that a class is rare, its hessian is no guide."""
LEAST_MEAN = 1e-3
"""A class is taken to have at least such a share of the rows: noise may say anything."""


@dataclass(frozen=True, eq=False)
class Iterate:
    """Scores so far: of every row, and what each bin of each column adds (scores x bins)."""

    base: F64
    values: F64

    @classmethod
    def zero(cls, grid: Grid, terms: Terms) -> "Iterate":
        """Before anything is known."""
        first = 0.5 if terms.regression else 0.0
        return cls(np.full(terms.n_scores, first), np.zeros((terms.n_scores, int(grid.offsets[-1]))))

    @property
    def told(self) -> tuple[F32, F32]:
        """As parties are told."""
        return self.base.astype(np.float32), self.values.astype(np.float32).reshape(-1)


class Alike(NamedTuple):
    """Columns whose values have the same prior, so that one call finds the steps of all."""

    bins: I64
    """Where each has its bins among all (columns x bins)."""
    prior: F64
    """The inverse of the values' covariance."""


def alike_columns(grid: Grid, rule: Additive) -> list[Alike]:
    """All columns, those of one kind and number of bins together."""
    kinds = np.stack([np.diff(grid.offsets), grid.n_values, grid.categorical], axis=1).astype(np.int64)
    found = []
    for width, n, by_set in np.unique(kinds, axis=0).tolist():
        columns = np.flatnonzero((kinds == (width, n, by_set)).all(axis=1))
        prior = np.eye(width) / rule.tau**2
        if not by_set:
            steps = np.diff(np.eye(width)[:n], axis=0)
            prior += steps.T @ steps / rule.smooth**2
        found.append(Alike(grid.offsets[columns].astype(np.int64)[:, None] + np.arange(width), prior))
    return found


class AdditiveRounds:
    """What the driver makes of the sums, round after round."""

    def __init__(self, grid: Grid, schedule: Schedule, counts: I64) -> None:
        self.grid, self.schedule, self.rule = grid, schedule, require(schedule.additive)
        rows, total = self._filled(counts.reshape(1, -1) / ROW_UNITS)
        self.n_rows = self._all_rows(float(total[0]))
        self.rows = self._likely_rows(rows[0])
        """Of every bin."""
        self.now = Iterate.zero(grid, schedule.terms)
        self.mean = np.zeros(schedule.terms.n_scores)
        self.kept: list[Iterate] = []
        self.round = 0
        self.alike = alike_columns(grid, self.rule)

    def take(self, words: I64) -> None:
        """The sums of a round with noise; those of the first tell the first score, too."""
        gradients, total = self._filled(words.reshape(self.schedule.terms.n_scores, -1) / GRADIENT_UNITS)
        if self.round == 0:
            base = base_of(self.schedule, total / self.n_rows)
            self.now, self.mean = Iterate(base, self.now.values), _means(self.schedule.terms, base)
            total = np.zeros_like(total)
        if self.round > 0 or not self.schedule.terms.regression:  # whose first gradients are cut off at the clip
            self.now = self._stepped(gradients, total)
        if self.round >= self.rule.rounds // 2:
            self.kept.append(self.now)
        self.round += 1

    def averaged(self) -> Iterate:
        """The mean of the last half of the rounds."""
        return Iterate(
            np.mean([each.base for each in self.kept], axis=0), np.mean([each.values for each in self.kept], axis=0)
        )

    def _filled(self, words: F64) -> tuple[F64, F64]:
        """Sums of all bins (scores x bins) and of all rows; bins of 0 from the total where they were not summed."""
        offsets = self.grid.offsets[:-1]
        if self.schedule.terms.counts_nonzero:
            sums, total = words[:, :-1].copy(), words[:, -1]
            zeros = zero_bins(self.grid)
            sums[:, zeros] = 0
            sums[:, zeros] = total[:, None] - np.add.reduceat(sums, offsets, axis=1)
            return sums, total
        trust = 1 / np.diff(self.grid.offsets)  # the noise of a column's total is that of all its bins
        return words, np.add.reduceat(words, offsets, axis=1) @ (trust / trust.sum())

    def _all_rows(self, counted: float) -> float:
        """The number of rows: that of the first release and that of the bins, each by its own noise."""
        first = self.schedule.opening.rows.variance
        bins = float(self.rule.counts.variance)
        if not self.schedule.terms.counts_nonzero:
            bins /= float((1 / np.diff(self.grid.offsets)).sum())
        return max((self.schedule.n_rows * bins + counted * first) / (bins + first), 1.0)

    def _likely_rows(self, counted: F64) -> F64:
        """Rows of every bin: those of a column add up to all, and cuts were chosen so that bins are about alike.

        Much noise would have bins look empty, and steps too long.
        """
        noise, out = self.rule.counts.variance / ROW_UNITS**2, np.empty_like(counted)
        for column, n in enumerate(self.grid.n_values):
            at = slice(int(self.grid.offsets[column]), int(self.grid.offsets[column + 1]))
            rows, usual = counted[at], np.full(at.stop - at.start, self.n_rows / n)
            usual[n:] = 0.0  # where values are missing
            rows = rows + (self.n_rows - rows.sum()) / len(rows)
            trust = (self.n_rows / n) ** 2 / ((self.n_rows / n) ** 2 + noise)
            out[at] = np.maximum(trust * rows + (1 - trust) * usual, 0.0)
        return out

    def _stepped(self, gradients: F64, total: F64) -> Iterate:
        """One step of the base and of every column."""
        base, values = self.now.base.copy(), self.now.values.copy()
        limit = self.rule.clip / GRADIENT_UNITS
        for score, mean in enumerate(self.mean):
            unit = 1.0 if self.schedule.terms.regression else float(mean * (1 - mean))
            step = self.rule.rate * np.clip(total[score] / self.n_rows, -limit, limit) / unit
            base[score] -= np.clip(step, -LONGEST_STEP, LONGEST_STEP)
            for alike in self.alike:
                news = self._news(gradients[score, alike.bins], unit * self.rows[alike.bins], alike.prior)
                values[score, alike.bins] -= self.rule.rate * news
        return Iterate(np.clip(base, *bounds(self.schedule.terms)), values)

    def _news(self, gradients: F64, hessians: F64, prior: F64) -> F64:
        """By how much values (columns x bins) are too large, as far as each column's sums tell."""
        rule = self.rule
        noise = rule.gradients.variance / rule.rounds / GRADIENT_UNITS**2  # of all rounds' mean
        variance = noise + (hessians if rule.spread is None else rule.spread * hessians)
        mean = gradients.sum(axis=1) / np.maximum(hessians.sum(axis=1), 1e-9)
        weighted = hessians / variance * (gradients - hessians * mean[:, None])
        bins = np.arange(hessians.shape[1])
        known = np.tile(prior, (len(hessians), 1, 1))
        known[:, bins, bins] += hessians**2 / variance
        found: F64 = np.linalg.solve(known, weighted[:, :, None])[:, :, 0]
        return found


def base_of(schedule: Schedule, mean_gradient: F64) -> F64:
    """The first score, from the mean gradient of rows that have none yet."""
    n_scores = schedule.terms.n_scores
    mean = (1 / n_scores if n_scores > 1 else 0.5) - mean_gradient
    if schedule.terms.regression:
        return np.clip(mean, *bounds(schedule.terms))
    mean = np.clip(mean, LEAST_MEAN, 1 - LEAST_MEAN)
    return np.array([losses.log(float(m / (1 - m) if n_scores == 1 else m)) for m in mean])


def bounds(terms: Terms) -> tuple[float, float]:
    """Of the first score, however large the noise is."""
    return (0.0, 1.0) if terms.regression else (losses.log(LEAST_MEAN), -losses.log(LEAST_MEAN))


def _means(terms: Terms, base: F64) -> F64:
    if terms.regression:
        return base
    return 1 / (1 + np.exp(-base)) if terms.n_scores == 1 else np.exp(base) / np.exp(base).sum()
