"""Cuts that a hash draws without a look at any row: the same for everybody who knows the seed and numbers of bins.

Of every node it is drawn whose columns cut it, then which of these columns, at which bin, and where missing values go.
What is drawn of an owner's columns depends on nobody else's, so that an owner can check that a cut was not chosen. Bins
that cuts above have ruled out at a node are not drawn there again: such a cut would leave a side empty.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.trees.bins import Grid
from hedgerow.trees.sampling import CUTS, stream
from hedgerow.trees.splits import NO_CUTS, Cuts, Nodes

OWNER, COLUMN, BIN, MISSING, CATEGORIES = range(5)
"""What is drawn of a node; of categories four words of bits."""
LAST = CATEGORIES + 4
N_BINS = 256
"""That a set of bins has room for."""

Draws = NDArray[np.uint64]
Ints = NDArray[np.int64]


class Places(NamedTuple):
    """Where nodes are cut: see `splits.Cuts`."""

    column: NDArray[np.int32]
    bin: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    left_bins: NDArray[np.uint64]


NO_PLACES = Places(NO_CUTS.column, NO_CUTS.bin, NO_CUTS.missing_left, NO_CUTS.left_bins)


class Given(NamedTuple):
    """Which of some nodes are cut, by their places among these, and where; the others become leaves."""

    which: Ints
    places: Places


class GivenCuts(Protocol):
    """Cuts that are not searched for."""

    def at(self, round_: int, depth: int, nodes: Nodes) -> Given | None:
        """Where to cut these nodes, so many levels below their roots; None: where it is worth most."""

    def follow(self, cuts: Cuts) -> None:
        """Every level's cuts, however they were found."""


@dataclass(frozen=True, eq=False)
class GivenLevels:
    """Several kinds of cuts that are given, each at levels of its own."""

    kinds: tuple[GivenCuts, ...]

    def at(self, round_: int, depth: int, nodes: Nodes) -> Given | None:
        """What the first kind says that has this level."""
        return next((found for kind in self.kinds if (found := kind.at(round_, depth, nodes)) is not None), None)

    def follow(self, cuts: Cuts) -> None:
        """Each kind follows them."""
        for kind in self.kinds:
            kind.follow(cuts)


@dataclass(frozen=True, eq=False)
class OwnDraws:
    """What is drawn of one owner's columns, numbered from its first."""

    n_values: Ints
    has_missing: NDArray[np.bool_]
    categorical: NDArray[np.bool_]
    seed: int

    @classmethod
    def of(cls, grid: Grid, seed: int, first: int = 0, last: int | None = None) -> "OwnDraws":
        """Of these columns of a grid."""
        here = slice(first, last)
        return cls(grid.n_values[here], grid.has_missing[here], grid.categorical[here], seed)

    @property
    def can_be_cut(self) -> Ints:
        """The columns of more than one bin."""
        return np.flatnonzero(self.n_values + self.has_missing > 1)

    def places(self, round_: int, nodes: Nodes, open_: "OpenBins | None" = None) -> Places:
        """Where each node is cut, if these columns cut it."""
        low, high = OpenBins(self).of(nodes) if open_ is None else open_.of(nodes)
        return self.placed(drawn_at(self.seed, round_, nodes), low, high)

    def placed(self, drawn: Draws, low: Ints, high: Ints) -> Places:
        """The same for nodes of any rounds: by their draws, and first and last open bins (nodes x columns)."""
        # A column with a single value can be cut from what is missing, once.
        column = self._columns(drawn[:, COLUMN], (high > low) | ((self.n_values == 1) & (low == 0)))
        n_values, missing, by_set = self.n_values[column], self.has_missing[column], self.categorical[column]
        each = np.arange(len(column))
        last = high[each, column]
        first = np.minimum(low[each, column], last)
        bin_ = first + (drawn[:, BIN] % np.maximum(last - first, 1).astype(np.uint64)).astype(np.int64)
        # Rows that lack the value share the first bin where there is none for them; alone they go right.
        left = ~missing | ((drawn[:, MISSING] & np.uint64(1) == 0) & (n_values > 1))
        sets = np.arange(N_BINS) <= bin_[:, None]
        sets[by_set] = _categories(drawn[by_set], n_values[by_set], bin_[by_set])
        has = np.flatnonzero(missing)
        sets[has, n_values[has]] = left[has]
        words = np.packbits(sets, axis=1, bitorder="little").view(np.uint64)
        return Places(column.astype(np.int32), np.where(by_set, -1, bin_).astype(np.int32), left, words)

    def _columns(self, drawn: NDArray[np.uint64], open_: NDArray[np.bool_]) -> Ints:
        """One of each node's columns that can still be cut; where none can, one of all."""
        can = np.zeros(len(self.n_values), np.bool_)
        can[self.can_be_cut] = True
        some = can & open_
        some[~some.any(axis=1)] = can
        rank = np.cumsum(some, axis=1)
        wanted = drawn % rank[:, -1].astype(np.uint64)
        return np.asarray((rank > wanted.astype(np.int64)[:, None]).argmax(axis=1))


