"""Noise on labels: the active party adds it to sums of gradients after they are opened.

What passive parties see follows from noised sums: which cuts are chosen, so which rows share a node, and by the values
of leaves what is sealed next, which they cannot read. They add nothing to the noise, and it is not against the active
party, which has the labels. That a chosen cut's rows have the sums that their owner gave is checked by exact sums; an
owner that tells the truth learns nothing by it.

Sees in the clear.  Active: what `vertical` says. Passive: nothing more.
"""

from dataclasses import replace

import numpy as np

from hedgerow.agreement.plan import Plan
from hedgerow.model.labels import shares_of
from hedgerow.model.train import Before, Ready
from hedgerow.privacy.promise import Promise
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.state import Progress
from hedgerow.protocols.vertical.columns import AllColumns, levels_of
from hedgerow.protocols.vertical.own_releases import OwnReleases, classes_of, mu_of
from hedgerow.protocols.vertical.prepare import prepare
from hedgerow.protocols.vertical.talk import Talk
from hedgerow.trees.grow import Rows
from hedgerow.trees.noised.label_rows import LabelNoisedRows
from hedgerow.trees.noised.label_rule import LabelSchedule, TreeParams, first_score, label_schedule
from hedgerow.trees.noised.rule import GRADIENT_UNITS

LEAST_MEAN = 1e-3


class NoisedLabels:
    """What is released of labels, where a promise is of them."""

    subtracts = False
    after = None

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:
        dp = plan.method.dp
        self.plan, self.mu = plan, mu_of(plan)
        self.range = None if dp is None else dp.label_range
        """Of numbers."""
        self.first = first_score(self.mu)
        self.releases = OwnReleases(plan, own, log, (self.first,))

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """What becomes known: the mean label, with noise."""
        return prepare(plan, own, threads, Before(self.mean(own), label_range=self.range))

    def mean(self, own: Active) -> float | None:
        """What becomes known of the mean label, or the share of the second of two classes, if none is given."""
        classes = classes_of(self.plan, own)
        if self.plan.goal.base_score is not None or (self.range is None and len(classes) != 2):
            return None
        low, high = self.range or (0.0, 1.0)
        shares = shares_of(own.own_table, classes, self.range)
        exact = np.array([np.rint(shares * GRADIENT_UNITS).astype(np.int64).sum()])
        word = self.releases.release("first score", self.first, b"", exact)[0]
        mean = float(np.clip(word / GRADIENT_UNITS / max(len(shares), 1), LEAST_MEAN, 1 - LEAST_MEAN))
        return low + (high - low) * mean if self.range is not None else mean

    def before(self, talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:
        """Nothing is asked before the first tree."""

    def schedule(self, ready: Ready, joint: AllColumns) -> LabelSchedule:
        """By the columns of all parties."""
        params = self.plan.params
        found = label_schedule(
            self.mu, joint.grid.n_columns, ready.task.loss.n_trees, params.max_depth, params.n_estimators,
            ready.fixed.scales, params.max_bin, label_range=self.range and self.range[1] - self.range[0],
        )  # fmt: skip
        self.releases.plan(found.planned)
        return found

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[LabelNoisedRows, TreeParams]:
        """Rows of which no sum of gradients leaves without noise."""
        schedule, params = self.schedule(ready, joint), self.plan.params
        levels = levels_of(self.plan.schedule)
        noised = LabelNoisedRows(rows, joint.grid, schedule, ready.fixed.scales, self.releases.release, levels)
        return noised, replace(params, min_child_weight=max(params.min_child_weight, schedule.least_side))

    def promise(self, joint: AllColumns) -> Promise:  # noqa: ARG002  # others release nothing
        """All releases were made here."""
        return self.releases.promise()
