"""What moves and sums everybody's rows at the active party: by whether nodes are told, hidden, or cut by draws.

And by whether sums have noise.
"""

from collections.abc import Callable
from typing import NamedTuple

from hedgerow.model.train import Ready
from hedgerow.protocols.state import State
from hedgerow.protocols.vertical.active import VerticalRows
from hedgerow.protocols.vertical.batch_own_trees import OwnRows
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.drawn_active import DrawnRows
from hedgerow.protocols.vertical.drawn_first import ToldRows, tells_first
from hedgerow.protocols.vertical.hidden_active import HiddenRows
from hedgerow.protocols.vertical.laplace import sum_noise
from hedgerow.protocols.vertical.laplace_active import LaplaceRows
from hedgerow.protocols.vertical.private_cuts import has_private_columns
from hedgerow.protocols.vertical.talk import Talk
from hedgerow.trees.forest import Forest


class AllRows(NamedTuple):
    """Everybody's columns over the own rows."""

    rows: VerticalRows
    before_values: Callable[[Forest], None] | None
    """Given the trees of a round before their values count."""


def rows_for(talk: Talk, ready: Ready, joint: AllColumns, state: State, done: int) -> AllRows:
    """As the plan says; the parties hear how large the run will be, unless all is told already."""
    plan = talk.group.plan
    if plan.method.hidden_rows:
        hidden = HiddenRows(talk, ready.rows, joint, done)
        return AllRows(hidden, hidden.number)
    if has_private_columns(plan):
        return AllRows(OwnRows(talk, ready.rows, joint), None)
    if tells_first(plan):
        return AllRows(ToldRows(talk, ready.rows, joint, state.drawn), None)
    noise = sum_noise(plan)
    if noise is not None:
        return AllRows(LaplaceRows(talk, ready.rows, joint, done, noise), None)
    return AllRows((DrawnRows if plan.method.draws_cuts else VerticalRows)(talk, ready.rows, joint, done), None)
