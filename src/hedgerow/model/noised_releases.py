"""Releases of one table with differential privacy: each is in the ledger before its words get their noise."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.model.noised_terms import all_released, released
from hedgerow.privacy import noise
from hedgerow.privacy.ledger import Ledger
from hedgerow.trees.bins import Grid
from hedgerow.trees.boost import Callback, Round
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.rule import Planned, Schedule, opening, require
from hedgerow.trees.noised.sums import OwnSums

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]


class PooledReleases:
    """Releases of one table: each is in the ledger before its words get their noise."""

    def __init__(self, own: OwnSums, ledger: Ledger, callbacks: Sequence[Callback] = ()) -> None:
        self.own, self.ledger, self.callbacks = own, ledger, callbacks
        self.opening = opening(own.terms)
        self.schedule: Schedule | None = None
        self.n_made = 0
        self.n_rounds = 0

    def rows(self) -> I64:
        """What becomes known: the number of rows, with noise."""
        return self.noised(self.opening.rows, self.own.rows())

    def counts(self, asked: Prefixes) -> I64:
        """What becomes known: rows with each prefix, with noise."""
        return self.noised(require(self.opening.cuts), self.own.counts(asked))

    def begin(self, grid: Grid, schedule: Schedule, trees: PublicTrees) -> None:
        """All other releases are known now, and planned."""
        self.ledger.plan(all_released(schedule.planned[len(self.opening.planned) :]))
        self.schedule = schedule
        self.own.begin(grid, schedule, trees)

    def bin_counts(self) -> I64:
        """What becomes known: rows in each bin, with noise."""
        return self.noised(require(self._plan.additive).counts, self.own.bin_counts())

    def additive(self, round_: int, base: F32, values: F32) -> I64:
        """What becomes known: gradients in each bin, with noise."""
        noised = self.noised(require(self._plan.additive).gradients, self.own.additive(round_, base, values))
        self._tell()
        return noised

    def restart(self, base: F32, values: F32) -> None:
        """Rows have these scores from now on."""
        self.own.restart(base, values)

    def leaves(self, round_: int, values: F32) -> I64:
        """What becomes known: gradients and hessians in each leaf, with noise."""
        if len(values):
            self.own.follow(round_ - 1, values)
        noised = self.noised(require(self._plan.trees).leaves, self.own.leaves(round_))
        self._tell()
        return noised

    @property
    def _plan(self) -> Schedule:
        return require(self.schedule)

    def noised(self, planned: Planned, own_words: I64) -> I64:
        """Words of a release with their noise, once it is in the ledger."""
        self.n_made += 1
        self.ledger.release(f"{planned.what} {self.n_made}", replace(released(planned), times=1))
        return own_words + self.noise(len(own_words), planned)

    def noise(self, n: int, planned: Planned) -> I64:
        """As much as is planned, and never less."""
        return noise.gaussian(n, planned.variance)

    def _tell(self) -> None:
        self.n_rounds += 1
        for callback in self.callbacks:
            callback(Round(self.n_rounds, self._plan.rounds, None, None, None))
