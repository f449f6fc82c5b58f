"""The active party's side of an alignment: lists pass through all parties' secrets.

The folder has the conversation and who sees what.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor import messages as m
from hedgerow.errors import CipherError, DataError, ProtocolError, RunError
from hedgerow.privacy.intersection import POINT_BYTES, in_all
from hedgerow.protocols.align.lists import STEP, WHAT, Aligning, Points, bits_of, most_of
from hedgerow.protocols.align.progress import Learnt, no_common
from hedgerow.protocols.session.group import A, PartyGroup, expected


class Own(Protocol):
    """Whoever carries the lists: an active party with a list of its own, or a driver without."""

    def answer(self, request: Aligning) -> m.Answer:
        """Its own step of an alignment; a driver without a list is never asked."""

    def digest(self, held_out: bool) -> bytes:
        """Of what was aligned before, in this process; empty if nothing was."""


class Ring:
    """The lists of all parties, each passed round all of them."""

    def __init__(self, group: PartyGroup, own: Own) -> None:
        self.group, self.own = group, own
        self.names, self.active = group.plan.names, group.plan.active
        self.sizes: list[int] = []

    def align(self, held_out: bool, what: str = "") -> Learnt | None:
        """What becomes known here: sizes, how many ids any parties share, and which own rows all have.

        None: all have been aligned before, in these processes.
        """
        what = what or WHAT[held_out]
        if not self._sizes(held_out, what):
            return None
        self._ask(dict.fromkeys(self.names, m.BeginBlinding(held_out, np.array(self.sizes, np.int64))), m.Done)
        lists = self._given(held_out, 0)
        for step in range(1, len(self.names)):
            self._pass(held_out, step, lists)
            lists = self._given(held_out, step)
        marks = self._common(lists, what)
        for step in reversed(range(1, len(self.names))):
            answers = self._ask(self._marking(held_out, step, marks), m.Marks)
            marks = [bits_of(answers[self._at(owner, step)].marks, n) for owner, n in enumerate(self.sizes)]
        self._ask(self._marking(held_out, 0, marks), m.Done)
        return Learnt(what, dict(zip(self.names, self.sizes, strict=True)), int(marks[0].sum()))

    def _at(self, owner: int, step: int) -> str:
        """Who has the list of this owner at this step."""
        return self.names[(owner + step) % len(self.names)]

    def _ask(self, requests: Mapping[str, Aligning], expect: type[A]) -> dict[str, A]:
        """Everybody's answer; what is asked of the active party itself is worked out while the others work."""
        theirs: dict[str, m.Request] = {name: request for name, request in requests.items() if name != self.active}
        with ThreadPoolExecutor(1) as beside:
            own = beside.submit(self.own.answer, requests[self.active]) if self.active in requests else None
            answers = self.group.ask(theirs, expect) if theirs else {}
            if own is not None:
                answers[self.active] = expected(own.result(), expect, self.active)
        return answers

    def _sizes(self, held_out: bool, what: str) -> bool:
        """How many rows everyone has; False where all have been aligned before, in these processes."""
        present = [name for name in self.names if name == self.active or name in self.group.present]
        request = m.AskSetSize(held_out, self.own.digest(held_out))
        answers = self._ask(dict.fromkeys(present, request), m.SetSize)
        aligned = all(answers[name].aligned for name in present)
        if len(present) < len(self.names):
            if not aligned:
                raise RunError("Rows cannot be aligned anew without a party that is lost; start a new run.")
            return False
        self.sizes = [answers[name].n_ids for name in self.names]
        for name, n in zip(self.names, self.sizes, strict=True):
            if n == 0:
                raise DataError(f"Party {name!r} has no {what} that could be aligned with the others'.")
            if not 0 < n <= (most := most_of(self.group.plan, what)):
                raise ProtocolError(f"Party {name!r} brings more than the {most} {what} that are allowed.")
        return not aligned

    def _places(self) -> Iterator[tuple[int, list[int]]]:
        """Where parts of lists begin, and whose lists are longer than that."""
        for first in range(0, max(self.sizes), STEP):
            yield first, [owner for owner, n in enumerate(self.sizes) if n > first]

    def _given(self, held_out: bool, step: int) -> list[Points]:
        parts: list[list[Points]] = [[] for _ in self.names]
        for first, owners in self._places():
            requests = {self._at(owner, step): m.AskBlinded(held_out, owner, first) for owner in owners}
            answers = self._ask(requests, m.BlindedIds)
            for owner in owners:
                name, expected = self._at(owner, step), min(STEP, self.sizes[owner] - first)
                points = answers[name].blinded_ids
                if len(points) != POINT_BYTES * expected:
                    raise ProtocolError(f"Party {name!r} did not return as many blinded ids as it was given.")
                parts[owner].append(points.reshape(-1, POINT_BYTES))
        return [np.concatenate(part) for part in parts]

    def _pass(self, held_out: bool, step: int, lists: Sequence[Points]) -> None:
        for first, owners in self._places():
            part = {owner: lists[owner][first : first + STEP].reshape(-1) for owner in owners}
            requests = {self._at(owner, step): m.BlindIds(held_out, owner, first, part[owner]) for owner in owners}
            self._ask(requests, m.Done)

    def _common(self, lists: Sequence[Points], what: str) -> list[NDArray[np.bool_]]:
        try:
            marks = in_all(lists)
        except CipherError as error:
            raise ProtocolError(f"The parties' lists do not belong together. {error}") from None
        if not marks[0].any():
            raise DataError(no_common(what))
        return marks

    def _marking(self, held_out: bool, step: int, marks: Sequence[NDArray[np.bool_]]) -> dict[str, Aligning]:
        packed = [np.packbits(mark, bitorder="little") for mark in marks]
        return {self._at(owner, step): m.MarkCommon(held_out, owner, bits) for owner, bits in enumerate(packed)}
