"""Slots of a sealed prediction: what passive parties choose among, one slot for each of their cuts, and its weights.

Take a row that goes a fixed way at every passive cut, its default, and the ways at all other cuts that the active party
knows. It ends at a leaf; the weights of these leaves are the *offset*, which the active party computes alone. If the
row goes the other way at a passive cut to which it comes, its score changes by the difference of what the two sides
have by default. So a score is the offset plus, over all passive cuts, that difference where the row comes out of the
cut on the other side. The differences are the *weights* of the slots; where the row comes out is the passive parties'
*choice*. A cut to which the active party's own cuts do not let the row come has a weight of zero.

- If no cut of the active party has a say in a weight, it is the same for all rows (`shared`), and sealed once.
- Below cuts of several passive parties a weight goes from one to the next: each sums what it allows, in groups by what
  the next will choose (`relays`), under pads that only the next knows; the active party opens noise and seals it again,
  and the next takes the pads away.

Weights are integers, and all sums are taken modulo a prime, so that differences and pads need no more room than scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Column
from hedgerow.model.model import Model
from hedgerow.model.part import Part, ends_below, ownership_of, part_of
from hedgerow.trees.forest import Forest

Ints = NDArray[np.int64]
NEVER = -2
"""The end of an entry that only fills a group: no row comes out of it."""
FRESH = -1
"""The source of an entry that the active party seals from its own weights."""
RELAYED = -1
"""The node of an entry that is another party's relay."""
LINK = 1 << 32
"""A source is a party's number times this, plus the number of its relay among those to the same party."""

Above = tuple[tuple[int, int], ...]
"""Passive parties, by number, and where a row must come out of the cuts of each: its end."""


@dataclass(frozen=True, eq=False)
class PartySlots:
    """What one passive party is told of the slots of one class.

    An *end* is twice the number of an own cut, by tree and node, and one more for its right side.
    """

    entries: Ints
    """For each entry of a row the own end that chooses it."""
    sources: Ints
    """For each entry whose relay it is, or `FRESH`."""
    shared: Ints
    """For each entry that all rows share the own end that chooses it."""
    relays: Ints
    """Groups x width: the ends of entries whose sum goes on to another party."""
    relay_sources: Ints
    """Groups x width: where these come from."""
    targets: Ints
    """For each group the number of the party that it goes on to."""


@dataclass(frozen=True)
class _Entry:
    """One entry: the own end that chooses it, and its weight, that of a node or of another party's relay."""

    end: int
    node: int = RELAYED
    source: int = FRESH


class _Entries:
    """Entries in order, as arrays."""

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self.ends: Ints = np.array([entry.end for entry in entries], np.int64)
        self.sources: Ints = np.array([entry.source for entry in entries], np.int64)
        self.fresh = np.flatnonzero(self.sources == FRESH)
        self.cuts: Ints = np.array([entry.node for entry in entries], np.int64)
        """Whose weights they have, or `RELAYED`."""
        self.nodes: Ints = self.cuts[self.fresh]
        """Those of fresh entries."""
        self.come = np.flatnonzero(self.sources != FRESH)

    def __len__(self) -> int:
        return len(self.ends)


