"""What the active party of a vertical run has learnt of the passive columns' bins: noted by itself, for its manifest.

Sees in the clear.  What the active party has anyway: sides, opened sums, its own gradients. Nothing is said.

Of some rows (of a small table all) it notes for every bin of every passive column whether the row may still be in it.
*Sides:* a row that goes left at a cut is in one of the bins that do. *Sums:* a row is in no bin whose sum of hessians
at its node is less than its own hessian; a bin with less than twice the node's least hessian holds one row at most,
which has just the gradient and hessian that the sum says. How full the bins are, sums at the first root tell; what
remains possible for a row weighs so that all rows together fill them just so. The share that was told is
1 - (mean entropy that remains) / (entropy of the column).

A party that has some of the rows is looked at over these: what others have at a node is taken from its missing values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import RunError
from hedgerow.trees.bins import Grid
from hedgerow.trees.local import Part
from hedgerow.trees.splits import Cuts, Nodes

MOST_CELLS, FEWEST_ROWS = 1 << 18, 500
"""Rows times bins that are looked at; of a larger table some rows, drawn once, but at least so many."""
FITS, FITTED, TINY, LEAST_ENTROPY = 1000, 1e-8, 1e-9, 1e-5

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Held = Mapping[str, Bools]
"""By party, which rows it has; one that is not named has all."""


@dataclass(frozen=True)
class ColumnTold:
    """How much of a passive column's bins the active party has learnt."""

    party: str
    column: int
    """Counted among the party's own."""
    bins: int
    entropy: float
    """Bits that the bin of a row has before anything is told."""
    sides: float
    """The share of them that sides told."""
    sides_and_sums: float