class OpenBins:
    """Of one owner's columns of numbers, the bins that the cuts above each node leave, from the first to the last."""

    def __init__(self, own: OwnDraws) -> None:
        last = np.maximum(own.n_values - 1, 0)
        self._every = np.stack([np.zeros(len(last), np.int64), last])
        self._left: dict[tuple[int, int], Ints] = {}

    def start(self) -> None:
        """The trees of another round begin."""
        self._left.clear()

    def of(self, nodes: Nodes) -> tuple[Ints, Ints]:
        """First and last bins of all columns at these nodes (nodes x columns)."""
        names = zip(nodes.tree.tolist(), nodes.node.tolist(), strict=True)
        found = [self._left.get(name, self._every) for name in names]
        both = np.stack(found) if found else np.empty((0, *self._every.shape), np.int64)
        return both[:, 0], both[:, 1]

    def follow(self, nodes: Nodes, child: Ints, column: NDArray[np.int32], bin_: NDArray[np.int32]) -> None:
        """These nodes are cut: at a bin of an own column of numbers, or elsewhere (bin -1)."""
        cuts = zip(
            nodes.tree.tolist(), nodes.node.tolist(), child.tolist(), column.tolist(), bin_.tolist(), strict=True
        )
        for tree, node, first, own, at in cuts:
            left = self._left.get((tree, node), self._every)
            for side in (0, 1):
                self._left[tree, first + side] = left if at < 0 else _cut_at(left, own, at, side)


def _cut_at(left: Ints, column: int, bin_: int, side: int) -> Ints:
    out = left.copy()
    if side == 0:
        out[1, column] = min(out[1, column], bin_)
    else:
        out[0, column] = max(out[0, column], bin_ + 1)
    return out


def drawn_at(seed: int, round_: int, nodes: Nodes) -> Draws:
    """A row of draws for each node."""
    keys = (nodes.node.astype(np.uint64)[:, None] << np.uint64(8)) | np.arange(LAST, dtype=np.uint64)
    out = np.empty(keys.shape, np.uint64)
    for tree in np.unique(nodes.tree).tolist():
        mine = nodes.tree == tree
        out[mine] = _native.draws(keys[mine].reshape(-1), seed, stream(CUTS, round_, tree)).reshape(-1, LAST)
    return out


def _categories(drawn: Draws, n_values: Ints, left: Ints) -> NDArray[np.bool_]:
    """Each category goes left or right alike; `left` does, and the one behind it goes right."""
    words = np.ascontiguousarray(drawn[:, CATEGORIES:])
    sets = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
    every, row = np.arange(N_BINS), np.arange(len(sets))
    sets &= every < n_values[:, None]
    sets[row, (left + 1) % n_values] = False
    sets[row, left] = True
    return sets


@dataclass(frozen=True, eq=False)
class DrawnCuts:
    """The cuts of levels at which none is searched for: in columns of one of several owners, as often as it has some.

    `spans` are the owners' columns, each from its first to before its last; `open_to` says which of them a round asks.
    """

    grid: Grid
    spans: Sequence[tuple[int, int]]
    depths: frozenset[int]
    seed: int
    open_to: Callable[[int], NDArray[np.bool_]]
    unit_of: Callable[[Nodes], Ints] | None = None
    """The only owner that may cut each node, by number, where nodes belong to one (-1: to nobody)."""

    def at(self, round_: int, depth: int, nodes: Nodes) -> Given | None:
        """A cut for every node that can be cut, where the level is drawn and there are columns to be cut."""
        if depth == 0:
            for _, open_ in self._owners:
                open_.start()
        if depth not in self.depths:
            return None
        n_columns = np.array([len(own.can_be_cut) for own, _ in self._owners]) * self.open_to(round_)
        if not n_columns.any():
            return None
        if self.unit_of is None:
            ends = np.cumsum(n_columns)
            drawn = drawn_at(self.seed, round_, nodes)[:, OWNER] % np.uint64(ends[-1])
            owner = np.searchsorted(ends, drawn.astype(np.int64), side="right")
            which = np.arange(len(owner))
        else:
            unit = self.unit_of(nodes)
            which = np.flatnonzero((unit >= 0) & (n_columns[unit] > 0))
            nodes, owner = nodes.at(which), unit[which]
            if not len(which):
                return Given(which, NO_PLACES)
        order = np.argsort(owner, kind="stable")
        parts = [
            own.places(round_, nodes.at(np.flatnonzero(owner == number)), open_)
            for number, (own, open_) in enumerate(self._owners)
            if (owner == number).any()
        ]
        column, bin_, left, sets = (np.concatenate(field) for field in zip(*parts, strict=True))
        first = np.array([first for first, _ in self.spans])[owner[order]]
        back = np.argsort(order)
        return Given(which, Places((column + first).astype(np.int32)[back], bin_[back], left[back], sets[back]))

    def follow(self, cuts: Cuts) -> None:
        """Children have the bins that the cuts leave."""
        for (_, open_), (first, last) in zip(self._owners, self.spans, strict=True):
            mine = (cuts.column >= first) & (cuts.column < last)
            open_.follow(cuts.nodes, cuts.child, cuts.column - np.int32(first), np.where(mine, cuts.bin, -1))

    @cached_property
    def _owners(self) -> list[tuple[OwnDraws, OpenBins]]:
        owners = (OwnDraws.of(self.grid, self.seed, *span) for span in self.spans)
        return [(own, OpenBins(own)) for own in owners]
