"""How a party's sums leave it where one named party opens them: encrypted, in answer to what that party has signed.

The folder has the conversation and who sees what.
"""

from hedgerow import _native
from hedgerow.agreement.ciphers import cipher_of
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.identity.identity import verify
from hedgerow.model.file import MOST_BYTES
from hedgerow.privacy.additive import PublicKey
from hedgerow.protocols.horizontal.steps import Adds, Parties, Words, sum_rules
from hedgerow.protocols.opener.packing import SealedVector
from hedgerow.protocols.opener.relay import OPENER, Summing, signed
from hedgerow.protocols.party_rows import PartyRows
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.trees.local import Step


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

    def hear(self, message: m.FromOpener, inner: Frame) -> m.Request:
        """The opener's request, if it is signed; takes its key, which must be another for every tree."""
        if not self.certificate:
            raise PrivacyError("The driver leaves out the opener, without which nothing can be summed.")
        said = signed(self.plan, self.attempt, message.request, message.public_key)
        verify(self.certificate, OPENER, said, message.signature)
        request = inner.read(MOST_BYTES)
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

    def words(self, own_words: Words, parties: Parties, adds: Adds = ()) -> m.Answer:
        """A part of the sum over these parties, which nobody but the opener could read."""
        _native.add_values(adds, self.threads)
        self.rules.check(parties)
        if self.public is None or self.request is None:
            raise ProtocolError("The opener asks for sums before it has sent a key.")
        return m.SealedWords(SealedVector.of(self.plan, self.request, own_words.size).seal(self.public, own_words))

    def steps(self, rows: PartyRows, steps: tuple[Step, ...], parties: Parties, beside: Words, adds: Adds) -> m.Answer:  # noqa: ARG002
        """The sums of a step, in the same way; there are no words beside them, because the opener joins no rounds."""
        own_words = rows.taken(steps, _native.take_steps(steps, self.threads) if steps else ())
        return self.words(own_words, parties, adds) if parties else m.Done()