@dataclass(eq=False)
class LearntBins:
    """Which bins of passive columns each of some rows may still be in."""

    # more than 15 attributes: arrays that are kept between processes, and where they lie in the run at hand

    owners: tuple[tuple[str, int], ...]
    """Passive parties and how many columns each has, in order."""
    columns: Ints
    """The passive columns, by number among all."""
    widths: Ints
    at: Ints
    """Where their bins lie among those of all columns; -1 for bins of a party that is lost."""
    rows: Ints
    n_rows: int
    by_sides: Bools
    by_both: Bools
    """Rows x passive bins: whether sides, or sides and sums, leave the bin open."""
    full: Ints
    """Sums of hessians of a whole tree, the first that asked."""
    here: Bools
    """Parties x these rows: which the party has."""
    sizes: tuple[int, ...]
    """How many rows each party has."""
    opened: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The sums of each party that were opened, and the bits that they can carry at most, whatever was sealed."""
    _known: dict[tuple[int, int], Ints] = field(default_factory=dict)
    _sibling: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Of a child, its parent and its sibling."""
    _is_asked: bool = False
    """Whether passive parties give sums in this round."""

    @classmethod
    def of(
        cls, grid: Grid, passive: Sequence[tuple[str, int, int]], n_rows: int, held: Held | None = None
    ) -> "LearntBins":
        """Nothing is known yet; of all columns these, from a first up to a last, are each passive party's."""
        offsets, none = grid.offsets.astype(np.int64), np.empty(0, np.int64)
        columns = np.concatenate([none, *(np.arange(first, last) for _, first, last in passive)])
        at = np.concatenate([none, *(np.arange(offsets[c], offsets[c + 1]) for c in columns)])
        n = min(n_rows, max(FEWEST_ROWS, MOST_CELLS // max(len(at), 1)))
        rows = np.sort(np.random.default_rng(0).permutation(n_rows)[:n])
        owners = tuple((party, last - first) for party, first, last in passive)
        possible = np.ones((n, len(at)), np.bool_)
        known = (owners, columns, np.diff(offsets)[columns], at, rows, n_rows)
        here, masks = np.ones((len(owners), n), np.bool_), [(held or {}).get(party) for party, _ in owners]
        for own, mask in zip(here, masks, strict=True):
            own[:] = True if mask is None else mask[rows]
        sizes = tuple(n_rows if mask is None else int(mask.sum()) for mask in masks)
        full = np.zeros(len(at), np.int64)
        return cls(*known, by_sides=possible, by_both=possible.copy(), full=full, here=here, sizes=sizes)

    def __post_init__(self) -> None:
        self.place = np.full(self.n_rows, -1, np.int64)
        self.place[self.rows] = np.arange(len(self.rows))
        self.ends = np.cumsum(self.widths)
        ends = np.cumsum([n for _, n in self.owners], dtype=np.int64).tolist()
        self.spans = [slice(last - n, last) for (_, n), last in zip(self.owners, ends, strict=True)]
        """The columns of each party."""
        self.held: list[Bools | None] = [None] * len(self.owners)

    @property
    def starts(self) -> Ints:
        """Where the bins of each column begin."""
        return np.asarray(self.ends - self.widths, np.int64)

    def follow(self, grid: Grid, held: Held | None = None) -> None:
        """Where bins lie now: the columns of a party that is lost have one left, in which all rows are."""
        self.held = [(held or {}).get(party) for party, _ in self.owners]
        offsets = grid.offsets.astype(np.int64)
        bins = np.diff(offsets)
        self.at = np.full(len(self.at), -1)
        for column, a, b in zip(self.columns.tolist(), self.starts, self.ends, strict=True):
            n = min(int(bins[column]), int(b - a))
            self.at[b - n : b] = np.arange(offsets[column + 1] - n, offsets[column + 1])

    def start_round(self) -> None:
        """New trees; what earlier ones told stays known."""
        self._known, self._sibling, self._is_asked = {}, {}, False

    def sums(self, nodes: Nodes, opened: Ints, part: Part, gradients: NDArray[Any]) -> None:
        """Sums of these nodes, and with them those of their siblings.

        If passive parties were not asked, all rows of the root stand in the last bins, which nobody sums.
        """
        told = opened[:, self.at]
        told[:, self.at < 0] = 0
        self._leave_out_others(nodes, told, part, gradients)
        self._is_asked = self._is_asked or bool(np.delete(told, self.ends - 1, axis=1).any())
        if not self._is_asked:
            return
        if not self.full.any():
            self.full = told[nodes.tree == nodes.tree[0], :, 1].sum(axis=0)
        asked = list(zip(nodes.tree.tolist(), nodes.node.tolist(), strict=True))
        new = dict(zip(asked, told, strict=True))
        for (tree, node), sums in list(new.items()):
            parent, sibling = self._sibling.get((tree, node), (-1, -1))
            if (tree, parent) in self._known and (tree, sibling) not in new:
                new[tree, sibling] = self._known[tree, parent] - sums
        for (tree, node), sums in new.items():
            rows = part.rows(_one(tree, node))
            for columns, held in self._apart():
                self._exclude(rows if held is None else rows[held[rows]], sums, gradients[tree], columns)
        self._known |= new

    def _apart(self) -> list[tuple[slice, Bools | None]]:
        """Columns whose owners have the same rows."""
        if all(held is None for held in self.held):
            return [(slice(0, len(self.columns)), None)]
        return list(zip(self.spans, self.held, strict=True))

    def _leave_out_others(self, nodes: Nodes, told: Ints, part: Part, gradients: NDArray[Any]) -> None:
        """Rows that a party lacks stand with its missing values."""
        last = self.ends - 1
        for i, (tree, node) in enumerate(zip(nodes.tree.tolist(), nodes.node.tolist(), strict=True)):
            rows = part.rows(_one(tree, node))
            for columns, held in self._apart():
                if held is not None:
                    told[i, last[columns]] -= gradients[tree][rows[~held[rows]]].sum(axis=0, dtype=np.int64)

    def _exclude(self, rows: NDArray[np.uint32], sums: Ints, gradients: NDArray[Any], columns: slice) -> None:
        """Rows of a node are not in bins with less than their own sums; one that is alone in a bin is in no other.

        Of these columns, whose owners have these rows.
        """
        first, ends = int(self.starts[columns][0]), self.ends[columns]
        at, sums = slice(first, int(ends[-1])), sums[first : int(ends[-1])]
        here = self.place[rows]
        mine = here >= 0
        if not mine.any():
            return
        pairs = gradients[rows].astype(np.int64)
        out = pairs[mine, 1][:, None] > sums[None, :, 1]
        if (least := int(pairs[:, 1].min())) > 0:
            alone = np.flatnonzero((sums[:, 1] > 0) & (sums[:, 1] < 2 * least))
            keys, wanted_keys = _keys(pairs), _keys(sums[alone])
            out[:, alone] |= keys[mine][:, None] != wanted_keys[None]
            self._place_alone(keys, wanted_keys, alone + first, here)
        # A column that lies in the last bin alone is passed over: its owner may not have been asked.
        totals = np.add.reduceat(sums[:, 1], self.starts[columns] - first)
        out[:, np.repeat(sums[ends - 1 - first, 1] == totals, self.widths[columns])] = False
        self.by_both[here[mine], at] &= ~out

    def _place_alone(self, keys: Ints, wanted_keys: Ints, bins: Ints, here: Ints) -> None:
        order = np.argsort(keys, kind="stable")
        first = np.searchsorted(keys[order], wanted_keys, "left")
        once = np.searchsorted(keys[order], wanted_keys, "right") - first == 1
        for bin_, row in zip(bins[once].tolist(), here[order[first[once]]].tolist(), strict=True):
            if row >= 0:
                column = int(np.searchsorted(self.ends, bin_, "right"))
                self.by_both[row, self.starts[column] : bin_] = False
                self.by_both[row, bin_ + 1 : self.ends[column]] = False

    def sides(self, cuts: Cuts, parts: list[Part]) -> None:
        """Rows were divided by these cuts; of those of passive columns the sides were told."""
        nodes, column_of = cuts.nodes, {int(c): i for i, c in enumerate(self.columns)}
        for i, (tree, node, child) in enumerate(zip(*(a.tolist() for a in (*nodes, cuts.child)), strict=True)):
            self._sibling[tree, child], self._sibling[tree, child + 1] = (node, child + 1), (node, child)
            column = column_of.get(int(cuts.column[i]))
            if column is None:
                continue
            a, b = int(self.starts[column]), int(self.ends[column])
            left = np.unpackbits(cuts.left_bins[i].view(np.uint8), bitorder="little")[: b - a].astype(np.bool_)
            for part in parts:
                for at, goes in ((child, left), (child + 1, ~left)):
                    here = self.place[part.rows(_one(tree, at))]
                    here = here[here >= 0]
                    self.by_sides[here, a:b] &= goes
                    self.by_both[here, a:b] &= goes

    def told(self) -> list[ColumnTold]:
        """The share of every passive column's bins that was told."""
        names = [(owner, number) for owner, (_, n) in enumerate(self.owners) for number in range(n)]
        return [self._told(*name, slice(a, b)) for name, a, b in zip(names, self.starts, self.ends, strict=True)]

    def _told(self, owner: int, number: int, at: slice) -> ColumnTold:
        party, rows = self.owners[owner][0], np.flatnonzero(self.here[owner])
        if not len(rows):
            return ColumnTold(party, number, int(at.stop - at.start), 0.0, 0.0, 0.0)
        full = np.maximum(self.full[at], 0) + TINY
        share = full / full.sum()
        entropy = float(-(share * np.log2(share)).sum())
        chance = 2 * np.sqrt(share / len(rows)) if len(rows) < self.sizes[owner] else np.zeros_like(share)
        left = [_remaining(possible[rows, at], share, chance) for possible in (self.by_sides, self.by_both)]
        sides, both = (round(max(1 - bits / entropy, 0.0), 3) if entropy > LEAST_ENTROPY else 0.0 for bits in left)
        return ColumnTold(party, number, len(share), round(abs(entropy), 3), sides, max(sides, both))

    def count(self, party: str, sums: int, bits: int) -> None:
        """So many more sums of a party were opened, with room for so many bits."""
        before = self.opened.get(party, (0, 0))
        self.opened[party] = (before[0] + sums, before[1] + bits)

    def packed(self) -> bytes:
        """All of it, to be kept by the active party for itself."""
        arrays = (self.columns, self.widths, self.at, self.rows, self.full)
        bits = tuple(np.packbits(array).tobytes() for array in (self.by_sides, self.by_both, self.here))
        raw = tuple(np.asarray(array, np.int64).tobytes() for array in arrays)
        return msgspec.msgpack.encode(_Packed(self.owners, self.n_rows, self.opened, raw, bits, self.sizes))

    @classmethod
    def unpacked(cls, content: bytes) -> "LearntBins":
        """What was kept."""
        try:
            kept = msgspec.msgpack.decode(content, type=_Packed)
            columns, widths, at, rows, full = (np.frombuffer(raw, np.int64).copy() for raw in kept.arrays)
            shapes = [(len(rows), len(at))] * 2 + [(len(kept.owners), len(rows))]
            sides, both, here = (
                np.unpackbits(np.frombuffer(raw, np.uint8), count=a * b).astype(np.bool_).reshape(a, b)
                for raw, (a, b) in zip(kept.bits, shapes, strict=True)
            )
            known = (kept.owners, columns, widths, at, rows, kept.n_rows, sides, both, full, here, kept.sizes)
            return cls(*known, opened=kept.opened)
        except (msgspec.DecodeError, ValueError, IndexError):
            raise RunError("What was kept of the sides and sums is damaged; start again in another folder.") from None


class _Packed(msgspec.Struct, frozen=True, array_like=True):
    owners: tuple[tuple[str, int], ...]
    n_rows: int
    opened: dict[str, tuple[int, int]]
    arrays: tuple[bytes, ...]
    bits: tuple[bytes, ...]
    sizes: tuple[int, ...]


def _remaining(possible: Bools, share: NDArray[np.float64], chance: NDArray[np.float64]) -> float:
    """Mean bits that remain of a row's bin; possible ones weigh so that all rows together fill them as they do.

    Rows that were drawn fill them so up to chance.
    """
    kinds, counts = np.unique(np.packbits(possible, axis=1), axis=0, return_counts=True)
    alike, often = np.unpackbits(kinds, axis=1, count=len(share)), counts / len(possible)
    weights = share.copy()
    for _ in range(FITS):
        each = alike * weights
        each /= each.sum(axis=1, keepdims=True)
        now = np.maximum(often @ each, TINY)
        factor = np.clip(now, share - chance, share + chance) / now
        weights *= factor
        weights = np.maximum(weights / weights.sum(), TINY)
        if abs(factor - 1).max() < FITTED:
            break
    return float(-often @ (each * np.log2(np.maximum(each, TINY))).sum(axis=1))


def _one(tree: int, node: int) -> Nodes:
    return Nodes(np.array([tree]), np.array([node]))


def _keys(pairs: Ints) -> Ints:
    """A gradient and a hessian as one integer."""
    return np.asarray((pairs[:, 0] << 32) + pairs[:, 1], np.int64)
