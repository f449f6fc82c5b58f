"""A party whose sums are encrypted for the opener, and the opener itself, which chooses (`leader`) and is a party too.

The folder has the conversation and who sees what.
"""

from typing import cast, get_args

from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame, decode_request
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.model.file import MOST_BYTES
from hedgerow.protocols.columns import Common
from hedgerow.protocols.horizontal.batch import Pending
from hedgerow.protocols.horizontal.party import BEGUN, HorizontalParty
from hedgerow.protocols.horizontal.prepare import begun_digest
from hedgerow.protocols.horizontal.steps import Reply
from hedgerow.protocols.opener.leader import OpenerDriver
from hedgerow.protocols.opener.relay import Summing
from hedgerow.protocols.opener.sender import EncryptedSender
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.shell import Table

BY_OPENER = (*get_args(Summing), m.Begin)
"""What the opener asks of every party, and nobody else may."""


def _inner(frame: Frame) -> Frame:
    """The opener's request in the driver's."""
    return Frame(cast(m.FromOpener, frame.request).request)


class OpenerParty:
    """A horizontal party that the opener asks, through the driver; the opener has its own work beside."""

    def __init__(self, context: PartyContext) -> None:
        self.context, self.rows_party = context, HorizontalParty(context)
        self.sums: EncryptedSender | None = None
        """How sums leave in this attempt."""
        self.leading: OpenerDriver | None = None
        """The opener's own work in this attempt; None at every other party."""
        self.greatest_sum = 0
        """Bytes of the greatest sum that was waited for; its request may come a second time."""

    @property
    def most_bytes(self) -> int:
        """The bytes that the next request may have; at the opener, as many as the greatest sum that it waited for."""
        return max(self.rows_party.most_bytes, self.greatest_sum)

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

        def from_opener(message: m.FromOpener, frame: Frame) -> Reply:
            if self.leading is not None:
                self.leading.check(message.request)
            inner = frame.derived(_inner)
            request = sums.hear(message, inner)
            return answers[type(request)](request, inner)

        leads: Table[Pending] = dict.fromkeys((m.Lead, m.PassSum, m.GoOn), self._lead)
        refused: Table[Pending] = dict.fromkeys(BY_OPENER, self._refuse)
        return {**answers, **refused, **leads, m.FromOpener: from_opener}

    def _refuse(self, _: m.Request, __: Frame) -> m.Answer:
        raise PrivacyError("The driver itself asks for sums or trees, where only the opener may; this party stops.")

    def _lead(self, request: m.Lead | m.PassSum | m.GoOn, _: Frame) -> m.Answer:
        """As the opener: choose. What becomes known to the driver: the choices."""
        if self.leading is None:
            raise ProtocolError("The driver lets a party choose that is not the opener.")
        if isinstance(request, m.Lead):
            own = self.rows_party.schema.own
            shared = Common(own.columns, tuple(own.classes), "", request.weighted, request.validated)
            if request.begin and self.context.owner.log is not None:
                self._check_begin(request.begin)
            reply = self.leading.begin(request, shared)
        else:
            reply = self.leading.go_on(request)
        self.greatest_sum = max(self.greatest_sum, self.leading.group.most_bytes)
        return reply

    def _check_begin(self, frame: bytes) -> None:
        """As the opener: go on only after cut points that this party has chosen itself."""
        begin = decode_request(frame, MOST_BYTES)
        settled = self.context.journal.settled.get(BEGUN)
        if not isinstance(begin, m.Begin) or begun_digest(begin).hex() != settled:
            raise PrivacyError(
                "The driver goes on after cut points that this party, the opener, has not chosen; start a new run."
            )
