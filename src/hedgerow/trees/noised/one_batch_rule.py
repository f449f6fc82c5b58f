"""How a budget for columns is spent where their owners release one batch of sums, and no side of any row.

A row's values in these columns are replaced by others; its gradients are not, because whoever seals them has computed
them from its own columns. So in each column the row's vector leaves one bin and enters another: its length times the
root of 2 for each column, and of 2 d for d of them. Frozen: nothing is chosen by rows.
"""

from dataclasses import dataclass, replace
from math import ceil, sqrt

from hedgerow.trees.noised.rule import (
    CUT_BITS,
    CUTS_SHARE,
    GRADIENT_UNITS,
    HESSIAN_UNITS,
    ROW_UNITS,
    Opening,
    Planned,
    Schedule,
    Terms,
    variance_for,
)
from hedgerow.trees.params import TreeParams as TreeParams

MOST_BINS = 16
"""Of a column whose cut points have noise."""
DEVIATIONS = 16
"""Of the noise, beyond which no word of it is expected: not once in 10^50."""
USUAL = TreeParams(n_estimators=100, max_depth=3, learning_rate=0.1)
"""What is used in place of the usual: trees that know their rows by heart leave nothing for other columns to say."""
NUMBERS = 614, 205
"""The longest gradient of a number, 0.15 of the declared range, and what a row counts beside it, in units."""


def batch_params(given: TreeParams) -> TreeParams:
    """The parameters, with smaller steps and trees where the usual ones were not changed."""
    usual, names = TreeParams(), ("n_estimators", "max_depth", "learning_rate")
    alike = [name for name in names if getattr(given, name) == getattr(usual, name)]
    return replace(given, **{name: getattr(USUAL, name) for name in alike})


@dataclass(frozen=True)
class OneBatch:
    """What one owner of columns releases: counts for cut points, then one batch of sums in all bins."""

    mu: float
    """Of the whole run."""
    n_owners: int
    """Who share it evenly, so that a row's values at all of them are protected together."""
    n_columns: int
    n_numeric: int
    label_range: tuple[float, float] | None = None
    """Of numbers; None: classes."""

    @property
    def own_mu(self) -> float:
        """Of this owner."""
        return self.mu / sqrt(self.n_owners)

    @property
    def clip(self) -> int:
        """The longest vector of a row, all its gradients and hessians together, in units."""
        return GRADIENT_UNITS if self.label_range is None else NUMBERS[0]

    def hessian_units(self, n_scores: int) -> int:
        """Of a hessian of 1; of two classes as many as make no vector longer than the longest gradient."""
        if self.label_range is not None:
            return NUMBERS[1]
        return HESSIAN_UNITS if n_scores == 1 else GRADIENT_UNITS

    @property
    def cuts(self) -> Planned | None:
        """A level of counts; none where all columns have categories, which are declared."""
        if not self.n_numeric:
            return None
        reach, levels = ROW_UNITS * sqrt(2 * self.n_numeric), len(CUT_BITS)
        return Planned("cut points", reach, variance_for(reach, self.own_mu, CUTS_SHARE, levels), levels)

    @property
    def sums(self) -> Planned:
        """The batch."""
        reach = self.clip * sqrt(2 * max(self.n_columns, 1))
        share = 1 - (CUTS_SHARE if self.n_numeric else 0)
        return Planned("one batch of sums", reach, variance_for(reach, self.own_mu, share))

    @property
    def planned(self) -> tuple[Planned, ...]:
        """All of it, in order."""
        return (self.sums,) if self.cuts is None else (self.cuts, self.sums)

    @property
    def most_noise(self) -> int:
        """The largest word of noise for which sums are laid out."""
        return DEVIATIONS * ceil(sqrt(self.sums.variance))

    def terms(self, n_scores: int = 1) -> Terms:
        """As clipping and the search for cut points take them."""
        return Terms("additive", self.own_mu, max(self.n_columns, 1), self.n_numeric, n_scores, self.label_range)

    def search(self, n_rows: int, max_bin: int) -> Schedule:
        """What the search for cut points has to know; how many rows there are, all know."""
        rows = Planned("row count", 1.0, 1)  # which is not released
        opening = Opening(rows, self.cuts)
        return Schedule(self.terms(), float(max(n_rows, 1)), min(max_bin, MOST_BINS), opening, None, None)
