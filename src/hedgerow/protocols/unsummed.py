"""Answers whose sums are still to be made, so that parties of one process make theirs together.

    party 1    begins: checks what it is told, writes it down  |
    party 2    begins                                          |  one call sums everybody's rows, one hides all sums
    party 3    begins                                          |

Sees in the clear.  Nobody more than if each had answered by itself: a party's sums are hidden under its own pads, and
                    leave as its own frame. A real party works out its answer alone.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hedgerow import _native
from hedgerow.messages import Answer, Done
from hedgerow.privacy.masks import Pads
from hedgerow.protocols import secure_sum
from hedgerow.trees.local import LocalRows, Step


class Unsummed(NamedTuple):
    """What a party's rows do next, and how their sums leave."""

    rows: LocalRows
    step: Step
    pads: Pads | None
    """What hides the sums; nothing where plain ones were accepted."""
    gives: bool
    """Whether the party's sums were asked for."""
    sent: Callable[[Answer], bytes]


def worked_out(begun: Sequence[bytes | Unsummed], threads: int) -> list[bytes]:
    """The answers, in order. What leaves each party: its own sums, hidden as it said."""
    waiting = [each for each in begun if isinstance(each, Unsummed)]
    taken = _native.take_steps([each.step for each in waiting], threads) if waiting else []
    own = [each.rows.taken(each.step, *found) for each, found in zip(waiting, taken, strict=True)]
    parts = [(words, each.pads) for words, each in zip(own, waiting, strict=True) if each.gives]
    answers = iter(secure_sum.given(parts, threads))
    return [each if isinstance(each, bytes) else each.sent(next(answers) if each.gives else Done()) for each in begun]
