"""FedTree's noise over parties, for comparison only: there is no epsilon that holds for such a run.

    driver                        party
    AskHistograms   ----------->  cuts its gradients to 1, sums them, adds all of FedTree's noise, masks
                    <-----------  NoisedSums: sums of gradients with noise, numbers of rows without
    everything else               as in every horizontal run; sums of leaves are not told, they follow from the levels

Sees in the clear.  Driver: over all parties, gradients per node and bin with every party's noise; numbers of rows, cut
                    points and the mean label as they are.
"""

import numpy as np

from hedgerow.agreement.plan import Plan
from hedgerow.errors import ProtocolError
from hedgerow.privacy import noise
from hedgerow.protocols.horizontal.batch import PendingSums
from hedgerow.protocols.horizontal.steps import Adds, MaskedSender, Parties, Reply, Words
from hedgerow.protocols.party_rows import PartyRows, RowsAfter
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.trees.bins import Grid
from hedgerow.trees.forest import Forest
from hedgerow.trees.local import LocalRows, Step
from hedgerow.trees.noised.growing import LaplaceTrees, Level
from hedgerow.trees.noised.laplace import LaplaceSchedule


def laplace_of(plan: Plan, n_columns: int) -> LaplaceTrees | None:
    """How a plan with FedTree's noise grows trees over so many columns; None for all other plans."""
    dp, params = plan.method.dp, plan.params
    if dp is None or dp.promises:
        return None
    return LaplaceTrees(LaplaceSchedule(dp.epsilon, params.n_estimators, params.max_depth, n_columns))


def clipped(rows_after: RowsAfter, trees: LaplaceTrees, grid: Grid) -> RowsAfter:
    """The same rows with gradients cut as FedTree cuts them."""

    def after(forest: Forest) -> PartyRows:
        rows = rows_after(forest)
        if not isinstance(rows, LocalRows):
            raise ProtocolError("FedTree's noise goes with rows in a table here only, not on a cluster.")
        return trees.clipped(rows.own, rows.settings, grid, rows.threads)

    return after


class LaplaceSender(MaskedSender):
    """Sums of a party with all of FedTree's noise."""

    def __init__(self, context: PartyContext, attempt: Attempt) -> None:
        super().__init__(context, attempt)
        trees = laplace_of(context.plan, 0)
        if trees is None:
            raise ProtocolError("The plan of this run does not have FedTree's noise.")
        self.trees = trees

    def steps(self, rows: PartyRows, steps: tuple[Step, ...], parties: Parties, beside: Words, adds: Adds) -> Reply:
        """See `SumSender`."""
        pads = self._pads(parties) if parties else None
        own = [self._noise(step) for step in steps] if parties else []
        words = np.concatenate([*own, np.zeros(len(beside), np.int64)]) if own else None
        return PendingSums(rows, steps, pads, bool(parties), self.sent, beside, adds=adds, noise=words)

    def _noise(self, step: Step) -> Words:
        width = int(step.parts[0][0].offsets[-1]) + 1
        level = Level(len(step.nodes.tree), width, step.leaves)
        return self.trees.noise(level, lambda n, scale: noise.laplace(n, scale))
