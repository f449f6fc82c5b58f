"""Greedy noised trees from releases, wherever these come from: first what is fixed before the trees, then the trees."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.boost import Callback
from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import Rows
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.fit import Opened, noised_grid
from hedgerow.trees.noised.greedy import root_mean
from hedgerow.trees.noised.greedy_rule import Chosen, GreedySchedule, greedy_schedule
from hedgerow.trees.noised.growing import GreedyTrees, Start, boost_noised
from hedgerow.trees.noised.rule import ROW_UNITS, Terms
from hedgerow.trees.params import TreeParams

I64 = NDArray[np.int64]
Rule = Callable[[Terms, float, Chosen], GreedySchedule]
"""What follows from the terms, the noised number of rows and what the user set."""


class GreedyReleases(Opened, Protocol):
    """Sums over all rows, each word with the noise of the schedule."""

    def begin_trees(self, start: Start, schedule: GreedySchedule) -> None:
        """Tell what is agreed on; the first score in it is not known yet."""

    def root(self) -> I64:
        """How many rows there are, and how far their labels lie from the middle."""

    def rows_at(self, start: Start) -> Rows:
        """Rows at the first score, whose sums have their noise."""


@dataclass(frozen=True, eq=False)
class GreedyFit:
    """What was learnt."""

    forest: Forest
    start: Start
    schedule: GreedySchedule


@dataclass(frozen=True, eq=False)
class GreedyTask:
    """What is to be learnt, and how."""

    terms: Terms
    loss: Loss
    params: TreeParams
    n_categories: I64
    """Of each column; 0 for a numeric one."""
    threads: int = 1
    callbacks: Sequence[Callback] = ()
    rule: Rule = greedy_schedule


def fit_greedy(releases: GreedyReleases, task: GreedyTask) -> GreedyFit:
    """Grow the forest. Everything returned is made of noised sums alone."""
    n_rows = float(releases.rows()[0]) / ROW_UNITS
    schedule = task.rule(task.terms, n_rows, chosen_of(task.params))
    trees = GreedyTrees(schedule)
    grid = noised_grid(releases, schedule.before, task.n_categories)
    start = Start(grid, task.loss, 0.0, trees.params(task.params))
    releases.begin_trees(start, schedule)
    if schedule.root is not None:
        start = start._replace(base=first_score(schedule, task.loss, releases.root()))
    done = boost_noised(trees, releases.rows_at(start), start, None, task.threads, task.callbacks)
    return GreedyFit(done.forest, start, schedule)


def chosen_of(params: TreeParams) -> Chosen:
    """What the user set to something else than the default; the rule chooses the others."""
    default = TreeParams()
    names = ("n_estimators", "max_depth", "learning_rate", "max_bin")
    given = {name: getattr(params, name) for name in names if getattr(params, name) != getattr(default, name)}
    return Chosen(**given)


def first_score(schedule: GreedySchedule, loss: Loss, noised_words: I64) -> float:
    """The score of every row before the first tree."""
    low, high = schedule.terms.label_range or (0.0, 1.0)
    return float(np.float32(loss.base_score(low + (high - low) * root_mean(noised_words))))
