"""Which cuts leave rows enough on both sides (`min_child_rows`), told by the owner of a column without numbers of rows.

Of a numeric column a bit says for every place of a cut, with missing values on either side, whether both sides have the
rows that the plan asks for. A node's sibling, whose sums nobody is asked for, is told of too.

Categories are cut in the order of their sums, which their owner cannot read: it does not know which sets of them are
possible cuts. Of them it tells how many rows each has at a node, as of nothing else.

Sees in the clear.  Active: these bits, and the rows of categories.

The active party turns the bits into numbers of rows that are not the true ones, but allow and refuse the same cuts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AllowedSums, Answer
from hedgerow.errors import ProtocolError
from hedgerow.trees.splits import Nodes

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def with_siblings(nodes: Nodes) -> Nodes:
    """These nodes, then the sibling of each that is no root: children lie side by side, an odd one first."""
    below = nodes.at(nodes.node > 0)
    return Nodes(np.concatenate([nodes.tree, below.tree]), np.concatenate([nodes.node, ((below.node - 1) ^ 1) + 1]))


@dataclass(frozen=True, eq=False)
class CutPlaces:
    """Where a party's columns can be cut, by number of their bins; both sides make it alike."""

    n_bins: int
    column: Ints
    """Of each bin."""
    missing: Ints
    """Of each column, the bin of missing values; -1: none."""
    either: Ints
    """The bins of numbers that a cut can come after: all of a column, or all but the last where none is missing."""
    beside: Ints
    """Those of them in columns with missing values, which such a cut sends to one side or the other."""
    categories: Ints
    """Bins of categories but each column's last, whose rows follow."""
    last: Ints
    """The last bin of each column of categories."""

    @classmethod
    def of(cls, n_values: Ints, has_missing: Bools, categorical: Bools) -> "CutPlaces":
        """Of columns with so many bins, that of missing values not counted."""
        widths = np.asarray(n_values + has_missing, np.int64)
        ends = np.cumsum(widths)
        n_bins = int(widths.sum())
        column = np.repeat(np.arange(len(widths)), widths)
        is_last = np.zeros(n_bins, np.bool_)
        is_last[ends - 1] = True
        numeric = ~categorical[column]
        either = np.flatnonzero(numeric & ~is_last)
        categories = ~numeric
        return cls(
            n_bins,
            column,
            np.where(has_missing, ends - 1, -1),
            either,
            either[has_missing[column[either]]],
            np.flatnonzero(categories & ~is_last),
            np.flatnonzero(categories & is_last),
        )

    @property
    def n_bits(self) -> int:
        """Of a node."""
        return len(self.either) + len(self.beside)

    def n_bytes(self, nodes: int) -> int:
        """Of all that is told of so many nodes."""
        return (nodes * self.n_bits + 7) // 8 + 8 * nodes * len(self.categories)

    def room(self, nodes: int, n_rows: int) -> int:
        """Bits that what is told of so many nodes has room for: a number of rows is one of a table of so many."""
        return nodes * (self.n_bits + len(self.categories) * n_rows.bit_length())

    def told(self, own_counts: Ints, fewest: int) -> tuple[NDArray[np.uint8], Ints]:
        """What becomes known of these rows a node and bin, each node's total last: bits, and rows of categories."""
        counts, total = own_counts[:, :-1], own_counts[:, -1:]
        below = np.cumsum(counts, axis=1)
        first = np.searchsorted(self.column, self.column)
        left = below - np.where(first > 0, below[:, first - 1], 0)
        missing = np.where(self.missing >= 0, counts[:, self.missing], 0)
        some = left[:, self.beside]
        both = np.concatenate([left[:, self.either], some + missing[:, self.column[self.beside]]], axis=1)
        allowed = np.minimum(both, total - both) >= fewest
        # Before any number there is no cut, whatever is missing: it would be that after the last, the other way round.
        allowed[:, len(self.either) :] &= some > 0
        rows = np.ascontiguousarray(counts[:, self.categories], np.int64).reshape(-1)
        return np.packbits(allowed.reshape(-1), bitorder="little"), rows

    def split(self, answer: AllowedSums, nodes: int) -> tuple[Bools, Ints] | None:
        """What was told of so many nodes, node by node; none if it is of another number of them."""
        n_bits, rows = nodes * self.n_bits, answer.counts
        if len(answer.allowed) != (n_bits + 7) // 8 or len(rows) != nodes * len(self.categories):
            return None
        bits = np.unpackbits(answer.allowed, count=n_bits, bitorder="little").astype(np.bool_)
        return bits.reshape(nodes, self.n_bits), rows.reshape(nodes, -1)

    def rows(self, bits: Bools, known: Ints, total: Ints, fewest: int) -> Ints:
        """Numbers of rows a node and bin that allow what the bits do, for nodes of so many; of categories the true."""
        out = self._numbers(bits, total, fewest)
        out[:, self.categories] = known
        for last in self.last:
            out[:, last] = total - known[:, self.column[self.categories] == self.column[last]].sum(axis=1)
        return out

    def _numbers(self, bits: Bools, total: Ints, fewest: int) -> Ints:
        """One row is missing, and the rows up to a cut are so many that it decides, or that it does not matter.

        In a node of just twice the fewest rows it always decides, so where both sides are allowed none is missing.
        """
        right = np.zeros((len(bits), self.n_bins), np.bool_)
        left = right.copy()
        right[:, self.either], left[:, self.beside] = bits[:, : len(self.either)], bits[:, len(self.either) :]
        most = total[:, None] - fewest
        up_to = np.where(right, np.where(left, fewest, most), np.where(left, fewest - 1, -2))
        first = np.searchsorted(self.column, np.arange(len(self.missing)))
        out = np.diff(up_to, axis=1, prepend=0)
        out[:, first] = up_to[:, first]
        there = np.flatnonzero(self.missing >= 0)
        none = (most == fewest) & np.logical_or.reduceat(right & left, first, axis=1)[:, there]
        out[:, self.missing[there]] = ~none
        return out


