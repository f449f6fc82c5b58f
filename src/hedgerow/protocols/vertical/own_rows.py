"""A passive party's own rows in the order of a run: as they are, aligned with those of all parties, or linked.

`align` and `link` have the conversations and who sees what.
"""

from hedgerow.protocols.align.lists import Counts, OwnSets
from hedgerow.protocols.align.lists import Tables as Tables
from hedgerow.protocols.columns import given
from hedgerow.protocols.link.passive import OwnLinks
from hedgerow.protocols.session.owner import PartyContext
from hedgerow.protocols.session.shell import ALIGNMENT, LINKAGE, Kinds
from hedgerow.protocols.vertical.private_cuts import declared

FoundRows = OwnSets | OwnLinks
"""A party's side of what finds the rows of a run by their ids."""


def own_tables(context: PartyContext) -> Tables:
    """The own rows that the policy gives; the validation rows only where they are followed."""
    owner = context.owner
    valid = owner.own_valid if context.plan.goal.follow else None
    own = declared(context.plan, given(owner.own_table, owner.policy))
    return own, None if valid is None else given(valid, owner.policy)


def found_rows(context: PartyContext, tables: Tables) -> FoundRows | None:
    """What finds the rows of this run; none where they are given."""
    owner, plan = context.owner, context.plan
    counts = Counts(context.journal, context.ledger)
    if plan.method.aligns:
        return OwnSets(plan, owner.name, tables, context.threads, counts, owner.tell, owner.places)
    if not plan.method.links:
        return None
    return OwnLinks(
        plan, owner.name, tables, context.threads, counts, owner.tell, private=not plan.method.shows_ids,
        one_each=any(owner.name in group for group in plan.once), most_ids=plan.vertical.most_ids, keeps=owner.places,
    )  # fmt: skip


def finding(context: PartyContext) -> Kinds:
    """The requests by which they are found."""
    return ALIGNMENT if context.plan.method.aligns else LINKAGE
