"""A party's own noised words: its share of the noise of each release, in its ledger before anything leaves.

Sees in the clear.  Its own exact sums. Gives away nothing by itself: words that have their noise, for the masks.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hedgerow.model.noised_terms import all_released, own_share, released
from hedgerow.privacy import noise
from hedgerow.privacy.noised_words import NoisedWords
from hedgerow.protocols.noised.places import Place
from hedgerow.protocols.noised.promises import dp_of
from hedgerow.protocols.noised.told import AnySchedule
from hedgerow.protocols.session.noised_releases import releases_of
from hedgerow.protocols.session.owner import PartyContext
from hedgerow.trees.noised.rule import Terms, opening

Words = NDArray[np.int64]


class OwnReleases:
    """Own noised words: the share of noise of each release, in the ledger before anything leaves."""

    def __init__(self, context: PartyContext, terms: Terms) -> None:
        dp = dp_of(context.plan)
        self.shares = len(context.plan.members), dp.colluders
        planned = all_released(opening(terms).planned, *self.shares)
        self.words: NoisedWords = releases_of(context.owner, context.plan, planned, more_to_come=True)
        self._all_planned = False

    def plan_rest(self, told: AnySchedule) -> None:
        """What else is released, now that the number of rows is told, once for the run; refused beyond the budget."""
        if not self._all_planned:
            self.words.ledger.plan(all_released(told.planned[len(told.opening.planned) :], *self.shares))
            self._all_planned = True

    def noised(self, place: Place, told: bytes, own_words: Callable[[], Words]) -> Words:
        """Own words of a release with this party's share of its noise: drawn once, kept, counted, and only then given.

        Whoever asks for a release has the sums of those before it, so that their words are forgotten.
        """
        release, variance = released(place.planned, *self.shares), own_share(place.planned, *self.shares)
        if self.words.kept.read(place.key, release, told) is None:
            self.words.kept.forget()

        def draw() -> Words:
            exact = own_words()
            return exact + noise.gaussian(len(exact), variance)

        return self.words.words(place.key, release, told, draw, anew=False)
