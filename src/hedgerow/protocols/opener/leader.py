"""The opener's own side: it does the driver's work, asking through the driver, and opens the sums that come back.

`opener` has the conversation. The work is the same code that a driver runs with masks (`cut_points`, `horizontal`,
`horizontal/train`); only its group differs. It runs in a thread of its own, because it asks while the party only
answers: the two take turns and never run at the same time.

Sees in the clear.  The sums over all parties, from which it chooses. It gives away the choices.
"""

import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import (
    Answer,
    AskHistograms,
    Begin,
    GoOn,
    Lead,
    Led,
    PassSum,
    Request,
    RoundGrown,
    ToEveryParty,
)
from hedgerow.corridor.wire import MOST_SMALL, decode_request, encode
from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model.file import MOST_BYTES
from hedgerow.privacy.additive import SecretKey
from hedgerow.protocols.columns import Common, loss_of
from hedgerow.protocols.horizontal import cut_points
from hedgerow.protocols.horizontal.prepare import forest_of, trees_of
from hedgerow.protocols.horizontal.train import begin_of, boosted, rows_of, start_of
from hedgerow.protocols.opener.packing import SealedVector
from hedgerow.protocols.opener.relay import OPENER, signed
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.trees.boost import Round
from hedgerow.trees.forest import Forest


class _Left(BaseException):
    """Nobody waits for the work any more."""


class RequestTurns:
    """Work that hands out answers and waits for the next request after each; its last answer is what it returns."""

    def __init__(self, work: Callable[["RequestTurns"], Answer]) -> None:
        self._requests: SimpleQueue[Request | None] = SimpleQueue()
        self._answers: SimpleQueue[Answer | BaseException] = SimpleQueue()
        self._thread = Thread(target=self._run, args=(work,), daemon=True)
        self.ended = False

    def _run(self, work: Callable[["RequestTurns"], Answer]) -> None:
        try:
            last: Answer | BaseException = work(self)
        except _Left:
            return
        except BaseException as error:  # raised where the work's answer is awaited
            last = error
        self.ended = True
        self._answers.put(last)

    def take(self, answer: Answer) -> Request:
        """From inside the work: hand out an answer, and wait."""
        self._answers.put(answer)
        request = self._requests.get()
        if request is None:
            raise _Left
        return request

    def first(self) -> Answer:
        """Begin the work; its first answer."""
        self._thread.start()
        return self._next()

    def hand(self, request: Request) -> Answer:
        """Go on with a request; the next answer."""
        if self.ended:
            raise ProtocolError("The driver goes on with a run that has ended.")
        self._requests.put(request)
        return self._next()

    def _next(self) -> Answer:
        answer = self._answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def leave(self) -> None:
        """End the work where it waits."""
        self._requests.put(None)


class RelayedGroup(SummingGroup):
    """All parties, asked through the driver; what comes back is opened here."""

    def __init__(self, plan: Plan, present: Sequence[int], sign: Callable[[bytes, bytes], bytes], threads: int) -> None:
        self.plan, self.present, self.lost = plan, tuple(plan.names[i] for i in present), []
        self.sign, self.threads, self.cipher = sign, threads, cipher_of(plan)
        self.turns: RequestTurns | None = None
        self.own_secret: SecretKey | None = None
        self.said = b""
        """The request that waits for its sum."""
        self.most_bytes = MOST_SMALL
        """What that sum may have."""

    def opened_sum(self, request: Request, n_words: int, parties: Sequence[int]) -> NDArray[np.int64]:
        """What becomes known here: the sum over these parties. If a part is missing, nothing."""
        if self.own_secret is None or (isinstance(request, AskHistograms) and request.level == 0):
            self.own_secret = self.cipher.new_key(self.threads, rows=False)
            key = self.own_secret.public.encode()
        else:
            key = b""
        vector = SealedVector.of(self.plan, request, n_words)
        self.most_bytes = min(max(MOST_SMALL, vector.most_bytes(added=True)), MOST_BYTES)
        passed = self._say(request, key, n_words)
        lost = frozenset(self.plan.names[i] for i in passed.lost)
        if lost & {self.plan.names[i] for i in parties}:
            raise PartyLost(f"{', '.join(sorted(lost))} is lost.", lost)
        if lost:
            self.lose(lost)
        return vector.open(self.own_secret, passed.sealed_sum)

    def say(self, request: Begin) -> None:
        """Tell everybody; nothing comes back."""
        self._say(request, b"", 0)

    def _say(self, request: Request, key: bytes, n_words: int) -> PassSum:
        if self.turns is None:
            raise ProtocolError("The opener is not leading.")
        self.said = encode(request)
        passed = self.turns.take(ToEveryParty(self.said, key, self.sign(self.said, key), n_words))
        if not isinstance(passed, PassSum) or any(not 0 <= i < len(self.plan.names) for i in passed.lost):
            raise ProtocolError("The driver does not tell what came of the opener's request.")
        return passed

    def goes_on(self, loss: PartyLost) -> bool:  # noqa: ARG002  # the driver has asked whether they are really gone
        """Whether all have agreed to go on without the lost parties."""
        return self.plan.goes_on


