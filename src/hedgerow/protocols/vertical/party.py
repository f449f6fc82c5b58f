"""The passive party of a vertical run: its rows are found by their ids where the plan says so, then `passive` answers.

The folder has the conversation and who sees what.
"""

from functools import cached_property, partial
from typing import Never

from hedgerow.corridor import messages as m
from hedgerow.protocols.align.lists import Aligning, Counts, OwnSets, Tables
from hedgerow.protocols.columns import given
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.shell import ALIGNMENT, Handler, Table
from hedgerow.protocols.vertical.passive import PassiveSide

ASKED = (
    m.AskColumns, m.BeginSealed, m.AskSealedSums, m.AskHiddenSums, m.AskSides, m.AskHiddenSides, m.EndRound, m.KeepPart,
)  # fmt: skip
"""What the active party asks of columns."""


class VerticalParty:
    """Answers what the active party asks of columns."""

    def __init__(self, context: PartyContext) -> None:
        self.context, self.side = context, PassiveSide(context)
        self.sets: OwnSets | None = None
        """The own rows, where they are aligned privately."""
        self.most_bytes = self.side.most_bytes
        """What the next request may have: told after each answer, because the transport asks at any time."""

    def stop(self) -> None:
        """A passive party stops by refusing; it shares no masks."""

    def introduced(self, attempt: Attempt) -> Table[Never]:
        """Columns are asked about; where the plan says so, rows may be aligned anew before."""
        self.side.present = attempt.present
        table: dict[type[m.Request], Handler[Never]] = dict.fromkeys(ASKED, self._answer)
        if self.context.plan.method.aligns:
            self.sets = self.sets or self._own_sets()
            self.sets.introduced()
            table |= dict.fromkeys(ALIGNMENT, partial(self._align, self.sets))
        return table

    def _own_sets(self) -> OwnSets:
        context, owner = self.context, self.context.owner
        counts = Counts(context.journal, context.ledger)
        return OwnSets(context.plan, owner.name, self._own_tables, context.threads, counts, owner.tell, owner.places)

    @cached_property
    def _own_tables(self) -> Tables:
        """The own rows; the validation rows only where they are followed."""
        owner = self.context.owner
        valid = owner.own_valid if self.context.plan.goal.follow else None
        return given(owner.own_table, owner.policy), None if valid is None else given(valid, owner.policy)

    def _align(self, sets: OwnSets, request: Aligning, _: object) -> m.Answer:
        self.context.ledger.check_guesses()
        return sets.answer(request)

    def _answer(self, request: m.Request, _: object) -> m.Answer:
        self.context.ledger.check_guesses()
        tables = self._own_tables if self.sets is None else self.sets.tables
        reply = self.side.answer(request, tables)
        if self.sets is not None and isinstance(request, m.AskColumns):
            self.sets.close()
        self.most_bytes = self.side.most_bytes
        return reply
