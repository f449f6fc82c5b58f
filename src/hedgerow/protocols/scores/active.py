"""The active party's side of a sealed prediction; the folder has the conversation and who sees what."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.options import SealedPrediction
from hedgerow.corridor.messages import AskScores, BeginScores, Key, Scores, ScoresReady
from hedgerow.corridor.wire import MOST_SMALL
from hedgerow.errors import ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model.candidates import reached
from hedgerow.protocols.scores.layout import Layout
from hedgerow.protocols.scores.lockstep import Conversation, Question, together
from hedgerow.protocols.scores.openings import KeepsOpenings, SessionHead
from hedgerow.protocols.scores.pads import batch_hash, session_hash
from hedgerow.protocols.scores.sealing import KeySession, SealedBatch
from hedgerow.protocols.scores.signing import PURPOSE, begun_hash, signed
from hedgerow.protocols.session.group import PartyGroup

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Opened:
    """What a batch's answers open to: scores as they are, since the plan's prime has room for every one."""

    scores: Ints
    """Rows x classes."""
    reasons: tuple[Ints, ...]
    """For each party: labels x rows x classes, what its columns contribute."""


class SealedAsking:
    """The active party's side: seals weights, and opens scores."""

    def __init__(
        self,
        group: PartyGroup,
        layout: Layout,
        weights: Ints,
        keys: Sequence[Key],
        identity: Identity,
        threads: int = 1,
        *,
        openings: KeepsOpenings | None = None,
    ) -> None:
        """`weights` has those of leaves, at their places in the forest; `keys` is what the parties consented with.

        `openings` keeps all that an auditor needs to open the requests. Nothing is asked before it has begun.
        """
        self.group, self.layout, self.weights, self.identity, self.threads = group, layout, weights, identity, threads
        method = group.plan.method
        if not isinstance(method, SealedPrediction):
            raise ProtocolError("The plan is not one of a sealed prediction.")
        self.method, self.keys = method, tuple(keys)
        self.batch, self.openings = 0, openings
        self._session: KeySession | None = None

    @property
    def session(self) -> KeySession:
        """The key, and what the parties were told with it."""
        if self._session is None:
            raise ProtocolError("The parties of a sealed prediction have not been told the key yet.")
        return self._session

    def begun(self) -> Self:
        """The same, when the parties were told of it."""
        together(self.group, [self.beginning()], ScoresReady)
        return self

    def beginning(self) -> Conversation[ScoresReady, None]:
        """A fresh key, of which the parties are told."""
        name = secrets.token_bytes(32)
        secret = cipher_of(self.group.plan).new_key(self.threads, slots=False)
        encoded = secret.public.encode()
        requests = {
            party: BeginScores(name, self.keys, told, encoded)
            for party, told in zip(self.layout.names, self.layout.told, strict=True)
        }
        ready = (yield Question(requests, MOST_SMALL)) if requests else {}
        if self.openings is not None:
            plan, certificate = self.group.plan.text, self.identity.certificate
            self.openings.begin(SessionHead(plan, certificate, name, self.keys, encoded))
        names = self.layout.names
        begun = tuple(begun_hash(requests[party]) for party in names)
        said = session_hash(self.group.plan.digest, name, self.keys)
        self._session = KeySession(self.method, secret, said, begun, tuple(ready[party] for party in names))

    def renew(self) -> None:
        """Go on with another key."""
        self.close()
        self.begun()

    def close(self) -> None:
        """The session's key is used no more; where openings are kept, it is revealed to them."""
        if self.openings is not None:
            self.openings.end(self.session.secret.reveal())

    def ask(self, ids: Sequence[str], own_values: NDArray[np.float32], reasons: bool = False) -> Opened:
        """The scores of a batch of rows, and the contributions of passive columns if asked for.

        What becomes known here: these, and nothing of the rows' ways.
        """
        return together(self.group, [self.asked(ids, own_values, reasons)], Scores)[0]

    def asked(
        self, ids: Sequence[str], own_values: NDArray[np.float32], reasons: bool = False
    ) -> Conversation[Scores, Opened]:
        """The same as a conversation, for several to be held at the same time."""
        n = len(ids)
        own_values = np.concatenate([own_values, np.full((n, 1), np.nan, np.float32)], axis=1)
        sides = reached(self.layout.known, own_values, self.threads)
        filled = [slots.filled(sides, self.weights) for slots in self.layout.classes]
        batch, number = SealedBatch(self.session, self.layout, n, filled), self.batch
        self.batch += 1  # whatever becomes of this one, its pads are used up
        said = batch_hash(self.session.said, number, ids)
        for wave in self.layout.waves:
            requests = {}
            for party in wave:
                tables_of = batch.seal(party)
                request = AskScores(number, tuple(ids), reasons, *tables_of, b"")
                asked = signed(said, self.session.begun[party], request)
                request = msgspec.structs.replace(request, signature=self.identity.sign(PURPOSE, asked))
                requests[self.layout.names[party]] = request
                if self.openings is not None:
                    self.openings.keep(self.layout.names[party], request)
            answers = yield Question(requests, max(batch.most_bytes(party, reasons) for party in wave))
            for party in wave:
                batch.open(party, answers[self.layout.names[party]], reasons)
        scores = self._centred(batch.scores)
        # Two scores may be further apart than the prime has room for; each of them is not.
        return Opened(scores, tuple(scores - self._centred(scores - lost) for lost in batch.reasons))

    def _centred(self, sums: Ints) -> Ints:
        half = self.method.modulus // 2
        return (sums + half) % self.method.modulus - half
