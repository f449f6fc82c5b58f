"""The driver's relay of what parties seal for the opener.

The folder has the conversation and who sees what.
"""

import hashlib
from collections.abc import Callable

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.options import FEWEST_MASKED
from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import MOST_SMALL, decode_request
from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.model.file import MOST_BYTES
from hedgerow.privacy.additive import PublicKey
from hedgerow.protocols.opener.packing import SealedVector
from hedgerow.protocols.session.group import PartyGroup, expected

Summing = m.AskCounts | m.AskMoments | m.AskHistograms | m.AskLeafSums | m.FinishRound
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

    def run(self, lead: m.Lead, begun: Callable[[m.Begin], None], grown: Callable[[m.RoundGrown], bool]) -> m.Led:
        """Carry until the opener says that it is done; `grown` is given every round's trees, and whether to stop."""
        most_bytes = MOST_SMALL + 2 * len(lead.begin)
        said = self._ask(lead, most_bytes)
        while not isinstance(said, m.Led):
            if isinstance(said, m.ToEveryParty):
                reply: m.Request = self._passed(said, begun)
            elif isinstance(said, m.RoundGrown):
                self.clipped += said.clipped
                reply = m.GoOn(grown(said))
            else:
                raise ProtocolError(f"The opener answered {type(said).__name__}, which it cannot say here.")
            said = self._ask(reply, most_bytes)
        return said

    def _ask(self, request: m.Request, most_bytes: int) -> m.Answer:
        return self.group.ask({self.plan.opener: request}, m.Answer, most_bytes)[self.plan.opener]

    def _passed(self, said: m.ToEveryParty, begun: Callable[[m.Begin], None]) -> m.PassSum:
        """What came of a request of the opener's."""
        request = decode_request(said.request, MOST_BYTES)
        message = m.FromOpener(said.request, said.public_key, said.signature)
        if said.public_key:
            self.public = self.cipher.read_public_key(said.public_key, self.threads)
        if isinstance(request, m.Begin):
            self.group.tell(message, m.Done)
            begun(request)
            return m.PassSum(b"", ())
        if not isinstance(request, Summing) or self.public is None or said.n_words < 1:
            raise ProtocolError("The opener asks for something that cannot be summed, or before it has sent a key.")
        return self._summed(request, message, SealedVector.of(self.plan, request, said.n_words), self.public)

    def _summed(self, request: Summing, message: m.FromOpener, vector: SealedVector, public: PublicKey) -> m.PassSum:
        group, before = self.group, self.group.present
        parties = group.numbers if isinstance(request, m.AskCounts | m.AskMoments) else request.parties
        try:
            answers = group.answers(message, min(vector.most_bytes(), MOST_BYTES), parties)
        except PartyLost as loss:
            self._go_on(request, loss)
            return m.PassSum(b"", self._note(request, before))
        names = [self.plan.names[i] for i in parties]
        sealed_parts = {name: expected(answers[name], m.SealedWords, name).sealed_words for name in names}
        return m.PassSum(vector.total(public, sealed_parts), self._note(request, before))

    def _go_on(self, request: Summing, loss: PartyLost) -> None:
        """Without the lost parties, as where the driver opens sums; else, and before any tree, the attempt ends."""
        if isinstance(request, m.AskCounts | m.AskMoments) or not self.group.goes_on(loss):
            raise loss
        self.group.lose(loss.parties)
        if isinstance(request, m.AskHistograms) and request.level == 0:
            left = [p for p in request.parties if p in self.group.numbers]
            if len(left) < FEWEST_MASKED:
                raise loss

    def _note(self, request: Summing, before: tuple[str, ...]) -> tuple[int, ...]:
        """Who was lost in this request."""
        lost = frozenset(before) - frozenset(self.group.present)
        if lost and not isinstance(request, m.AskCounts | m.AskMoments):
            self.lost.append((request.round, lost))
        return tuple(i for i, name in enumerate(self.plan.names) if name in lost)
