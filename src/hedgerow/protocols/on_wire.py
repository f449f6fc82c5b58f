"""Cuts, nodes and sides as they travel."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import CutList, Sides
from hedgerow.errors import ProtocolError
from hedgerow.trees.local import Part
from hedgerow.trees.splits import Cuts, Nodes


def cut_list(cuts: Cuts) -> CutList:
    """Cuts as they travel."""
    nodes = cuts.nodes
    return CutList(nodes.tree, nodes.node, cuts.child, cuts.column, cuts.bin, cuts.missing_left, cuts.left_bins)


def sides_of(bits: NDArray[np.uint8], sizes: Sequence[int], refusal: str) -> list[NDArray[np.bool_]]:
    """Sides that arrived, a bit a row, for parts of so many rows; another number of them is refused."""
    if len(bits) != (sum(sizes) + 7) // 8:
        raise ProtocolError(refusal)
    left = np.unpackbits(bits, count=sum(sizes), bitorder="little").astype(np.bool_)
    return np.split(left, np.cumsum(sizes)[:-1])


def some_cuts(cuts: Cuts, at: NDArray[np.int64], first: int) -> Cuts:
    """Some cuts, their columns counted from `first`."""
    column = (cuts.column[at] - first).astype(np.int32)
    return Cuts(cuts.nodes.at(at), cuts.child[at], column, cuts.bin[at], cuts.missing_left[at], cuts.left_bins[at])


def fill_sides(
    left: Sequence[NDArray[np.bool_]],
    parts: Sequence[Part],
    nodes: Nodes,
    at: NDArray[np.int64],
    sides: Sequence[NDArray[np.bool_]],
) -> None:
    """Put the sides of some nodes' rows among those of all."""
    for out, part, some in zip(left, parts, sides, strict=True):
        sizes = part.sizes(nodes)
        mine = np.zeros(len(sizes), np.bool_)
        mine[at] = True
        out[np.repeat(mine, sizes)] = some


def told_sides(answer: Sides, party: str, parts: Sequence[Part], nodes: Nodes) -> list[NDArray[np.bool_]]:
    """The sides of the rows at these nodes, part by part, as the party tells them; another number is refused."""
    refusal = f"Party {party!r} did not tell the sides of the rows it was asked about."
    return sides_of(answer.left, [int(part.sizes(nodes).sum()) for part in parts], refusal)
