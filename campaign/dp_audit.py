"""Differential privacy, audited: thousands of models, half of them trained without one row, by the engine itself.

The models are as tight as models can be: the row's gradient is as long as a gradient may be, and its leaf is the only
thing that is learnt. So a sound engine comes close to the promised mu and stays below; one that adds its noise to a
copy, adds half of it, forgets to count releases or shortens numbers of a row one by one goes beyond, and is found out.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Literal
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from campaign.dp_bounds import least_mu, opened_noise
from campaign.process import Wrong
from campaign.trials import Options, Trial, tried
from hedgerow.model.noised_trees import PooledTrees
from hedgerow.privacy import noise
from hedgerow.privacy.gaussian import epsilon_of, mu_of
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.trees.bins import Grid
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised import growing
from hedgerow.trees.noised.clipped_rows import Clip
from hedgerow.trees.noised.fit import fit
from hedgerow.trees.noised.fit_greedy import GreedyTask, fit_greedy
from hedgerow.trees.noised.greedy_rule import Chosen, GreedySchedule
from hedgerow.trees.noised.growing import Start
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.rule import (
    GRADIENT_UNITS,
    ROW_UNITS,
    Additive,
    Planned,
    Schedule,
    Terms,
    opening,
    require,
    variance_for,
)
from hedgerow.trees.noised.sums import OwnRows, OwnSums
from hedgerow.trees.params import TreeParams

PART = "privacy"
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
Method = Literal["additive", "greedy"]
Draw = Callable[[int, int], I64]

DELTA, ERROR = 1e-6, 0.005
MODELS, FEW_MODELS = 20_000, 4_000
RADIUS = GRADIENT_UNITS // 2
"""A row of probability one half has just this gradient."""
SMALL_HESSIAN = 0.1
"""So that the gradient alone is the radius."""
LAMBDA = 1000.0
"""So that values are nearly linear in the noised gradient."""
ROWS = 400
FORGOTTEN = 9
"""Releases that are made where one is counted."""
CLASSES = 5
BINS = 1000


# Two tables that differ in one row, and the score that a model gives to it


def tables(terms: Terms) -> tuple[OwnSums, OwnSums]:
    """With the row, whose label is 0, and without it; of the others as many have each label."""
    values = np.zeros((ROWS + 1, 1), np.float32)
    labels = (np.arange(ROWS + 1) % max(terms.n_scores, 2)).astype(np.float32)
    every = OwnRows(values, float("nan"), labels)
    others = OwnRows(values[1:], float("nan"), labels[1:])
    return OwnSums(every, terms), OwnSums(others, terms)


def score(forest: Forest, base: float, n_scores: int) -> float:
    """The model's score of the row; of several, that of its class less the others."""
    out = np.full((1, n_scores), base, np.float32)
    forest.add_scores(np.zeros((1, 1), np.float32), float("nan"), out, 1)
    return float(2 * out[0, 0] - out.sum())


# Two engines, each with a rule that spends nearly everything on one release


class Noised:
    """Sums of a table with their noise: the real thing."""

    def __init__(self, own: OwnSums, terms: Terms, draw: Draw) -> None:
        self.own, self.draw, self.first = own, draw, opening(terms)
        self.rule = additive_rule(terms, 0.0)

    def noised(self, words: I64, variance: int) -> I64:
        """Words and noise."""
        return words + self.draw(len(words), variance)

    def rows(self) -> I64:
        """See `fit.Releases`."""
        return self.noised(self.own.rows(), self.first.rows.variance)

    def counts(self, asked: Prefixes) -> I64:
        """Never asked: the one column has declared categories."""
        raise Wrong(f"{len(asked.column)} counts asked for")

    def begin(self, grid: Grid, schedule: Schedule, trees: PublicTrees) -> None:
        """See `fit.Releases`."""
        self.own.begin(grid, schedule, trees)

    def bin_counts(self) -> I64:
        """See `fit.Releases`."""
        return self.noised(self.own.bin_counts(), require(self.rule.additive).counts.variance)

    def additive(self, round_: int, base: F32, values: F32) -> I64:
        """See `fit.Releases`."""
        words = self.own.additive(round_, base, values)
        return self.noised(words, require(self.rule.additive).gradients.variance)

    def restart(self, base: F32, values: F32) -> None:
        """Never asked: no tree is drawn."""
        raise Wrong(f"drawn trees asked for after {len(base)} and {len(values)} values")

    def leaves(self, round_: int, values: F32) -> I64:
        """Never asked."""
        raise Wrong(f"drawn tree {round_} asked for after {len(values)} values")


