"""A passive party's answer to the one batch of a run; `batch` has the conversation.

Sees in the clear.  Its own columns.  Gives away sums with noise, sealed for the active party.
"""

import hashlib

import numpy as np

from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.errors import PrivacyError, ProtocolError
from hedgerow.privacy.shapes import Nodes, RowsPlan, Selection
from hedgerow.protocols.session.noised_releases import Noise
from hedgerow.protocols.session.stores import OwnCuts
from hedgerow.protocols.vertical.batch import rows_plan
from hedgerow.protocols.vertical.columns import bins_of
from hedgerow.protocols.vertical.passive_run import PassiveRun
from hedgerow.trees.noised.one_batch import own_cuts
from hedgerow.trees.noised.one_batch_rule import OneBatch

MOST_SCORES = 100
"""Of a row, whatever the policy allows."""
NOTHING_ELSE = "In this run one batch of sums is given, and nothing else of rows."


class BatchRows:
    """Rows of which one batch of noised sums is given."""

    hides = False
    """Whether this party is not told how its cuts lie below each other."""

    def __init__(self, run: PassiveRun, batch: OneBatch, noise: Noise) -> None:
        self.run, self.batch, self.noise = run, batch, noise

    def begin(self, request: m.BeginSealed) -> m.Done:  # noqa: ARG002  # whatever its sizes are
        """No sizes are agreed on."""
        raise ProtocolError(NOTHING_ELSE)

    def end(self, request: m.EndRound) -> m.Done:  # noqa: ARG002  # whichever it is
        """No rounds are told."""
        raise ProtocolError(NOTHING_ELSE)

    def answer(self, request: m.Request) -> m.BatchSums:
        """What becomes known to the active party: the sum of every bin, with noise, and nothing without."""
        if not isinstance(request, m.AskBatch):
            raise ProtocolError(NOTHING_ELSE)
        if not (1 <= request.scores <= self._most_scores and 0 <= request.first < 1 << 31):
            raise ProtocolError("The active party asks for a batch of sizes that the plan and the policy do not allow.")
        table, plan = self.run.table, self._plan(request.scores)
        self._count(plan)
        public = table.cipher.read_public_key(request.public_key, table.threads, plan.merging)
        sealed = public.read_rows(request.sealed_gradients, plan)
        told = self._told(request)
        exact = np.zeros(plan.groups * len(plan.bounds), np.int64)  # what is sealed is added to it under encryption
        words = self.noise("one batch of sums", self.batch.sums, told, exact)
        selection = Selection(table.own_codes, bins_of(table.grid))
        nodes = Nodes.in_order(np.array([table.n_own]))
        sums = public.group_sums(sealed, selection, nodes, plus=words.reshape(1, plan.groups, -1))
        self._keep(request)
        return m.BatchSums(sums.encode())

    def _told(self, request: m.AskBatch) -> bytes:
        """A hash of the request and of the rows that it is answered for: one noise is for the very same sums only.

        Else a table that was corrected between two processes would be seen by its exact difference.
        """
        told = hashlib.sha256(encode(request))
        told.update(self.run.table.grid_digest())
        told.update(self.run.table.own_codes.tobytes())
        return told.digest()

    @property
    def most_request(self) -> int:
        """Bytes that the next request may have beside a key: gradients of all rows."""
        n = self._most_scores
        return n * (1 + (n > 1)) * self.run.table.cipher.most_rows_bytes(self._plan(1))

    @property
    def _most_scores(self) -> int:
        return min(self.run.terms.most_trees, MOST_SCORES)

    def _plan(self, n_scores: int) -> RowsPlan:
        table = self.run.table
        return rows_plan(table.cipher, self.batch, table.n_own, n_scores, int(bins_of(table.grid).sum()))

    def _count(self, plan: RowsPlan) -> None:
        """What is given; more than the run was laid out for, or more bits than the policy gives away, is refused."""
        self.run.given.sums += plan.groups * len(plan.bounds)
        if self.run.given.sums > plan.run_sums:
            raise PrivacyError("The active party asks for more sums than the run was to open; this party stops.")
        self.run.count_bits(self.run.table.cipher.room(plan, plan.groups))

    def _keep(self, request: m.AskBatch) -> None:
        """The cuts of the trees that are made of the sums, which follow from the own cut points alone."""
        if self.run.kept:
            return
        cuts, after = own_cuts(self.run.table.grid, request.first, request.scores)
        self.run.kept.append(OwnCuts(0, (cuts,), (after,)))
        if self.run.keeps is not None:
            self.run.keeps.append(self.run.kept[-1])
