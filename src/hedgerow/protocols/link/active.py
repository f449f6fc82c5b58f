"""The active party's side of a linkage: all passive parties are asked at the same time, each with secrets of its own.

The folder has the conversation and who sees what.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import MOST_IDS
from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import sized
from hedgerow.data.holders import holder_of
from hedgerow.data.table import Table, keys_of
from hedgerow.errors import CipherError, DataError, ProtocolError
from hedgerow.privacy.intersection import POINT_BYTES, Blinding, places_of, shuffled
from hedgerow.protocols.align.lists import STEP, WHAT, Points, bits_of
from hedgerow.protocols.link.ids import Cost, Found, RowIds, linked_digest, row_ids
from hedgerow.protocols.link.passive import link_tag
from hedgerow.protocols.session.group import PartyGroup, answer_of
from hedgerow.protocols.session.journal import Journal
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.protocols.session.stores import PlaceStore

Rows = NDArray[np.int64]
IdsOfRows = Table | NDArray[Any]
"""A table with ids that may repeat, or an array with an id for each row (None, NaN, empty text: none)."""


class HiddenPair:
    """One linkage with one party, of ids that are a secret."""

    def __init__(self, own: RowIds, n_theirs: int, tag: bytes, threads: int) -> None:
        self.own, self.n_theirs, self.tag, self.threads = own, n_theirs, tag, threads
        self.blinding, self.order = Blinding.fresh(), shuffled(len(own.ids))
        self.ours: list[Points] = []
        self.theirs: list[Points] = []
        self.operations, self.seconds = 0, 0.0

    @property
    def longest(self) -> int:
        """Ids of the longer list."""
        return max(len(self.own.ids), self.n_theirs)

    def request(self, held_out: bool, first: int) -> m.Request:
        """What becomes known: points that are noise to everybody, in an order that is, too."""
        begun = perf_counter()
        ids = [self.own.ids[place] for place in self.order[first : first + STEP]]
        blinded = self.blinding.ids(ids, self.tag, self.threads) if ids else np.empty(0, np.uint8)
        self._count(len(ids), begun)
        return m.LinkIds(held_out, first, blinded.reshape(-1))

    def take(self, first: int, answer: m.Answer) -> None:
        """A part of both lists, under both secrets."""
        if not isinstance(answer, m.LinkedIds):
            raise ProtocolError("A party answers a linkage of secret ids with something else.")
        begun = perf_counter()
        n_ours, n_theirs = (min(max(n - first, 0), STEP) for n in (len(self.own.ids), self.n_theirs))
        ours = sized(answer.blinded_ids, POINT_BYTES * n_ours, "bytes of blinded ids").reshape(-1, POINT_BYTES)
        theirs = sized(answer.blinded_own, POINT_BYTES * n_theirs, "bytes of blinded ids").reshape(-1, POINT_BYTES)
        if n_ours and not ours.any(axis=1).all():
            raise CipherError("A blinded id that came back is the identity of the group; the run stops.")
        self.ours.append(ours)
        self.theirs.append(self.blinding.points(theirs, self.threads) if n_theirs else theirs)
        self._count(n_theirs, begun)

    def _count(self, operations: int, begun: float) -> None:
        self.operations, self.seconds = self.operations + operations, self.seconds + perf_counter() - begun

    def linked(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """What becomes known: which own ids the party has. And for each id of its list the own one, or -1."""
        begun = perf_counter()
        at = places_of(np.concatenate(self.theirs), np.concatenate(self.ours))
        ids = np.where(at >= 0, self.order[at], -1)
        held = np.zeros(len(self.own.ids), np.bool_)
        held[ids[at >= 0]] = True
        self._count(0, begun)
        return held, ids


class ShownPair:
    """One linkage with one party, of ids that are no secret."""

    operations, seconds = 0, 0.0

    def __init__(self, own: RowIds) -> None:
        self.own, self.longest = own, len(own.ids)
        self.held: list[NDArray[np.bool_]] = []

    def take(self, first: int, answer: m.Answer) -> None:
        """Which ids of a part the party has."""
        if not isinstance(answer, m.HeldIds):
            raise ProtocolError("A party answers a linkage of ids that are shown with something else.")
        self.held.append(bits_of(answer.held, min(STEP, self.longest - first)))

    def linked(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which own ids the party has, and these."""
        held = np.concatenate(self.held)
        return held, np.flatnonzero(held)


