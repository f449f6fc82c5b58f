"""How a budget for labels is spent where everything but labels is known to whoever the noise is against.

Another label changes one row's gradient by a unit (of two trees, where there are more than two classes) and nothing
else: no hessian, no number of rows, no bin. So gradients alone have noise. Of numbers the unit is the declared range,
within which all labels are put. Frozen: nothing of it is chosen by labels.
"""

from dataclasses import dataclass, replace
from math import sqrt

from hedgerow.trees.fixedpoint import WIDE_BITS, Scales
from hedgerow.trees.noised.rule import GRADIENT_UNITS, Planned, variance_for
from hedgerow.trees.params import TreeParams as TreeParams

ROOT_SHARE, LEAF_SHARE = 0.01, 0.3
"""Of mu^2, for the first score; of what is left, for leaves."""
LEAF_SHIFT = WIDE_BITS - GRADIENT_UNITS.bit_length() + 1
"""Sums of leaves are released in units of 2^-12 of a unit gradient."""
CLASSES, NUMBERS = 0.7, 0.2
"""How far values of leaves are expected to lie from 0: of numbers in the declared range."""
SPREAD = 0.006
"""The variance of a number's gradient, in the declared range; that of a class is its hessian."""
SIDE = 0.5
"""Standard deviations of noise that either side of a cut must weigh."""
FEW = TreeParams(n_estimators=10, max_depth=4, learning_rate=0.4, max_bin=8)
"""What is used in place of the usual: each tree, level and bin costs noise."""


def few(given: TreeParams) -> TreeParams:
    """The parameters, with fewer and smaller trees where the usual ones were not changed."""
    usual, names = TreeParams(), ("n_estimators", "max_depth", "learning_rate", "max_bin")
    alike = [name for name in names if getattr(given, name) == getattr(usual, name)]
    return replace(given, **{name: getattr(FEW, name) for name in alike})


@dataclass(frozen=True)
class LabelSchedule:
    """Everything that is released of labels, and what is made of it."""

    n_rounds: int
    level: Planned
    leaves: Planned
    unit: float
    """A unit of gradients that choose cuts."""
    n_bins: int
    label_range: float | None = None
    """How far labels may lie apart; None: classes."""

    @property
    def reach(self) -> float:
        """How far another label moves a gradient."""
        return 1.0 if self.label_range is None else self.label_range

    @property
    def prior(self) -> float:
        """How far values of leaves are expected to lie from 0, in units of `reach`."""
        return CLASSES if self.label_range is None else NUMBERS

    @property
    def spread(self) -> float:
        """The variance of a gradient, of the hessian."""
        return 1.0 if self.label_range is None else SPREAD

    @property
    def planned(self) -> tuple[Planned, ...]:
        """The releases, beside the first score."""
        return self.level, self.leaves

    @property
    def least_side(self) -> float:
        """The least sum of hessians on either side of a cut: so many that it is no mere noise."""
        side = SIDE * CLASSES / self.prior
        return side * sqrt(self.level.variance * self.n_bins / 2) * self.unit / self.reach


def first_score(mu: float) -> Planned:
    """The sum of labels, each from 0 to 1."""
    return Planned("first score", float(GRADIENT_UNITS), variance_for(GRADIENT_UNITS, mu, ROOT_SHARE))


def label_schedule(
    mu: float,
    n_columns: int,
    n_trees: int,
    levels: int,
    n_rounds: int,
    scales: Scales,
    n_bins: int,
    label_range: float | None = None,
) -> LabelSchedule:
    """For rounds of so many trees, of so many levels each, whose cuts are chosen among all bins of so many columns."""
    trees, share = sqrt(min(n_trees, 2)), (label_range or 1.0) / scales.gradient_bound
    reach = (2 ** (scales.bits - 1) * share + 1) * sqrt(n_columns) * trees
    leaf_reach = (GRADIENT_UNITS * share + 1) * trees
    left = 1 - ROOT_SHARE
    level = variance_for(reach, mu, left * (1 - LEAF_SHARE), n_rounds * levels)
    leaves = variance_for(leaf_reach, mu, left * LEAF_SHARE, n_rounds)
    return LabelSchedule(
        n_rounds,
        Planned("histograms of a level", reach, level, n_rounds * levels),
        Planned("sums of leaves", leaf_reach, leaves, n_rounds),
        scales.narrow[0],
        n_bins,
        label_range,
    )
