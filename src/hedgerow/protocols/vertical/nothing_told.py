"""The way to train by which no label is in anything that passive parties are told; nothing is said here."""

from hedgerow.agreement.dp_vertical import words_of
from hedgerow.agreement.plan import Plan
from hedgerow.model.train import Ready
from hedgerow.privacy.promise import Promise, nothing_told
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.state import Progress
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.drawn_first import Talk as Talk
from hedgerow.protocols.vertical.drawn_first import ask_all_sides
from hedgerow.protocols.vertical.prepare import prepare
from hedgerow.trees.grow import Rows
from hedgerow.trees.params import TreeParams


class NothingTold:
    """No label is in anything that passive parties are told, so that no noise is needed."""

    subtracts = True
    after = None

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:  # noqa: ARG002  # nothing is released
        self.plan = plan

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """Nothing becomes known."""
        return prepare(plan, own, threads)

    def before(self, talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:
        """What becomes known: sides of all rows at all cuts that are drawn."""
        ask_all_sides(talk, ready, joint, progress)

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[Rows, TreeParams]:  # noqa: ARG002  # whoever's
        """As they are: from here on nothing is said."""
        return rows, self.plan.params

    def promise(self, joint: AllColumns) -> Promise:  # noqa: ARG002  # whoever's
        """Epsilon 0."""
        dp = self.plan.method.dp
        return nothing_told("label" if dp is None else dp.unit, *words_of(self.plan))
