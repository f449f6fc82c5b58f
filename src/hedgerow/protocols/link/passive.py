"""A passive party's side of a linkage: its own ids, and its rows repeated as often as the active party has each.

`link` has the conversation. Which rows are linked is settled in the log: a process that was killed finds the same, or
does not go on.

Sees in the clear.  Its own ids; how many different ids the active party has, which of its own these are, and how many
                    rows each has. Where ids are shown: the active party's ids.
"""

import hmac
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import MOST_IDS
from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import sized
from hedgerow.data.table import Table
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.privacy.intersection import POINT_BYTES, Blinding, shuffled
from hedgerow.protocols.align.lists import CLOSED, STEP, WHAT, Counts, Tables, check_ids, texts_of
from hedgerow.protocols.link.ids import Cost, Found, linked_digest
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.protocols.session.stores import PlaceStore

MOST_ROWS = 10 * MOST_IDS
"""Linked rows that a party makes of its table; more could be told to exhaust its memory."""

Linking = m.BeginLink | m.LinkIds | m.ShowIds | m.LinkCounts


class HiddenLink:
    """One linkage of ids that are a secret; the own list is shuffled."""

    def __init__(self, own_ids: list[str], n_theirs: int, tag: bytes, threads: int) -> None:
        self.own_ids, self.n_theirs, self.tag, self.threads = own_ids, n_theirs, tag, threads
        self.blinding, self.order = Blinding.fresh(), shuffled(len(own_ids))
        self.done, self.operations, self.seconds = 0, 0, 0.0

    def answer(self, request: m.LinkIds | m.ShowIds) -> m.LinkedIds:
        """What becomes known: which of its ids this party has, to whoever holds their secret; and how many it has."""
        if not isinstance(request, m.LinkIds):
            raise ProtocolError("The active party shows ids, which the plan of this run keeps secret.")
        first, longest = request.first, max(self.n_theirs, len(self.own_ids))
        _in_turn(first, self.done, longest)
        begun, n = perf_counter(), min(max(self.n_theirs - first, 0), STEP)
        points = sized(request.blinded_ids, POINT_BYTES * n, "bytes of blinded ids").reshape(-1, POINT_BYTES)
        both = self.blinding.points(points, self.threads) if n else points
        ids = [self.own_ids[row] for row in self.order[first : first + STEP]]
        own = self.blinding.ids(ids, self.tag, self.threads) if ids else points[:0]
        self.done = min(first + STEP, longest)
        self.operations, self.seconds = self.operations + n + len(ids), self.seconds + perf_counter() - begun
        return m.LinkedIds(both.reshape(-1), own.reshape(-1))

    def listed(self) -> NDArray[np.int64]:
        """The own rows in the order in which the active party has heard of them, all of them."""
        if self.done < max(self.n_theirs, len(self.own_ids)):
            raise ProtocolError("The active party counts rows of ids before all ids have passed.")
        return self.order


class ShownLink:
    """One linkage of ids that are no secret."""

    operations, seconds = 0, 0.0

    def __init__(self, own_ids: list[str], n_theirs: int) -> None:
        self.rows = {one: row for row, one in enumerate(own_ids)}
        self.n_theirs, self.done = n_theirs, 0
        self.held: list[int] = []

    def answer(self, request: m.LinkIds | m.ShowIds) -> m.HeldIds:
        """What becomes known: which of the ids this party has."""
        if not isinstance(request, m.ShowIds):
            raise ProtocolError("The active party sends blinded ids where the plan of this run shows them.")
        _in_turn(request.first, self.done, self.n_theirs)
        n = min(STEP, self.n_theirs - request.first)
        if len(request.ids) != n:
            raise ProtocolError(f"A message holds {len(request.ids)} ids where {n} were asked for.")
        rows = [self.rows.get(one, -1) for one in request.ids]
        self.held += [row for row in rows if row >= 0]
        if len(set(self.held)) < len(self.held):
            raise ProtocolError("The active party shows an id twice.")
        self.done += n
        return m.HeldIds(np.packbits(np.array(rows) >= 0, bitorder="little"))

    def listed(self) -> NDArray[np.int64]:
        """The own rows in the order in which the active party has heard of them."""
        if self.done < self.n_theirs:
            raise ProtocolError("The active party counts rows of ids before all ids have passed.")
        return np.array(self.held, np.int64)


def _in_turn(first: int, expected: int, longest: int) -> None:
    if first != expected or first >= longest:
        raise ProtocolError("The active party asks for another step of the linkage than the next.")


