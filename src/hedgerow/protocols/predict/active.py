"""The active party's side of a prediction over a vertical model.

The folder has the conversation and who sees what.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Prediction
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.corridor.messages import AskKnown, AskWays, Known, Sides
from hedgerow.data.holders import NOBODY, holder_of
from hedgerow.data.table import Table
from hedgerow.errors import ModelError
from hedgerow.model.model import Model, dense
from hedgerow.model.part import called, ownership_of, part_of, told_columns
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.predict.runs import Runs, ToldWays
from hedgerow.protocols.session.group import PartyGroup
from hedgerow.protocols.told_trees import sides_of
from hedgerow.trees.params import TreeParams

MOST_PLACES = 4_000_000
"""Rows of a batch times trees: whatever is asked about them fits a message of `wire.MOST_SMALL` bytes."""
MOST_ROWS = 1 << 16
"""Rows of a batch, so that two bytes name one."""

Places = NDArray[np.int64]
Ways = NDArray[np.bool_]
Speakers = NDArray[np.int64]


class Question(NamedTuple):
    """What a party is asked, and the cuts that rows have come to, row by row."""

    request: AskWays
    cuts: Places


Walk = Generator[dict[str, Question], Mapping[str, ToldWays], NDArray[np.int32]]
"""Rows on their way down: what to ask each party next; it goes on with the answers, and ends in leaves."""


def plan_of(run: str, members: tuple[Member, ...], active: str, model: str, coordinator: str = "") -> Plan:
    """What the parties of a prediction agree to."""
    return Plan(run, members, Goal(), TreeParams(), Prediction(active, model), coordinator)


def asked(model: Model) -> tuple[str, ...]:
    """The parties without whose answers the model cannot predict: those whose columns its trees cut.

    Where parties have subtrees of their own, these are all: a row of one that no tree cuts is still its row.
    """
    own = ownership_of(model)
    passive = tuple(party for party in own.parties if party != own.active)
    return passive if own.units else tuple(party for party in passive if len(part_of(model, party).tree))


class Asking:
    """The active party's side: places of rows in the trees, moved down by own cuts and by what the others tell."""

    def __init__(self, group: PartyGroup, model: Model, first_tree: int = 0) -> None:
        """The group has the parties that are asked; all others count as not knowing any row.

        They count the trees of the model from `first_tree`, where those of other models come before.
        """
        own = ownership_of(model)
        self.group, self.model, self.parties, self.groups = group, model, own.parties, own.groups
        self.units = own.units
        self.own_number, self.own_part = own.parties.index(own.active), part_of(model, own.active)
        self.own_columns = told_columns(model)
        """Those that its table has: who holds a row, the others tell."""
        forest = model.forest
        owner = np.repeat(np.arange(len(own.columns)), [n for _, n in own.columns])
        self.owner = np.where(forest.columns >= 0, owner[forest.columns], -1) if len(owner) else forest.columns
        """Whose cut a node is; -1 for a leaf."""
        self.cuts = [np.flatnonzero(self.owner == number) for number in range(len(own.parties))]
        """The nodes that each party cuts, in order."""
        self.called = [(tree + first_tree, node) for tree, node in (called(model, nodes) for nodes in self.cuts)]
        """What each party calls them: tree and node."""
        self.number = np.zeros(len(forest.columns), np.int64)
        """Which of its owner's cuts a node is."""
        for nodes in self.cuts:
            self.number[nodes] = np.arange(len(nodes))
        for first, *others in self._shared_numbers():  # they have the cuts of the first
            for number in others:
                self.cuts[number], self.called[number] = self.cuts[first], self.called[first]
        self.runs, self.follow = Runs(forest, self.owner), set[str]()
        """Cuts of one owner that follow each other, and the parties that answer for a whole run of them."""
        self.unknown: dict[str, int] = dict.fromkeys(own.parties, 0)
        """How many rows each party turned out not to have."""

    def leaves(self, own_table: Table, together: int | None = None) -> NDArray[np.int32]:
        """The node at which each row ends, for every tree; so many trees together, all of them if not said.

        What becomes known here: the way of each row at each cut on its path, and which rows the others have.
        """
        self.model.check_gaps(own_table)
        own_table = own_table.aligned(self.own_columns)
        n_trees, ids = self.model.forest.n_trees, texts_of(own_table)
        out = np.empty((own_table.n_rows, n_trees), np.int32)
        for batch in batches(own_table.n_rows, n_trees):
            some_rows = own_table.take(batch)
            known = self.speakers(known_of(self.group, ids[batch]), some_rows.row_keys())
            for tree in range(0, n_trees, together or max(n_trees, 1)):
                some = np.arange(tree, min(tree + (together or n_trees), n_trees))
                out[batch, some] = self._asked(self.places(self.values(some_rows, known), known, some))
        return out

    def _asked(self, walk: Walk) -> NDArray[np.int32]:
        """The end of a way on which only this model's questions are asked."""
        try:
            questions = next(walk)
            while True:
                answers = self.group.ask({party: one.request for party, one in questions.items()}, Sides)
                questions = walk.send({party: told_by(party, answer) for party, answer in answers.items()})
        except StopIteration as end:
            places: NDArray[np.int32] = end.value
            return places

    def ways(self, party: str, cuts: Places) -> Generator[int, Ways, None]:
        """How many ways a party tells next, once it told the ones before: of rows at these cuts, then further on."""
        while len(cuts):
            left = yield len(cuts)
            below = self.model.forest.children[cuts] + ~left
            on = self.runs.goes_on(cuts, left) & (party in self.follow)
            cuts = below[on].astype(np.int64)

    def speakers(self, told: Mapping[str, tuple[Ways, bool]], keys: NDArray[np.uint64]) -> Speakers:
        """Who speaks for each row at a party's cuts, by number (parties x rows): -1 where nobody knows the row.

        That is the party, if it has the row; of parties that share their columns one of those that have it.
        """
        known = np.zeros((len(self.parties), len(keys)), np.bool_)
        known[self.own_number] = True
        for number, party in enumerate(self.parties):
            if party in told:
                known[number], follows = told[party]
                self.follow |= {party} if follows else set()
        for party, has in zip(self.parties, known, strict=True):
            self.unknown[party] += len(keys) - int(has.sum())
        speakers = np.where(known, np.arange(len(known))[:, None], NOBODY)
        if self.units:
            passive = [number for number in range(len(self.parties)) if number != self.own_number]
            holder = self._one_of(passive, keys, known)
            speakers[passive] = np.where(holder == np.array(passive)[:, None], holder, NOBODY)
            known = speakers != NOBODY
        for numbers in self._shared_numbers():
            speakers[numbers[0]] = self._one_of(numbers, keys, known)
        return speakers

    def _one_of(self, numbers: list[int], keys: NDArray[np.uint64], known: Ways) -> Places:
        """Which of these parties speaks for each row."""
        holder = holder_of(keys, {self.parties[number]: known[number] for number in numbers})
        return np.where(holder == NOBODY, NOBODY, np.array(numbers)[holder])

    def values(self, own_table: Table, speakers: Speakers) -> NDArray[np.float32]:
        """What the own cuts are about: the own columns; where parties have subtrees of their own, who holds a row."""
        own = dense(own_table)
        return np.column_stack([own, self._holder(speakers)]) if self.units else own

    def _holder(self, speakers: Speakers) -> NDArray[np.float32]:
        """The unit that holds each row, by number; missing where none does."""
        out = np.full(speakers.shape[1], np.nan, np.float32)
        for number, unit in enumerate(self.units):
            out[(speakers[[self.parties.index(party) for party in unit]] != NOBODY).any(axis=0)] = number
        return out

    def _shared_numbers(self) -> list[list[int]]:
        """The numbers of parties that share their columns, group by group."""
        return [[self.parties.index(party) for party in sharing] for sharing in self.groups]

    def places(self, own_values: NDArray[np.float32], speakers: Speakers, trees: Places) -> Walk:
        """Where rows end in some trees."""
        roots, n = self.model.forest.roots[trees], len(trees)
        at = np.tile(roots, len(own_values))
        under_way = np.arange(len(at))
        while len(under_way := self._without_asking(at, under_way, n, own_values, speakers)):
            yield from self._ask(at, under_way, n, speakers)
        return (at.reshape(-1, n) - roots).astype(np.int32)

    def _without_asking(
        self, at: Places, under_way: Places, n: int, own_values: NDArray[np.float32], speakers: Speakers
    ) -> Places:
        """Move rows down own cuts, and down cuts for which nobody speaks; those that meet another's remain."""
        all_known = bool((speakers != NOBODY).all())
        while True:
            owner = self.owner[at[under_way]]
            under_way, owner = under_way[owner >= 0], owner[owner >= 0]
            mine = under_way[owner == self.own_number]
            blind = under_way[:0] if all_known else under_way[speakers[owner, under_way // n] == NOBODY]
            if not len(mine) and not len(blind):
                return under_way
            self._move(at, blind, self.model.forest.missing_left[at[blind]])
            self._move(at, mine, self.own_part.left(own_values, self.number[at[mine]], mine // n))

    def _move(self, at: Places, places: Places, left: Ways) -> None:
        at[places] = self.model.forest.children[at[places]] + ~left

    def _ask(
        self, at: Places, under_way: Places, n: int, speakers: Speakers
    ) -> Generator[dict[str, Question], Mapping[str, ToldWays], None]:
        """One exchange: the owners of the cuts that rows have come to tell which way they go, there and further on."""
        moved, requests = {}, {}
        owner = speakers[self.owner[at[under_way]], under_way // n]
        for number, party in enumerate(self.parties):
            theirs = under_way[owner == number]
            if len(theirs):
                moved[party], requests[party] = self._question(number, at, theirs, n)
        for party, told in (yield requests).items():
            self._go_down(at, moved[party], told, party in self.follow)
            told.end()

    def _question(self, number: int, at: Places, places: Places, n: int) -> tuple[Places, Question]:
        """What a party is asked about rows that have come to its cuts, and their places in the order of the request."""
        nodes, party = self.cuts[number], self.parties[number]
        cut = self.number[at[places]].astype(np.uint16 if len(nodes) <= 1 << 16 else np.int64)  # sorted faster
        n_rows = np.bincount(cut, minlength=len(nodes))
        named = n_rows > 0
        if party in self.follow:
            named[self.number[self.runs.below(nodes[named])]] = True
        tree, node = (name[named].astype(np.int32) for name in self.called[number])
        places = places[np.argsort(cut, kind="stable")]
        request = AskWays(tree, node, n_rows[named].astype(np.int32), (places // n).astype(np.uint16))
        return places, Question(request, at[places])

    def _go_down(self, at: Places, places: Places, told: ToldWays, follows: bool) -> None:
        """Move rows as their speaker told: from the cut that each had come to, to where it leaves the run."""
        while len(places):
            cut, left = at[places], told.next(len(places))
            self._move(at, places, left)
            places = places[self.runs.goes_on(cut, left)] if follows else places[:0]


def batches(n_rows: int, n_trees: int) -> list[slice]:
    """Rows that are asked about together, so that messages stay small."""
    step = min(MOST_ROWS, max(1, MOST_PLACES // max(n_trees, 1)))
    return [slice(first, min(first + step, n_rows)) for first in range(0, n_rows, step)]


def told_by(party: str, answer: Sides) -> ToldWays:
    """The ways that a party told."""
    return ToldWays(answer.left, f"Party {party!r} did not tell which way the rows go that it was asked about.")


def known_of(group: PartyGroup, ids: Sequence[str]) -> dict[str, tuple[Ways, bool]]:
    """Which of the rows each party has, and whether it answers for runs of cuts; each party learns the ids."""
    told = {}
    for party, answer in group.tell(AskKnown(tuple(ids)), Known).items():
        refusal = f"Party {party!r} did not tell which of the rows it has."
        told[party] = sides_of(answer.known, [len(ids)], refusal)[0], answer.follows
    return told


def ask(group: PartyGroup, model: Model, own_table: Table, tell: Callable[[str], None]) -> NDArray[np.int32]:
    """The leaves of all rows; says of each party how many of them it does not have."""
    asking = Asking(group, model)
    leaves = asking.leaves(own_table)
    for party, n in asking.unknown.items():
        if n and party in group.present:
            tell(f"{party!r} does not have {n} of the {own_table.n_rows} rows, which go the default way at its cuts.")
    return leaves


def present_of(model: Model, absent: Sequence[str]) -> tuple[str, ...]:
    """Who is asked when these are absent, by the user's own word; refuses a name that is no passive party's."""
    own = ownership_of(model)
    for name in absent:
        if name not in own.parties or name == own.active:
            raise ModelError(f"{name!r} is no passive party of the model; it has {', '.join(map(repr, own.parties))}.")
    return tuple(party for party in asked(model) if party not in absent)
