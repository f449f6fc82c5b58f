"""Which rows and columns a tree sees: drawn by a hash of (seed, round, what it is), alike in every layout."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.splits import Nodes

ROWS, TREE_COLUMNS, NODE_COLUMNS = 1, 2, 3
CUTS, CHOOSING = 7, 8
"""Of cuts that are drawn, and of rows by which cuts are chosen; `data.partition`, `data.hybrid_rows` and
`session.participants` have those between."""

_ALL = np.empty((0, 0), np.bool_)


def stream(purpose: int, round_: int, tree: int = 0) -> int:
    """Of draws for one purpose in one tree."""
    return (purpose << 60) | (tree << 32) | round_


def rows(keys: NDArray[np.uint64], share: float, seed: int, round_: int, purpose: int = ROWS) -> NDArray[np.bool_]:
    """Which rows the round's trees are grown from; each with the probability `share`. Each purpose has its own draw."""
    return _native.draws(keys, seed, stream(purpose, round_)) < np.uint64(min(int(share * 2**64), 2**64 - 1))


@dataclass(frozen=True)
class ColumnSampler:
    """Which columns may be cut, by tree and by node; a fixed number, at least one."""

    n_columns: int
    by_tree: float
    by_node: float
    seed: int
    among: Callable[[int], NDArray[np.bool_]] | None = None
    """Which columns are there at all in a round; None: every one, always."""

    def allowed(self, round_: int, nodes: Nodes) -> NDArray[np.bool_]:
        """A row for each node, or no row where all columns are allowed."""
        if self.by_tree >= 1 and self.by_node >= 1:
            return self._every(round_, len(nodes.tree))
        trees = {int(t): self._of_tree(round_, int(t)) for t in np.unique(nodes.tree)}
        masks = np.stack([trees[int(t)] for t in nodes.tree])
        if self.by_node < 1:
            for i, (tree, node) in enumerate(zip(nodes.tree, nodes.node, strict=True)):
                masks[i] = self._of_node(masks[i], round_, int(tree), int(node))
        return masks

    def _every(self, round_: int, n_nodes: int) -> NDArray[np.bool_]:
        there = None if self.among is None else self.among(round_)
        return _ALL if there is None or there.all() else np.tile(there, (n_nodes, 1))

    def _of_tree(self, round_: int, tree: int) -> NDArray[np.bool_]:
        every = np.arange(self.n_columns, dtype=np.uint64)
        if self.among is not None:
            every = every[self.among(round_)]
        return self._least(every, self.by_tree, stream(TREE_COLUMNS, round_, tree), 0)

    def _of_node(self, mask: NDArray[np.bool_], round_: int, tree: int, node: int) -> NDArray[np.bool_]:
        chosen = np.flatnonzero(mask).astype(np.uint64)
        return self._least(chosen, self.by_node, stream(NODE_COLUMNS, round_, tree), node)

    def _least(self, columns: NDArray[np.uint64], share: float, stream: int, node: int) -> NDArray[np.bool_]:
        """The columns with the least draws, as many as the share says."""
        keys = columns | np.uint64(node << 32)
        order = np.argsort(_native.draws(keys, self.seed, stream), kind="stable")
        mask = np.zeros(self.n_columns, np.bool_)
        mask[columns[order[: max(1, round(share * len(columns)))]]] = True
        return mask