class ClassSlots:
    """The slots of one class's trees, as the active party lays them out and fills them."""

    def __init__(self, model: Model, number: int, passive: Sequence[str]) -> None:
        """`passive` are the parties that are asked; the cuts of all others are for the active party to answer."""
        self._trees = _Trees(model.forest, number, model.loss.n_trees)
        cuts = _cuts(model, passive)
        known = known_cuts(model, passive)
        self._known = self._trees.number[known]
        """Cuts that the active party answers, as nodes of these trees; -1: of another class's."""
        self._known_end = ends_below(model.forest, known)[self._trees.nodes]
        self._steady, self._default = self._ways()
        come: list[list[tuple[_Entry, Above]]] = [[] for _ in cuts]
        below = [ends_below(model.forest, at) for at in cuts]
        for party, at in enumerate(cuts):
            for cut, place in enumerate(at.tolist()):
                node = int(self._trees.number[place])
                if node >= 0:
                    others = [(p, int(ends[place])) for p, ends in enumerate(below) if p != party]
                    own = (party, 2 * cut + 1 - int(self._default[node]))
                    first, *after = sorted([own, *(other for other in others if other[1] >= 0)])
                    come[first[0]].append((_Entry(first[1], node), tuple(after)))
        self._finals: list[_Entries] = []
        self._shared: list[_Entries] = []
        self._relays: list[list[_Entries]] = []
        self.parties = [self._party(party, come) for party in range(len(cuts))]
        """What each party is told."""

    def _ways(self) -> tuple[NDArray[np.bool_], Ints]:
        """Whether what a node has by default is the same for all rows, and the default side of passive cuts."""
        steady, default = self._trees.children < 0, np.ones(len(self._trees.nodes), np.int64)
        known = np.zeros(len(steady) + 1, np.bool_)
        known[self._known] = True
        for cuts in self._trees.upwards:
            child = self._trees.children[cuts]
            default[cuts] = steady[child + 1] | ~steady[child]
            steady[cuts] = (steady[child] | steady[child + 1]) & ~known[cuts]
        return steady, default

    def _party(self, party: int, come: list[list[tuple[_Entry, Above]]]) -> PartySlots:
        own = [entry for entry, after in come[party] if not after]
        self._shared.append(_Entries([entry for entry in own if self._alike(entry)]))
        self._finals.append(_Entries([entry for entry in own if not self._alike(entry)]))
        groups: dict[Above, list[_Entry]] = {}
        for entry, after in come[party]:
            if after:
                groups.setdefault(after, []).append(entry)
        self._relays.append([_Entries(group) for group in groups.values()])
        sent = dict.fromkeys(range(len(come)), 0)
        for after in groups:
            to, end = after[0]
            come[to].append((_Entry(end, source=party * LINK + sent[to]), after[1:]))
            sent[to] += 1
        ends, sources = _filled(self._relays[-1])
        return PartySlots(
            entries=self._finals[-1].ends,
            sources=self._finals[-1].sources,
            shared=self._shared[-1].ends,
            relays=ends,
            relay_sources=sources,
            targets=np.array([after[0][0] for after in groups], np.int64),
        )

    def _alike(self, entry: _Entry) -> bool:
        """Whether the weight is the same for all rows: no known cut is above, nor on the way of either side."""
        if entry.source != FRESH or self._known_end[entry.node] >= 0:
            return False
        child = self._trees.children[entry.node]
        return bool(self._steady[child] and self._steady[child + 1])

    def filled(self, sides: NDArray[np.bool_], weights: Ints) -> "FilledSlots":
        """The slots of rows that come out so of all cuts but the passive parties' (`candidates.reached`).

        The cuts are in the order of the forest; `weights` has those of leaves, at their places in the forest.
        """
        n, here = len(self._trees.nodes), self._known >= 0
        known = np.zeros(n, np.bool_)
        known[self._known[here]] = True
        left = np.zeros((len(sides), n), np.bool_)
        left[:, self._known[here]] = sides[:, ::2][:, here]
        value = np.empty((len(sides), n), np.int64)
        value[:] = weights[self._trees.nodes]
        for cuts in self._trees.upwards:
            child = self._trees.children[cuts]
            goes_left = np.where(known[cuts], left[:, cuts], self._default[cuts] == 0)
            value[:, cuts] = np.where(goes_left, value[:, child], value[:, child + 1])
        live = np.concatenate([sides, np.ones((len(sides), 1), np.bool_)], axis=1)
        return FilledSlots(self, value, live, value[:, : self._trees.n].sum(axis=1))

    def weights(self, entries: _Entries, value: Ints, live: NDArray[np.bool_], came: Mapping[int, Ints]) -> Ints:
        """Rows x entries, from what nodes have by default and from opened relays."""
        out = np.empty((len(value), len(entries)), np.int64)
        for j in entries.come.tolist():
            source = int(entries.sources[j])
            out[:, j] = came[source // LINK][:, source % LINK]
        node = entries.nodes
        child, default = self._trees.children[node], self._default[node]
        change = value[:, child + 1 - default] - value[:, child + default]
        out[:, entries.fresh] = change * live[:, self._known_end[node]]
        return out

    @property
    def trees(self) -> "SlotTrees":
        """The trees that the slots are of."""
        known = np.zeros(len(self._trees.nodes), np.bool_)
        known[self._known[self._known >= 0]] = True
        return SlotTrees(self._trees.n, self._trees.nodes, self._trees.children, known, self._default)

    def nodes(self, party: int) -> "PartyNodes":
        """The cuts whose weights a party's entries have."""
        ends = self.parties[party].relays
        relays = np.full(ends.shape, NEVER, np.int64)
        for row, group in zip(relays, self._relays[party], strict=True):
            row[: len(group)] = group.cuts
        return PartyNodes(self._finals[party].cuts, self._shared[party].cuts, relays)


class SlotTrees(NamedTuple):
    """The trees of one class: nodes level by level, roots first."""

    n: int
    """How many trees there are."""
    places: Ints
    """The nodes' places in the forest."""
    children: Ints
    """The left child of each, the right one stands behind it; -1 for a leaf."""
    known: NDArray[np.bool_]
    """Cuts that the active party answers."""
    default: Ints
    """The default side of the others: 0 left, 1 right."""


class PartyNodes(NamedTuple):
    """Which cut's weight each entry of a party has; `RELAYED`: another party's sum, `NEVER`: none, it fills a group."""

    entries: Ints
    shared: Ints
    relays: Ints


class FilledSlots:
    """Weights of some rows in the slots of one class."""

    def __init__(self, slots: ClassSlots, value: Ints, live: NDArray[np.bool_], offset: Ints) -> None:
        self._slots, self._value, self._live = slots, value, live
        self.offset = offset
        """The active party's own part of each row's score."""

    def entries(self, party: int, came: Mapping[int, Ints]) -> Ints:
        """Rows x entries of a party; `came` has the opened relays of each source, rows x relays."""
        return self._slots.weights(self._slots._finals[party], self._value, self._live, came)

    def shared(self, party: int) -> Ints:
        """The weights that all rows share."""
        return self._slots.weights(self._slots._shared[party], self._value[:1], self._live[:1], {}).reshape(-1)

    def relays(self, party: int, came: Mapping[int, Ints]) -> Ints:
        """Rows x groups x width of a party's relays."""
        out = np.zeros((len(self._value), *self._slots.parties[party].relays.shape), np.int64)
        for number, group in enumerate(self._slots._relays[party]):
            out[:, number, : len(group)] = self._slots.weights(group, self._value, self._live, came)
        return out


class _Trees:
    """Every `of`-th tree of a forest from a number on, its nodes counted level by level, roots first."""

    def __init__(self, forest: Forest, number: int, of: int) -> None:
        level, levels = forest.roots[:-1][number::of].astype(np.int64), []
        while len(level):
            levels.append(level)
            child = forest.children[level[forest.columns[level] >= 0]].astype(np.int64)
            level = np.stack([child, child + 1], axis=1).reshape(-1)
        self.n = len(levels[0]) if levels else 0
        """How many trees there are."""
        self.nodes = np.concatenate([*levels, np.empty(0, np.int64)])
        """Their places in the forest."""
        self.number: Ints = np.full(len(forest.columns), -1, np.int64)
        """Which of these nodes stands at a place; -1: one of another tree."""
        self.number[self.nodes] = np.arange(len(self.nodes))
        child = forest.children[self.nodes]
        self.children = np.where(child >= 0, self.number[child], -1)
        """The left child of each; the right one stands behind it."""
        cuts = [self.number[level[forest.columns[level] >= 0]] for level in levels]
        self.upwards = cuts[::-1]
        """The cuts of each level, the lowest first."""


def _cuts(model: Model, passive: Sequence[str]) -> list[Ints]:
    """The nodes that each of these parties cuts, in order."""
    columns, own, found = model.forest.columns, ownership_of(model), []
    for party in passive:
        first, last = own.span(party)
        found.append(np.flatnonzero((columns >= first) & (columns < last)))
    return found


def known_cuts(model: Model, passive: Sequence[str]) -> Ints:
    """The cuts of all parties but these, at their places in the forest."""
    theirs = np.concatenate([*_cuts(model, passive), np.empty(0, np.int64)])
    return np.setdiff1d(np.flatnonzero(model.forest.columns >= 0), theirs)


def known_part(model: Model, passive: Sequence[str]) -> Part:
    """The cuts of all parties but these, as the active party answers them from its own columns and a last of NaN.

    A party that is neither asked nor active is absent: at its cuts rows go the way of missing values.
    """
    at, own = known_cuts(model, passive), ownership_of(model)
    first, last = own.span(own.active)
    whole = part_of(model, own.active)
    mine = (model.forest.columns[at] >= first) & (model.forest.columns[at] < last)
    tree = np.searchsorted(model.forest.roots, at, side="right") - 1
    sets = np.zeros((len(at), 4), np.uint64)
    sets[mine] = whole.sets
    return replace(
        whole,
        columns=(*whole.columns, Column("absent", "numeric")),
        tree=tree,
        node=at - model.forest.roots[tree],
        column=np.where(mine, model.forest.columns[at] - first, last - first).astype(np.int32),
        thresholds=np.where(mine, model.forest.thresholds[at], 0).astype(np.float32),
        missing_left=model.forest.missing_left[at],
        sets=sets,
        after=ends_below(model.forest, at)[at],
    )


def _filled(groups: Sequence[_Entries]) -> tuple[Ints, Ints]:
    """Ends and sources of groups, filled to the width of the widest."""
    width = max(map(len, groups), default=0)
    ends = np.full((len(groups), width), NEVER, np.int64)
    sources = np.full((len(groups), width), FRESH, np.int64)
    for row, group in enumerate(groups):
        ends[row, : len(group)] = group.ends
        sources[row, : len(group)] = group.sources
    return ends, sources