class OpenerDriver:
    """The opener's work in one attempt, for as long as the party holds on to it."""

    def __init__(self, plan: Plan, present: Sequence[int], identity: Identity, attempt: int, threads: int) -> None:
        def sign(request: bytes, key: bytes) -> bytes:
            return identity.sign(OPENER, signed(plan, attempt, request, key))

        self.group = RelayedGroup(plan, present, sign, threads)
        self.turns: RequestTurns | None = None

    def begin(self, lead: Lead, shared: Common) -> Answer:
        """The first thing to be asked."""
        if self.turns is not None:
            raise ProtocolError("The driver lets the opener begin twice.")
        group = self.group

        def work(turns: RequestTurns) -> Led:
            group.turns = turns
            try:
                return _led(group, turns, lead, shared)
            finally:
                group.own_secret = None

        self.turns = RequestTurns(work)
        weakref.finalize(self, self.turns.leave)
        return self.turns.first()

    def go_on(self, request: PassSum | GoOn) -> Answer:
        """The next thing to be asked, or the trees of a round."""
        if self.turns is None:
            raise ProtocolError("The driver goes on before it has let the opener begin.")
        return self.turns.hand(request)

    def check(self, request: bytes) -> None:
        """Refuse what is passed on as this party's request and is not."""
        if request != self.group.said:
            raise ProtocolError("The driver passes on another request than the opener's last.")


def _led(group: RelayedGroup, turns: RequestTurns, lead: Lead, shared: Common) -> Led:
    """Everything from counts to the last tree."""
    plan, loss = group.plan, loss_of(group.plan, shared.classes)
    trees = Forest.empty()
    if lead.begin:
        begin = decode_request(lead.begin, MOST_BYTES)
        if not isinstance(begin, Begin):
            raise ProtocolError("The driver goes on after something that is no beginning.")
        start, trees = start_of(begin, shared.columns, plan), forest_of(begin.forest, shared.columns, loss.n_trees)
    else:
        start = cut_points.start(group, shared, loss)
    group.say(begin_of(start, trees))
    rows = rows_of(group, loss, start)
    grown, clipped = [Forest.empty()], 0

    def hand_out(complete: bool, value: float | None, best: int | None) -> bool:
        nonlocal clipped
        more, clipped = rows.clipped > clipped, rows.clipped
        told = turns.take(RoundGrown(trees_of(grown.pop()), complete, value, best, more))
        grown.append(Forest.empty())
        if not isinstance(told, GoOn):
            raise ProtocolError("The driver does not tell whether to go on after a round.")
        return told.stop

    def sealed(new: Forest) -> None:
        grown[0] = new
        if rows.closed:  # the sums it was grown from cannot be had again
            hand_out(False, None, None)

    def keep_losses() -> None:
        hand_out(False, None, None)  # the driver keeps who is left, and the trees if they are complete

    rows.keep_losses = keep_losses

    def after_round(told: Round) -> bool:
        return hand_out(True, told.value, told.best)

    before = (trees if trees.n_trees else None, tuple(lead.history.tolist()))
    return Led(boosted(rows, loss, start, group.threads, [after_round], before, None, sealed).forest.n_trees)
