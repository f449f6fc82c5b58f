"""How the driver carries a run with noised sums from the first count to the model.

The folder has the conversation and who sees what.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from hedgerow.corridor.messages import Facts
from hedgerow.errors import PartyLost
from hedgerow.model.model import Model
from hedgerow.model.noised_terms import terms_of
from hedgerow.model.prepare import n_categories
from hedgerow.protocols.columns import Common, assemble
from hedgerow.protocols.horizontal.attempt import attempt
from hedgerow.protocols.noised.driver import GroupReleases
from hedgerow.protocols.noised.opened_ledger import OpenedLedger
from hedgerow.protocols.noised.promises import dp_of, promise_of, taken_as_known
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Progress
from hedgerow.trees.noised.fit import fit
from hedgerow.trees.noised.rule import Terms


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
        terms = self._begun(shared)
        releases = GroupReleases(group, terms, self.progress, self.ledger, driver.callbacks)
        fitted = fit(releases, terms, n_categories(shared.columns), plan.params.random_state)
        model = assemble(plan, shared, fitted.base, fitted.forest)
        return self._promising(model)

    def _begun(self, shared: Common) -> Terms:
        """What is known before the first release; the ledger begins, and the user is told what is taken as known."""
        dp, driver = dp_of(self.progress.driver.plan), self.progress.driver
        for sentence in taken_as_known(dp, shared):
            driver.note(sentence)
        terms = terms_of(dp, shared.columns, len(shared.classes))
        self.ledger.begin(terms)
        return terms

    def _promising(self, model: Model) -> Model:
        """The model with what is promised of it, once all was released."""
        plan, spent = self.progress.driver.plan, self.ledger.ledger.finish()
        return replace(model, promise=promise_of(plan, spent, model.columns, model.classes))
