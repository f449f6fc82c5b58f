"""A party whose sums are encrypted for the opener, and the opener itself, which chooses (`leader`) and is a party too.

The folder has the conversation and who sees what.
"""

from collections.abc import Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.ciphers import cipher_of
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_request
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.identity.identity import verify
from hedgerow.model.file import MOST_BYTES
from hedgerow.privacy.additive import PublicKey
from hedgerow.protocols.columns import Common
from hedgerow.protocols.horizontal.batch import NOTHING
from hedgerow.protocols.horizontal.party import BEGUN, HorizontalParty, sum_rules
from hedgerow.protocols.horizontal.prepare import begun_digest
from hedgerow.protocols.horizontal.steps import Pending, Reply
from hedgerow.protocols.opener.leader import OpenerDriver
from hedgerow.protocols.opener.packing import SealedVector
from hedgerow.protocols.opener.relay import OPENER, Summing, signed
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.shell import Table
from hedgerow.trees.local import Adding, LocalRows, Step

BY_OPENER = (*get_args(Summing), m.Begin)
"""What the opener asks of every party, and nobody else may."""


class EncryptedSender:
    """Sums leave encrypted for the opener, in answer to a request that it has signed."""

    def __init__(self, context: PartyContext, attempt: Attempt) -> None:
        plan, keys = context.plan, attempt.introduced.keys
        self.plan, self.threads, self.attempt = plan, context.threads, attempt.introduced.attempt
        self.rules, self.cipher = sum_rules(context, attempt), cipher_of(plan)
        self.certificate = next((key.certificate for key in keys if key.name == plan.opener), b"")
        self.key = b""
        self.public: PublicKey | None = None
        self.request: m.Request | None = None
        """The opener's last."""

    def hear(self, message: m.FromOpener) -> m.Request:
        """The opener's request, if it is signed; takes its key, which must be another for every tree."""
        if not self.certificate:
            raise PrivacyError("The driver leaves out the opener, without which nothing can be summed.")
        said = signed(self.plan, self.attempt, message.request, message.public_key)
        verify(self.certificate, OPENER, said, message.signature)
        request = decode_request(message.request, MOST_BYTES)
        if not isinstance(request, Summing | m.Begin):
            raise ProtocolError(f"The opener does not say {type(request).__name__}.")
        begins = isinstance(request, m.AskHistograms) and request.level == 0
        if begins and message.public_key in (b"", self.key):
            raise PrivacyError("The opener begins a tree without a new key; this party stops.")
        if message.public_key:
            self.key = message.public_key
            self.public = self.cipher.read_public_key(self.key, self.threads)
        self.request = request
        return request

    def words(self, own_words: NDArray[np.int64], parties: tuple[int, ...], adds: Sequence[Adding] = ()) -> m.Answer:
        """A part of the sum over these parties, which nobody but the opener could read."""
        _native.add_values(adds, self.threads)
        self.rules.check(parties)
        if self.public is None or self.request is None:
            raise ProtocolError("The opener asks for sums before it has sent a key.")
        return m.SealedWords(SealedVector.of(self.plan, self.request, own_words.size).seal(self.public, own_words))

    def step(
        self,
        rows: LocalRows,
        step: Step,
        parties: tuple[int, ...],
        beside: NDArray[np.int64] = NOTHING,  # noqa: ARG002  # the opener joins no rounds
        adds: Sequence[Adding] = (),
    ) -> m.Answer:
        """The sums of a step, in the same way."""
        own_words = rows.taken(step, *_native.take_steps([step], self.threads)[0])
        return self.words(own_words, parties, adds) if parties else m.Done()


class OpenerParty:
    """A horizontal party that the opener asks, through the driver; the opener has its own work beside."""

    def __init__(self, context: PartyContext) -> None:
        self.context, self.rows_party = context, HorizontalParty(context)
        self.sums: EncryptedSender | None = None
        """How sums leave in this attempt."""
        self.leading: OpenerDriver | None = None
        """The opener's own work in this attempt; None at every other party."""

    @property
    def most_bytes(self) -> int:
        """The bytes that the next request may have; at the opener, as many as the sum that it waits for."""
        return max(self.rows_party.most_bytes, 0 if self.leading is None else self.leading.group.most_bytes)

    def stop(self) -> None:
        """No more steps in this attempt."""
        self.rows_party.stop()

    def introduced(self, attempt: Attempt) -> Table[Pending]:
        """The opener asks for sums and begins trees, the driver for all else."""
        context, owner = self.context, self.context.owner
        sums = self.sums = EncryptedSender(context, attempt)
        self.leading = None
        if owner.name == context.plan.opener:
            number = attempt.introduced.attempt
            self.leading = OpenerDriver(context.plan, attempt.present, owner.identity, number, context.threads)
        answers = self.rows_party.begin_attempt(attempt, sums)

        def from_opener(message: m.FromOpener, _: bytes) -> Reply:
            if self.leading is not None:
                self.leading.check(message.request)
            request = sums.hear(message)
            return answers[type(request)](request, message.request)

        leads: Table[Pending] = dict.fromkeys((m.Lead, m.PassSum, m.GoOn), self._lead)
        refused: Table[Pending] = dict.fromkeys(BY_OPENER, self._refuse)
        return {**answers, **refused, **leads, m.FromOpener: from_opener}

    def _refuse(self, _: m.Request, __: bytes) -> m.Answer:
        raise PrivacyError("The driver itself asks for sums or trees, where only the opener may; this party stops.")

    def _lead(self, request: m.Lead | m.PassSum | m.GoOn, _: bytes) -> m.Answer:
        """As the opener: choose. What becomes known to the driver: the choices."""
        if self.leading is None:
            raise ProtocolError("The driver lets a party choose that is not the opener.")
        if not isinstance(request, m.Lead):
            return self.leading.go_on(request)
        own = self.rows_party.schema.own
        shared = Common(own.table.columns, tuple(own.classes), "", request.weighted, request.validated)
        if request.begin and self.context.owner.log is not None:
            self._check_begin(request.begin)
        return self.leading.begin(request, shared)

    def _check_begin(self, frame: bytes) -> None:
        """As the opener: go on only after cut points that this party has chosen itself."""
        begin = decode_request(frame, MOST_BYTES)
        settled = self.context.journal.settled.get(BEGUN)
        if not isinstance(begin, m.Begin) or begun_digest(begin).hex() != settled:
            raise PrivacyError(
                "The driver goes on after cut points that this party, the opener, has not chosen; start a new run."
            )
