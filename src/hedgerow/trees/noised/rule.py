"""The rule by which noised trees are grown, as data: what is released, with which noise, and what is made of it.

Everybody can compute it from what is public: the terms before the first release, the rest once the noised number of
rows is known. Noise is given as whole variances, in squared units of the integers that are summed, rounded up.
"""

from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import Literal, TypeVar

from hedgerow.errors import ProtocolError

T = TypeVar("T")
PublicMethod = Literal["auto", "random", "additive"]
"""Methods whose trees' structure is public."""
Way = PublicMethod | Literal["greedy"]
"""Those whose noise is Gaussian."""

GRADIENT_UNITS = 4096
"""Of a gradient of 1; that of a number is in the range of labels."""
ROW_UNITS = 16
"""Of a row where rows are counted."""
HESSIAN_UNITS = 13640
"""Of a logistic hessian of 1. Up to the golden ratio^2.5 (3.3302) times the units of gradients, (gradient, hessian) is
never longer than the longest gradient, so that hessians are free."""
DEPTH = 4
N_LEAVES = 1 << DEPTH
CUT_BITS = (6, 4, 4)
"""Of the ordered bits of a float, at each level of the search for cut points."""

DISCRETE = 4
"""Added to every variance: what noise in whole numbers may cost more than noise in real ones (see the accountant)."""

ROWS_SHARE, CUTS_SHARE, COUNTS_SHARE = 0.005, 0.05, 0.02
"""Of mu^2: the number of rows and the cut points of all, the counts of bins of what the additive rounds have."""


@dataclass(frozen=True)
class Terms:
    """What is public before the first release."""

    method: Way
    mu: float
    """Of the Gaussian mechanism that all releases together are."""
    n_columns: int
    n_numeric: int
    """Columns whose cut points are to be found; the others have categories."""
    n_scores: int = 1
    """Scores of a row: one, or one for each of three or more classes."""
    label_range: tuple[float, float] | None = None
    """Of numbers; None: classes."""
    rows_per_id: int = 1
    max_nonzero: int | None = None
    """Columns in which any row has a value other than 0, where that is declared."""

    @property
    def regression(self) -> bool:
        """Whether numbers are learnt."""
        return self.label_range is not None

    @property
    def counts_nonzero(self) -> bool:
        """Whether only values other than 0 are summed, and the total of all rows beside: where that is less noise."""
        return self.max_nonzero is not None and self.max_nonzero + 1 < self.n_columns

    def width(self, n_columns: int) -> float:
        """The L2 length of what a row adds 1 to, once in each of so many columns."""
        if not self.counts_nonzero:
            return sqrt(n_columns)
        return sqrt(min(int(self.max_nonzero or 0), n_columns) + 1)  # the columns where it is not 0, and the total


@dataclass(frozen=True)
class Planned:
    """A release: its L2 sensitivity, the variance of the noise of every word, both in its integers, and how often."""

    what: str
    sensitivity: float
    variance: int
    times: int = 1


def variance_for(sensitivity: float, mu: float, share: float, times: int = 1) -> int:
    """The noise with which so many such releases together spend this share of mu^2."""
    return ceil(sensitivity**2 * times / (mu**2 * share)) + DISCRETE


@dataclass(frozen=True)
class Opening:
    """The releases before the schedule is known."""

    rows: Planned
    cuts: Planned | None
    """None: no column is to be cut."""

    @property
    def planned(self) -> tuple[Planned, ...]:
        """In order."""
        return (self.rows,) if self.cuts is None else (self.rows, self.cuts)


def opening(terms: Terms) -> Opening:
    """What is released first: the number of rows, then the levels of the search for cut points."""
    unit = ROW_UNITS * terms.rows_per_id
    rows = Planned("row count", unit, variance_for(unit, terms.mu, ROWS_SHARE))
    if not terms.n_numeric:
        return Opening(rows, None)
    reach, levels = unit * terms.width(terms.n_numeric), len(CUT_BITS)
    return Opening(rows, Planned("cut points", reach, variance_for(reach, terms.mu, CUTS_SHARE, levels), levels))


