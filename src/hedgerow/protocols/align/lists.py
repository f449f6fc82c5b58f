"""A party's side of an alignment: its own ids, and the lists of others that pass through it.

`align` has the conversation. The active party does by itself what it asks of the others, with the same code. Which rows
all have is settled in the log: a process that was killed finds the same, or does not go on.

Sees in the clear.  Its own ids; how long everyone's list is; which places of its own list, and of others' lists that it
                    cannot read, are ids that all parties have.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import sized
from hedgerow.data.ids import check_once
from hedgerow.data.table import Table
from hedgerow.errors import DataError, PrivacyError, ProtocolError
from hedgerow.privacy.intersection import POINT_BYTES, Blinding, shuffled
from hedgerow.protocols.align.progress import COLUMNS, ROWS, VALIDATION_ROWS, Learnt, Progress, few_common
from hedgerow.protocols.session.journal import Journal
from hedgerow.protocols.session.notify import Tell, silent
from hedgerow.protocols.session.owner_ledger import Ledger
from hedgerow.protocols.session.stores import PlaceStore as PlaceStore

STEP = 1 << 16
"""Ids of one message: 2 MiB, some seconds of work."""

MOST_NAMES = 10_000
"""Names of columns that a party may bring; with many more, a list could hold every name that there may be."""

CLOSED = "that the rows are aligned"
"""Settled once the active party has shown that it knows the common rows; no other alignment follows."""

Points = NDArray[np.uint8]
Tables = tuple[Table, Table | None]
Step = m.BeginBlinding | m.AskBlinded | m.BlindIds | m.MarkCommon
Aligning = m.AskSetSize | Step
WHAT = {False: ROWS, True: VALIDATION_ROWS}


def texts_of(table: Table) -> list[str]:
    """The ids as text; a whole number is its decimal digits."""
    if table.ids is None:
        raise DataError("Rows are aligned by their ids, and this table has none; name the column of ids.")
    return [str(one) for one in table.ids.tolist()]


def most_of(plan: Plan, what: str) -> int:
    """How many ids, or names of columns, a party may bring."""
    return MOST_NAMES if what == COLUMNS else plan.vertical.most_ids


def check_ids(own_ids: Sequence[str], most: int, what: str = ROWS) -> None:
    """Refuse more ids than are allowed, and one that is there twice; the refusal counts and names none."""
    n = len(own_ids)
    if n > most and what == COLUMNS:
        raise DataError(f'This party has {n} columns, and {most} names are aligned; use column_names = "open".')
    if n > most:
        raise DataError(f"This party has {n} ids, and the plan allows {most}; raise most_ids, or leave rows out.")
    check_once(n, len(set(own_ids)))


def tag_of(plan: Plan, what: str) -> bytes:
    """What keeps the points of two runs, and of two kinds of ids, apart."""
    return b"hedgerow " + what.encode() + b"\0" + plan.digest


class Counts(NamedTuple):
    """Where a party counts what others try: in this run, and over all runs."""

    journal: Journal
    ledger: Ledger


class Common(NamedTuple):
    """What the marks of a party's own list say: which of its places all parties have."""

    places: NDArray[np.int64]
    ids: list[str]
    learnt: Learnt


@dataclass(eq=False)
class Passing:
    """Another party's list on its way through this one."""

    came: list[Points] = field(default_factory=list)
    n_came: int = 0
    order: NDArray[np.int64] | None = None
    points: Points | None = None
    given: int = 0


