"""Whether what passive parties say can be true of rows, as far as the active party can tell by itself.

A passive party chooses which sealed gradients it adds up. One that returns a multiple of a few rows' gradients as the
sums of invented columns could read labels from which of these columns is cut. Four things bind it, at every level, at
nodes it was asked about and at their siblings, whose sums are the parent's less theirs:

*Bins.* In no column do the absolute sums of all bins exceed the absolute values of the node's rows together.
*Cuts.* At a chosen cut the sums of the bins that go left are those of the rows that the owner says go left.
*Children.* Below a cut a node has no rows, and so no sums, in bins of the column that went to the other side.
*Again.* A node that no cut improved and that a later level looks at again has the same sums there.
*Repetition.* A tree that is grown again after a loss is told the same (`SaidBefore`).

Where a plan bounds the rows of a child, the owners of columns also say which cuts leave rows enough (`AllowedRows`).

The rows of a node, their gradients and their number are the active party's own; no other row is known here.

Sees in the clear.  What the active party has anyway: opened sums, sides, its own gradients. Nothing is said.
"""

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import AllowedSums, Answer
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.protocols.vertical.columns import Bools, CutPlaces, Ints, with_siblings
from hedgerow.trees.bins import Grid
from hedgerow.trees.splits import Cuts, Nodes

EXACT_BITS = 44
"""Columns of sums below 2 to this add up exactly in floats, which larger ones do to this share."""

BINS = "gave sums that the rows of the node cannot have"
CUT = "gave sums of a cut that are not those of the rows that it says go left"
CHILD = "gave sums of bins in which, by the sides that it told, the node has no rows"
AGAIN = "gave other sums of a node than at a level above"


class _Claims(NamedTuple):
    """What is claimed of some nodes."""

    sums: Ints
    """Nodes x bins x 2."""
    absolute: Ints
    """Nodes x 2: absolute gradients and hessians of the node's rows, added up by the active party."""
    possible: Bools
    """Nodes x bins: where the cuts above leave rows."""


