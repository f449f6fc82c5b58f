"""How greedy trees spend a budget: how many trees of which depth, and how much noise each of their releases has.

Of mu^2 the row count, the cut points and the first score have fixed shares; the rest is divided evenly among trees, and
in a tree among its levels and its leaves. Frozen: nothing of it was, or is, chosen by the rows that are trained on.
"""

from dataclasses import dataclass
from math import floor, sqrt

from hedgerow.trees.noised.clipped_rows import Clip
from hedgerow.trees.noised.rule import (
    CUTS_SHARE,
    GRADIENT_UNITS,
    HESSIAN_UNITS,
    ROWS_SHARE,
    Opening,
    Planned,
    Schedule,
    Terms,
    opening,
    variance_for,
)

ROOT_SHARE, ROOT_SHARE_OF_NUMBERS = 0.01, 0.05
"""Of mu^2, for the first score."""
ROOT_LENGTH = sqrt(0.5)
"""Of what a row adds there: how far its label is from the middle, up to .5, and .5 for itself."""


@dataclass(frozen=True)
class Chosen:
    """What the user set; the rule chooses the rest."""

    n_estimators: int | None = None
    max_depth: int | None = None
    learning_rate: float | None = None
    max_bin: int | None = None


@dataclass(frozen=True)
class GreedySchedule:
    """Everything that is released, and what is made of it."""

    terms: Terms
    n_rows: float
    """With noise."""
    opening: Opening
    n_trees: int
    """Rounds; where there are three or more classes, of a tree for each."""
    max_depth: int
    learning_rate: float
    max_bin: int
    clip: Clip
    prior: float
    """How far values of leaves are expected to lie from 0, in units of the label."""
    least_side: float
    """The least sum of hessians on either side of a cut: so many that it is no mere noise."""
    root: Planned | None
    level: Planned
    leaves: Planned

    @property
    def before(self) -> Schedule:
        """What the search for cut points has to know."""
        return Schedule(self.terms, self.n_rows, self.max_bin, self.opening, None, None)

    @property
    def planned(self) -> tuple[Planned, ...]:
        """All releases, in order."""
        return (*self.opening.planned, *(() if self.root is None else (self.root,)), self.level, self.leaves)


@dataclass(frozen=True)
class Shape:
    """What the rule chooses by how much the noise blurs a mean: `nu`, a row's reach over mu and the number of rows."""

    n_trees: int
    max_depth: int
    learning_rate: float
    max_bin: int
    prior: float
    leaf_share: float
    """Of a tree's mu^2."""
    side: float
    """Standard deviations of noise that either side of a cut must weigh."""


OF_CLASSES = (
    (3e-3, Shape(6, 3, 0.3, 6, 1.5, 0.4, 0.5)),
    (8e-4, Shape(20, 4, 0.3, 8, 1.0, 0.3, 1.0)),
    (2.5e-4, Shape(30, 5, 0.25, 8, 0.7, 0.3, 1.5)),
    (0.0, Shape(40, 5, 0.2, 8, 0.7, 0.4, 2.5)),
)
OF_NUMBERS = (
    (1.5e-2, Shape(6, 3, 0.3, 6, 0.3, 0.4, 0.5)),
    (3e-3, Shape(15, 4, 0.3, 8, 0.2, 0.4, 1.0)),
    (0.0, Shape(20, 4, 0.3, 8, 0.2, 0.3, 1.0)),
)
"""Shapes from the greatest nu down; found on parts of training rows, then frozen."""


def greedy_schedule(terms: Terms, n_rows: float, chosen: Chosen) -> GreedySchedule:
    """What follows from the terms, the noised number of rows and what the user set."""
    first, n_rows = opening(terms), max(n_rows, 1.0)
    nu = terms.width(terms.n_columns) / (terms.mu * n_rows)
    shape = _shape(nu, terms.regression)
    n_trees, depth = chosen.n_estimators or shape.n_trees, chosen.max_depth or shape.max_depth
    bins = chosen.max_bin or shape.max_bin
    of_root = 0.0 if terms.n_scores > 1 else ROOT_SHARE_OF_NUMBERS if terms.regression else ROOT_SHARE
    left = 1 - ROWS_SHARE - of_root - (CUTS_SHARE if first.cuts is not None else 0)
    clip, unit = clip_of(terms), terms.rows_per_id
    root = None
    if of_root:
        reach = ROOT_LENGTH * GRADIENT_UNITS * unit
        root = Planned("first score", reach, variance_for(reach, terms.mu, of_root))
    reach = clip.units * unit * terms.width(terms.n_columns)
    level_variance = variance_for(reach, terms.mu, left * (1 - shape.leaf_share), n_trees * depth)
    leaf_reach = float(clip.units * unit)
    leaf_variance = variance_for(leaf_reach, terms.mu, left * shape.leaf_share, n_trees)
    return GreedySchedule(
        terms=terms,
        n_rows=n_rows,
        opening=first,
        n_trees=n_trees,
        max_depth=depth,
        learning_rate=chosen.learning_rate or shape.learning_rate,
        max_bin=bins,
        clip=clip,
        prior=shape.prior * clip.gradient,
        least_side=shape.side * sqrt(level_variance * bins / 2) * clip.scales.wide[1],
        root=root,
        level=Planned("histograms of a level", reach, level_variance, n_trees * depth),
        leaves=Planned("sums of leaves", leaf_reach, leaf_variance, n_trees),
    )


def clip_of(terms: Terms) -> Clip:
    """How far a row may reach."""
    if terms.label_range is None:
        return Clip(GRADIENT_UNITS, 1.0, HESSIAN_UNITS / GRADIENT_UNITS)
    low, high = terms.label_range
    return Clip(floor(0.25 * GRADIENT_UNITS), high - low, 0.25)


def _shape(nu: float, regression: bool) -> Shape:
    return next(shape for least, shape in (OF_NUMBERS if regression else OF_CLASSES) if nu >= least)
