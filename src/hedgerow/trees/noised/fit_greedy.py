"""Greedy noised trees of one table: first what is fixed before the trees, then the trees, all of it from releases."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.boost import Callback
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.fit import noised_grid
from hedgerow.trees.noised.greedy import Draw, root_mean, root_words
from hedgerow.trees.noised.greedy_rule import Chosen, GreedySchedule, greedy_schedule
from hedgerow.trees.noised.growing import GreedyTrees, Start, boost_noised
from hedgerow.trees.noised.rule import ROW_UNITS, Opening, Terms, opening
from hedgerow.trees.noised.sums import OwnSums
from hedgerow.trees.params import TreeParams

I64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GreedyFit:
    """What was learnt."""

    forest: Forest
    start: Start
    schedule: GreedySchedule


Rule = Callable[[Terms, float, Chosen], GreedySchedule]
"""What follows from the terms, the noised number of rows and what the user set."""


class NoisedOpening:
    """The first releases of one table: the number of rows, and counts for cut points."""

    def __init__(self, own: OwnSums, first: Opening, draw: Draw) -> None:
        self.own, self.first, self.draw = own, first, draw

    def rows(self) -> I64:
        """The number of rows with noise."""
        return self.own.rows() + self.draw(1, self.first.rows.variance)

    def counts(self, asked: Prefixes) -> I64:
        """Rows with each prefix, with noise."""
        assert self.first.cuts is not None
        return self.own.counts(asked) + self.draw(len(asked.column), self.first.cuts.variance)


def fit_greedy(
    own: OwnSums,
    loss: Loss,
    params: TreeParams,
    chosen: Chosen,
    n_categories: I64,
    draw: Draw,
    callbacks: Sequence[Callback] = (),
    rule: Rule = greedy_schedule,
) -> GreedyFit:
    """Grow the forest of a table; `n_categories` is 0 for a numeric column."""
    releases = NoisedOpening(own, opening(own.terms), draw)
    schedule = rule(own.terms, float(releases.rows()[0]) / ROW_UNITS, chosen)
    grid = noised_grid(releases, schedule.before, n_categories)
    own.begin(grid, schedule.before, params.random_state)
    trees, words = GreedyTrees(schedule), None
    if schedule.root is not None:
        words = root_words(own.targets) + draw(2, schedule.root.variance)
    start = Start(grid, loss, first_score(schedule, loss, words), trees.params(params))
    rows = trees.own_rows(own.matrix, own.own.labels, start, own.threads)
    return GreedyFit(boost_noised(trees, rows, start, draw, own.threads, callbacks).forest, start, schedule)


def first_score(schedule: GreedySchedule, loss: Loss, noised_words: I64 | None) -> float:
    """The score of every row before the first tree; several scores begin at 0."""
    if noised_words is None:
        return 0.0
    low, high = schedule.terms.label_range or (0.0, 1.0)
    return float(np.float32(loss.base_score(low + (high - low) * root_mean(noised_words))))