class ClaimedSums:
    """The sums of passive columns in the trees of one round: those of this level, and the parents of the next."""

    def __init__(self, owned: Sequence[tuple[str, int, int]], grid: Grid, again: bool = False) -> None:
        """For the columns of these parties, each from its first to before its last.

        `again` says whether a node may be asked about a second time, at a level below.
        """
        self.again = again
        offsets = grid.offsets.astype(np.int64)
        columns = np.concatenate([np.arange(first, last) for _, first, last in owned])
        self.at = np.concatenate([np.arange(offsets[c], offsets[c + 1]) for c in columns])
        self.ends = np.cumsum(offsets[columns + 1] - offsets[columns])
        self.starts = np.concatenate([[0], self.ends[:-1]])
        self.owners = [party for party, first, last in owned for _ in range(first, last)]
        self.place = np.full(grid.n_columns, -1, np.int64)
        self.place[columns] = np.arange(len(columns))
        self.known: dict[int, tuple[_Claims, int]] = {}
        """Of each node of this level, where it stands among what was claimed together."""
        self.whole: dict[int, tuple[_Claims, int]] = {}
        """The same of nodes above that were not cut."""
        self.parents: _Claims | None = None
        self.children: Ints = np.empty(0, np.int64)
        """Left and right child of each parent in turn."""
        self.possible: Bools = np.empty((0, len(self.at)), np.bool_)
        """Of the children."""

    def give(self, nodes: Nodes, sums: Ints, absolute: Ints) -> None:
        """Sums of these nodes, all columns', and what the absolute values of their rows add up to; checked."""
        own, keys = sums[:, self.at], _keys(nodes.tree, nodes.node)  # a copy: the grower changes sums in place
        below = np.isin(keys, self.children)
        possible = np.ones(own.shape[:2], np.bool_)
        child = np.searchsorted(self.children, keys[below])
        possible[below] = self.possible[child]
        self._check_again(keys, own)
        self._know(keys, _Claims(own, absolute, possible))
        alone = ~np.isin(child ^ 1, child)
        if self.parents is None or not alone.any():
            return
        at, child = np.flatnonzero(below)[alone], child[alone]
        left = (self.parents.sums[child >> 1] - own[at], self.parents.absolute[child >> 1] - absolute[at])
        self._know(self.children[child ^ 1], _Claims(*left, self.possible[child ^ 1]), derived=True)

    def _check_again(self, keys: Ints, sums: Ints) -> None:
        """Nodes that were claimed before and not cut since have the same rows, and so the same sums."""
        for i, key in enumerate(keys.tolist()):
            claims, at = self.whole.get(key, (None, 0))
            if claims is not None and (differs := (claims.sums[at] != sums[i]).any(axis=1)).any():
                raise made_up(self.owners[np.searchsorted(self.ends, int(differs.argmax()), "right")], AGAIN)

    def _know(self, keys: Ints, claims: _Claims, derived: bool = False) -> None:
        self._check_bins(claims)
        self._check_children(claims)
        places = {key: (claims, i) for i, key in enumerate(keys.tolist())}
        self.known = places | self.known if derived else self.known | places

    def _check_bins(self, claims: _Claims) -> None:
        """In all bins of a column no more than all rows have; then no hessian is negative, as they add up to theirs."""
        limit = claims.absolute + (claims.absolute >> EXACT_BITS)
        whole = np.add.reduceat(np.abs(claims.sums).astype(np.float64), self.starts, axis=1)
        for column in np.flatnonzero((whole > limit[:, None]).any(axis=(0, 2))):
            raise made_up(self.owners[column], BINS)

    def _check_children(self, claims: _Claims) -> None:
        """Nothing in bins that have no rows of the node."""
        for bin_ in np.flatnonzero((claims.sums.any(axis=2) & ~claims.possible).any(axis=0)):
            raise made_up(self.owners[np.searchsorted(self.ends, bin_, "right")], CHILD)

    def _check_cut(self, party: str, claimed: Ints, sums: Ints) -> None:
        """What was claimed of the bins that go left is what their rows have."""
        if not np.array_equal(claimed, sums):
            raise made_up(party, CUT)

    def forget(self) -> None:
        """Nodes were cut of which nothing was claimed; of their children nothing follows from claims above."""
        self._keep(())
        self.parents, self.children, self.possible = None, self.children[:0], self.possible[:0]

    def _keep(self, cut: Container[int]) -> None:
        """Of the nodes of this level those that are not cut may be claimed again."""
        if self.again:
            self.whole |= {key: found for key, found in self.known.items() if key not in cut}
        self.known = {}

    def theirs(self, cuts: Cuts) -> Ints:
        """Which of the cuts are of these columns."""
        return np.flatnonzero(self.place[cuts.column] >= 0)

    def cut(self, cuts: Cuts, which: Ints, left: Ints) -> None:
        """Nodes were cut; of some cuts these are the sums of the rows that went left, which must be the claimed."""
        keys = _keys(*cuts.nodes).tolist()
        found = [self.known[key] for key in keys]
        self._keep(set(keys))
        parents = _Claims(*(np.stack([claims[part][i] for claims, i in found]) for part in range(3)))
        possible = np.repeat(parents.possible, 2, axis=0)
        for i, sums in zip(which.tolist(), left, strict=True):
            column = self.place[cuts.column[i]]
            here = slice(self.starts[column], self.ends[column])
            goes = _bins(cuts.left_bins[i], self.ends[column] - self.starts[column])
            self._check_cut(self.owners[column], parents.sums[i, here][goes].sum(axis=0), sums)
            possible[2 * i, here] &= goes
            possible[2 * i + 1, here] &= ~goes
        self.parents, self.possible = parents, possible
        self.children = _keys(np.repeat(cuts.nodes.tree, 2), np.stack([cuts.child, cuts.child + 1], axis=1).reshape(-1))


def made_up(party: str, what: str) -> PrivacyError:
    """The end of a run with a party that does not say what its rows give; it says nothing of anybody's values."""
    return PrivacyError(
        f"Party {party!r} {what}: sums that are made up can be used to read labels, so the run stops; begin no other "
        "with this party before it has explained that."
    )


