"""A vertical run with FedTree's noise, from the active party's own rows to a model that promises nothing.

Sees in the clear.  Its own table, and what `laplace` says.
"""

from dataclasses import replace

from hedgerow.agreement.plan import Plan
from hedgerow.errors import DataError, ParameterError
from hedgerow.model.laplace_train import laplace_notes
from hedgerow.model.train import Ready
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.state import Progress
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.prepare import prepare
from hedgerow.protocols.vertical.talk import Talk
from hedgerow.trees.fixedpoint import Scales
from hedgerow.trees.grow import Rows
from hedgerow.trees.local import LocalRows
from hedgerow.trees.noised.laplace import LaplaceSchedule
from hedgerow.trees.params import TreeParams

SIDES = (
    "On which side of every chosen cut each row is, is told to the active party without noise, too. This method is for "
    "comparison only; for a promise that holds in a vertical run say what it is for, with protects."
)
"""In place of what is said of rows."""


class NoisedHistograms:
    """A model whose cuts are chosen by histograms with FedTree's noise: it promises nothing."""

    subtracts = True
    after = None

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:  # noqa: ARG002  # nothing is counted, or promised
        self.plan = plan

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """The own rows, whose gradients are cut to 1, and whose hessians are 1; nothing becomes known."""
        if own.own_table.weights is not None:
            raise DataError("FedTree's noise is for gradients of at most 1, which weights change; leave them out.")
        ready = prepare(plan, own, threads)
        if ready.task.loss.n_trees > 1:
            raise ParameterError(
                'DP(method="laplace") is FedTree\'s way for two classes and numbers, for comparison; use another '
                "method."
            )
        scales = Scales(1.0, 1.0, ready.fixed.scales.bits)
        settings = replace(ready.rows.settings, scales=scales, constant_hessian=True)
        return replace(
            ready,
            fixed=replace(ready.fixed, scales=scales),
            rows=LocalRows(ready.rows.own, settings, threads, ready.rows.held_out),
        )

    def before(self, talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:  # noqa: ARG002  # whoever's
        """What the noise is worth is said; nothing is asked."""
        dp, params = self.plan.method.dp, self.plan.params
        if dp is None or progress.state.parts:
            return
        schedule = LaplaceSchedule(dp.epsilon, params.n_estimators, params.max_depth, joint.grid.n_columns)
        for sentence in (laplace_notes(schedule, dp.delta)[0], SIDES):
            progress.driver.note(sentence)

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[Rows, TreeParams]:  # noqa: ARG002  # whoever's
        """As they are: noise is in their sums."""
        return rows, self.plan.params

    def promise(self, joint: AllColumns) -> None:
        """Nothing is promised."""
