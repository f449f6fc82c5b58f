"""How many answers were given about each id, and of how many bits, as far as they still count.

Memory: 28 bytes for each charge of an id that still counts, twice that for a moment when new ones are sorted in, and
some 250 bytes for each of the newest. `MOST_CHARGES` and `MOST_NEWEST` bound it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_CHARGES = 16_000_000
"""Charges of ids that still count; 450 MB."""
FEW, MOST_NEWEST = 4096, 250_000
"""Charges that are not sorted in yet: an eighth of the others, but at least and at most so many."""


class Charges(NamedTuple):
    """So many answers and thousandths of bits for an id on a day, one entry each."""

    ids: NDArray[np.uint64]
    days: NDArray[np.int32]
    answers: NDArray[np.int64]
    bits: NDArray[np.int64]

    def only(self, which: NDArray[Any]) -> "Charges":
        """Those at these places, or of this mask."""
        return Charges(self.ids[which], self.days[which], self.answers[which], self.bits[which])

    def behind(self, others: Sequence["Charges"]) -> "Charges":
        """All of them, these last."""
        return Charges(*(np.concatenate(parts) for parts in zip(*others, self, strict=True)))


NONE = Charges(np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64))


class AnswerCounts:
    """Charges by id: most of them in sorted arrays, the newest in a dictionary until they are worth sorting in."""

    def __init__(self) -> None:
        self._sorted = NONE
        self._newest: dict[int, list[tuple[int, int, int]]] = {}
        self._n_newest = 0

    def __len__(self) -> int:
        return len(self._sorted.ids) + self._n_newest

    def add(self, new: Charges, since: int) -> None:
        """Add charges; what is older than the day `since` may be forgotten."""
        few = min(max(FEW, len(self._sorted.ids) // 8), MOST_NEWEST)
        if len(new.ids) > few:
            self._sort_in(new, since)
            return
        for one, day, answers, bits in zip(*(part.tolist() for part in new), strict=True):
            charges = self._newest.setdefault(one, [])
            if charges and charges[-1][0] == day:
                charges[-1] = (day, charges[-1][1] + answers, charges[-1][2] + bits)
            else:
                charges.append((day, answers, bits))
                self._n_newest += 1
        if self._n_newest > few:
            self._sort_in(NONE, since)

    def of(self, ids: NDArray[np.uint64], since: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Answers about each of these different ids from the day `since` on, and thousandths of bits."""
        first = np.searchsorted(self._sorted.ids, ids, side="left")
        number = np.searchsorted(self._sorted.ids, ids, side="right") - first
        whose = np.repeat(np.arange(len(ids)), number)
        at = np.arange(len(whose)) + np.repeat(first - (np.cumsum(number) - number), number)
        counts = self._sorted.days[at] >= since
        at, whose = at[counts], whose[counts]
        answers, bits = np.zeros((2, len(ids)), np.int64)
        np.add.at(answers, whose, self._sorted.answers[at])
        np.add.at(bits, whose, self._sorted.bits[at])
        for i, one in enumerate(ids.tolist()) if self._newest else ():
            for day, n, of_bits in self._newest.get(one, ()):
                if day >= since:
                    answers[i] += n
                    bits[i] += of_bits
        return answers, bits

    def _sort_in(self, more: Charges, since: int) -> None:
        newest = [(one, *charge) for one, charges in self._newest.items() for charge in charges]
        flat = np.array(newest, np.uint64).reshape(-1, 4).T  # all are whole and none is negative
        recent = Charges(flat[0], flat[1].astype(np.int32), flat[2].astype(np.int64), flat[3].astype(np.int64))
        new = more.behind([recent])
        self._newest, self._n_newest = {}, 0
        new = new.only(np.argsort(new.ids, kind="stable"))
        new, old = new.only(new.days >= since), self._sorted
        if len(old.days) and old.days.min() < since:
            old = old.only(old.days >= since)
        at = np.searchsorted(old.ids, new.ids)
        self._sorted = Charges(
            np.insert(old.ids, at, new.ids),
            np.insert(old.days, at, new.days),
            np.insert(old.answers, at, new.answers),
            np.insert(old.bits, at, new.bits),
        )
