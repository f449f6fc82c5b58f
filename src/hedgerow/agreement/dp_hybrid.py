"""What differential privacy can promise where passive parties have some of the rows: of the finished model alone.

A row of the active party has at most one of each passive party, so adding it adds at most one to any count, whoever
counts; and in a tree whose cuts are all drawn it is in one leaf. So the sensitivities are those of a vertical run, and
what several rows of one id have together is that many times as much.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hedgerow.agreement.dp import DP
from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from hedgerow.agreement.plan import Plan

NO_HYBRID = (
    "In a hybrid run no epsilon is promised against the parties: one row of a passive party may stand in many rows of "
    "the active one, whose sides are told row by row. The finished model can be promised to whoever was no party, "
    'protects = "model"; use that, or leave dp out.'
)
UNIT_OF_LINKS = {
    "linked row": "a linked row is one of the active party's rows with what others have of its id, not all rows of an "
    "id (for these declare rows_per_id)",
    "person": "a person is an id with all that any party has of it, at most {} rows at the active party",
}
"""What is added or removed, by the name of the unit."""


def check_protects(dp: object, passive_cuts: object) -> None:
    """Refuse what has no promise in a hybrid run."""
    if isinstance(dp, DP) and dp.protects != "model":
        raise ParameterError(NO_HYBRID)
    if dp is not None and passive_cuts == "random":
        raise ParameterError('With protects = "model" the cuts of all columns are drawn; leave passive_cuts out.')


def refused_of_links(plan: "Plan") -> Iterator[tuple[bool, str, str]]:
    """What would be told without noise where rows are linked; nothing of other runs."""
    method = plan.method
    yield method.separates, "separate", "who holds a row would decide in which leaf it is; leave it out"
    yield method.links and method.shares, "shared", "cut points of shared columns have no noise; use shared = false"