class OwnSet:
    """One alignment at one party: its own ids, and the lists of the others that pass through."""

    def __init__(self, plan: Plan, number: int, own_ids: list[str], what: str, threads: int) -> None:
        self.plan, self.number, self.own_ids, self.threads = plan, number, own_ids, threads
        self.tag, self.most = tag_of(plan, what), most_of(plan, what)
        check_ids(own_ids, self.most, what)
        self.blinding, self.order = Blinding.fresh(), shuffled(len(self.own_ids))
        self.sizes: list[int] = []
        self.given, self.n_common = 0, -1
        self.lists: dict[int, Passing] = {}
        self.marked: set[int] = set()

    def begin(self, request: m.BeginBlinding) -> m.Done:
        """Take over how long everyone's list is."""
        sizes = request.sizes.tolist()
        fits = len(sizes) == len(self.plan.members) and all(1 <= n <= self.most for n in sizes)
        if self.sizes or not fits or sizes[self.number] != len(self.own_ids):
            raise ProtocolError("The driver begins an alignment of sets whose sizes cannot be.")
        self.sizes = sizes
        return m.Done()

    def give(self, request: m.AskBlinded) -> m.BlindedIds:
        """What becomes known: points that are noise to everybody, in an order that is, too."""
        owner, first = request.owner, request.first
        if owner == self.number:
            self._in_turn(owner, first, self.given)
            ids = [self.own_ids[row] for row in self.order[first : first + STEP]]
            self.given += len(ids)
            return m.BlindedIds(self.blinding.ids(ids, self.tag, self.threads).reshape(-1))
        passing = self.lists.get(owner, Passing())
        self._in_turn(owner, first, passing.given)
        if passing.n_came != self.sizes[owner]:
            raise ProtocolError("The driver asks for a list of blinded ids that has not come whole.")
        if passing.points is None:
            passing.order = shuffled(passing.n_came)
            passing.points = np.concatenate(passing.came)[passing.order]
            passing.came = []
        part = passing.points[first : first + STEP]
        passing.given += len(part)
        return m.BlindedIds(part.reshape(-1))

    def take(self, request: m.BlindIds) -> m.Done:
        """Blind a part of another party's list."""
        owner = request.owner
        passing = self.lists.get(owner, Passing())
        if owner == self.number:
            raise ProtocolError("The driver sends this party its own list.")
        self._in_turn(owner, request.first, passing.n_came)
        expected = min(STEP, self.sizes[owner] - request.first)
        points = sized(request.blinded_ids, POINT_BYTES * expected, "bytes of blinded ids").reshape(-1, POINT_BYTES)
        passing.came.append(self.blinding.points(points, self.threads))
        passing.n_came += expected
        self.lists[owner] = passing
        return m.Done()

    def _in_turn(self, owner: int, first: int, expected: int) -> None:
        if not self.sizes or not 0 <= owner < len(self.sizes) or first != expected or first >= self.sizes[owner]:
            raise ProtocolError("The driver asks for another step of the alignment than the next.")

    def mark(self, request: m.MarkCommon) -> NDArray[np.bool_]:
        """Which places of the list, before this party's shuffle of it, are common ids."""
        owner, passing = request.owner, self.lists.get(request.owner)
        order = self.order if owner == self.number else passing.order if passing is not None else None
        whole = self.given if owner == self.number else passing.given if passing is not None else -1
        if order is None or owner in self.marked or whole != len(order):
            raise ProtocolError("The driver marks a list of blinded ids that it has not heard, or twice.")
        out = bits_of(request.marks, len(order))
        n_common = int(out.sum())
        if not n_common or self.n_common not in (-1, n_common):
            raise ProtocolError("The driver marks no ids, or not equally many in every list.")
        self.n_common = n_common
        self.marked.add(owner)
        before = np.empty_like(out)
        before[order] = out
        return before

    def forget(self) -> None:
        """The secret, the ids and the lists are not needed any more."""
        self.blinding, self.own_ids, self.lists = Blinding.fresh(), [], {}


