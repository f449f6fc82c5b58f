"""A party's table in the schema, the columns and classes, that all parties agree on; `columns` has the conversation."""

import msgspec

from hedgerow.corridor.messages import Agree, Done, Facts
from hedgerow.corridor.wire import MOST_SMALL, Frame
from hedgerow.data.table import Column, Table
from hedgerow.errors import ProtocolError
from hedgerow.model import labels
from hedgerow.model.file import MOST_BYTES
from hedgerow.protocols.columns import check_agreed, shaped, shaped_valid
from hedgerow.protocols.dropped_columns import tell_party
from hedgerow.protocols.horizontal.own_table import OwnTable
from hedgerow.protocols.party_rows import PartyTable
from hedgerow.protocols.session.owner import PartyContext

BYTES_A_NODE = 128
"""At least as many as a node takes in a model file."""


class SchemaTable:
    """The own rows in the agreed columns: made once, and there in every attempt that agrees on the same."""

    def __init__(self, context: PartyContext) -> None:
        self.context = context
        self.rows: PartyTable | None = None
        self.agreement = b""
        """A hash of the columns and classes that were agreed on in this attempt."""
        self.most_bytes = MOST_SMALL
        """What a request may have: more than usual only where the plan's trees need it."""

    def introduced(self) -> None:
        """What was agreed in one attempt does not hold in the next."""
        self.agreement = b""

    @property
    def own(self) -> PartyTable:
        """The own rows, once columns and classes are agreed in this attempt."""
        if self.rows is None or self.rows.agreement != self.agreement:
            raise ProtocolError("The driver asks before columns and classes are agreed.")
        return self.rows

    def agree(self, request: Agree, frame: Frame, said: Facts, common: tuple[Column, ...] | None = None) -> Done:
        """Take over the schema, if it fits what this party said of its table; it stays for the whole run.

        `common` are the own columns that all parties have, where names are aligned and none was said.
        """
        facts = said if common is None else msgspec.structs.replace(said, columns=common)
        plan, owner, journal = self.context.plan, self.context.owner, self.context.journal
        check_agreed(plan, request, facts, owner.own_table.n_rows, owner.policy.most_classes)
        agreement = frame.sha256
        journal.settle("columns and classes", agreement)
        self.agreement, self.most_bytes = agreement, self._needed(len(request.classes))
        if self.rows is None or self.rows.agreement != agreement:
            valid = shaped_valid(plan, owner.own_valid, request, owner.policy)
            own = self._learnt(shaped(owner.own_table, request, owner.policy), request)
            heavier = plan.goal.scale_pos_weight
            self.rows = (owner.rows or OwnTable)(own, valid, request.classes, heavier, agreement, self.context.threads)
            tell_party(said.columns, request.columns, owner.note)
        journal.begin(agreement)
        return Done()

    def _learnt(self, own: Table, request: Agree) -> Table:
        """With differential privacy without rows of which a refusal would tell; only the owner hears how many."""
        if self.context.plan.method.dp is None:
            return own
        strange = labels.left_out(own, request.classes)
        if strange.any():
            self.context.owner.tell(labels.left_out_sentence(int(strange.sum())))
            own = own.take(~strange)
        return own

    def _needed(self, n_classes: int) -> int:
        params = self.context.plan.params
        nodes = params.n_estimators * max(1, n_classes) << min(params.max_depth + 1, 31)
        return min(max(MOST_SMALL, BYTES_A_NODE * nodes), MOST_BYTES)
