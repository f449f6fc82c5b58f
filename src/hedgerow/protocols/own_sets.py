"""A party's side of an alignment: its own ids, and the lists of others that pass through it.

`align` has the conversation. The active party does by itself what it asks of the others, with the same code.

Sees in the clear.  Its own ids; how long everyone's list is; which places of its own list, and of others' lists that it
                    cannot read, are ids that all parties have.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.errors import DataError, PrivacyError, ProtocolError
from hedgerow.messages import (
    Answer,
    AskBlinded,
    AskSetSize,
    BeginBlinding,
    BlindedIds,
    BlindIds,
    Done,
    MarkCommon,
    Marks,
    SetSize,
)
from hedgerow.plan import Plan
from hedgerow.privacy.intersection import POINT_BYTES, Blinding, shuffled
from hedgerow.protocols.passive import rows_digest
from hedgerow.wire import sized

STEP = 1 << 16
"""Ids of one message: 2 MiB, some seconds of work."""

MOST_TIMES = 20
"""Alignments that a process takes part in; each new one lets the active party try out other ids."""

Points = NDArray[np.uint8]
Tables = tuple[Table, Table | None]
Aligning = AskSetSize | BeginBlinding | AskBlinded | BlindIds | MarkCommon


def texts_of(table: Table) -> list[str]:
    """The ids as text; a whole number is its decimal digits."""
    if table.ids is None:
        raise DataError("Rows are aligned by their ids, and this table has none; name the column of ids.")
    return [str(one) for one in table.ids.tolist()]


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

    def __init__(self, plan: Plan, number: int, own: Table, tag: bytes, threads: int) -> None:
        self.plan, self.number, self.own, self.tag, self.threads = plan, number, own, tag, threads
        self.own_ids = texts_of(own)
        self._check()
        self.blinding, self.order = Blinding.fresh(), shuffled(len(self.own_ids))
        self.sizes: list[int] = []
        self.given, self.n_common = 0, -1
        self.lists: dict[int, Passing] = {}
        self.marked: set[int] = set()

    def _check(self) -> None:
        n, most = len(self.own_ids), self.plan.most_ids
        if n > most:
            raise DataError(f"This party has {n} ids, and the plan allows {most}; raise most_ids, or leave rows out.")
        repeated = n - len(set(self.own_ids))
        if repeated:
            raise DataError(f"{repeated} of the {n} ids repeat an earlier one; keep one row for each id.")

    def begin(self, request: BeginBlinding) -> Done:
        """Take over how long everyone's list is."""
        sizes = request.sizes.tolist()
        fits = len(sizes) == len(self.plan.members) and all(1 <= n <= self.plan.most_ids for n in sizes)
        if self.sizes or not fits or sizes[self.number] != len(self.own_ids):
            raise ProtocolError("The active party begins an alignment of sets whose sizes cannot be.")
        self.sizes = sizes
        return Done()

    def give(self, request: AskBlinded) -> BlindedIds:
        """What becomes known: points that are noise to everybody, in an order that is, too."""
        owner, first = request.owner, request.first
        if owner == self.number:
            self._in_turn(owner, first, self.given)
            ids = [self.own_ids[row] for row in self.order[first : first + STEP]]
            self.given += len(ids)
            return BlindedIds(self.blinding.ids(ids, self.tag, self.threads).reshape(-1))
        passing = self.lists.get(owner, Passing())
        self._in_turn(owner, first, passing.given)
        if passing.n_came != self.sizes[owner]:
            raise ProtocolError("The active party asks for a list of blinded ids that has not come whole.")
        if passing.points is None:
            passing.order = shuffled(passing.n_came)
            passing.points = np.concatenate(passing.came)[passing.order]
            passing.came = []
        part = passing.points[first : first + STEP]
        passing.given += len(part)
        return BlindedIds(part.reshape(-1))

    def take(self, request: BlindIds) -> Done:
        """Blind a part of another party's list."""
        owner = request.owner
        passing = self.lists.get(owner, Passing())
        if owner == self.number:
            raise ProtocolError("The active party sends this party its own list.")
        self._in_turn(owner, request.first, passing.n_came)
        expected = min(STEP, self.sizes[owner] - request.first)
        points = sized(request.blinded_ids, POINT_BYTES * expected, "bytes of blinded ids").reshape(-1, POINT_BYTES)
        passing.came.append(self.blinding.points(points, self.threads))
        passing.n_came += expected
        self.lists[owner] = passing
        return Done()

    def _in_turn(self, owner: int, first: int, expected: int) -> None:
        if not self.sizes or not 0 <= owner < len(self.sizes) or first != expected or first >= self.sizes[owner]:
            raise ProtocolError("The active party asks for another step of the alignment than the next.")

    def mark(self, request: MarkCommon) -> NDArray[np.bool_]:
        """Which places of the list, before this party's shuffle of it, are common ids."""
        owner, passing = request.owner, self.lists.get(request.owner)
        order = self.order if owner == self.number else passing.order if passing is not None else None
        whole = self.given if owner == self.number else passing.given if passing is not None else -1
        if order is None or owner in self.marked or whole != len(order):
            raise ProtocolError("The active party marks a list of blinded ids that it has not heard, or twice.")
        out = bits_of(request.marks, len(order))
        n_common = int(out.sum())
        if not n_common or self.n_common not in (-1, n_common):
            raise ProtocolError("The active party marks no ids, or not equally many in every list.")
        self.n_common = n_common
        self.marked.add(owner)
        before = np.empty_like(out)
        before[order] = out
        return before

    def forget(self) -> None:
        """The secret, the ids and the lists are not needed any more."""
        self.blinding, self.own_ids, self.lists = Blinding.fresh(), [], {}