class Alignment:
    """A party's side of the alignment of one kind of list, which may be begun anew."""

    def __init__(self, plan: Plan, name: str, what: str, threads: int, counts: Counts, tell: Tell = silent) -> None:
        self.plan, self.number, self.what, self.threads, self.tell = plan, plan.names.index(name), what, threads, tell
        self.journal, self.ledger = counts
        self.set: OwnSet | None = None
        self.progress = Progress(what, 0, tell)

    def begin(self, own_ids: list[str], told: bytes, found: bytes) -> m.SetSize:
        """A fresh secret for these ids. What becomes known: how many, and whether the hash told is of what was found.

        It has no key, so that it is compared here and not told; whoever tries out hashes is stopped.
        """
        if self.set is not None:
            raise ProtocolError("The driver begins an alignment twice.")
        same = bool(told and found) and self.ledger.guess(told, hmac.compare_digest(told, found))
        self.set = OwnSet(self.plan, self.number, own_ids, self.what, self.threads)
        return m.SetSize(len(own_ids), same)

    def answer(self, request: Step) -> m.Answer | Common:
        """Of one step, as the functions of `OwnSet` say; at the end, which of the own ids all parties have."""
        own = self.set
        if own is None:
            raise ProtocolError("The driver goes on with an alignment that has not begun.")
        if isinstance(request, m.BeginBlinding):
            return self._start(own, request)
        if isinstance(request, m.AskBlinded):
            given = own.give(request)
            self.progress.more(len(given.blinded_ids) // POINT_BYTES * (request.owner == self.number))
            return given
        if isinstance(request, m.BlindIds):
            taken = own.take(request)
            self.progress.more(len(request.blinded_ids) // POINT_BYTES)
            return taken
        before = own.mark(request)
        if request.owner != self.number:
            return m.Marks(np.packbits(before, bitorder="little"))
        sizes = dict(zip(self.plan.names, own.sizes, strict=True))
        ids = [own.own_ids[place] for place in np.flatnonzero(before)]
        own.forget()
        return Common(np.flatnonzero(before), ids, Learnt(self.what, sizes, own.n_common))

    def _start(self, own: OwnSet, request: m.BeginBlinding) -> m.Done:
        if CLOSED in self.journal.settled:
            raise PrivacyError(
                "The driver aligns rows anew that are aligned already; this party stops. Start a new run."
            )
        begun = own.begin(request)
        self.journal.align(self.what, own.sizes)
        self.progress = Progress(self.what, sum(own.sizes), self.tell)
        return begun


class OwnSets:
    """A party's side of all alignments of a vertical run: of its rows, and of its validation rows."""

    def __init__(
        self,
        plan: Plan,
        name: str,
        own: Tables,
        threads: int,
        counts: Counts,
        tell: Tell = silent,
        keeps: PlaceStore | None = None,
    ) -> None:
        self.plan, self.own, self.tell, self.keeps = plan, own, tell, keeps
        self.journal, self.is_active = counts.journal, name == plan.active
        kinds = {held_out: (plan, name, WHAT[held_out], threads, counts, tell) for held_out in (False, True)}
        self.kinds = {held_out: Alignment(*beside) for held_out, beside in kinds.items()}
        self.aligned: dict[bool, Table] = {}
        for held_out, table in enumerate(own):
            self._recall(bool(held_out), table)

    def introduced(self) -> None:
        """Everybody was introduced anew: alignments may begin again."""
        for kind in self.kinds.values():
            kind.set = None

    def answer(self, request: Aligning) -> m.Answer:
        """Of one step."""
        kind, table = self.kinds[request.held_out], self.own[request.held_out]
        if isinstance(request, m.AskSetSize):
            if table is None or not table.n_rows:
                return m.SetSize(0, False)
            return kind.begin(texts_of(table), request.aligned, self.digest(request.held_out))
        reply = kind.answer(request)
        if not isinstance(reply, Common):
            return reply
        if table is not None:
            self._keep(request.held_out, table, reply)
        return m.Done()

    def digest(self, held_out: bool) -> bytes:
        """Of the rows aligned in this process; empty before."""
        table = self.aligned.get(held_out)
        return b"" if table is None else rows_digest(self.plan, table)

    def _keep(self, held_out: bool, table: Table, common: Common) -> None:
        rows = common.places[np.argsort(np.array(common.ids), kind="stable")]
        found, what = table.take(rows), _settled(held_out)
        if self.journal.differs(what, digest := _keys_digest(found)):
            raise ProtocolError("The rows that all parties have are not those that this run began with; start it anew.")
        self.journal.settle(what, digest)
        if self.keeps is not None:
            self.keeps.write(held_out, table.n_rows, rows)
        self.aligned[held_out] = found
        common.learnt.note(self.journal.log)
        if not self.is_active:  # which is told of everybody's rows
            self.tell(f"{len(rows)} of this party's {table.n_rows} {WHAT[held_out]} are common to all parties.")
        if few := few_common(len(rows), texts_of(table)):
            self.tell(few)

    def _recall(self, held_out: bool, table: Table | None) -> None:
        """What a process before this one found, if it was settled and the table is the same."""
        places = None if self.keeps is None or table is None else self.keeps.read(held_out, table.n_rows)
        if table is None or places is None:
            return
        found = table.take(places)
        if self.journal.settled.get(_settled(held_out)) == _keys_digest(found).hex():
            self.aligned[held_out] = found

    def close(self) -> None:
        """The active party has shown that it knows the common rows: no other alignment is needed in this run.

        Where nothing is kept, a process that is lost takes what it found with it, and there must be another.
        """
        if self.keeps is not None and CLOSED not in self.journal.settled:
            self.journal.settle(CLOSED, b"")

    @property
    def tables(self) -> Tables:
        """The rows that all parties have, in the order of their ids."""
        if False not in self.aligned:
            raise ProtocolError("The driver asks before the rows are aligned.")
        return self.aligned[False], self.aligned.get(True)


def _settled(held_out: bool) -> str:
    return f"the {WHAT[held_out]} that all parties have"


def rows_digest(plan: Plan, table: Table | None) -> bytes:
    """A hash of the ids of all rows, in order: both sides can tell whether theirs are the same, and nothing else."""
    keys = b"" if table is None else np.ascontiguousarray(table.row_keys(), "<u8").tobytes()
    return hashlib.sha256(b"hedgerow rows" + plan.digest + keys).digest()


def _keys_digest(table: Table) -> bytes:
    """A hash of the rows' keys, in order; it stays with the party."""
    return hashlib.sha256(table.row_keys().astype("<u8").tobytes()).digest()


def bits_of(packed: NDArray[np.uint8], n: int) -> NDArray[np.bool_]:
    """A truth value for each of n places."""
    if len(packed) != (n + 7) // 8:
        raise ProtocolError("A message does not mark every place of a list.")
    return np.unpackbits(packed, count=n, bitorder="little").astype(np.bool_)
