"""Answers whose sums are still to be made or hidden, so that parties of one process do that together.

    party 1    begins: checks what it is told, writes it down  |
    party 2    begins                                          |  one call sums everybody's rows, one hides all sums
    party 3    begins                                          |

Sees in the clear.  Nobody more than if each had answered by itself: a party's sums are hidden under its own pads, and
                    leave as its own frame. A real party works out its answer alone.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.messages import Answer, Done
from hedgerow.privacy.masks import Pads
from hedgerow.protocols import secure_sum
from hedgerow.trees.local import Adding, LocalRows, Step

Sent = Callable[[Answer], bytes]
NOTHING = np.empty(0, np.int64)


class Unhidden(NamedTuple):
    """A party's sums, and how they leave."""

    own_words: NDArray[np.int64]
    pads: Pads | None
    """What hides the sums; nothing where plain ones were accepted."""
    gives: bool
    """Whether the party's sums were asked for."""
    sent: Sent
    adds: Sequence[Adding] = ()
    """What is to be added to the scores of its rows before."""


class Unsummed(NamedTuple):
    """What a party's rows do next, and how their sums leave."""

    rows: LocalRows
    step: Step
    pads: Pads | None
    gives: bool
    sent: Sent
    beside: NDArray[np.int64] = NOTHING
    """Words that leave behind the sums."""
    adds: Sequence[Adding] = ()
    """What is to be added to the scores of its rows before."""

    def summed(self, words: NDArray[np.int64], clipped: int) -> NDArray[np.int64]:
        """All own words, once the step was taken."""
        own_words = self.rows.taken(self.step, words, clipped)
        return np.concatenate([own_words, self.beside]) if len(self.beside) else own_words


Begun = bytes | Unsummed | Unhidden
"""An answer, or as much of it as a party has made."""


def worked_out(begun: Sequence[Begun], threads: int) -> list[bytes]:
    """The answers, in order. What leaves each party: its own sums, hidden as it said."""
    unmade = [each for each in begun if not isinstance(each, bytes)]
    adds = [add for each in unmade for add in each.adds]
    if adds:
        _native.add_values(adds, threads)
    steps = [each.step for each in unmade if isinstance(each, Unsummed)]
    taken = iter(_native.take_steps(steps, threads) if steps else ())
    words = [each.summed(*next(taken)) if isinstance(each, Unsummed) else each.own_words for each in unmade]
    parts = [(own_words, each.pads) for each, own_words in zip(unmade, words, strict=True) if each.gives]
    given = iter(secure_sum.given(parts, threads))
    made = iter([each.sent(next(given) if each.gives else Done()) for each in unmade])
    return [each if isinstance(each, bytes) else next(made) for each in begun]
