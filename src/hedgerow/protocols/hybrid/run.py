"""How the active party carries a hybrid run: as a vertical one, but for columns that passive parties share."""

from collections.abc import Mapping

from hedgerow.corridor.messages import Facts
from hedgerow.model.train import Ready
from hedgerow.protocols.hybrid.shared_columns import shared_columns
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.run import VerticalRun


class HybridRun(VerticalRun):
    """The active party's way through a hybrid run."""

    def columns(self, group: SummingGroup, ready: Ready, facts: Mapping[str, Facts]) -> AllColumns:
        """Everybody's columns: asked of each party, or agreed on by all where they share them."""
        if not group.plan.method.shares:
            return super().columns(group, ready, facts)
        return shared_columns(group, ready, facts, self.links)
