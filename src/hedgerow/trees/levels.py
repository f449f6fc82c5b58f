"""Whose columns compete at each level of a tree, and at which levels a node that was not cut is looked at again.

A node that no cut improves stays as it is, with its rows. A later level looks at it again only if columns compete there
that did not at the levels at which it was looked at in vain. A tree has no more levels by that. The same rule binds who
is told which nodes are cut, so it depends on nothing but the levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Levels:
    """From the root on, the owners whose columns compete at each level; empty: the same ones at all levels."""

    owners: tuple[frozenset[str], ...] = ()

    @cached_property
    def since(self) -> tuple[int, ...]:
        """For each level the first one from which on nodes that were not cut are looked at again here."""
        return tuple(map(self._since, range(len(self.owners))))

    def _since(self, depth: int) -> int:
        tried: frozenset[str] = frozenset()
        for above in reversed(range(depth)):
            tried |= self.owners[above]
            if self.owners[depth] <= tried:
                return above + 1
        return 0

    def alike(self, depth: int) -> bool:
        """Whether the same columns competed one level above, so that of two siblings' sums one follows."""
        return not self.owners or (depth > 0 and self.owners[depth] == self.owners[depth - 1])

    def again(self, born: NDArray[np.integer], depth: int) -> NDArray[np.bool_]:
        """Whether nodes that came to be at these levels and are still whole are looked at again at this one."""
        return np.asarray(born >= (self.since[depth] if self.owners else depth))

    def go_on(self, born: NDArray[np.integer], depth: int) -> NDArray[np.bool_]:
        """Whether such nodes are looked at again at any level below this one."""
        return np.asarray(born >= min(self.since[depth + 1 :], default=depth + 1))

    def twice(self, depths: Sequence[int]) -> bool:
        """Whether a node can be looked at at two of these levels."""
        return any(self.owners and self.since[below] <= above for below in depths for above in depths if above < below)


ALIKE = Levels()
"""The same columns compete at all levels."""
