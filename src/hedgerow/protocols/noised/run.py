"""How the driver carries a run with noised sums from the first count to the model.

The folder has the conversation and who sees what.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from hedgerow.agreement.dp import DP
from hedgerow.agreement.dp_words import NEIGHBOURS, SCOPE, adversary
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Facts
from hedgerow.errors import ParameterError, PartyLost, ProtocolError
from hedgerow.model.model import Model
from hedgerow.model.noised_terms import all_released, released, terms_of
from hedgerow.model.prepare import n_categories
from hedgerow.privacy.accountant import Release, Spent
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.privacy.promise import Promise, promised
from hedgerow.protocols.columns import Common, assemble
from hedgerow.protocols.horizontal.attempt import attempt
from hedgerow.protocols.noised.driver import GroupReleases
from hedgerow.protocols.noised.places import Place
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Progress
from hedgerow.trees.noised.fit import fit
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


class NoisedRun:
    """The driver's way through a horizontal run with differential privacy and trees of public shapes."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.ledger = OpenedLedger(progress, dp_of(progress.driver.plan))

    def attempt(self, group: SummingGroup, facts: Mapping[str, Facts]) -> Model:
        """What becomes known to the driver: what `columns` and the folder say."""
        return attempt(self.progress, group, facts, partial(self._train, group))

    def goes_on(self, loss: PartyLost) -> bool:  # noqa: ARG002  # whoever is lost
        """Never without a party, whose share of the noise would be missing."""
        return False

    def _train(self, group: SummingGroup, shared: Common) -> Model:
        plan, driver = group.plan, self.progress.driver
        for sentence in taken_as_known(dp_of(plan), shared):
            driver.note(sentence)
        terms = terms_of(dp_of(plan), shared.columns, len(shared.classes))
        self.ledger.begin(terms)
        releases = GroupReleases(group, terms, self.progress, self.ledger, driver.callbacks)
        fitted = fit(releases, terms, n_categories(shared.columns), plan.params.random_state)
        model = assemble(plan, shared, fitted.base, fitted.forest)
        return replace(model, promise=promise_of(plan, self.ledger.ledger.finish()))


def taken_as_known(dp: DP, shared: Common) -> Iterator[str]:
    """What tables tell without noise because nobody has declared it; refuses categories of a column that has none."""
    categorical = {column.name for column in shared.columns if column.kind == "categorical"}
    declared = {name for name, _ in dp.categories}
    if strange := sorted(declared - categorical):
        raise ParameterError(f"Categories are declared of {strange[0]!r}, which is no categorical column of the run.")
    for what, is_taken in (("classes", shared.classes and not dp.classes), ("categories", categorical - declared)):
        if is_taken:
            yield (
                f"The {what} in the tables are taken as known to everybody, though a rare one would tell of a single "
                f"row; to be sure, declare them ({what} of DP, or of [privacy])."
            )


def promise_of(plan: Plan, spent: Spent) -> Promise:
    """What a run of this plan promises that has released this."""
    return promised(budget_of(plan), spent, adversary(plan), SCOPE)


def budget_of(plan: Plan) -> Budget:
    """What it may cost."""
    dp = dp_of(plan)
    return Budget(dp.epsilon, dp.delta, dp.unit, NEIGHBOURS)


def dp_of(plan: Plan) -> DP:
    """What the plan promises; it does."""
    if plan.method.dp is None:
        raise ProtocolError("The plan promises no differential privacy.")
    return plan.method.dp
