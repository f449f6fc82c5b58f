"""Runs: cuts of one owner that follow each other directly, down which a row goes in one exchange.

The active party names the cut that a row has come to, and the owner's cuts that follow it with nobody else's between.
The owner takes the row down these, from cut to cut, until it leaves them. It tells the ways first of all rows at their
first cuts, then of those that came to a second one, and so on: the bits that it would tell if it were asked cut by cut,
and no others, since the active party knows from them which rows go on.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ProtocolError
from hedgerow.trees.forest import Forest

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
NONE = -1


class Runs:
    """How the cuts of each owner follow each other in a forest, as the active party knows it."""

    def __init__(self, forest: Forest, owner: NDArray[np.integer]) -> None:
        """`owner` numbers whose cut a node is; -1: it is a leaf."""
        child = np.maximum(forest.children, 0)
        both = np.stack([child, child + (forest.children >= 0)], axis=1)
        self._next = np.where((owner[both] == owner[:, None]) & (owner >= 0)[:, None], both, NONE)
        """The cut of the same owner on each side of a cut; `NONE` where a leaf is, or another's cut."""

    def below(self, cuts: Ints) -> Ints:
        """The cuts that follow these, with no other owner's between."""
        found, level = [cuts[:0]], cuts
        while len(level):
            level = self._next[level].reshape(-1)
            level = level[level != NONE]
            found.append(level)
        return np.unique(np.concatenate(found))

    def goes_on(self, cut: Ints, left: Bools) -> Bools:
        """Whether rows that go these ways at cuts come to the owner's next."""
        return np.not_equal(self._next[cut, (~left).astype(np.int64)], NONE)


class ToldWays:
    """The ways that an owner told, read step by step; another number of them is refused."""

    def __init__(self, bits: NDArray[np.uint8], refusal: str) -> None:
        self._left, self._n_bytes, self._refusal = np.unpackbits(bits, bitorder="little"), len(bits), refusal
        self._read = 0

    def next(self, n: int) -> Bools:
        """The next ways, so many."""
        first, self._read = self._read, self._read + n
        if self._read > len(self._left):
            raise ProtocolError(self._refusal)
        return self._left[first : self._read].astype(np.bool_)

    def end(self) -> None:
        """Refuse ways that were not asked for."""
        if self._n_bytes != (self._read + 7) // 8:
            raise ProtocolError(self._refusal)


def next_cuts(after: Ints, asked: Ints, following: Ints) -> Ints:
    """For each end of a party's own cuts the cut that follows there in a request; `NONE` where none does.

    `after` is that of its part. What is refused keeps a row on one path of a tree, whatever the active party asks: a
    cut that does not follow one of the request's, and two that would follow at one end, as cuts of the same party do
    that lie apart below another party's.
    """
    ends = after[following]
    named = np.zeros(2 * len(after), np.bool_)
    for side in (0, 1):
        named[2 * asked + side] = named[2 * following + side] = True
    if (ends < 0).any() or not named[ends].all() or len(np.unique(ends)) < len(ends):
        raise ProtocolError("The active party asks about cuts that do not follow each other directly.")
    goes_to = np.full(2 * len(after), NONE, np.int64)
    goes_to[ends] = following
    return goes_to
