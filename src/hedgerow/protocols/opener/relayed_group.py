"""All parties as the opener reaches them: its work asks, but its party only answers, so that the two take turns.

Sees in the clear.  The sums over all parties, opened here with the key of the tree.
"""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import Answer, AskHistograms, Begin, PassSum, Request, ToEveryParty
from hedgerow.corridor.wire import MOST_SMALL, encode
from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.model.file import MOST_BYTES
from hedgerow.privacy.additive import SecretKey
from hedgerow.protocols.opener.packing import SealedVector
from hedgerow.protocols.secure_sum import SummingGroup


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
