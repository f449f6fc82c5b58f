"""Noise on labels: the active party adds it to sums of gradients after they are opened, and counts every release.

What passive parties see follows from noised sums: which cuts are chosen, so which rows share a node, and by the values
of leaves what is sealed next, which they cannot read. They add nothing to the noise, and it is not against the active
party, which has the labels. Cuts are chosen by noised sums; that a chosen cut's rows have the sums that their owner
gave is checked by the exact ones, and an owner that tells the truth learns nothing by it.

Sees in the clear.  Active: what `vertical` says. Passive: nothing more. Each release is in the active party's log, and
on its disk, before anything that follows from it is said; the noised sums are kept until the run is over, so that trees
that are grown again after a restart have the very same noise.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hedgerow.agreement.dp_vertical import WORDS, way_of
from hedgerow.agreement.plan import Plan
from hedgerow.errors import DataError, PrivacyError
from hedgerow.model.noised_terms import all_released, released
from hedgerow.model.train import Ready
from hedgerow.privacy import noise
from hedgerow.privacy.accountant import mu_of_budget
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.privacy.noised_words import KeptWords, NoisedWords
from hedgerow.privacy.promise import Promise, promised
from hedgerow.protocols.session.journal import Log, NoLog
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.grow import Rows
from hedgerow.trees.noised.label_rows import I64, LabelNoisedRows
from hedgerow.trees.noised.label_rule import LabelSchedule, first_score, label_schedule
from hedgerow.trees.noised.rule import GRADIENT_UNITS, Planned
from hedgerow.trees.params import TreeParams

LEAST_MEAN = 1e-3


def has_noised_labels(plan: Plan) -> bool:
    """Whether passive parties see what follows from noised labels."""
    return plan.method.dp is not None and way_of(plan.method.dp) == "labels"


class NoisedReleases:
    """The releases of a vertical run, at the active party: one ledger for all attempts of a process."""

    def __init__(self, plan: Plan, log: Log, kept: KeptWords | None, first: Sequence[Planned]) -> None:
        dp = plan.method.dp
        if dp is None:
            raise PrivacyError("The plan promises no differential privacy, so that nothing can be counted against it.")
        self.way = way_of(dp)
        self.budget = Budget(dp.epsilon, dp.delta, dp.unit, WORDS[self.way][0])
        self.mu = mu_of_budget(dp.epsilon, dp.delta)
        own_log = AuditLog(None, "", "") if isinstance(log, NoLog) else log
        ledger = Ledger(self.budget, all_released(first), own_log, plan.digest.hex(), more_to_come=True)
        self.noised = NoisedWords(ledger, kept or KeptWords())
        self._planned = False

    def plan(self, planned: Sequence[Planned]) -> None:
        """All others, once the columns are known."""
        if not self._planned:
            self.noised.ledger.plan(all_released(planned))
            self._planned = True

    def release(self, key: str, planned: Planned, told: bytes, exact: I64) -> I64:
        """With noise, in the ledger and on disk when this returns; the same words for the same request."""
        one = released(Planned(planned.what, planned.sensitivity, planned.variance))
        return self.noised.words(key, one, told, lambda: exact + noise.gaussian(exact.size, planned.variance))

    def promise(self) -> Promise:
        """The run is over: what it has told."""
        _, adversary, scope = WORDS[self.way]
        return promised(self.budget, self.noised.finish(), adversary, scope)


class NoisedLabels:
    """What is released of labels."""

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:
        dp = plan.method.dp
        mu = mu_of_budget(dp.epsilon, dp.delta) if dp is not None else 0.0
        self.plan = plan
        self.first = first_score(mu)
        self.releases = NoisedReleases(plan, log, own.noised, (self.first,))

    def mean(self, own: Active) -> float | None:
        """What becomes known of the share of the second class, if there are two and no first score is given."""
        table, goal, dp = own.own_table, self.plan.goal, self.plan.method.dp
        if table.weights is not None:
            raise DataError("Labels of rows with weights need more noise; leave the weights out.")
        labels = np.asarray(table.labels)
        classes = dp.classes if dp is not None and dp.classes else np.unique(labels).tolist()
        if goal.base_score is not None or len(classes) != 2:
            return None
        exact = np.array([int((labels == classes[1]).sum()) * GRADIENT_UNITS])
        word = self.releases.release("first score", self.first, b"", exact)[0]
        return float(np.clip(word / GRADIENT_UNITS / max(len(labels), 1), LEAST_MEAN, 1 - LEAST_MEAN))

    def schedule(self, ready: Ready, joint: AllColumns) -> LabelSchedule:
        """By the columns of all parties."""
        plan, scales = self.plan, ready.fixed.scales
        found = label_schedule(
            self.releases.mu, joint.grid.n_columns, ready.task.loss.n_trees, plan.params.max_depth,
            plan.params.n_estimators, scales, plan.params.max_bin,
        )  # fmt: skip
        self.releases.plan(found.planned)
        return found

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[LabelNoisedRows, TreeParams]:
        """Rows of which no sum of gradients leaves without noise, and by which parameters trees grow over them."""
        schedule, params = self.schedule(ready, joint), self.plan.params
        noised = LabelNoisedRows(rows, joint.grid, schedule, ready.fixed.scales, self.releases.release)
        return noised, replace(params, min_child_weight=max(params.min_child_weight, schedule.least_side))
