"""Own linked rows counted per prefix, for cut points that passive parties share.

Sees in the clear.  Active: the counts over all that share columns. Where nothing is sealed, each party's.
"""

import hashlib
from dataclasses import replace

import numpy as np

from hedgerow.corridor.messages import Answer, AskCounts
from hedgerow.corridor.wire import Frame
from hedgerow.data.table import Table
from hedgerow.privacy.masks import PairSecrets
from hedgerow.protocols.horizontal.own_table import OwnTable
from hedgerow.protocols.horizontal.steps import sum_rules
from hedgerow.protocols.secure_sum import Unhidden, given
from hedgerow.protocols.session.journal import SETUP
from hedgerow.protocols.session.owner import Attempt, PartyContext


class OwnCounts:
    """A passive party's counts in one attempt."""

    def __init__(
        self, context: PartyContext, attempt: Attempt, among: tuple[int, ...], said: bytes, own_table: Table
    ) -> None:
        """In sums over `among`. Pads depend on `said`, which all parties were told alike, and on the request."""
        self.context, self.attempt, self.among, self.said = context, attempt, among, said
        bare = replace(own_table, labels=np.zeros(own_table.n_rows))  # a passive party has none
        self.own = OwnTable(bare, None, (), 1.0, b"", context.threads)

    def answer(self, request: AskCounts, frame: Frame) -> Answer:
        """What becomes known: own linked rows per prefix, in the sum over those that share columns."""
        context, attempt, pads = self.context, self.attempt, None
        sum_rules(context, attempt).check(self.among)
        context.journal.answer(SETUP, request.step, frame, self.among, False)
        if not context.plan.method.plain:
            told = hashlib.sha256(b"hedgerow shared counts" + self.said + frame.sha256).digest()
            pads = PairSecrets(attempt.number, attempt.pair_secrets).pads(self.among, told)
        return given([Unhidden(self.own.counts(frame), pads)], context.threads)[0]