class OwnSets:
    """A party's side of all alignments of a run: of its rows, and of its validation rows."""

    def __init__(self, plan: Plan, name: str, own: Tables, threads: int) -> None:
        self.plan, self.number, self.own, self.threads = plan, plan.names.index(name), own, threads
        self.sets: dict[bool, OwnSet] = {}
        self.aligned: dict[bool, Table] = {}
        self.times = {False: 0, True: 0}

    def introduced(self) -> None:
        """Everybody was introduced anew: alignments may begin again."""
        self.sets = {}

    def answer(self, request: Aligning) -> Answer:
        """Of one step, as the functions of `OwnSet` say."""
        if isinstance(request, AskSetSize):
            return self._begin(request.held_out)
        own = self.sets.get(request.held_out)
        if own is None:
            raise ProtocolError("The active party goes on with an alignment that has not begun.")
        if isinstance(request, BeginBlinding):
            self._count(request.held_out)
            return own.begin(request)
        if isinstance(request, AskBlinded):
            return own.give(request)
        if isinstance(request, BlindIds):
            return own.take(request)
        before = own.mark(request)
        if request.owner != self.number:
            return Marks(np.packbits(before, bitorder="little"))
        self._keep(request.held_out, own, before)
        own.forget()
        return Done()

    def _begin(self, held_out: bool) -> SetSize:
        if held_out in self.sets:
            raise ProtocolError("The active party begins an alignment twice.")
        table = self.own[held_out]
        if table is None or not table.n_rows:
            return SetSize(0, b"")
        tag = b"hedgerow ids" + self.plan.digest + bytes([held_out])
        self.sets[held_out] = OwnSet(self.plan, self.number, table, tag, self.threads)
        return SetSize(table.n_rows, self.digest(held_out))

    def _count(self, held_out: bool) -> None:
        self.times[held_out] += 1
        if self.times[held_out] > MOST_TIMES:
            raise PrivacyError(
                f"This process has taken part in {MOST_TIMES} alignments of this run; start it anew if all is well."
            )

    def digest(self, held_out: bool) -> bytes:
        """Of the rows aligned in this process; empty before."""
        table = self.aligned.get(held_out)
        return b"" if table is None else rows_digest(self.plan, table)

    def _keep(self, held_out: bool, own: OwnSet, common: NDArray[np.bool_]) -> None:
        rows = np.flatnonzero(common)
        order = np.argsort(np.array([own.own_ids[row] for row in rows]), kind="stable")
        table = own.own.take(rows[order])
        if held_out in self.aligned and self.digest(held_out) != rows_digest(self.plan, table):
            raise ProtocolError("The rows that all parties have are not those that this run began with; start it anew.")
        self.aligned[held_out] = table

    @property
    def tables(self) -> Tables:
        """The rows that all parties have, in the order of their ids."""
        if False not in self.aligned:
            raise ProtocolError("The active party asks before the rows are aligned.")
        return self.aligned[False], self.aligned.get(True)


def bits_of(packed: NDArray[np.uint8], n: int) -> NDArray[np.bool_]:
    """A truth value for each of n places."""
    if len(packed) != (n + 7) // 8:
        raise ProtocolError("A message does not mark every place of a list.")
    return np.unpackbits(packed, count=n, bitorder="little").astype(np.bool_)
