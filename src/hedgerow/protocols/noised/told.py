"""What a party was told in an attempt, and its own exact sums as they follow from it; nothing here is said to anybody.

Releases come in the order of the plan, each once; of the levels of cut points the last may be left out.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskNoisedCounts, AskNoisedLevel, AskNoisedRoot, AskNoisedSums
from hedgerow.corridor.wire import sized
from hedgerow.errors import ProtocolError
from hedgerow.protocols.noised.places import Kind, Place, opening_places, places
from hedgerow.trees.bins import Grid
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.noised.greedy_rule import GreedySchedule
from hedgerow.trees.noised.public_trees import PublicTrees as PublicTrees
from hedgerow.trees.noised.rule import N_LEAVES, Schedule, Terms, opening, schedule
from hedgerow.trees.noised.sums import OwnSums

Words = NDArray[np.int64]
Asked = AskNoisedCounts | AskNoisedSums | AskNoisedRoot | AskNoisedLevel
AnySchedule = Schedule | GreedySchedule


class ToldSums:
    """Own sums, as far as this attempt has come."""

    may_miss: tuple[Kind, ...] = ("cuts",)
    """Releases that the driver may leave out."""

    def __init__(self, own: OwnSums, terms: Terms) -> None:
        self.own, self.terms = own, terms
        self.places = opening_places(opening(terms))
        self.grid: Grid | None = None
        self._last = -1
        """The number of the release that was heard last."""

    @property
    def ended(self) -> bool:
        """Whether all sums were asked for."""
        return self.grid is not None and self._last == len(self.places) - 1

    def schedule(self, n_rows: float) -> AnySchedule:
        """What is released when so many rows are told."""
        return schedule(self.terms, n_rows)

    def begin(self, grid: Grid, told: AnySchedule, trees: PublicTrees) -> None:
        """Everything that is fixed before the first tree."""
        if self.grid is not None or not isinstance(told, Schedule):
            raise ProtocolError("The driver begins trees that have begun.")
        self.grid, self.places = grid, places(told)
        self.own.begin(grid, told, trees)

    def next_place(self, request: Asked) -> Place:
        """The release that is asked for; refused if it is not the next."""
        every, number = self.places, request.release
        between = every[self._last + 1 : number] if self._last < number < len(every) else None
        if (
            between is None
            or any(place.kind not in self.may_miss for place in between)
            or not self._fits(request, every[number])
        ):
            raise ProtocolError("The driver asks for sums that are not those which the plan has next.")
        return every[number]

    def _fits(self, request: Asked, place: Place) -> bool:
        if isinstance(request, AskNoisedCounts):
            return self.grid is None and place.kind == ("cuts" if len(request.column) else "rows")
        return self.grid is not None and isinstance(request, AskNoisedSums) and place.kind not in ("rows", "cuts")

    def hear(self, place: Place, request: Asked) -> None:
        """What the scores of own rows follow from: told before the sums, or again where these are known already."""
        if isinstance(request, AskNoisedSums):
            self._score(place, request)
        self._last = place.number

    def _score(self, place: Place, request: AskNoisedSums) -> None:
        n_scores = self.terms.n_scores
        whole = n_scores * self.n_bins if place.kind == "additive" or (place.kind, place.round) == ("leaves", 0) else 0
        of_leaves = n_scores * N_LEAVES if place.kind == "leaves" and place.round else 0
        sized(request.base, n_scores if whole else 0, "scores")
        sized(request.values, whole or of_leaves, "values")
        if place.kind == "leaves" and place.round == 0:
            self.own.restart(request.base, request.values)
        elif place.kind == "leaves":
            self.own.follow(place.round - 1, request.values)

    @property
    def n_bins(self) -> int:
        """Of all columns."""
        return 0 if self.grid is None else int(self.grid.offsets[-1])

    def own_words(self, place: Place, request: Asked) -> Words:
        """Own exact sums of this release, to which noise must be added."""
        if isinstance(request, AskNoisedCounts):
            if place.kind == "rows":
                return self.own.rows()
            return self.own.counts(Prefixes(request.column, request.prefix, request.shift))
        if not isinstance(request, AskNoisedSums):
            raise ProtocolError("The driver asks for sums of trees that are not grown in this run.")
        if place.kind == "bins":
            return self.own.bin_counts()
        if place.kind == "additive":
            return self.own.additive(place.round, request.base, request.values)
        return self.own.leaves(place.round)
