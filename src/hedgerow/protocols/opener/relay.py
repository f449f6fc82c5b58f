"""The driver's relay of what parties seal for the opener, and a party's sealing.

The folder has the conversation and who sees what.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.options import FEWEST_MASKED
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import (
    Answer,
    AskCounts,
    AskHistograms,
    AskLeafSums,
    AskMoments,
    Begin,
    Done,
    FinishRound,
    FromOpener,
    GoOn,
    Introduce,
    Lead,
    Led,
    PassSum,
    Request,
    RoundGrown,
    SealedWords,
    ToEveryParty,
)
from hedgerow.corridor.wire import MOST_SMALL, decode_request
from hedgerow.errors import PartyLost, PrivacyError, ProtocolError
from hedgerow.identity.identity import verify
from hedgerow.model.file import MOST_BYTES
from hedgerow.privacy.additive import PublicKey
from hedgerow.protocols.opener.packing import SealedVector
from hedgerow.protocols.secure_sum import Hiding, Told
from hedgerow.protocols.session.group import PartyGroup, expected

Summing = AskCounts | AskMoments | AskHistograms | AskLeafSums | FinishRound
OPENER = "opener"
"""What its signatures are for."""


def signed(plan: Plan, attempt: int, request: bytes, public_key: bytes) -> bytes:
    """What the opener signs: its request and key, of this attempt at this plan."""
    parts = (hashlib.sha256(part).digest() for part in (request, public_key))
    return plan.digest + attempt.to_bytes(8, "little") + b"".join(parts)


class Relay:
    """The driver's side: adds what it cannot read."""

    def __init__(self, group: PartyGroup, threads: int) -> None:
        self.group, self.plan, self.threads = group, group.plan, threads
        self.cipher = cipher_of(self.plan)
        self.public: PublicKey | None = None
        self.lost: list[tuple[int, frozenset[str]]] = []
        """Rounds in which parties were lost and the run went on."""
        self.clipped = 0
        """Rounds in which gradients were cut off; how many, only the opener knows."""

    def run(self, lead: Lead, begun: Callable[[Begin], None], grown: Callable[[RoundGrown], bool]) -> Led:
        """Carry until the opener says that it is done; `grown` is given every round's trees, and whether to stop."""
        most_bytes = MOST_SMALL + 2 * len(lead.begin)
        said = self._ask(lead, most_bytes)
        while not isinstance(said, Led):
            if isinstance(said, ToEveryParty):
                reply: Request = self._passed(said, begun)
            elif isinstance(said, RoundGrown):
                self.clipped += said.clipped
                reply = GoOn(grown(said))
            else:
                raise ProtocolError(f"The opener answered {type(said).__name__}, which it cannot say here.")
            said = self._ask(reply, most_bytes)
        return said

    def _ask(self, request: Request, most_bytes: int) -> Answer:
        return self.group.ask({self.plan.opener: request}, Answer, most_bytes)[self.plan.opener]

    def _passed(self, said: ToEveryParty, begun: Callable[[Begin], None]) -> PassSum:
        """What came of a request of the opener's."""
        request = decode_request(said.request, MOST_BYTES)
        message = FromOpener(said.request, said.public_key, said.signature)
        if said.public_key:
            self.public = self.cipher.read_public_key(said.public_key, self.threads)
        if isinstance(request, Begin):
            self.group.tell(message, Done)
            begun(request)
            return PassSum(b"", ())
        if not isinstance(request, Summing) or self.public is None or said.n_words < 1:
            raise ProtocolError("The opener asks for something that cannot be summed, or before it has sent a key.")
        return self._summed(request, message, SealedVector.of(self.plan, request, said.n_words), self.public)

    def _summed(self, request: Summing, message: FromOpener, vector: SealedVector, public: PublicKey) -> PassSum:
        group, before = self.group, self.group.present
        parties = group.numbers if isinstance(request, AskCounts | AskMoments) else request.parties
        try:
            answers = group.answers(message, min(vector.most_bytes(), MOST_BYTES), parties)
        except PartyLost as loss:
            self._go_on(request, loss)
            return PassSum(b"", self._note(request, before))
        names = [self.plan.names[i] for i in parties]
        sealed_parts = {name: expected(answers[name], SealedWords, name).sealed_words for name in names}
        return PassSum(vector.total(public, sealed_parts), self._note(request, before))

    def _go_on(self, request: Summing, loss: PartyLost) -> None:
        """Without the lost parties, as where the driver opens sums; else, and before any tree, the attempt ends."""
        if isinstance(request, AskCounts | AskMoments) or not self.group.goes_on(loss):
            raise loss
        self.group.lose(loss.parties)
        if isinstance(request, AskHistograms) and request.level == 0:
            left = [p for p in request.parties if p in self.group.numbers]
            if len(left) < FEWEST_MASKED:
                raise loss

    def _note(self, request: Summing, before: tuple[str, ...]) -> tuple[int, ...]:
        """Who was lost in this request."""
        lost = frozenset(before) - frozenset(self.group.present)
        if lost and not isinstance(request, AskCounts | AskMoments):
            self.lost.append((request.round, lost))
        return tuple(i for i, name in enumerate(self.plan.names) if name in lost)


class Sealing(Hiding):
    """A party's side: gives its words away sealed for the opener, and hears no other request than the opener's."""

    def __init__(self, plan: Plan, own_number: int, threads: int, fewest: int, introduced: Introduce) -> None:
        known = {plan.names.index(key.name): b"" for key in introduced.keys}  # nobody shares a secret here
        super().__init__(plan, own_number, known, threads, fewest)
        self.attempt = introduced.attempt
        self.certificate = next((key.certificate for key in introduced.keys if key.name == plan.opener), b"")
        self.cipher = cipher_of(plan)
        self.key = b""
        self.public: PublicKey | None = None

    def hear(self, message: FromOpener) -> Request:
        """The opener's request, if it is signed; takes its key, which must be another for every tree."""
        if not self.certificate:
            raise PrivacyError("The driver leaves out the opener, without which nothing can be summed.")
        said = signed(self.plan, self.attempt, message.request, message.public_key)
        verify(self.certificate, OPENER, said, message.signature)
        request = decode_request(message.request, MOST_BYTES)
        if not isinstance(request, Summing | Begin):
            raise ProtocolError(f"The opener does not say {type(request).__name__}.")
        begins = isinstance(request, AskHistograms) and request.level == 0
        if begins and message.public_key in (b"", self.key):
            raise PrivacyError("The opener begins a tree without a new key; this party stops.")
        if message.public_key:
            self.key = message.public_key
            self.public = self.cipher.read_public_key(self.key, self.threads)
        self.request = request
        return request

    def pads(self, parties: tuple[int, ...], told: Told) -> NoReturn:  # noqa: ARG002
        """Nobody shares pads here."""
        raise PrivacyError("Sums are sealed for the opener in this run, and leave in no other way.")

    def sums(self, own_words: NDArray[np.int64], parties: Sequence[int]) -> Answer:
        """A part of the sum over these parties, which nobody but the opener could read."""
        self._check(parties)
        if self.public is None:
            raise ProtocolError("The opener asks for sums before it has sent a key.")
        return SealedWords(SealedVector.of(self.plan, self.request, own_words.size).seal(self.public, own_words))
