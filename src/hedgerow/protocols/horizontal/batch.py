"""Answers whose sums are still to be made or hidden, so that parties of one process do that together.

    party 1    begins: checks what it is told, writes it down  |
    party 2    begins                                          |  one call sums everybody's rows and hides all sums
    party 3    begins                                          |

Sees in the clear.  Nobody more than if each had answered by itself: a party's sums are hidden under its own pads, and
                    leave as its own frame. A real party works out its answer alone.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.corridor.messages import Answer, Done, MaskedSums, NoisedSums, PlainSums
from hedgerow.errors import PrivacyError
from hedgerow.privacy import masks
from hedgerow.privacy.masks import Pads
from hedgerow.protocols import secure_sum
from hedgerow.protocols.party_rows import PartyRows
from hedgerow.trees.local import Adding, Step, Taken

Sent = Callable[[Answer], bytes]
NOTHING = np.empty(0, np.int64)

Noise = NDArray[np.int64]
"""What differential privacy adds to a party's words before they are masked, modulo 2^64: one for each that leaves."""

Part = Answer | secure_sum.Unhidden
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
    noise: Noise | None = None
    noised: bool = False
    """Whether the words have their noise already."""

    def part(self) -> Part:
        """What the party says."""
        if not self.gives:
            return Done()
        return secure_sum.Unhidden(
            _noised(self.own_words, self.noise), self.pads, self.noised or self.noise is not None
        )


class PendingSums(NamedTuple):
    """What a party's rows do next, and how their sums leave."""

    rows: PartyRows
    steps: tuple[Step, ...]
    pads: Pads | None
    gives: bool
    sent: Sent
    beside: NDArray[np.int64] = NOTHING
    """Words that leave behind the sums."""
    adds: Sequence[Adding] = ()
    """What is to be added to the scores of its rows before."""
    noise: Noise | None = None
    """Of the sums and of the words behind them."""

    @property
    def by_kernel(self) -> bool:
        """Whether the kernel that sums the rows makes the words ready to leave too."""
        return self.gives and self.rows.one_step and (self.pads is not None or self.noise is not None)

    def leaving(self) -> tuple[NDArray[np.int64], masks.PadKeys | None, Noise | None] | None:
        """What the sums leave with where the kernel that makes them hides them too, so that no others exist here."""
        if not self.by_kernel:
            return None
        return self.beside, None if self.pads is None else masks.keys(self.pads), self.noise

    def part(self, found: Sequence[Taken]) -> Part:
        """What the party says, once its steps were taken. Words that the kernel made ready to leave are unsigned.

        Rows may be held by other code than ours, so words of the wrong kind, which could be own sums that would leave
        as they are, stop the run.
        """
        words = self.rows.taken(self.steps, found)
        if words.dtype != (np.uint64 if self.by_kernel else np.int64) or (self.by_kernel and len(self.steps) != 1):
            raise PrivacyError("A party's rows give sums that are not ready to leave in this way; the run stops.")
        if self.by_kernel:
            if self.pads is None:
                return PlainSums(words.view(np.int64))
            return MaskedSums(words) if self.noise is None else NoisedSums(words)
        if not self.gives:
            return Done()
        own_words = np.concatenate([words, self.beside]) if len(self.beside) else words
        return secure_sum.Unhidden(_noised(own_words, self.noise), self.pads, self.noise is not None)


def _noised(own_words: NDArray[np.int64], noise: Noise | None) -> NDArray[np.int64]:
    """Words that were made here, with their noise."""
    if noise is None:
        return own_words
    if noise.shape != own_words.shape:
        raise PrivacyError("Noise is needed for every word that leaves, and for no others; the run stops.")
    return own_words + noise


Begun = bytes | PendingSums | PendingMask
"""An answer, or as much of it as a party has made."""


Pending = PendingSums | PendingMask
"""As much of an answer as a party makes by itself."""


def worked_out(begun: Sequence[Begun], threads: int) -> list[bytes]:
    """The answers, in order. What leaves each party: its own sums, hidden as it said."""
    unmade = [each for each in begun if not isinstance(each, bytes)]
    adds = [add for each in unmade for add in each.adds]
    if adds:
        _native.add_values(adds, threads)
    unsummed = [each for each in unmade if isinstance(each, PendingSums)]
    steps = [step for each in unsummed for step in each.steps]
    leaving = [each.leaving() for each in unsummed for _ in each.steps]
    taken = iter(_native.take_steps(steps, threads, leaving) if steps else ())
    parts = [
        each.part([next(taken) for _ in each.steps]) if isinstance(each, PendingSums) else each.part()
        for each in unmade
    ]
    unhidden = [part for part in parts if isinstance(part, secure_sum.Unhidden)]
    given = iter(secure_sum.given(unhidden, threads) if unhidden else ())
    answers = [next(given) if isinstance(part, secure_sum.Unhidden) else part for part in parts]
    made = iter([each.sent(answer) for each, answer in zip(unmade, answers, strict=True)])
    return [each if isinstance(each, bytes) else next(made) for each in begun]
