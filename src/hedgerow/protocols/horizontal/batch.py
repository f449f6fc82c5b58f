"""Answers whose sums are still to be made or hidden, so that parties of one process do that together.

    party 1    begins: checks what it is told, writes it down  |
    party 2    begins                                          |  one call sums everybody's rows and hides all sums
    party 3    begins                                          |

Sees in the clear.  Nobody more than if each had answered by itself: a party's sums are hidden under its own pads, and
                    leave as its own frame. A real party works out its answer alone.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.corridor.messages import Answer, Done, MaskedSums
from hedgerow.privacy import masks
from hedgerow.privacy.masks import Pads
from hedgerow.protocols import secure_sum
from hedgerow.trees.local import Adding, LocalRows, Step

Sent = Callable[[Answer], bytes]
NOTHING = np.empty(0, np.int64)

Part = Answer | tuple[NDArray[np.int64], Pads | None]
"""What a party says, or its own words and what is still to hide them."""


class PendingMask(NamedTuple):
    """A party's sums, and how they leave."""

    own_words: NDArray[np.int64]
    pads: Pads | None
    """What hides the sums; nothing where plain ones were accepted."""
    gives: bool
    """Whether the party's sums were asked for."""
    sent: Sent
    adds: Sequence[Adding] = ()
    """What is to be added to the scores of its rows before."""

    def part(self) -> Part:
        """What the party says."""
        return (self.own_words, self.pads) if self.gives else Done()


class PendingSums(NamedTuple):
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

    def leaving(self) -> tuple[NDArray[np.int64], masks.PadKeys] | None:
        """What the sums leave with where the kernel that makes them hides them too, so that no others exist here."""
        return None if self.pads is None or self.rows.spreads else (self.beside, masks.keys(self.pads))

    def part(self, words: NDArray[Any], clipped: int) -> Part:
        """What the party says, once the step was taken. Hidden words are unsigned, own ones are not."""
        if words.dtype.kind == "u":
            self.rows.clipped += clipped
            return MaskedSums(words)
        own_words = self.rows.taken(self.step, words, clipped)
        if not self.gives:
            return Done()
        return np.concatenate([own_words, self.beside]) if len(self.beside) else own_words, self.pads


Begun = bytes | PendingSums | PendingMask
"""An answer, or as much of it as a party has made."""


def worked_out(begun: Sequence[Begun], threads: int) -> list[bytes]:
    """The answers, in order. What leaves each party: its own sums, hidden as it said."""
    unmade = [each for each in begun if not isinstance(each, bytes)]
    adds = [add for each in unmade for add in each.adds]
    if adds:
        _native.add_values(adds, threads)
    unsummed = [each for each in unmade if isinstance(each, PendingSums)]
    leaving = [each.leaving() for each in unsummed]
    taken = iter(_native.take_steps([each.step for each in unsummed], threads, leaving) if unsummed else ())
    parts = [each.part(*next(taken)) if isinstance(each, PendingSums) else each.part() for each in unmade]
    unhidden = [part for part in parts if isinstance(part, tuple)]
    given = iter(secure_sum.given(unhidden, threads) if unhidden else ())
    answers = [next(given) if isinstance(part, tuple) else part for part in parts]
    made = iter([each.sent(answer) for each, answer in zip(unmade, answers, strict=True)])
    return [each if isinstance(each, bytes) else next(made) for each in begun]