class AllowedRows:
    """The active party's side: what the owners of columns told of the nodes of this step."""

    def __init__(self, places: Mapping[str, CutPlaces], fewest: int) -> None:
        self.places, self.fewest = places, fewest
        self._told: dict[str, tuple[Bools, Ints]] = {}
        self._at: dict[tuple[int, int], int] = {}

    def n_bytes(self, nodes: Nodes) -> int:
        """Of the longest answer, sums aside; nothing is told where the plan has no bound."""
        n = len(with_siblings(nodes).node)
        return max(places.n_bytes(n) for places in self.places.values()) if self.fewest > 1 else 0

    def room(self, party: str, nodes: Nodes, n_rows: int) -> int:
        """Bits that a party's answer about these nodes has room for, sums aside."""
        return self.places[party].room(len(with_siblings(nodes).node), n_rows) if self.fewest > 1 else 0

    def hear(self, nodes: Nodes, answers: Mapping[str, Answer]) -> None:
        """What was told with the sums of these nodes."""
        every = with_siblings(nodes)
        self._at = {key: i for i, key in enumerate(zip(every.tree.tolist(), every.node.tolist(), strict=True))}
        self._told = {}
        for party, answer in answers.items() if self.fewest > 1 else ():
            told = self.places[party].split(answer, len(every.node)) if isinstance(answer, AllowedSums) else None
            if told is None or (told[1] < 0).any():
                raise ProtocolError(f"Party {party!r} did not say which cuts leave rows enough on both sides.")
            self._told[party] = told

    def told(self, party: str) -> tuple[Bools, Ints] | tuple[()]:
        """What a party told of this step; nothing where the plan has no bound."""
        return self._told.get(party, ())

    def rows(self, party: str, nodes: Nodes, total: Ints) -> Ints:
        """Numbers of rows a node and bin that allow the cuts that this party allows, for nodes of so many rows."""
        at = [self._at[key] for key in zip(nodes.tree.tolist(), nodes.node.tolist(), strict=True)]
        bits, known = self._told[party]
        return self.places[party].rows(bits[at], known[at], total, self.fewest)

    def check(self, party: str, sizes: Ints) -> None:
        """Both sides of a cut that this party allowed have rows enough, or the run ends."""
        if self.fewest > 1 and int(sizes.min()) < self.fewest:
            raise ProtocolError(
                f"Party {party!r} allowed a cut that leaves fewer rows on a side than the plan's min_child_rows; the "
                "run stops."
            )
