"""What both kinds of noised trees that are grown level by level have in common: a party's rows, and the driver's.

Cuts are chosen from noised histograms (`greedy`), or from FedTree's (`laplace`). Wherever the rows lie, they are grown
by the one growing loop, in `boost`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.trees.bins import BinMatrix, Grid
from hedgerow.trees.boost import Boosted, Callback, boost
from hedgerow.trees.grow import Growth, Rows
from hedgerow.trees.local import RoundSettings, Sample
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.clipped_rows import Clip, ClippedRows, clip_gradients, clip_jointly
from hedgerow.trees.noised.greedy import Draw, NoisedRows, root_words, untold_sums
from hedgerow.trees.noised.greedy_rule import GreedySchedule
from hedgerow.trees.noised.laplace import CLIP, LaplaceRows, LaplaceSchedule, laplace_noise
from hedgerow.trees.params import TreeParams
from hedgerow.trees.sampling import ColumnSampler
from hedgerow.trees.splits import Rules

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class Start(NamedTuple):
    """What is fixed before the first tree."""

    grid: Grid
    loss: Loss
    base: float
    params: TreeParams


class Level(NamedTuple):
    """Which sums are told at once: those of so many nodes, or leaves."""

    n_nodes: int
    width: int
    leaves: bool

    @property
    def n_words(self) -> int:
        """How many numbers that are."""
        return 2 * self.n_nodes * (1 if self.leaves else self.width)


class NoisedTrees(Protocol):
    """How trees are grown from noised sums."""

    @property
    def clip(self) -> Clip:
        """How far a row reaches."""

    def params(self, given: TreeParams) -> TreeParams:
        """What the user set, with what follows from the schedule."""

    def own_rows(self, matrix: BinMatrix, labels: F32, start: Start, threads: int) -> ClippedRows:
        """Rows of one table at the first score; their sums are without noise."""

    def noise(self, level: Level, draw: Draw, honest: int = 1) -> I64:
        """Noise of the words of a level, or one of the shares of which so many are certain to be added."""

    def settled(self, rows: Rows, grid: Grid, draw: Draw | None) -> Rows:
        """Rows for the growing loop: their sums get noise, or have it (no `draw`), and are made fit for it."""


@dataclass(frozen=True)
class GreedyTrees:
    """Gaussian noise on jointly clipped gradients and hessians."""

    schedule: GreedySchedule

    @property
    def clip(self) -> Clip:
        """How far a row reaches."""
        return self.schedule.clip

    def params(self, given: TreeParams) -> TreeParams:
        """What the user set, and what the rule chose."""
        rule = self.schedule
        return replace(
            given,
            n_estimators=rule.n_trees,
            max_depth=rule.max_depth,
            learning_rate=rule.learning_rate,
            max_bin=rule.max_bin,
            min_child_weight=max(given.min_child_weight, rule.least_side),
        )

    def own_rows(self, matrix: BinMatrix, labels: F32, start: Start, threads: int) -> ClippedRows:
        """Rows of one table; labels beyond the declared range count as its nearer end."""
        terms = self.schedule.terms
        within = labels if terms.label_range is None else np.clip(labels, *terms.label_range)
        settings = RoundSettings.of(start.params, start.loss, self.clip.scales, start.base)
        sample = _sample(matrix, within.astype(np.float32, copy=False), start)
        return ClippedRows(sample, settings, threads, self.clip.units, untold_sums(start.grid, terms), clip_jointly)

    def noise(self, level: Level, draw: Draw, honest: int = 1) -> I64:
        """Every word has its own."""
        planned = self.schedule.leaves if level.leaves else self.schedule.level
        return draw(level.n_words, -(-planned.variance // honest))

    def root_words(self, targets: F32) -> I64:
        """What is released of a table's labels before the first tree."""
        return root_words(targets)

    def settled(self, rows: Rows, grid: Grid, draw: Draw | None) -> Rows:
        """See `greedy`."""
        return NoisedRows(rows, grid, self.schedule, draw)


@dataclass(frozen=True)
class LaplaceTrees:
    """FedTree's, which promise nothing: see `laplace`."""

    schedule: LaplaceSchedule

    @property
    def clip(self) -> Clip:
        """How far a gradient reaches."""
        return CLIP

    def params(self, given: TreeParams) -> TreeParams:
        """Hessians are 1."""
        return replace(given, constant_hessian=True)

    def own_rows(self, matrix: BinMatrix, labels: F32, start: Start, threads: int) -> ClippedRows:
        """Rows of one table, whose gradients are cut one by one."""
        settings = RoundSettings.of(start.params, start.loss, CLIP.scales, start.base)
        return self.clipped(_sample(matrix, labels, start), settings, start.grid, threads)

    def clipped(self, sample: Sample, settings: RoundSettings, grid: Grid, threads: int) -> ClippedRows:
        """Rows with the scores that some trees gave them."""
        untold = np.array([int(grid.offsets[-1])])
        return ClippedRows(sample, settings, threads, CLIP.units, untold, clip_gradients, leaves_told=False)

    def noise(self, level: Level, draw: Draw, honest: int = 1) -> I64:  # noqa: ARG002  # each adds all of it
        """On gradients alone, and none on leaves, which are not told."""
        if level.leaves:
            return np.zeros(level.n_words, np.int64)
        return laplace_noise(self.schedule, level.n_nodes, level.width, draw).reshape(-1)

    def settled(self, rows: Rows, grid: Grid, draw: Draw | None) -> Rows:
        """See `laplace`."""
        return LaplaceRows(rows, grid, self.schedule, draw)


def _sample(matrix: BinMatrix, labels: F32, start: Start) -> Sample:
    scores = np.full((start.loss.n_trees, matrix.n_rows), start.base, np.float32)
    return Sample(matrix, labels, np.empty(0, np.float32), np.empty(0, np.uint64), scores)


def boost_noised(
    trees: NoisedTrees, rows: Rows, start: Start, draw: Draw | None, threads: int, callbacks: Sequence[Callback] = ()
) -> Boosted:
    """Grow the trees; `rows` are where their sums come from."""
    params, scales = start.params, trees.clip.scales
    sampler = ColumnSampler(start.grid.n_columns, params.colsample_bytree, params.colsample_bynode, params.random_state)
    growth = Growth(start.grid, Rules.of(params, scales), sampler, params.max_depth, threads, subtracts=False)
    return boost(trees.settled(rows, start.grid, draw), growth, params, scales, start.loss.n_trees, callbacks=callbacks)