def _keys(tree: Ints, node: Ints) -> Ints:
    """One integer a node, in the order of trees and nodes."""
    return np.asarray((tree << 32) + node, np.int64)


def _bins(set_: NDArray[np.uint64], n: int) -> Bools:
    """Which of a column's bins are in a set."""
    return np.unpackbits(np.ascontiguousarray(set_).view(np.uint8), bitorder="little")[:n].astype(np.bool_)


class AllowedRows:
    """The active party's side: what the owners of columns told of the nodes of this step."""

    def __init__(self, places: Mapping[str, CutPlaces], fewest: int, n_rows: int) -> None:
        """Of a table of so many rows."""
        self.places, self.fewest, self.n_rows = places, fewest, n_rows
        self._told: dict[str, tuple[Bools, Ints]] = {}
        self._at: dict[tuple[int, int], int] = {}

    def n_bytes(self, nodes: Nodes) -> int:
        """Of the longest answer, sums aside; nothing is told where the plan has no bound."""
        if self.fewest <= 1:
            return 0
        n = len(with_siblings(nodes).node)
        return max(places.n_bytes(n) for places in self.places.values())

    def room(self, party: str, nodes: Nodes) -> int:
        """Bits that a party's answer about these nodes has room for, sums aside."""
        return self.places[party].room(len(with_siblings(nodes).node), self.n_rows) if self.fewest > 1 else 0

    def hear(self, nodes: Nodes, answers: Mapping[str, Answer]) -> None:
        """What was told with the sums of these nodes."""
        if self.fewest <= 1:
            return
        every = with_siblings(nodes)
        self._at = {key: i for i, key in enumerate(zip(every.tree.tolist(), every.node.tolist(), strict=True))}
        self._told = {}
        for party, answer in answers.items():
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


class SaidBefore:
    """Hashes of the answers of the round under way, in every attempt at it: trees that are grown again are told alike.

    A party that made up its sums, saw which cut was chosen and went away before it had to tell the sides would else be
    asked again for the same rows, and could make up others. Gradients, rows and cuts of trees that are grown again are
    the same, and so are the answers: sums, which cuts are allowed, and sides. What was said once is compared as far as
    all parties before it said the same; after the loss of another party the trees may become others.

    How many bins its columns have a party says in every attempt, and always the same: else the sums that it gave before
    would be those of other columns, or of none, and those that it made up would never be checked.

    A new process of the active party begins without them.
    """

    def __init__(self) -> None:
        self.round = -1
        self._so_far = b""
        self._said: dict[tuple[bytes, str], bytes] = {}
        self._columns: dict[str, bytes] = {}

    def describe(self, party: str, columns: Iterable[NDArray[np.generic]]) -> None:
        """What a party says of its columns at the beginning of an attempt; others than before end the run."""
        digest = _digest(columns)
        if self._columns.setdefault(party, digest) != digest:
            raise PrivacyError(
                f"Party {party!r} describes other columns than before a party was lost, so its table has changed or it "
                "makes up what it says; the run stops."
            )

    def start_round(self, round_: int, asked_for: bytes = b"") -> None:
        """The trees of a round begin, for the first time or again; only what is asked for alike is to be told alike."""
        if round_ != self.round:
            self.round = round_
            self._said.clear()
        self._so_far = asked_for

    def hear(self, answers: Mapping[str, Iterable[NDArray[np.generic]]]) -> None:
        """The next answers; one that is another than before ends the run."""
        now = hashlib.sha256(self._so_far)
        for party in sorted(answers):
            digest = _digest(answers[party])
            if self._said.setdefault((self._so_far, party), digest) != digest:
                raise PrivacyError(
                    f"Party {party!r} says something else of the same rows than before a party was lost, so its table "
                    "has changed or it makes up what it says; the run stops."
                )
            now.update(party.encode() + digest)
        self._so_far = now.digest()


def _digest(arrays: Iterable[NDArray[np.generic]]) -> bytes:
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).data)
    return whole.digest()
