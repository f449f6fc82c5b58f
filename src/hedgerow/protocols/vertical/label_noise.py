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
from hedgerow.trees.noised.label_rule import LabelSchedule, first_score, label_schedule
from hedgerow.trees.noised.rule import GRADIENT_UNITS
from hedgerow.trees.params import TreeParams

LEAST_MEAN = 1e-3


class NoisedLabels:
    """What is released of labels, where a promise is of them."""

    subtracts = False
    after = None

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:
        self.plan, self.mu = plan, mu_of(plan)
        self.first = first_score(self.mu)
        self.releases = OwnReleases(plan, own, log, (self.first,))

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """What becomes known: the mean label, with noise."""
        return prepare(plan, own, threads, Before(self.mean(own)))

    def mean(self, own: Active) -> float | None:
        """What becomes known of the share of the second class, if there are two and no first score is given."""
        classes, labels = classes_of(self.plan, own), np.asarray(own.own_table.labels)
        if self.plan.goal.base_score is not None or len(classes) != 2:
            return None
        exact = np.array([int((labels == classes[1]).sum()) * GRADIENT_UNITS])
        word = self.releases.release("first score", self.first, b"", exact)[0]
        return float(np.clip(word / GRADIENT_UNITS / max(len(labels), 1), LEAST_MEAN, 1 - LEAST_MEAN))

    def before(self, talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:
        """Nothing is asked before the first tree."""

    def schedule(self, ready: Ready, joint: AllColumns) -> LabelSchedule:
        """By the columns of all parties."""
        params = self.plan.params
        found = label_schedule(
            self.mu, joint.grid.n_columns, ready.task.loss.n_trees, params.max_depth, params.n_estimators,
            ready.fixed.scales, params.max_bin,
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
