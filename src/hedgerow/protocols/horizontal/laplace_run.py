"""Both sides of a horizontal run with FedTree's noise: as every other, but for what `laplace` says."""

from hedgerow.model.laplace_train import laplace_notes
from hedgerow.model.model import Model
from hedgerow.protocols.columns import Common
from hedgerow.protocols.horizontal.batch import Pending
from hedgerow.protocols.horizontal.laplace import LaplaceSender, laplace_of
from hedgerow.protocols.horizontal.party import HorizontalParty
from hedgerow.protocols.horizontal.run import HorizontalRun
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.session.owner import Attempt
from hedgerow.protocols.session.shell import Table


class LaplaceParty(HorizontalParty):
    """Adds noise to every histogram."""

    def introduced(self, attempt: Attempt) -> Table[Pending]:
        """Sums leave with noise, under masks."""
        return self.begin_attempt(attempt, LaplaceSender(self.context, attempt))


class LaplaceRun(HorizontalRun):
    """Says what the noise is worth."""

    def _train(self, group: SummingGroup, shared: Common) -> Model:
        trees, dp = laplace_of(group.plan, len(shared.columns)), group.plan.method.dp
        if trees is not None and dp is not None:
            for note in laplace_notes(trees.schedule, dp.delta):
                self.progress.driver.note(note)
        return super()._train(group, shared)
