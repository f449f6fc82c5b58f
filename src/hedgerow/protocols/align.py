"""Which rows all parties of a vertical run have, found by their ids, which nobody shows.

    active (drives)                                 passive (each; the active party does the same by itself)
    AskSetSize                        ----------->  a fresh secret; ids must be there, each once
                                      <-----------  SetSize
    BeginBlinding(sizes of all)       ----------->
    AskBlinded(its own ids)           ----------->  hashes and blinds a part of them, in an order drawn at random
                                      <-----------  BlindedIds
  then every list goes once round the ring of parties:
    BlindIds(a part of the list)      ----------->  blinds it
                                      <-----------  Done
    AskBlinded(the list)              ----------->  shuffles it
                                      <-----------  BlindedIds
  all lists have passed all secrets: the active party marks what is in all of them, and the marks go back:
    MarkCommon(places in the list)    ----------->  undoes its shuffle; of its own list, it keeps these rows
                                      <-----------  Marks

Sees in the clear.  Active: how many rows everyone has, how many any parties share, which of its own rows all have.
                    Passive: how many rows everyone has, how many all share, which of its own rows these are.
                    Nobody: an id that is not its own, or whether a party has a row that not all have.
                    (Of two parties, all is both: each learns which of its rows the other has.)

Rows are kept in the order of their ids: everybody who has them can sort them so, nothing need be said, it tells nothing
of anybody's table, and a run that is resumed finds the same order. Lists are shuffled at every party, so that their
places tell nothing either. A party answers each step once; a list is as long as was said at the beginning.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.errors import CipherError, DataError, ProtocolError
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
    Request,
    SetSize,
)
from hedgerow.plan import Plan
from hedgerow.privacy.intersection import POINT_BYTES, Blinding, in_all, shuffled
from hedgerow.protocols.passive import rows_digest
from hedgerow.protocols.secure_sum import Circle
from hedgerow.wire import sized

STEP = 1 << 16
"""Ids of one message: 2 MiB, some seconds of work."""
TOLD_FROM = 1 << 18
"""Multiplications from which on progress is told."""

Points = NDArray[np.uint8]
Tables = tuple[Table, Table | None]
Aligning = AskSetSize | BeginBlinding | AskBlinded | BlindIds | MarkCommon


def texts_of(table: Table) -> list[str]:
    """The ids as text; a whole number is its decimal digits."""
    if table.ids is None:
        raise DataError("Rows are aligned by their ids, and this table has none; name the column of ids.")
    return [str(one) for one in table.ids.tolist()]


# A party's side


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
        passing = self.lists.setdefault(owner, Passing())
        if owner == self.number:
            raise ProtocolError("The active party sends this party its own list.")
        self._in_turn(owner, request.first, passing.n_came)
        expected = min(STEP, self.sizes[owner] - request.first)
        points = sized(request.blinded_ids, POINT_BYTES * expected, "bytes of blinded ids").reshape(-1, POINT_BYTES)
        passing.came.append(self.blinding.points(points, self.threads))
        passing.n_came += expected
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
        out = _bits(request.marks, len(order))
        n_common = int(out.sum())
        if not n_common or self.n_common not in (-1, n_common):
            raise ProtocolError("The active party marks no ids, or not equally many in every list.")
        self.n_common = n_common
        self.marked.add(owner)
        before = np.empty_like(out)
        before[order] = out
        return before


class OwnSets:
    """A party's side of all alignments of a run: of its rows, and of its validation rows."""

    def __init__(self, plan: Plan, name: str, own: Tables, threads: int) -> None:
        self.plan, self.number, self.own, self.threads = plan, plan.names.index(name), own, threads
        self.sets: dict[bool, OwnSet] = {}
        self.aligned: dict[bool, Table] = {}

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
            return own.begin(request)
        if isinstance(request, AskBlinded):
            return own.give(request)
        if isinstance(request, BlindIds):
            return own.take(request)
        before = own.mark(request)
        if request.owner != self.number:
            return Marks(np.packbits(before, bitorder="little"))
        self._keep(request.held_out, own, before)
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


def _bits(packed: NDArray[np.uint8], n: int) -> NDArray[np.bool_]:
    if len(packed) != (n + 7) // 8:
        raise ProtocolError("A message does not mark every place of a list.")
    return np.unpackbits(packed, count=n, bitorder="little").astype(np.bool_)


# The active party's side


