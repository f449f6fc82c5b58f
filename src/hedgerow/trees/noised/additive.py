"""Additive rounds: one one-column tree a column, updated from noised sums of gradients in all bins of all columns.

Values have a prior: a bin's value is about `tau`, neighbouring bins of a numeric column differ by about `smooth`. A
round's step is the mean of what the noised gradients then say, times the learning rate; the mean of the last half of
the rounds is kept, which averages the noise of many rounds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees import losses
from hedgerow.trees.bins import Grid
from hedgerow.trees.noised.rule import GRADIENT_UNITS, ROW_UNITS, Schedule, Terms
from hedgerow.trees.noised.sums import zero_bins

F32, F64, I64 = NDArray[np.float32], NDArray[np.float64], NDArray[np.int64]
LEAST_MEAN = 1e-4


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


class AdditiveRounds:
    """What the driver makes of the sums, round after round."""

    def __init__(self, grid: Grid, schedule: Schedule, counts: I64) -> None:
        assert schedule.additive is not None
        self.grid, self.schedule, self.rule = grid, schedule, schedule.additive
        self.rows = self._filled(counts.reshape(1, -1) / ROW_UNITS)[0][0]
        """Of every bin."""
        self.rows = np.maximum(self.rows, 0.0)
        self.now = Iterate.zero(grid, schedule.terms)
        self.kept: list[Iterate] = []
        self.round = 0
        self.n_rows = self._total_rows()

    def take(self, words: I64) -> None:
        """The sums of a round with noise."""
        gradients, total = self._filled(words.reshape(self.schedule.terms.n_scores, -1) / GRADIENT_UNITS)
        if self.round == 0:
            self._set_base(total)
        else:
            self.now = self._stepped(gradients, total)
            if self.round >= self.rule.rounds // 2:
                self.kept.append(self.now)
        self.round += 1

    def averaged(self) -> Iterate:
        """The mean of the last half of the rounds."""
        kept = self.kept or [self.now]
        return Iterate(np.mean([x.base for x in kept], axis=0), np.mean([x.values for x in kept], axis=0))

    def _filled(self, words: F64) -> tuple[F64, F64]:
        """Sums of all bins (scores x bins) and of all rows; bins of 0 from the total where they were not summed."""
        offsets = self.grid.offsets[:-1]
        if self.schedule.terms.counts_nonzero:
            sums, total = words[:, :-1].copy(), words[:, -1]
            sums[:, zero_bins(self.grid)] = 0
            sums[:, zero_bins(self.grid)] = total[:, None] - np.add.reduceat(sums, offsets, axis=1)
            return sums, total
        width = np.diff(self.grid.offsets)
        by_column = np.add.reduceat(words, offsets, axis=1)
        return words, by_column @ (1 / width) / (1 / width).sum()

    def _total_rows(self) -> float:
        return self.schedule.n_rows

    def _set_base(self, total: F64) -> None:
        """The first score, from gradients that all rows had at none."""
        mean = self._mean() - total / self.n_rows
        mean = np.clip(mean, LEAST_MEAN, 1 - LEAST_MEAN)
        if self.schedule.terms.regression:
            base = mean
        elif len(mean) == 1:
            base = np.array([losses.log(float(m / (1 - m))) for m in mean])
        else:
            base = np.array([losses.log(float(m)) for m in mean])
        self.mean = mean
        self.now = Iterate(base, self.now.values)

    def _mean(self) -> F64:
        k = self.schedule.terms.n_scores
        return np.full(k, 0.5 if k == 1 else 1 / k)

    def _stepped(self, gradients: F64, total: F64) -> Iterate:
        """One step: an exchange's worth of news about the base and every column."""
        rule, k = self.rule, self.schedule.terms.n_scores
        base, values = self.now.base.copy(), self.now.values.copy()
        for score in range(k):
            unit = 1.0 if self.schedule.terms.regression else float(self.mean[score] * (1 - self.mean[score]))
            base[score] -= rule.rate * total[score] / (unit * self.n_rows)
            for column in range(self.grid.n_columns):
                at = slice(int(self.grid.offsets[column]), int(self.grid.offsets[column + 1]))
                values[score, at] -= rule.rate * self._news(gradients[score, at], total[score], unit, column, at)
        return Iterate(base, values)

    def _news(self, gradients: F64, total: float, unit: float, column: int, at: slice) -> F64:
        """What a column's sums say its values should change by."""
        rule = self.rule
        hessians = unit * self.rows[at]
        one = np.sqrt(rule.gradients.variance / rule.rounds) / GRADIENT_UNITS
        variance = one**2 + (hessians if rule.spread is None else rule.spread * hessians)
        centred = gradients - hessians / max(hessians.sum(), 1e-9) * gradients.sum()
        prior = np.eye(len(hessians)) / rule.tau**2
        if not self.grid.categorical[column]:
            n = int(self.grid.n_values[column])
            steps = np.diff(np.eye(len(hessians))[:n], axis=0)
            prior += steps.T @ steps / rule.smooth**2
        return np.linalg.solve(np.diag(hessians**2 / variance) + prior, hessians / variance * centred)
