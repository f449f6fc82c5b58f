"""How the driver carries a run of greedy trees with differential privacy from the first count to the model.

The folder has the conversation and who sees what.
"""

from dataclasses import replace

from hedgerow.model.model import Model
from hedgerow.model.prepare import n_categories
from hedgerow.protocols.columns import Common, assemble, loss_of
from hedgerow.protocols.horizontal.run import RoundCallbacks
from hedgerow.protocols.noised.greedy_driver import GroupTrees
from hedgerow.protocols.noised.run import NoisedRun
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Progress
from hedgerow.trees.boost import Round
from hedgerow.trees.noised.fit_greedy import GreedyTask, fit_greedy


class GreedyRun(NoisedRun):
    """The driver's way through a horizontal run whose cuts are chosen from noised histograms."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress)
        self.callbacks = RoundCallbacks(progress.driver.callbacks)

    def _told(self, round_: Round) -> None:
        """Whoever watches; nobody ends a run whose noise is planned."""
        self.callbacks(round_)

    def _train(self, group: SummingGroup, shared: Common) -> Model:
        plan, driver = group.plan, self.progress.driver
        terms = self._begun(shared)
        releases = GroupTrees(group, terms, self.progress, self.ledger, ())
        loss, sizes = loss_of(plan, shared.classes), n_categories(shared.columns)
        task = GreedyTask(terms, loss, plan.params, sizes, driver.threads, (self._told,))
        fitted = fit_greedy(releases, task)
        model = replace(assemble(plan, shared, fitted.start.base, fitted.forest), params=fitted.start.params)
        return self._promising(model)
