"""How rounds end: the request that ends one and begins the next, and what the trees of a round are known by.

The folder has the conversation and who sees what.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AskHistograms, FinishRound, NextRound, NodeList
from hedgerow.corridor.wire import Frame
from hedgerow.protocols.told_trees import cut_list, nodes_of
from hedgerow.trees.bins import Grid
from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import joined_cuts
from hedgerow.trees.splits import NO_CUTS, Cuts


class Joined(NamedTuple):
    """The two requests that are one, each with its frame: a party answers them as if they had come one by one."""

    finish: FinishRound
    finish_frame: Frame
    first: AskHistograms
    first_frame: Frame


def joined(frame: Frame, n_trees: int) -> Joined:
    """What a `NextRound` stands for, in rounds of so many trees."""
    request = cast(NextRound, frame.request)
    ends, parties = request.round, request.parties
    finish = FinishRound(ends, request.level, parties, request.leaves, request.values)
    roots = NodeList(np.arange(n_trees), np.zeros(n_trees, np.int64))
    first = AskHistograms(ends + 1, 0, parties, cut_list(NO_CUTS), roots)
    return Joined(finish, Frame.of(finish), first, Frame.of(first))


def told_digest(grid: Grid, levels: Sequence[Cuts], request: FinishRound) -> str:
    """A hash of the trees that a party was told to grow, as `trees_digest` makes it of the trees themselves."""
    cuts = joined_cuts([NO_CUTS, *levels])
    by_set = cuts.bin < 0
    thresholds = np.where(by_set, np.float32(0), grid.thresholds(cuts.column, cuts.bin))
    order = np.lexsort((cuts.nodes.node, cuts.nodes.tree))
    told = (*cuts.nodes, cuts.child, cuts.column, thresholds, cuts.missing_left)
    leaves = nodes_of(request.leaves.tree, request.leaves.node)
    last = np.lexsort((leaves.node, leaves.tree))
    sets = cuts.left_bins[order][by_set[order]]
    return _hash([part[order] for part in told], sets, [*leaves.at(last), request.values[last]])


def trees_digest(forest: Forest) -> str:
    """A hash of what trees say to a row; not of gains and covers, which a party is not told."""
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.roots))
    node = np.arange(len(tree)) - forest.roots[tree]
    cut, leaf = np.flatnonzero(forest.columns >= 0), np.flatnonzero(forest.columns < 0)
    child = forest.children[cut].astype(np.int64) - forest.roots[tree[cut]]
    told = [tree[cut], node[cut], child, forest.columns[cut], forest.thresholds[cut], forest.missing_left[cut]]
    by_set = forest.sets[cut]
    sets = forest.category_sets[by_set[by_set >= 0]]
    return _hash(told, sets, [tree[leaf], node[leaf], forest.values[leaf]])


def _hash(cuts: Sequence[NDArray[Any]], sets: NDArray[np.uint64], leaves: Sequence[NDArray[Any]]) -> str:
    whole = hashlib.sha256()
    for part in (*cuts, sets, *leaves):
        whole.update(len(part).to_bytes(8, "little") + part.tobytes())
    return whole.hexdigest()
