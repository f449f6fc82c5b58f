"""How much is said in a run with hidden rows: known to both sides from the plan alone, so that it tells nothing.

A tree has all levels of the plan and a level all nodes that it can have: one a tree at the root, below it one of every
two siblings, the other being what is left of their parent. Nodes that a tree lacks are sealed zeros.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hedgerow.corridor.messages import BeginSealed
from hedgerow.privacy.additive import Merging
from hedgerow.privacy.shapes import RowsPlan, SlotsPlan
from hedgerow.protocols.vertical.columns import POSITIVE

FEW_TOGETHER, TOGETHER, MOST_TOGETHER = 280_000, 1 << 20, 32
"""Rows times nodes of one request for sums. Few are quickest, because what they take stays near the processor; but four
nodes share the work on one selection, as long as they do not take too much memory (200 bytes a row and node on the way,
600 when they are worked on); and never are there more than so many nodes."""
MEMBERS = 1 << 24
"""Rows times cuts of one request for sides: about 220 MB of lattice ciphertexts."""
TREES_TOGETHER = 15
"""Trees of a round whose sides come back in one integer, a bit each: lattice slots hold 15 bits at no more cost."""
KINDS = 2
"""Sums and sides: each kind is hidden as if the run opened so many times as much of it, and so both together are."""


@dataclass(frozen=True)
class HiddenSizes:
    """Of a whole run."""

    n_trees: int
    """Trees of a round."""
    n_rounds: int
    depth: int
    n_rows: int
    """All rows that go down the trees, validation rows included."""

    def nodes(self, level: int) -> int:
        """Nodes whose sums are asked for at a level."""
        return self.n_trees << max(level - 1, 0)

    def steps(self, level: int, n_counted: int) -> Iterator[range]:
        """The nodes of each request for sums at a level, with so many rows that count."""
        few, most = (least // max(n_counted, 1) for least in (FEW_TOGETHER, TOGETHER))
        together, nodes = max(1, min(max(few, min(4, most)), MOST_TOGETHER)), self.nodes(level)
        together = -(-nodes // -(-nodes // together))  # as many requests, of like sizes
        return (range(first, min(first + together, nodes)) for first in range(0, nodes, together))

    def most_rows(self, level: int, node: int, n_counted: int) -> int:
        """Rows that a node of a level has at most, the largest node being the first.

        A smaller sibling has half the rows of its parent, and all of a level's together half of every tree's.
        """
        return n_counted if not level else min(n_counted, n_counted * self.n_trees // (node + 1)) // 2

    @property
    def cuts_together(self) -> int:
        """Cuts of one request for sides."""
        return max(1, MEMBERS // max(self.n_rows, 1))

    def most_cuts(self, level: int) -> int:
        """Cuts of all parties at a level."""
        return self.n_trees << level

    @property
    def run_nodes(self) -> int:
        """Nodes whose sums are asked for in the whole run."""
        return self.n_rounds * sum(map(self.nodes, range(self.depth)))

    @property
    def run_sides(self) -> int:
        """Integers that sides are opened from in the whole run: a row's, at most as often as there are cuts."""
        return self.n_rounds * sum(map(self.most_cuts, range(self.depth))) * self.n_rows


def sums_plan(
    begin: BeginSealed, sizes: HiddenSizes, level: int, step: range, n_counted: int, merging: Merging | None = None
) -> RowsPlan:
    """Gradients and hessians of the nodes of a step, each a vector over all rows that count."""
    return RowsPlan(
        rows=n_counted,
        bounds=(begin.bound, begin.bound) * len(step),
        positive=POSITIVE * len(step),
        filled=tuple(rows for node in step for rows in (sizes.most_rows(level, node, n_counted),) * 2),
        groups=begin.groups,
        columns=begin.columns,
        run_sums=begin.run_sums,
        by_holder=True,
        merging=merging,
    )


def hidden_plans(begin: BeginSealed, hidden: HiddenSizes, n_counted: int) -> Iterator[RowsPlan]:
    """What a round's key is for: all its steps, which are asked for whatever the trees are."""
    for level in range(hidden.depth if n_counted else 0):
        for step in hidden.steps(level, n_counted):
            yield sums_plan(begin, hidden, level, step, n_counted)


def sides_plan(sizes: HiddenSizes, n_rows: int, cuts: int) -> SlotsPlan:
    """For each row and cut whether the row is at the cut's node: a bit of its own for every tree."""
    bits = min(sizes.n_trees, TREES_TOGETHER)
    bound = 1 << (bits - 1)
    # Twice what all trees need: a level may be asked for again after a loss.
    return SlotsPlan(
        rows=n_rows,
        entries=cuts,
        bound=bound,
        most_sum=min(2 * bound - 1, cuts * bound),
        run_sums=2 * KINDS * sizes.run_sides,
        by_holder=True,
    )
