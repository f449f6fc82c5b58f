"""A party's steps down the trees of an attempt: each is checked and written down before its sums are made.

    driver                        party
    AskHistograms, AskLeafSums    who is summed over?  answered otherwise before?  cuts and nodes as agreed?
    FinishRound, NextRound        the same; then values are added to own scores

Sees in the clear.  Party: its own rows and sums, what it is told.  What leaves it: its sums, hidden as `Hiding` says.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Answer, AskHistograms, AskLeafSums, Done, FinishRound, NextRound
from hedgerow.corridor.wire import encode
from hedgerow.errors import ProtocolError
from hedgerow.protocols.horizontal.batch import NOTHING, PendingMask, PendingSums, Sent
from hedgerow.protocols.horizontal.checks import Way
from hedgerow.protocols.horizontal.round import PartyRound, joined
from hedgerow.protocols.horizontal.sets import Stepping, remaining
from hedgerow.protocols.opener.relay import Sealing
from hedgerow.protocols.secure_sum import Hiding, Told
from hedgerow.protocols.session.journal import Journal, Log, NoLog
from hedgerow.trees.local import Adding

Reply = Answer | PendingSums | PendingMask
"""An answer before it leaves, or as much of it as a party makes by itself."""


class Attempt(NamedTuple):
    """What a party has, once it is introduced, to answer with."""

    plan: Plan
    hiding: Hiding
    told: Told
    journal: Journal
    present: tuple[int, ...]
    """Those that were introduced, by number in the plan."""


class Kept(NamedTuple):
    """Where it is written down what was answered."""

    log: Log
    durable: bool
    """Whether it must be on disk before the answer leaves."""

    @property
    def outlives(self) -> bool:
        """Whether anything is written that outlives the process."""
        return not isinstance(self.log, NoLog)


@lru_cache(maxsize=2)  # parties of one process are told the same
def advanced(state: bytes, trees: bytes) -> bytes:
    """What the gradients of the next round depend on."""
    return hashlib.sha256(state + trees).digest()


class OwnSteps:
    """Answers the steps of one attempt."""

    def __init__(self, attempt: Attempt, kept: Kept, threads: int, sent: Sent) -> None:
        self.plan, self.hiding, self.told, self.journal, self.alive = attempt
        self.kept, self.threads, self.sent = kept, threads, sent
        self.goes_on = self.plan.on_loss == "continue"
        self.by_rows = self.plan.method == "horizontal" and not self.plan.opener
        """Whether the driver itself asks for sums over rows."""
        self.growing: PartyRound | None = None
        self.round_set: tuple[int, ...] = ()
        """The parties that the sums of this round are over."""
        self.states: dict[int, bytes] = {}
        """What the gradients of each round depend on, as far as this process knows."""
        self.state = b""

    def begin(self, growing: PartyRound, states: dict[int, bytes], state: bytes) -> None:
        """The trees begin, or go on after some, whose hash is `state`; without a log, from a hash of what was said."""
        self.growing, self.states = growing, states
        self.state = state if self.kept.outlives else states.setdefault(growing.place.round, state)

    def stop(self) -> None:
        """No more steps, and no pad that cancels, until the parties are introduced anew."""
        self.growing = None
        self.told.forget()

    def answer(self, request: Stepping | NextRound, frame: bytes) -> Reply:
        """What a step says, written down as if the two requests in a `NextRound` had come one by one."""
        growing = self.growing
        if growing is None:
            raise ProtocolError("The driver asks for trees before they have begun.")
        if isinstance(request, (AskHistograms, AskLeafSums)):
            return self._sums(request, frame, growing)
        if isinstance(request, NextRound):
            return self._next_round(request, growing)
        words, adds = self._finish(request, frame, growing)
        if self.kept.durable:
            self.kept.log.sync()
        if self.hiding.own_number in request.parties:
            return self.hidden(words, request.parties, adds)
        _native.add_values(adds, self.threads)
        return Done()

    def hidden(self, own_words: NDArray[np.int64], parties: tuple[int, ...], adds: Sequence[Adding] = ()) -> Reply:
        """Own sums on their way out, as the plan says; what is to be added to scores is added with others'."""
        if isinstance(self.hiding, Sealing):
            _native.add_values(adds, self.threads)
            return self.hiding.sums(own_words, parties)
        return PendingMask(own_words, self.hiding.pads(parties, self.told), True, self.sent, adds)

    def _next_round(self, request: NextRound, growing: PartyRound) -> Reply:
        if not self.plan.joins_rounds:
            raise ProtocolError("The plan of this run does not allow NextRound.")
        if not 0 <= request.round < self.plan.params.n_estimators - 1:
            raise ProtocolError("The driver joins a round to one that is not among those of the plan.")
        both = joined(request, growing.n_trees)
        words, adds = self._finish(both.finish, both.finish_frame, growing)
        return self._sums(both.first, both.first_frame, growing, words, adds)

    def _answering(self, request: Stepping, frame: bytes, growing: PartyRound) -> tuple[bytes, Way]:
        """Write down the step that is about to be answered; what it is known by, and where it leads.

        Nothing is written of one that is refused.
        """
        own = self.hiding.own_number
        alive = remaining(self.plan, request, growing.place, self.alive, self.round_set, own)
        finishes = isinstance(request, FinishRound)
        if request.level == 0:
            self.journal.begin(self.state)
        content, shrinks = frame, False
        if self.goes_on:
            # Where the set may shrink, a step is known by everything but its set.
            content = encode(msgspec.structs.replace(request, parties=()))
            shrinks = request.level == 0 or finishes
        told = self.journal.check_step(request.round, request.level, content, request.parties, shrinks)
        way = growing.way(request)
        if alive != self.alive:
            self.journal.leave_out([self.plan.names[p] for p in alive])
        self.journal.write_step(told)
        self.alive = alive
        if not finishes:
            self.round_set = request.parties
        return content, way

    def _sums(
        self,
        request: AskHistograms | AskLeafSums,
        frame: bytes,
        growing: PartyRound,
        beside: NDArray[np.int64] = NOTHING,
        adds: Sequence[Adding] = (),
    ) -> Reply:
        _, way = self._answering(request, frame, growing)
        steps = growing.steps(request, way)
        hiding, parties = self.hiding, request.parties
        gives = hiding.own_number in parties
        if gives and growing.begins and self.plan.sets_change:
            steps, digest = growing.rows.with_gradients(steps)
            self.journal.give(request.round, digest, parties)
        if self.kept.durable:
            self.kept.log.sync()
        if isinstance(hiding, Sealing):
            words = growing.sums(steps)
            return hiding.sums(words, parties) if gives else Done()
        pads = hiding.pads(parties, self.told) if gives else None
        return PendingSums(growing.rows, steps, pads, gives, self.sent, beside, adds)

    def _finish(
        self, request: FinishRound, frame: bytes, growing: PartyRound
    ) -> tuple[NDArray[np.int64], list[Adding]]:
        """Own words of a round's end, and what is still to be added to own scores."""
        content, way = self._answering(request, frame, growing)
        again = growing.place.finished
        words, adds = growing.finish(request, way)
        if not again:
            self._finished(request, content, growing)
        return words, adds

    def _finished(self, request: FinishRound, content: bytes, growing: PartyRound) -> None:
        """The state after a round is a hash of its trees, or where nothing outlives this process of what was said."""
        trees = growing.digest(request)
        kept = trees() if self.kept.outlives else None
        self.journal.finish(request.round, kept or trees)
        self.state = self.states[request.round + 1] = advanced(self.state, kept.encode() if kept else content)
