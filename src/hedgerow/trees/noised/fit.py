"""Noised trees from releases, wherever these come from: the driver's side, which never sees a sum without noise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import Grid
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.forest import Forest, join
from hedgerow.trees.noised.additive import AdditiveRounds, Iterate
from hedgerow.trees.noised.cut_search import NoisedSearch
from hedgerow.trees.noised.forests import DrawnRound, Scale, additive_forest, drawn_forest, with_bases
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.random_trees import first_values, leaf_values
from hedgerow.trees.noised.rule import N_LEAVES, ROW_UNITS, Schedule, Terms, require, schedule

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class Opened(Protocol):
    """What is released before the schedule is known, each word with its noise."""

    def rows(self) -> I64:
        """The number of rows."""

    def counts(self, asked: Prefixes) -> I64:
        """Rows with each prefix."""


class Releases(Opened, Protocol):
    """Sums over all rows, each word with the noise of the schedule: what `OwnSums` says, plus noise."""

    def begin(self, grid: Grid, schedule: Schedule, trees: PublicTrees) -> None:
        """Tell what is agreed on."""

    def bin_counts(self) -> I64:
        """Rows in each bin."""

    def additive(self, round_: int, base: F32, values: F32) -> I64:
        """Gradients in each bin under these scores."""

    def restart(self, base: F32, values: F32) -> None:
        """Tell the scores from which random trees begin."""

    def leaves(self, round_: int, values: F32) -> I64:
        """Gradients and hessians of the round's tree; `values` are those of the tree before it, none at first."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """What was learnt."""

    base: float
    forest: Forest
    grid: Grid
    schedule: Schedule


Rule = Callable[[Terms, float], Schedule]
"""What follows from the terms and the noised number of rows."""


def fit(releases: Releases, terms: Terms, n_categories: I64, seed: int, rule: Rule = schedule) -> Fitted:
    """Grow the forest; `n_categories` is 0 for a numeric column. Everything returned is made of noised sums alone."""
    plan = rule(terms, float(releases.rows()[0]) / ROW_UNITS)
    grid = noised_grid(releases, plan, n_categories)
    trees = PublicTrees(grid, seed)
    releases.begin(grid, plan, trees)
    scale = Scale.of(terms)
    forests, start = [], Iterate.zero(grid, terms)
    if plan.additive is not None:
        rounds = AdditiveRounds(grid, plan, releases.bin_counts())
        for round_ in range(plan.additive.rounds):
            rounds.take(releases.additive(round_, *rounds.now.told))
        start = rounds.averaged()
        forests.append(additive_forest(grid, start, rounds.rows, scale))
    if plan.trees is not None:
        start, forest = _random_trees(releases, plan, trees, start)
        forests.append(forest)
    return Fitted(scale.base(start), join(forests), grid, plan)


def _random_trees(releases: Releases, plan: Schedule, trees: PublicTrees, start: Iterate) -> tuple[Iterate, Forest]:
    """Drawn trees from these scores on; where there was nothing before, the first one's sums tell the first score."""
    releases.restart(*start.told)
    rounds, values = [], np.empty(0, np.float32)
    for round_ in range(require(plan.trees).rounds):
        words = releases.leaves(round_, values)
        if round_ == 0 and plan.additive is None:
            values = first_values(plan, words)
            start = Iterate(start.base + values[::N_LEAVES], start.values)
            continue
        values, covers = leaf_values(plan, words)
        rounds.append(DrawnRound(round_, values, covers))
    forest = drawn_forest(trees, rounds, Scale.of(plan.terms))
    return start, with_bases(forest, start) if plan.additive is None else forest


def noised_grid(releases: Opened, plan: Schedule, n_categories: I64) -> Grid:
    """Cut points of numeric columns by noised counts; a bin for each category; always one for what is missing."""
    search = NoisedSearch(plan, np.flatnonzero(n_categories == 0))
    while len((asked := search.ask()).column):
        search.tell(asked, releases.counts(asked))
    cuts, starts = search.cuts(len(n_categories))
    parts = [
        np.arange(1, n, dtype=np.float32) if n else cuts[starts[c] : starts[c + 1]] for c, n in enumerate(n_categories)
    ]
    every = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return Grid(np.concatenate(parts), every, np.ones(len(parts), np.bool_), n_categories > 0)
