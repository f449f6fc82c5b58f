"""Trees with every passive cut below all active ones, and the same value for every row (HybridTree, theorem 3).

While a passive cut lies above an active one, the tree below it is split on the first active condition that it has, read
level by level, and restricted to both sides: where a condition further down follows from it, only one branch is left.
Conditions move up, leaves are copied, and no value is computed anew. So four things hold of every tree:

1. Each row ends at the value it had, bit for bit.
2. No active cut lies below a passive one.
3. The depth of passive cuts does not grow.
4. If every passive cut has a child below which there is no active cut, the depth of active cuts does not grow.

The number of leaves may grow a great deal, which is why the result is for looking at and for proofs, not for serving;
`shape` tells it.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ModelError
from hedgerow.trees.forest import Forest, join

MOST_NODES = 100_000
"""Of one tree; one that would have more is refused as soon as that is known."""

Condition = tuple[int, float, bool, int]
"""Column, threshold, whether missing values go left, and set of categories."""


@dataclass(frozen=True)
class _Leaf:
    place: int


@dataclass(frozen=True)
class _Cut:
    condition: Condition
    place: int
    left: "_Node"
    right: "_Node"


_Node = _Leaf | _Cut


def push_down(forest: Forest, passive: NDArray[np.bool_]) -> Forest:
    """The same forest with no active cut below a passive one; `passive` says of each column whose it is.

    Gains and covers of cuts that were moved are zero: nobody has measured them.
    """
    trees = [forest.part(tree, tree + 1) for tree in range(forest.n_trees)]
    return join([_flat(_pushed(_read(tree, 0), passive, _Room()), tree) for tree in trees]) if trees else forest


def _read(tree: Forest, place: int) -> _Node:
    if tree.columns[place] < 0:
        return _Leaf(place)
    child = int(tree.children[place])
    condition = (
        int(tree.columns[place]), float(tree.thresholds[place]), bool(tree.missing_left[place]), int(tree.sets[place])
    )  # fmt: skip
    return _Cut(_of_categories(condition, tree), place, _read(tree, child), _read(tree, child + 1))


def _of_categories(condition: Condition, tree: Forest) -> Condition:
    """The first set of the same categories, so that equal conditions are equal."""
    column, threshold, missing_left, number = condition
    if number < 0:
        return condition
    same = (tree.category_sets == tree.category_sets[number]).all(axis=1)
    return column, threshold, missing_left, int(np.flatnonzero(same)[0])


class _Room:
    """How many nodes a tree has so far."""

    n_nodes = 0

    def take(self, n: int) -> None:
        """So many more."""
        self.n_nodes += n
        if self.n_nodes > MOST_NODES:
            raise ModelError(f"A tree would have more than {MOST_NODES:,} nodes with its passive cuts pushed down.")


def _pushed(node: _Node, passive: NDArray[np.bool_], room: _Room) -> _Node:
    if isinstance(node, _Cut) and passive[node.condition[0]]:
        found = next((cut for cut in _by_level(node) if not passive[cut.condition[0]]), None)
        if found is None:
            room.take(2 * sum(1 for _ in _by_level(node)) + 1)
            return node
        sides = (_restricted(node, found.condition, left) for left in (True, False))
        node = _Cut(found.condition, -1, *sides)
    room.take(1)
    if isinstance(node, _Leaf):
        return node
    return _Cut(node.condition, node.place, _pushed(node.left, passive, room), _pushed(node.right, passive, room))


def _by_level(node: _Node) -> Iterator[_Cut]:
    waiting = deque([node])
    while waiting:
        first = waiting.popleft()
        if isinstance(first, _Cut):
            yield first
            waiting += (first.left, first.right)


def _restricted(node: _Node, condition: Condition, left: bool) -> _Node:
    """What is left of a tree for rows of which the condition holds, or does not."""
    if isinstance(node, _Leaf):
        return node
    if _follows(node.condition, condition, left):
        return _restricted(node.left if left else node.right, condition, left)
    sides = [_restricted(child, condition, left) for child in (node.left, node.right)]
    same = sides[0] is node.left and sides[1] is node.right
    return node if same else _Cut(node.condition, node.place, *sides)


def _follows(condition: Condition, known: Condition, left: bool) -> bool:
    """Whether all rows that go this way at the known condition go the same way at the other."""
    if condition == known:
        return True
    if condition[0] != known[0] or condition[3] >= 0 or known[3] >= 0:
        return False
    (_, threshold, missing_left, _), (_, known_threshold, known_missing_left, _) = condition, known
    if left:
        return threshold >= known_threshold and (missing_left or not known_missing_left)
    return threshold <= known_threshold and (known_missing_left or not missing_left)


def _flat(root: _Node, tree: Forest) -> Forest:
    """A tree in arrays again, its nodes level by level."""
    nodes: list[_Node] = [root]
    children: list[int] = []
    for node in nodes:  # which grows meanwhile
        children.append(len(nodes) if isinstance(node, _Cut) else -1)
        if isinstance(node, _Cut):
            nodes += (node.left, node.right)
    cuts = [node.condition if isinstance(node, _Cut) else (-1, 0.0, False, -1) for node in nodes]
    place = np.array([node.place for node in nodes], np.int64)
    kept = place >= 0
    column, threshold, missing_left, sets = (np.array(values) for values in zip(*cuts, strict=True))
    return Forest(
        columns=column.astype(np.int32),
        thresholds=threshold.astype(np.float32),
        missing_left=missing_left.astype(np.bool_),
        children=np.array(children, np.int32),
        sets=np.where(sets >= 0, np.cumsum(sets >= 0) - 1, -1).astype(np.int32),
        category_sets=tree.category_sets[sets[sets >= 0]],
        values=np.where(kept & (column < 0), tree.values[place], 0).astype(np.float32),
        gains=np.where(kept, tree.gains[place], 0),
        covers=np.where(kept, tree.covers[place], 0).astype(np.float32),
        roots=np.array([0, len(nodes)], np.int64),
    )


@dataclass(frozen=True)
class Shape:
    """How large the trees of a forest are, tree by tree."""

    leaves: NDArray[np.int64]
    """How many there are."""
    passive_depth: NDArray[np.int64]
    """The most passive cuts on a way from the root to a leaf."""
    active_depth: NDArray[np.int64]
    """The most active cuts on such a way."""
    in_meta_form: NDArray[np.bool_]
    """Whether every passive cut has a child below which there is no active cut; then the active depth cannot grow."""


def shape(forest: Forest, passive: NDArray[np.bool_]) -> Shape:
    """The shape of a forest, to be compared with that of what `push_down` makes of it."""
    cuts = np.flatnonzero(forest.columns >= 0)
    whose = np.zeros(len(forest.columns), np.bool_)
    whose[cuts] = passive[forest.columns[cuts]]
    depths = np.zeros((2, len(whose)), np.int64)
    for place in cuts:  # children stand behind their parents
        below = slice(forest.children[place], forest.children[place] + 2)
        depths[:, below] = depths[:, [place]] + [[whose[place]], [not whose[place]]]
    has_active, apart = np.zeros((2, len(whose)), np.bool_)
    for place in cuts[::-1]:
        children = has_active[forest.children[place] : forest.children[place] + 2]
        has_active[place] = children.any() or not whose[place]
        apart[place] = whose[place] and children.all()
    roots = forest.roots[:-1]
    leaves = np.add.reduceat((forest.columns < 0).astype(np.int64), roots)
    deepest = np.maximum.reduceat(depths, roots, axis=1)
    return Shape(leaves, deepest[0], deepest[1], ~np.logical_or.reduceat(apart, roots))
