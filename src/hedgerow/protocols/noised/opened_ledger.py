"""The driver's own ledger of what it opens, beside those of the parties.

Sees in the clear.  Kinds of releases and their noise, which the plan says too.
"""

import hashlib

from hedgerow.agreement.dp import DP
from hedgerow.errors import ProtocolError
from hedgerow.model.noised_terms import all_released, released
from hedgerow.privacy.accountant import Release
from hedgerow.privacy.ledger import Ledger
from hedgerow.protocols.noised.places import Place
from hedgerow.protocols.noised.promises import budget_of
from hedgerow.protocols.state import Progress
from hedgerow.trees.noised.greedy_rule import GreedySchedule
from hedgerow.trees.noised.rule import Planned, Schedule, Terms, opening


class OpenedLedger:
    """What the driver opens, in its log before it is asked for; refused beyond what the plan promises.

    One for all attempts of this process.
    """

    def __init__(self, progress: Progress, dp: DP) -> None:
        self.progress, self.plan, self.dp = progress, progress.driver.plan, dp
        self._ledger: Ledger | None = None
        self._all_planned = False

    def begin(self, terms: Terms) -> None:
        """The releases before the schedule is known; in another attempt they are those of the first."""
        if self._ledger is None:
            planned = self._released(opening(terms).planned)
            log, run = self.progress.driver.log, self.plan.digest.hex()
            self._ledger = Ledger(budget_of(self.plan), planned, log, run, more_to_come=True)

    @property
    def ledger(self) -> Ledger:
        """Once it has begun."""
        if self._ledger is None:
            raise ProtocolError("A release is planned before columns and classes are agreed.")
        return self._ledger

    def plan_rest(self, told: Schedule | GreedySchedule) -> None:
        """All others, once the number of rows is known."""
        if not self._all_planned:
            self.ledger.plan(self._released(told.planned[len(told.opening.planned) :]))
            self._all_planned = True

    def enter(self, place: Place, request: bytes) -> None:
        """A release is about to be asked for; the same one again, which no answer came to, is the same release."""
        release, told = released(place.planned, *self._shares), hashlib.sha256(request).digest()
        if not self.ledger.again(place.key, release, told):
            self.ledger.release(place.key, release, told)

    @property
    def _shares(self) -> tuple[int, int]:
        return len(self.plan.members), self.dp.colluders

    def _released(self, planned: tuple[Planned, ...]) -> tuple[Release, ...]:
        return all_released(planned, *self._shares)
