"""How the driver carries a run with noised sums from the first count to the model.

The folder has the conversation and who sees what.
"""

import hashlib
from collections.abc import Mapping
from functools import partial

from hedgerow.corridor.messages import Facts
from hedgerow.errors import PartyLost
from hedgerow.model.model import Model
from hedgerow.model.noised_terms import released, terms_of
from hedgerow.model.prepare import n_categories
from hedgerow.protocols.columns import Common, assemble
from hedgerow.protocols.horizontal.attempt import attempt
from hedgerow.protocols.noised.driver import GroupReleases
from hedgerow.protocols.noised.places import Place
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.session.noised_words import RunLedger
from hedgerow.protocols.state import Progress
from hedgerow.trees.noised.fit import fit
from hedgerow.trees.noised.rule import opening


class NoisedRun:
    """The driver's way through a horizontal run with differential privacy and trees of public shapes."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def attempt(self, group: SummingGroup, facts: Mapping[str, Facts]) -> Model:
        """What becomes known to the driver: what `columns` and the folder say."""
        return attempt(self.progress, group, facts, partial(self._train, group))

    def goes_on(self, loss: PartyLost) -> bool:  # noqa: ARG002  # whoever is lost
        """Never without a party, whose share of the noise would be missing."""
        return False

    def _train(self, group: SummingGroup, shared: Common) -> Model:
        plan, driver = group.plan, self.progress.driver
        terms = terms_of(plan.dp, shared.columns, len(shared.classes))
