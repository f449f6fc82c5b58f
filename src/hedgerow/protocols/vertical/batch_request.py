"""What the active party seals, asks and opens in a run with one batch; `batch` has the conversation.

Sees in the clear.  Its own table; sums of the others' columns with their noise.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.plan import Plan
from hedgerow.corridor import messages as m
from hedgerow.errors import ProtocolError
from hedgerow.model.train import Ready
from hedgerow.privacy.additive import SecretKey
from hedgerow.privacy.shapes import RowsPlan
from hedgerow.protocols.session.group import ROOM, PartyGroup, answer_of
from hedgerow.protocols.state import Opened, Progress
from hedgerow.protocols.vertical.batch import batch_of, rows_plan
from hedgerow.protocols.vertical.columns import AllColumns, ColumnSpan
from hedgerow.trees.forest import Forest, join
from hedgerow.trees.noised import clipping
from hedgerow.trees.noised.one_batch import Batch, column_trees
from hedgerow.trees.noised.one_batch_rule import OneBatch

I64 = NDArray[np.int64]


class Sealed(NamedTuple):
    """What one party is asked for, and what opens its answer; the same whenever it is asked again."""

    secret: SecretKey
    plan: RowsPlan
    request: m.AskBatch


class BatchRequest:
    """The batch of a run, whatever attempts it takes: in one process the very same is asked again."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sealed: dict[str, Sealed] = {}

    def rule(self, joint: AllColumns, owned: ColumnSpan) -> OneBatch:
        """What the owner of these columns releases."""
        by_category = joint.grid.categorical[owned.first : owned.last]
        return batch_of(self.plan, len(by_category), int((~by_category).sum()))

    def trees(self, group: PartyGroup, ready: Ready, joint: AllColumns, forest: Forest, progress: Progress) -> Forest:
        """What becomes known: one batch of sums of all passive columns, with noise; trees of them follow the own."""
        opened = self._opened(group, ready, joint, forest.n_trees, progress)
        n_columns = sum(owned.last - owned.first for owned in joint.passive())
        found = [forest]
        for owned in joint.passive():
            rule = self.rule(joint, owned)
            pairs = self.pairs(ready, rule)
            sums = opened[owned.party].reshape(-1, len(pairs), 2)
            batch = Batch(rule, sums, pairs.sum(axis=1, dtype=np.int64))
            found.append(column_trees(joint.grid, range(owned.first, owned.last), batch, n_columns))
        return join(found)

    def _opened(
        self, group: PartyGroup, ready: Ready, joint: AllColumns, first: int, progress: Progress
    ) -> Mapping[str, I64]:
        """The sums of each party, asked for unless they are kept; kept before anything follows from them."""
        spans = joint.passive()
        if not progress.state.opened:
            words = self._asked(group, ready, joint, first)
            kept = tuple(Opened(i, words[owned.party].reshape(-1)) for i, owned in enumerate(spans))
            progress.keep(replace(progress.state, opened=kept))
        return {spans[one.number].party: one.words for one in progress.state.opened}

    def _asked(self, group: PartyGroup, ready: Ready, joint: AllColumns, first: int) -> dict[str, I64]:
        """What becomes known here: every bin's sums, with noise."""
        for owned in joint.passive():
            if not joint.grid.has_missing[owned.first : owned.last].all():
                raise ProtocolError(f"Party {owned.party!r} has columns without a bin for missing values.")
            if owned.party not in self.sealed:
                self.sealed[owned.party] = self._seal(ready, joint, owned, first)
            first += len(ready.rows.own.scores) * (owned.last - owned.first)
        cipher = cipher_of(self.plan)
        most = max(cipher.sums_bytes(one.plan, one.plan.groups) for one in self.sealed.values())
        requests = {party: one.request for party, one in self.sealed.items()}
        answers, found = group.ask(requests, m.BatchSums, ROOM + most), {}
        for party, answer in answers.items():
            secret, plan, _ = self.sealed[party]
            with answer_of(party):
                found[party] = secret.open_sums(secret.public.read_sums(answer.sealed_sums, plan, plan.groups))
        return found

    def _seal(self, ready: Ready, joint: AllColumns, owned: ColumnSpan, first: int) -> Sealed:
        """Under a key of its own; nothing is said yet."""
        cipher, rule, bins = cipher_of(self.plan), self.rule(joint, owned), int(joint.bins(owned).sum())
        pairs = self.pairs(ready, rule)
        plan = rows_plan(cipher, rule, ready.table.n_rows, len(pairs), bins)
        secret = cipher.new_key(ready.task.threads, slots=False, merging=(plan.merging or (),))
        values = np.ascontiguousarray(pairs.transpose(1, 0, 2).reshape(ready.table.n_rows, -1), np.int64)
        key, rows = secret.public.encode(plan.merging), secret.seal_rows(values, plan)
        return Sealed(secret, plan, m.AskBatch(len(pairs), first, key, rows.encode()))

    def pairs(self, ready: Ready, rule: OneBatch) -> NDArray[np.int32]:
        """Gradients and hessians that the own trees leave (scores x rows x 2), of each row no longer than agreed."""
        scores = ready.rows.own.scores
        terms = rule.terms(len(scores))
        if rule.label_range is not None:
            low, high = rule.label_range
            scores = ((scores.astype(np.float64) - low) / (high - low)).astype(np.float32)
        targets = clipping.targets_of(ready.fixed.labels, terms)
        units = rule.hessian_units(len(scores))
        return clipping.clipped_pairs(scores, targets, terms, units, rule.clip, ready.task.threads)
