"""The driver's side: sums with noise over all parties, each asked for once and kept.

The folder has the conversation and who sees what.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import (
    AskNoisedCounts,
    AskNoisedLevel,
    AskNoisedRoot,
    AskNoisedSums,
    BeginNoised,
    Done,
)
from hedgerow.corridor.wire import encode
from hedgerow.errors import ProtocolError
from hedgerow.protocols.noised.places import Kind, Place, opening_places, places
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Opened, Progress
from hedgerow.trees.bins import Grid
from hedgerow.trees.boost import Callback, Round
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.noised.greedy_rule import GreedySchedule
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.rule import N_LEAVES, Schedule, Terms, opening
from hedgerow.trees.noised.sums import n_words

F32: TypeAlias = NDArray[np.float32]
I64: TypeAlias = NDArray[np.int64]
Asking = AskNoisedCounts | AskNoisedSums | AskNoisedRoot | AskNoisedLevel
NO_SCORES = np.empty(0, np.float32)
NO_PREFIXES = Prefixes(np.empty(0, np.int32), np.empty(0, np.uint32), np.empty(0, np.uint8))


class Entries(Protocol):
    """The driver's ledger."""

    def plan_rest(self, told: Schedule | GreedySchedule) -> None:
        """All releases are known."""

    def enter(self, place: Place, request: bytes) -> None:
        """A release is about to be asked for by this request; on disk when it returns."""


class GroupReleases:
    """What `fit` asks for, from all parties together; sums that were opened before are told and not asked for again."""

    def __init__(
        self, group: SummingGroup, terms: Terms, progress: Progress, entries: Entries, callbacks: Sequence[Callback]
    ) -> None:
        self.group, self.terms, self.progress, self.entries, self.callbacks = group, terms, progress, entries, callbacks
        self.places = opening_places(opening(terms))
        self.level = 0
        """How many levels of prefixes were counted."""
        self.restarted = (NO_SCORES, NO_SCORES)
        self.grid: Grid | None = None
        self.n_told = 0

    def rows(self) -> I64:
        """What becomes known to the driver: the number of all rows, with noise."""
        return self._counts(self.place("rows"), NO_PREFIXES, 1)

    def counts(self, asked: Prefixes) -> I64:
        """What becomes known to the driver: how many of all rows have each of these prefixes, with noise."""
        place, self.level = self.place("cuts", self.level), self.level + 1
        return self._counts(place, asked, len(asked.column))

    def _counts(self, place: Place, asked: Prefixes, n: int) -> I64:
        def request(opened: bool) -> AskNoisedCounts:
            return AskNoisedCounts(place.number, opened, asked.column, asked.prefix, asked.shift)

        return self.opened(place, request, n)

    def begin(self, grid: Grid, schedule: Schedule, trees: PublicTrees) -> None:  # noqa: ARG002  # all can draw them
        """Everybody is told what is fixed, and works out the rest."""
        self.grid, self.places = grid, places(schedule)
        self.entries.plan_rest(schedule)
        begin = BeginNoised(schedule.n_rows, grid.cuts, grid.cut_starts, grid.has_missing)
        self.group.tell(begin, Done)

    def bin_counts(self) -> I64:
        """What becomes known to the driver: how many of all rows are in each bin, with noise."""
        return self._sums(self.place("bins"), NO_SCORES, NO_SCORES, self._width)

    def additive(self, round_: int, base: F32, values: F32) -> I64:
        """What becomes known to the driver: sums of all rows' gradients in each bin, with noise."""
        place = self.place("additive", round_)
        return self._sums(place, base, values, self.terms.n_scores * self._width)

    def restart(self, base: F32, values: F32) -> None:
        """The scores travel with the next request."""
        self.restarted = (base, values)

    def leaves(self, round_: int, values: F32) -> I64:
        """What becomes known to the driver: sums of all rows' gradients and hessians in the leaves, with noise."""
        place = self.place("leaves", round_)
        told = self.restarted if round_ == 0 else (NO_SCORES, values)
        return self._sums(place, *told, self.terms.n_scores * N_LEAVES * 2)

    @property
    def _width(self) -> int:
        if self.grid is None:
            raise ProtocolError("Sums of bins are asked for before there are cut points.")
        return n_words(self.grid, self.terms)

    def place(self, kind: Kind, round_: int = 0) -> Place:
        """Where this is among the releases."""
        return next(place for place in self.places if (place.kind, place.round) == (kind, round_))

    def _sums(self, place: Place, base: F32, values: F32, n: int) -> I64:
        def request(opened: bool) -> AskNoisedSums:
            return AskNoisedSums(place.number, opened, base, values)

        words = self.opened(place, request, n)
        self._tell(place)
        return words

    def opened(self, place: Place, request: Callable[[bool], Asking], n: int) -> I64:
        """The sums of a release: as they were opened before, or asked for; then they are kept before anything else."""
        state = self.progress.state
        known = next((one.words for one in state.opened if one.number == place.number), None)
        asked = request(False)
        self.entries.enter(place, encode(asked))
        if known is not None:
            self.group.tell(request(True), Done)
            return known
        words = self.group.opened_sum(asked, n, self.group.numbers)
        self.progress.keep(replace(state, opened=(*state.opened, Opened(place.number, words))))
        return words

    def _tell(self, place: Place) -> None:
        """Whoever watches, of a round that was not told before."""
        rounds = [one for one in self.places if one.kind in ("additive", "leaves")]
        number = rounds.index(place) + 1 if place in rounds else 0
        if number > self.n_told:
            self.n_told = number
            for callback in self.callbacks:
                callback(Round(number, len(rounds), None, None, None))
