"""How a budget for a model is spent where all its cuts are drawn, of columns that several parties hold.

Every owner finds the cut points of its own columns, with a share of what cut points cost; whoever has the labels adds
noise to the first score and to the leaves. Nothing else of a row is in such a model. Frozen: nothing is chosen by rows.
"""

from dataclasses import dataclass, replace
from math import sqrt

from hedgerow.trees.noised.clipped_rows import Clip
from hedgerow.trees.noised.greedy_rule import ROOT_LENGTH, ROOT_SHARE
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
from hedgerow.trees.params import TreeParams as TreeParams

PRIOR = 0.1
"""How far values of leaves are expected to lie from 0."""
CLIP = Clip(GRADIENT_UNITS, 1.0, HESSIAN_UNITS / GRADIENT_UNITS)
"""How long a row's (gradient, hessian) may be: as long as the longest gradient, which no row of two classes exceeds."""
USUAL = TreeParams(max_depth=4, learning_rate=0.3, max_bin=16)
"""What is used in place of the usual."""


def drawn_params(given: TreeParams) -> TreeParams:
    """The parameters, with smaller trees and fewer bins where the usual ones were not changed."""
    usual, names = TreeParams(), ("max_depth", "learning_rate", "max_bin")
    alike = [name for name in names if getattr(given, name) == getattr(usual, name)]
    return replace(given, **{name: getattr(USUAL, name) for name in alike})


@dataclass(frozen=True)
class OwnedCuts:
    """One owner's cut points: its share of what all parties' cost, and its columns."""

    mu: float
    """Of the whole run."""
    n_parties: int
    n_columns: int
    n_numeric: int
    rows_per_id: int = 1
    """The most rows of it that the promise's unit has here."""

    @property
    def terms(self) -> Terms:
        """As the search for cut points takes them: what all owners together spend is spent once."""
        return Terms(
            "random",
            self.mu / sqrt(self.n_parties),
            max(self.n_columns, 1),
            self.n_numeric,
            rows_per_id=self.rows_per_id,
        )

    @property
    def opening(self) -> Opening:
        """A noised number of rows, by which bins are filled, and levels of counts."""
        return opening(self.terms)

    def search(self, n_rows: float, max_bin: int) -> Schedule:
        """What the search has to know."""
        return Schedule(self.terms, max(n_rows, 1.0), max_bin, self.opening, None, None)


@dataclass(frozen=True)
class DrawnSchedule:
    """What is released of the labels."""

    n_rounds: int
    root: Planned
    """Of two classes: how far labels lie from the middle, and how many there are."""
    leaves: Planned

    @property
    def planned(self) -> tuple[Planned, ...]:
        """In order."""
        return self.root, self.leaves


def drawn_schedule(mu: float, n_rounds: int, rows_per_id: int = 1) -> DrawnSchedule:
    """For so many rounds, of a tree for each score; the promise's unit has at most so many rows."""
    reach, of_leaves = ROOT_LENGTH * GRADIENT_UNITS * rows_per_id, float(CLIP.units * rows_per_id)
    left = 1 - ROWS_SHARE - CUTS_SHARE - ROOT_SHARE
    return DrawnSchedule(
        n_rounds,
        Planned("first score", reach, variance_for(reach, mu, ROOT_SHARE)),
        Planned("sums of leaves", of_leaves, variance_for(of_leaves, mu, left, n_rounds), n_rounds),
    )
