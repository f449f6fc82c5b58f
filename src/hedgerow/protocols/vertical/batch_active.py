"""The active party's side of one batch of noised sums; `batch` has the conversation.

Sees in the clear.  Its own table; sums of the others' columns with their noise.
"""

from dataclasses import replace

from hedgerow.agreement.plan import Plan
from hedgerow.errors import DataError, ProtocolError
from hedgerow.model.train import Ready
from hedgerow.privacy.promise import Promise
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.state import Progress
from hedgerow.protocols.vertical.batch import promise_of
from hedgerow.protocols.vertical.batch_request import BatchRequest
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.prepare import prepare
from hedgerow.protocols.vertical.talk import Talk
from hedgerow.trees.boost import Boosted
from hedgerow.trees.grow import Rows
from hedgerow.trees.params import TreeParams


class NoisedPassive:
    """A model of which the passive parties' columns have one batch of noised sums."""

    subtracts = True

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:  # noqa: ARG002  # nothing is released here
        self.plan, self.batch = plan, BatchRequest(plan)
        self._progress: Progress | None = None

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """Nothing becomes known."""
        if own.own_table.weights is not None:
            raise DataError("Gradients of rows with weights need more noise; leave the weights out.")
        return prepare(plan, own, threads)

    def before(self, talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:  # noqa: ARG002  # whoever's
        """Nothing is asked; where sums are kept is known from now on."""
        self._progress = progress

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[Rows, TreeParams]:  # noqa: ARG002  # whoever's
        """As they are: nobody else hears of these trees."""
        return rows, self.plan.params

    def after(self, talk: Talk, ready: Ready, joint: AllColumns, grown: Boosted) -> Boosted:
        """What becomes known: one batch of sums of all passive columns, with noise."""
        if self._progress is None:
            raise ProtocolError("The batch is asked for before the run has begun.")
        return replace(grown, forest=self.batch.trees(talk.group, ready, joint, grown.forest, self._progress))

    def promise(self, joint: AllColumns) -> Promise:
        """What the owners have released, as the plan has it."""
        return promise_of(self.plan, [self.batch.rule(joint, owned) for owned in joint.passive()])
