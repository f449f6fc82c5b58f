"""How the active party carries a hybrid run: as a vertical one, but for columns that passive parties share."""

from collections.abc import Mapping

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Facts
from hedgerow.data.ids import check_rows_per_id
from hedgerow.model.train import Ready
from hedgerow.protocols.hybrid.shared_columns import shared_columns
from hedgerow.protocols.hybrid.unit_rows import with_holders
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.run import VerticalRun
from hedgerow.protocols.vertical.schema import all_columns, columns_told


class HybridRun(VerticalRun):
    """The active party's way through a hybrid run."""

    def dealt(self, plan: Plan, own: Active) -> Active:
        """With the unit that holds each row, where units have subtrees of their own.

        Refused where a promise is of persons, and one of them has more rows than declared.
        """
        dp = plan.method.dp
        if dp is not None and dp.of_persons:
            check_rows_per_id(() if own.own_table.ids is None else own.own_table.ids, dp.rows_per_id)
        return with_holders(plan.units, own, self.links)

    def columns(self, group: SummingGroup, ready: Ready, facts: Mapping[str, Facts]) -> AllColumns:
        """Everybody's columns: asked of each party, or agreed on by those that share them."""
        plan = group.plan
        alone = [party for party in group.present if not plan.group_of(party)]
        told = columns_told(group, alone, ready, self.said, self.links)
        for sharing in plan.groups:
            among = SummingGroup(group.corridor, plan, sharing, group.deadline)
            links = {party: self.links[party] for party in sharing}
            told[sharing[0]] = shared_columns(among, ready, {party: facts[party] for party in sharing}, links)
        return all_columns(plan, ready, told, self.progress.state.common)
