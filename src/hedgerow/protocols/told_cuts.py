"""Cuts, nodes and sides as they travel, and what a node is to a party that is told to cut it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ProtocolError
from hedgerow.messages import CutList
from hedgerow.trees.splits import Cuts, Nodes

CUT, LEAF, LOWEST, ASKED = 1, 2, 3, 4
"""What a node is: cut, a leaf above the lowest level, at the lowest level, and there already summed."""


def cut_list(cuts: Cuts) -> CutList:
    """Cuts as they travel."""
    nodes = cuts.nodes
    return CutList(nodes.tree, nodes.node, cuts.child, cuts.column, cuts.bin, cuts.missing_left, cuts.left_bins)


def nodes_of(tree: NDArray[np.int64], node: NDArray[np.int64]) -> Nodes:
    """Nodes that arrived."""
    if tree.shape != node.shape:
        raise ProtocolError("A list of nodes is not well formed.")
    return Nodes(tree, node)


def sides_of(bits: NDArray[np.uint8], sizes: Sequence[int], refusal: str) -> list[NDArray[np.bool_]]:
    """Sides that arrived, a bit a row, for parts of so many rows; another number of them is refused."""
    if len(bits) != (sum(sizes) + 7) // 8:
        raise ProtocolError(refusal)
    left = np.unpackbits(bits, count=sum(sizes), bitorder="little").astype(np.bool_)
    return np.split(left, np.cumsum(sizes)[:-1])
