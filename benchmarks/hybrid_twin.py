"""Trains on one table by a schedule of levels: the forest of a hybrid run whose passive parties share their columns.

Nothing is encrypted or exchanged, so that accuracy over many seeds costs little. That the forest is the same is the
claim of `tests/equal`, and `hybrid_gap` looks again on the sets that are measured.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.model.model import Model
from hedgerow.model.prepare import growth_of
from hedgerow.model.train import Task, prepare
from hedgerow.protocols.vertical.active import completed
from hedgerow.protocols.vertical.columns import ACTIVE_ONLY, JOINT, PASSIVE_ONLY, levels_of
from hedgerow.trees.boost import boost
from hedgerow.trees.drawn_cuts import DrawnCuts
from hedgerow.trees.local import LocalRows
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Cuts, Nodes


class ScheduledRows(LocalRows):
    """Rows of one table, of whose columns only some compete at each level: the others have all rows in the last bin."""

    def __init__(self, rows: LocalRows, levels: str, n_own: int) -> None:
        super().__init__(rows.own, rows.settings, rows.threads, rows.held_out)
        self.levels, self.depth = levels, 0
        self.bins: NDArray[np.int64] = np.diff(self.own.matrix.offsets.astype(np.int64)).astype(np.int64)
        self.n_own = n_own

    @property
    def _letter(self) -> str:
        return self.levels[self.depth] if self.levels else JOINT

    def start_round(self, round_: int) -> None:
        """All rows are at the roots again."""
        self.depth = 0
        super().start_round(round_)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """And go down a level."""
        self.depth += 1
        return super().divide(cuts)

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """Sums of the columns that compete here."""
        sums, own = super().histograms(nodes), self.bins[: self.n_own]
        n = int(own.sum())
        if self._letter == PASSIVE_ONLY:
            sums[:, :n] = completed(None, own, sums[:, -1])
        if self._letter == ACTIVE_ONLY:
            sums[:, n:-1] = completed(None, self.bins[self.n_own :], sums[:, -1])
        return sums


def train_by(
    table: Table, params: TreeParams, task: Task, levels: str, n_own: int, drawn: Sequence[tuple[int, int]] = ()
) -> Model:
    """Of the table's columns the first `n_own` are the active party's.

    With `drawn`, the columns of each group or party from the first to before the last, cuts at levels P are random.
    """
    ready = prepare(table, params, task)
    rows = ScheduledRows(ready.rows, levels, n_own)
    growth = growth_of(ready.fixed.grid, ready.params, ready.fixed.scales, task.threads)
    growth = replace(growth, levels=levels_of(levels))
    if drawn:
        depths, every = frozenset(i for i, letter in enumerate(levels) if letter == PASSIVE_ONLY), np.ones(len(drawn))
        cuts = DrawnCuts(growth.grid, drawn, depths, params.random_state, lambda _: every.astype(np.bool_))
        growth = replace(growth, given=cuts)
    done = boost(rows, growth, ready.params, ready.fixed.scales, task.loss.n_trees, ready.stopping)
    return ready.model(done, ready.columns)