class Ring:
    """The lists of all parties, each passed round all of them."""

    def __init__(self, circle: Circle, own: OwnSets, tell: Callable[[str], None]) -> None:
        self.circle, self.own, self.tell = circle, own, tell
        self.names, self.active = circle.plan.names, circle.plan.active
        self.done, self.told = 0, 0

    def align(self, held_out: bool) -> None:
        """What becomes known here: sizes, how many ids any parties share, and which own rows all have."""
        what = "validation rows" if held_out else "rows"
        if not self._sizes(held_out, what):
            return
        self._ask(dict.fromkeys(self.names, BeginBlinding(held_out, np.array(self.sizes, np.int64))), Done)
        lists = self._given(held_out, 0)
        for step in range(1, len(self.names)):
            self._pass(held_out, step, lists)
            lists = self._given(held_out, step)
        marks = self._common(lists, what)
        for step in reversed(range(1, len(self.names))):
            answers = self._ask(self._marking(held_out, step, marks), Marks)
            marks = [_bits(answers[self._at(owner, step)].marks, n) for owner, n in enumerate(self.sizes)]
        self._ask(self._marking(held_out, 0, marks), Done)

    def _at(self, owner: int, step: int) -> str:
        """Who has the list of this owner at this step."""
        return self.names[(owner + step) % len(self.names)]

    def _ask(self, requests: Mapping[str, Aligning], kind: type[Answer]) -> dict[str, Any]:
        """Everybody's answer; what is asked of the active party itself is worked out while the others work."""
        theirs: dict[str, Request] = {name: request for name, request in requests.items() if name != self.active}
        with ThreadPoolExecutor(1) as beside:
            own = beside.submit(self.own.answer, requests[self.active]) if self.active in requests else None
            answers = self.circle.ask_each(theirs) if theirs else {}
            if own is not None:
                answers[self.active] = own.result()
        for name, answer in answers.items():
            if not isinstance(answer, kind):
                raise ProtocolError(f"Party {name!r} answered {type(answer).__name__} where rows are aligned.")
        return answers

    def _sizes(self, held_out: bool, what: str) -> bool:
        """How many rows everyone has; False where all have been aligned before, in these processes."""
        answers = self._ask(dict.fromkeys(self.names, AskSetSize(held_out)), SetSize)
        self.sizes = [answers[name].n_ids for name in self.names]
        for name, n in zip(self.names, self.sizes, strict=True):
            if n == 0:
                raise DataError(f"Party {name!r} has no {what} that could be aligned with the others'.")
            if not 0 < n <= self.circle.plan.most_ids:
                raise ProtocolError(f"Party {name!r} has more ids than the {self.circle.plan.most_ids} of the plan.")
        return {answers[name].aligned for name in self.names} != {self.own.digest(held_out) or None}

    def _places(self) -> Iterator[tuple[int, list[int]]]:
        """Where parts of lists begin, and whose lists are longer than that."""
        for first in range(0, max(self.sizes), STEP):
            yield first, [owner for owner, n in enumerate(self.sizes) if n > first]

    def _given(self, held_out: bool, step: int) -> list[Points]:
        parts: list[list[Points]] = [[] for _ in self.names]
        for first, owners in self._places():
            requests = {self._at(owner, step): AskBlinded(held_out, owner, first) for owner in owners}
            answers = self._ask(requests, BlindedIds)
            for owner in owners:
                name, expected = self._at(owner, step), min(STEP, self.sizes[owner] - first)
                points = answers[name].blinded_ids
                if len(points) != POINT_BYTES * expected:
                    raise ProtocolError(f"Party {name!r} did not return as many blinded ids as it was given.")
                parts[owner].append(points.reshape(-1, POINT_BYTES))
            if step == 0:
                self._progress(first, owners)
        return [np.concatenate(part) for part in parts]

    def _pass(self, held_out: bool, step: int, lists: Sequence[Points]) -> None:
        for first, owners in self._places():
            part = {owner: lists[owner][first : first + STEP].reshape(-1) for owner in owners}
            requests = {self._at(owner, step): BlindIds(held_out, owner, first, part[owner]) for owner in owners}
            self._ask(requests, Done)
            self._progress(first, owners)

    def _progress(self, first: int, owners: Sequence[int]) -> None:
        total = sum(self.sizes) * len(self.names)
        self.done += sum(min(STEP, self.sizes[owner] - first) for owner in owners)
        if total >= TOLD_FROM and self.done * 10 // total > self.told:
            self.told = self.done * 10 // total
            self.tell(f"Aligning rows: {10 * self.told} %.")

    def _common(self, lists: Sequence[Points], what: str) -> list[NDArray[np.bool_]]:
        try:
            marks = in_all(lists)
        except CipherError as error:
            raise ProtocolError(f"The parties' lists do not belong together. {error}") from None
        n, number = int(marks[0].sum()), self.names.index(self.active)
        if not n:
            raise DataError(f"No id is common to all parties' {what}; check that all of them name the same kind of id.")
        self.done, self.told = 0, 0
        unused = self.sizes[number] - n
        self.tell(f"{n} {what} are common to all parties; {unused} of the active party's are left out.")
        return marks

    def _marking(self, held_out: bool, step: int, marks: Sequence[NDArray[np.bool_]]) -> dict[str, Aligning]:
        packed = [np.packbits(mark, bitorder="little") for mark in marks]
        return {self._at(owner, step): MarkCommon(held_out, owner, bits) for owner, bits in enumerate(packed)}