@dataclass(frozen=True)
class Additive:
    """Rounds of one one-column tree a column."""

    rounds: int
    rate: float
    clip: int
    """The longest gradient, in units."""
    tau: float
    """How large values are expected to be."""
    smooth: float
    """How much those of neighbouring bins are expected to differ."""
    spread: float | None
    """The variance of a gradient; None: as large as the mean hessian."""
    counts: Planned
    gradients: Planned


@dataclass(frozen=True)
class RandomTrees:
    """Rounds of one drawn tree (for each score)."""

    rounds: int
    rate: float
    tau: float
    clip: int
    hessian_units: int
    leaves: Planned


@dataclass(frozen=True)
class Schedule:
    """Everything that is released, and how."""

    terms: Terms
    n_rows: float
    """With noise."""
    max_bin: int
    opening: Opening
    additive: Additive | None
    trees: RandomTrees | None

    @property
    def rounds(self) -> int:
        """Of both kinds."""
        return sum(part.rounds for part in (self.additive, self.trees) if part is not None)

    @property
    def planned(self) -> tuple[Planned, ...]:
        """All releases, in order."""
        parts = [*self.opening.planned]
        if self.additive is not None:
            parts += [self.additive.counts, self.additive.gradients]
        if self.trees is not None:
            parts.append(self.trees.leaves)
        return tuple(parts)


def schedule(terms: Terms, n_rows: float) -> Schedule:
    """What follows from the terms and the noised number of rows."""
    n_rows = max(n_rows, 1.0)
    first = opening(terms)
    left = 1 - ROWS_SHARE - (CUTS_SHARE if first.cuts is not None else 0)
    nu = terms.width(terms.n_columns) / (terms.mu * n_rows)
    shares = _shares(terms, nu)
    return Schedule(
        terms,
        n_rows,
        max_bin=8 if n_rows < 40_000 or nu > 1e-3 else 32,
        opening=first,
        additive=_additive(terms, nu, left * shares[0]) if shares[0] else None,
        trees=_trees(terms, left * shares[1]) if shares[1] else None,
    )


def _shares(terms: Terms, nu: float) -> tuple[float, float]:
    """How what is left is divided among additive rounds and random trees."""
    if terms.method != "auto":
        return (1.0, 0.0) if terms.method == "additive" else (0.0, 1.0)
    return (0.6, 0.4) if nu < 1e-3 and not terms.regression else (1.0, 0.0)


def _additive(terms: Terms, nu: float, share: float) -> Additive:
    if terms.regression:
        rounds, rate = (40, 0.1) if nu > 4e-3 else (80, 0.1) if nu > 1.5e-3 else (160, 0.25)
        clip, tau, smooth, spread = 0.15, 0.1, 0.015, 0.006
    else:
        rounds, rate = (10, 0.2) if nu > 4e-3 else (20, 0.25)
        # The longest gradient of several classes together is longer than that of one, and the first must not be cut.
        clip, tau, smooth, spread = (0.6 if nu > 5e-4 and terms.n_scores == 1 else 1.0), 0.3, 0.07, None
    units = floor(clip * GRADIENT_UNITS)
    width = terms.rows_per_id * terms.width(terms.n_columns)
    counts = Planned("counts", ROW_UNITS * width, variance_for(ROW_UNITS * width, terms.mu, share * COUNTS_SHARE))
    reach = units * width
    of_gradients = variance_for(reach, terms.mu, share * (1 - COUNTS_SHARE), rounds)
    gradients = Planned("additive round", reach, of_gradients, rounds)
    return Additive(rounds, rate, units, tau=tau, smooth=smooth, spread=spread, counts=counts, gradients=gradients)


def _trees(terms: Terms, share: float) -> RandomTrees:
    """Where numbers are learnt, the hessian is a count of rows, which may take a third of the length."""
    rounds, tau = 100, 0.1
    units, hessians = (614, 205) if terms.regression else (GRADIENT_UNITS, HESSIAN_UNITS)
    reach = float(units * terms.rows_per_id)
    leaves = Planned("random tree", reach, variance_for(reach, terms.mu, share, rounds), rounds)
    return RandomTrees(rounds, 0.3, tau, units, hessians, leaves)


def require(part: T | None) -> T:
    """A part of the schedule that there must be, for the release that is asked for."""
    if part is None:
        raise ProtocolError("A release was asked for that the schedule does not have.")
    return part