class NoiseOnACopy(Noised):
    """The classical mistake: the noise is there, and not in what leaves."""

    def noised(self, words: I64, variance: int) -> I64:
        """Words, and noise on others that are like them."""
        _ = words.copy() + self.draw(len(words), variance)
        return words


def half(n: int, variance: int) -> I64:
    """Half of the noise, as if a standard deviation were halved along the way."""
    return noise.gaussian(n, max(variance // 4, 1))


def additive_rule(terms: Terms, n_rows: float) -> Schedule:
    """One additive round, of whose sums the first score is made."""
    counts = Planned("counts", ROW_UNITS, variance_for(ROW_UNITS, terms.mu, 0.02))
    gradients = Planned("additive round", RADIUS, variance_for(RADIUS, terms.mu, 0.97))
    additive = Additive(1, 1.0, RADIUS, 0.3, 0.07, None, counts, gradients)
    return Schedule(terms, n_rows, 8, opening(terms), additive, None)


def additive(own: OwnSums, draw: Draw = noise.gaussian, kind: type[Noised] = Noised) -> float:
    """The score by a model of one additive round."""
    found = fit(kind(own, own.terms, draw), own.terms, np.array([1]), 0, additive_rule)
    return score(found.forest, found.base, 1)


def greedy_rule(n_trees: int, terms: Terms, n_rows: float, chosen: Chosen) -> GreedySchedule:
    """Trees of one level, the leaves of the first having nearly all of the budget; the others are not counted."""
    radius = RADIUS if terms.n_scores == 1 else GRADIENT_UNITS // CLASSES
    level = Planned("histograms of a level", radius, variance_for(radius, terms.mu, 0.01))
    leaves = Planned("sums of leaves", radius, variance_for(radius, terms.mu, 0.98))
    return GreedySchedule(
        terms=terms, n_rows=n_rows, opening=opening(terms), n_trees=n_trees, max_depth=1, learning_rate=1.0,
        max_bin=chosen.max_bin or 8, clip=Clip(radius, 1.0, SMALL_HESSIAN), prior=1e3, least_side=0.0, root=None,
        level=level, leaves=leaves,
    )  # fmt: skip


def greedy(own: OwnSums, draw: Draw = noise.gaussian, n_trees: int = 1) -> float:
    """The score by a model of greedy trees."""
    n_scores, params = own.terms.n_scores, TreeParams(reg_lambda=LAMBDA, min_child_weight=0)
    loss = Loss("logistic") if n_scores == 1 else Loss("softmax", n_classes=n_scores)
    task = GreedyTask(own.terms, loss, params, np.array([2]), rule=partial(greedy_rule, n_trees))
    found = fit_greedy(UncountedTrees(own, draw), task)
    return score(found.forest, found.start.base, n_scores)


class UncountedTrees(PooledTrees):
    """The engine for one table without its ledger, which would refuse what is planned badly on purpose."""

    def __init__(self, own: OwnSums, draw: Draw) -> None:
        super().__init__(own, Ledger(Budget(1.0, DELTA), ()))
        self.draw = draw

    def begin_trees(self, start: Start, schedule: GreedySchedule) -> None:
        """See `PooledTrees`."""
        self.trees = schedule
        self.own.begin(start.grid, schedule.before)

    def noised(self, planned: Planned, own_words: I64) -> I64:
        """Words with noise."""
        return own_words + self.draw(len(own_words), planned.variance)


def apart(pairs: NDArray[np.int32], radius: int) -> int:
    """The easy mistake: each number of a row shortened by itself, so that all of them together are longer."""
    np.clip(pairs, -radius, radius, out=pairs)
    return 0


# What is audited


@dataclass(frozen=True)
class Case:
    """An engine, sound or not."""

    name: str
    epsilon: float
    train: Callable[[OwnSums], float]
    sound: bool = True
    classes: int = 2
    models: int = MODELS
    """As many as show what it is about."""
    method: Method = "greedy"
    spoiled: Callable[[], AbstractContextManager[object]] = nullcontext


FORGETFUL = partial(greedy, n_trees=FORGOTTEN)
CASES = (
    Case("greedy tree", 0.5, greedy),
    Case("greedy tree", 1.0, greedy),
    Case("greedy tree", 2.0, greedy),
    Case("additive round", 1.0, additive, method="additive"),
    Case(f"greedy trees of {CLASSES} classes", 1.0, greedy, classes=CLASSES, models=FEW_MODELS),
    Case("noise on a copy", 1.0, partial(additive, kind=NoiseOnACopy), False, method="additive", models=FEW_MODELS),
    Case("half the noise", 1.0, partial(greedy, draw=half), False),
    Case("half the noise, additive", 1.0, partial(additive, draw=half), False, method="additive"),
    Case(f"{FORGOTTEN - 1} of {FORGOTTEN} releases forgotten", 1.0, FORGETFUL, False, models=FEW_MODELS),
    Case(
        "gradients and hessians shortened one by one", 1.0, greedy, False, classes=CLASSES,
        spoiled=lambda: patch.object(growing, "clip_jointly", apart),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Audited:
    """How a case went."""

    case: Case
    models: int
    least: float
    """Epsilon is at least that, by the models."""
    refuted: bool
    """Whether they show more than the promised mu."""

    @property
    def line(self) -> str:
        """In words."""
        verdict = "refuted" if self.refuted else "stands"
        return (
            f"{self.case.name}, promised epsilon {self.case.epsilon:g}: at least {self.least:.2f} by "
            f"{self.models} models, {verdict}"
        )


def audited(case: Case, models: int, error: float = ERROR) -> Audited:
    """Train so many models, half of them without the row."""
    mu = mu_of(case.epsilon, DELTA)
    terms = Terms(case.method, mu, 1, 0, case.classes if case.classes > 2 else 1)
    with_row, without = tables(terms)
    with case.spoiled():
        present, absent = (np.array([case.train(own) for _ in range(models // 2)]) for own in (with_row, without))
    least = least_mu(present, absent, error).least_mu
    return Audited(case, models, epsilon_of(least, DELTA) if least > 0 else 0.0, least > mu)


def opened_bins(draw: Draw) -> tuple[float, float]:
    """A thousand sums with noise, beside the exact ones: the noise's size by the promised one, and its chance."""
    rng = np.random.default_rng(0)
    exact = rng.integers(0, 10**6, BINS)
    variance = variance_for(float(RADIUS), mu_of(1.0, DELTA), 1.0)
    found = opened_noise(exact + draw(BINS, variance), exact, variance)
    return found.sigma, found.chance


def run(options: Options) -> Iterator[Trial]:
    """All cases; then one look at a thousand opened sums. In little time those alone that few models show."""
    for case in CASES:
        if options.quick and case.models > FEW_MODELS:
            continue
        yield tried(Trial(PART, f"{case.name}, epsilon {case.epsilon:g}"), partial(trial, case, case.models))
    yield tried(Trial(PART, f"noise of {BINS} opened sums"), opened)


def trial(case: Case, models: int) -> Trial:
    """A sound engine stands, another is found out."""
    found = audited(case, models)
    if found.refuted == case.sound:
        raise Wrong(found.line)
    return Trial(PART, found.line)


def opened() -> Trial:
    """Noise has the promised size, and half of it is seen at once."""
    (size, chance), (halved, unlikely) = opened_bins(noise.gaussian), opened_bins(half)
    if chance < ERROR / 10 or unlikely > 1e-9:
        raise Wrong(f"chances of {chance:.2g}, and of {unlikely:.2g} for half the noise")
    return Trial(PART, f"noise of {BINS} opened sums: {size:.3f} of what was promised; half of it: {halved:.3f}")