class Links:
    """The active party's rows that each passive party holds; they outlive attempts, and with `keeps` the process."""

    def __init__(
        self,
        group: PartyGroup,
        own: tuple[IdsOfRows, IdsOfRows | None],
        threads: int,
        journal: Journal,
        tell: Tell = silent,
        *,
        private: bool = True,
        groups: Sequence[Sequence[str]] = (),
        most_ids: int = MOST_IDS,
        keeps: PlaceStore | None = None,
    ) -> None:
        """An id that several parties of a group have is linked with one of them, as `data.holders` says."""
        self.group, self.threads, self.journal, self.tell, self.keeps = group, threads, journal, tell, keeps
        self.private, self.groups, self.most_ids = private, groups, most_ids
        self.own = {bool(held_out): row_ids(ids) for held_out, ids in enumerate(own) if ids is not None}
        self.held: dict[tuple[str, bool], NDArray[np.bool_]] = {}
        """Which of the own ids a party has."""
        self.found: dict[tuple[str, bool], Found] = {}
        for ids in self.own.values():
            if len(ids.ids) > most_ids:
                n = len(ids.ids)
                raise DataError(f"The active party has {n} ids, and the plan allows {most_ids}; raise most_ids.")
        for held_out in self.own:
            self._recall(held_out)

    def introduced(self, group: PartyGroup) -> None:
        """Another attempt begins, maybe with fewer parties; what is linked stays."""
        self.group = group

    def link(self, held_out: bool) -> dict[str, Rows]:
        """For each party the numbers of the rows that it holds, in the agreed order.

        What becomes known here: which own ids each party has, and how many ids it has.
        """
        if held_out not in self.own:
            raise DataError("The active party has no validation rows that could be linked; give some.")
        pairs = self._begun(held_out)
        longest = max((pair.longest for pair in pairs.values()), default=0)
        for first in range(0, longest, STEP):
            self._pass(held_out, first, {name: pair for name, pair in pairs.items() if pair.longest > first})
        requests: dict[str, m.Request] = {}
        linked, listed = {}, {}
        for name, pair in pairs.items():
            with answer_of(name):
                linked[name], listed[name] = pair.linked()
        for sharing in self.groups:
            linked |= self._with_one(held_out, {name: linked[name] for name in sharing if name in linked}, sharing)
        for name, ids in listed.items():
            rows = np.where((ids >= 0) & linked[name][ids], self.own[held_out].counts[ids], 0)
            requests[name] = m.LinkCounts(held_out, rows.astype(np.uint32))
            self._check(name, held_out, linked[name])
        if requests:
            self.group.ask(requests, m.Done)
        for name, pair in pairs.items():
            self._learn(name, held_out, linked[name], Cost(pair.operations, pair.seconds))
        if pairs:
            self._keep(held_out)
        return {name: self.own[held_out].rows_of(self.held[name, held_out]) for name in self.group.present}

    def _with_one(
        self, held_out: bool, linked: Mapping[str, NDArray[np.bool_]], sharing: Sequence[str]
    ) -> dict[str, NDArray[np.bool_]]:
        """Each id with one of the parties that share columns and have it; those linked before keep theirs."""
        free = np.ones(len(self.own[held_out].ids), np.bool_)
        for (name, which), held in self.held.items():
            if which == held_out and name in sharing and name not in linked:
                free &= ~held
        among = {name: held & free for name, held in linked.items()}
        holder = holder_of(keys_of(self.own[held_out].ids), among)
        return {name: holder == number for number, name in enumerate(among)}

    def _begun(self, held_out: bool) -> Mapping[str, HiddenPair | ShownPair]:
        """Linkages with those parties that have not linked the same before, in these processes."""
        own, plan = self.own[held_out], self.group.plan
        told = {name: self._told(name, held_out) for name in self.group.present}
        requests = {name: m.BeginLink(held_out, len(own.ids), digest) for name, digest in told.items()}
        pairs: dict[str, HiddenPair | ShownPair] = {}
        for name, size in self.group.ask(requests, m.LinkSize).items():
            if size.linked and told[name]:
                continue
            if size.linked or (self.private and not 1 <= size.n_ids <= self.most_ids):
                raise ProtocolError(f"Party {name!r} brings no ids, or more than the {self.most_ids} that are allowed.")
            tag = link_tag(plan, name, WHAT[held_out])
            pairs[name] = HiddenPair(own, size.n_ids, tag, self.threads) if self.private else ShownPair(own)
        return pairs

    def _told(self, name: str, held_out: bool) -> bytes:
        """A hash of what is linked with a party already; empty before."""
        held = self.held.get((name, held_out))
        return b"" if held is None else self._digest(name, held_out, held, self.group.plan)

    def _digest(self, name: str, held_out: bool, held: NDArray[np.bool_], told: Plan | None = None) -> bytes:
        """A hash to keep, or to tell in a run of this plan."""
        own = self.own[held_out]
        ids = [own.ids[place] for place in np.flatnonzero(held)]
        return linked_digest(told, name, ids, own.counts[held])

    def _pass(self, held_out: bool, first: int, pairs: Mapping[str, HiddenPair | ShownPair]) -> None:
        """A part of all lists; each party's ids are blinded when it is its turn, while those before answer."""
        shown = cache(partial(_shown, held_out, first, next(iter(pairs.values())).own))  # to all, and encoded once
        requests: dict[str, Callable[[], m.Request]] = {}
        for name, pair in pairs.items():
            requests[name] = partial(pair.request, held_out, first) if isinstance(pair, HiddenPair) else shown
        for name, answer in self.group.ask_in_turn(requests, (m.LinkedIds, m.HeldIds)).items():
            with answer_of(name):
                pairs[name].take(first, answer)

    def _check(self, name: str, held_out: bool, held: NDArray[np.bool_]) -> None:
        if self.journal.differs(_settled(name, held_out), self._digest(name, held_out, held)):
            raise ProtocolError(
                f"The {WHAT[held_out]} that party {name!r} holds are not those that this run began with; start it anew."
            )

    def _learn(self, name: str, held_out: bool, held: NDArray[np.bool_], cost: Cost) -> None:
        own = self.own[held_out]
        self.journal.settle(_settled(name, held_out), self._digest(name, held_out, held))
        self.held[name, held_out] = held
        rows = own.counts[held]
        n = (int(rows.sum()), own.n_rows, int(held.sum()))
        found = Found(name, WHAT[held_out], *n, cost, int(rows.max(initial=0)))
        self.found[name, held_out] = found
        found.note(self.journal.log)
        self.tell(found.sentence)

    def _keep(self, held_out: bool) -> None:
        """The ids that each party has, list after list, numbered on from one to the next."""
        if self.keeps is None:
            return
        n, names = len(self.own[held_out].ids), self.group.plan.names
        places = [n * i + np.flatnonzero(self.held.get((name, held_out), False)) for i, name in enumerate(names)]
        self.keeps.write(held_out, n * len(names), np.concatenate(places))

    def _recall(self, held_out: bool) -> None:
        """What a process before this one found, of the parties with which it was settled."""
        n, names = len(self.own[held_out].ids), self.group.plan.names
        places = None if self.keeps is None else self.keeps.read(held_out, n * len(names))
        if places is None:
            return
        for name, held in zip(names, np.bincount(places, minlength=n * len(names)).reshape(-1, n) > 0, strict=True):
            if self.journal.settled.get(_settled(name, held_out)) == self._digest(name, held_out, held).hex():
                self.held[name, held_out] = held


def _shown(held_out: bool, first: int, own: RowIds) -> m.ShowIds:
    return m.ShowIds(held_out, first, tuple(own.ids[first : first + STEP]))


def _settled(name: str, held_out: bool) -> str:
    return f"the {WHAT[held_out]} that party {name!r} holds"