class OwnLinks:
    """A passive party's side of all linkages of a run: of its rows, and of the validation rows.

    A party without validation rows links those of the active party with its one table.
    """

    def __init__(
        self,
        plan: Plan,
        name: str,
        own: Tables,
        threads: int,
        counts: Counts,
        tell: Tell = silent,
        *,
        private: bool = True,
        one_each: bool = False,
        most_ids: int = MOST_IDS,
        keeps: PlaceStore | None = None,
    ) -> None:
        """With `one_each`, ids that it has may be linked with another party."""
        self.plan, self.name, self.threads, self.tell, self.keeps = plan, name, threads, tell, keeps
        self.own = {False: own[0], True: own[0] if own[1] is None else own[1]}
        self.private, self.one_each, self.most_ids = private, one_each, most_ids
        self.journal, self.ledger = counts
        self.begun: dict[bool, HiddenLink | ShownLink | None] = {}
        """Linkages of this attempt; None: complete."""
        self.places: dict[bool, NDArray[np.int64]] = {}
        """Rows of the own table, each as often as it is linked."""
        self._repeated: dict[bool, Table] = {}
        """These rows, once they were asked for."""
        self.found: dict[bool, Found] = {}
        for held_out, table in self.own.items():
            self._recall(held_out, table)

    def introduced(self) -> None:
        """Everybody was introduced anew: linkages may begin again."""
        self.begun = {}

    def answer(self, request: Linking) -> m.Answer:
        """Of one step."""
        self.ledger.check_guesses()
        if isinstance(request, m.BeginLink):
            return self._begin(request)
        link = self.begun.get(request.held_out)
        if link is None:
            raise ProtocolError("The active party goes on with a linkage that has not begun, or is complete.")
        if isinstance(request, m.LinkCounts):
            return self._keep(request, link)
        return link.answer(request)

    def _begin(self, request: m.BeginLink) -> m.LinkSize:
        """What becomes known: how many ids, and whether the hash told is of what was linked.

        It has no key, so that it is compared here and not told; whoever tries out hashes is stopped.
        """
        held_out, told, what = request.held_out, request.linked, WHAT[request.held_out]
        if held_out in self.begun:
            raise ProtocolError("The active party begins a linkage twice.")
        if not 1 <= request.n_ids <= self.most_ids:
            raise ProtocolError(f"The active party brings no ids, or more than the {self.most_ids} that are allowed.")
        right = self._digest(held_out, self.places[held_out], self.plan) if held_out in self.places else b""
        if told and right and self.ledger.guess(told, hmac.compare_digest(told, right)):
            self.begun[held_out] = None
            return m.LinkSize(0, True)
        if CLOSED in self.journal.settled:
            raise PrivacyError(
                "The active party links rows anew that are linked already; this party stops. Start a new run."
            )
        ids = texts_of(self.own[held_out])
        check_ids(ids, self.most_ids)
        self.journal.align(what, (request.n_ids, len(ids)))
        tag = link_tag(self.plan, self.name, what)
        hidden = self.private
        self.begun[held_out] = (
            HiddenLink(ids, request.n_ids, tag, self.threads) if hidden else ShownLink(ids, request.n_ids)
        )
        return m.LinkSize(len(ids) if hidden else 0, False)

    def _keep(self, request: m.LinkCounts, link: HiddenLink | ShownLink) -> m.Done:
        held_out, listed = request.held_out, link.listed()
        counts = sized(request.counts, len(listed), "counts of rows").astype(np.int64)
        if np.count_nonzero(counts) > link.n_theirs or counts.sum() > MOST_ROWS:
            raise ProtocolError("The active party counts more ids than it brought, or more rows than can be.")
        if not self.private and not self.one_each and not counts.all():
            raise ProtocolError("The active party has no row of an id that it has shown.")
        table, at = self.own[held_out], np.flatnonzero(counts)
        ids = np.array(texts_of(table), np.str_)[listed[at]]
        at = at[np.argsort(ids, kind="stable")]
        places = np.repeat(listed[at], counts[at])
        digest, settled = self._digest(held_out, places), _settled(held_out)
        if self.journal.differs(settled, digest):
            raise ProtocolError("The rows linked with this party are not those that this run began with; start anew.")
        self.journal.settle(settled, digest)
        if self.keeps is not None:
            self.keeps.write(held_out, table.n_rows, places)
        self.places[held_out], self.begun[held_out] = places, None
        self._repeated.pop(held_out, None)
        cost = Cost(link.operations, link.seconds)
        n = (len(places), table.n_rows, len(at))
        found = Found(self.plan.active, WHAT[held_out], *n, cost, int(counts.max(initial=0)))
        self.found[held_out] = found
        found.note(self.journal.log)
        self.tell(found.own_sentence)
        return m.Done()

    def _recall(self, held_out: bool, table: Table) -> None:
        """What a process before this one found, if it was settled and the table is the same."""
        places = None if self.keeps is None else self.keeps.read(held_out, table.n_rows)
        if places is not None and self.journal.settled.get(_settled(held_out)) == self._digest(held_out, places).hex():
            self.places[held_out] = places

    def _digest(self, held_out: bool, places: NDArray[np.int64], told: Plan | None = None) -> bytes:
        """Of linked rows, to keep, or to compare with one told in this plan's run; those of one id stand together."""
        starts = np.flatnonzero(np.diff(places, prepend=-1))
        counts = np.diff(starts, append=len(places))
        ids = texts_of(self.own[held_out].take(places[starts]))
        return linked_digest(told, self.name, ids, counts)

    def close(self) -> None:
        """The active party has begun to train: no other linkage is needed in this run.

        Where nothing is kept, a process that is lost takes what it found with it, and there must be another.
        """
        if self.keeps is not None and CLOSED not in self.journal.settled:
            self.journal.settle(CLOSED, b"")

    @property
    def tables(self) -> Tables:
        """The own rows repeated to the linked rows, in the agreed order; the validation rows where these are linked."""
        if False not in self.places:
            raise ProtocolError("The active party asks before the rows are linked.")
        for held_out, places in self.places.items():
            if held_out not in self._repeated:
                self._repeated[held_out] = self.own[held_out].take(places)
        return self._repeated[False], self._repeated.get(True)


def _settled(held_out: bool) -> str:
    return f"the {WHAT[held_out]} linked with this party"


def link_tag(plan: Plan, party: str, what: str) -> bytes:
    """What keeps the points of two runs, of two parties and of two kinds of rows apart."""
    return b"hedgerow link " + what.encode() + b"\0" + plan.digest + party.encode()
