"""Which weights of slots a row can have, whatever its values are: for an auditor, who knows the model and no values.

At each of its own cuts the active party may take a row left or right; every such way gives all slots of a tree their
weights (`score_slots`). Weights that no way gives, all together, are none of the model's. Trees are looked at one by
one: that ways through two trees contradict each other is not seen without the values.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow.model.score_slots import ClassSlots

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class PossibleWeights:
    """The weights that slots of one class can have together."""

    def __init__(self, slots: ClassSlots, weights: Ints, modulus: int) -> None:
        """`weights` has those of leaves, at their places in the forest."""
        self.trees, self.modulus = slots.trees, modulus
        self._leaves = weights[self.trees.places]
        self._root = np.arange(len(self.trees.places))
        for node in np.flatnonzero(self.trees.children >= 0).tolist():  # parents stand before their children
            child = self.trees.children[node]
            self._root[child : child + 2] = self._root[node]

    def impossible(self, nodes: Ints, values: Ints) -> Bools:
        """Which rows have, at the cuts of these nodes, weights (rows x nodes) that no way gives."""
        wrong = np.zeros(len(values), np.bool_)
        for root in np.unique(self._root[nodes]).tolist():
            at = np.flatnonzero(self._root[nodes] == root)
            found, which = np.unique(values[:, at] % self.modulus, axis=0, return_inverse=True)
            told = [dict(zip(nodes[at].tolist(), row, strict=True)) for row in found.tolist()]
            bad = np.array([not self._defaults(root, one)[0] for one in told], np.bool_)
            wrong |= bad[which.reshape(-1)]
        return wrong

    def _defaults(self, node: int, told: dict[int, int]) -> tuple[set[int], bool]:
        """What a node to which a row comes can have by default, given the weights below; and if these are all zero."""
        child = int(self.trees.children[node])
        if child < 0:
            return {int(self._leaves[node])}, True
        sides = [self._defaults(child, told), self._defaults(child + 1, told)]
        nothing = sides[0][1] and sides[1][1] and not told.get(node, 0)
        if self.trees.known[node]:  # the row does not come to the other side, whose weights are zero
            return {x for side, other in (sides, sides[::-1]) if other[1] for x in side[0]}, nothing
        default = int(self.trees.default[node])
        default_values, other_values = sides[default][0], sides[1 - default][0]
        if node not in told:
            return (default_values if other_values else set()), nothing
        change = told[node]
        return {x for x in default_values if any((y - x - change) % self.modulus == 0 for y in other_values)}, nothing
