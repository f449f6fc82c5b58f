"""What the active party of a vertical run releases with noise, counted in its ledger: of labels, or of a model.

Of labels: what passive parties see follows from noised sums: which cuts are chosen, so which rows share a node, and by
the values of leaves what is sealed next, which they cannot read. They add nothing to the noise, and it is not against
the active party, which has the labels. That a chosen cut's rows have the sums that their owner gave is checked by exact
sums; an owner that tells the truth learns nothing by it.

Of a model: all cuts are drawn, of cut points with noise (`private_cuts`), so that the sums of leaves and the first
score are all that is in it. Noise is not against the parties, who learn exact sides of rows, and which share a node.

Sees in the clear.  Active: what `vertical` says. Passive: nothing more. Each release is in the active party's log, and
on its disk, before anything that follows from it is said; the noised sums are kept until the run is over, so that trees
that are grown again after a restart have the very same noise.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from hedgerow.agreement.dp_vertical import WORDS, way_of
from hedgerow.agreement.plan import Plan
from hedgerow.errors import DataError, PrivacyError
from hedgerow.model import labels as ground
from hedgerow.model.model import ClassLabel
from hedgerow.model.noised_terms import all_released
from hedgerow.model.train import Ready
from hedgerow.privacy.accountant import Release, mu_of_budget, spent
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.privacy.noised_words import KeptWords, NoisedWords
from hedgerow.privacy.promise import Promise, promised
from hedgerow.protocols.session.journal import Log, NoLog
from hedgerow.protocols.session.noised_releases import noise_by
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.vertical.columns import AllColumns, levels_of
from hedgerow.protocols.vertical.prepare import prepare
from hedgerow.protocols.vertical.private_cuts import cuts_for, cuts_of, declared, private_grid
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.grow import Rows
from hedgerow.trees.noised.drawn_rows import DrawnNoisedRows, clipped_rows
from hedgerow.trees.noised.drawn_rule import drawn_schedule
from hedgerow.trees.noised.greedy import root_mean, root_words
from hedgerow.trees.noised.label_rows import LabelNoisedRows
from hedgerow.trees.noised.label_rule import LabelSchedule, first_score, label_schedule
from hedgerow.trees.noised.rule import GRADIENT_UNITS, Planned
from hedgerow.trees.params import TreeParams

LEAST_MEAN = 1e-3


class Noised(Protocol):
    """A way to train of which something is released with noise."""

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """The own rows before the first tree, with what is released of them by then."""

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[Rows, TreeParams]:
        """Rows of which nothing is released without noise, and by which parameters trees grow over them."""

    def promise(self, joint: AllColumns) -> Promise:
        """The run is over: what it has told."""


def noise_of(plan: Plan, own: Active, log: Log) -> Noised | None:
    """What a plan promises to release with noise; None: nothing is noised."""
    dp = plan.method.dp
    if dp is None or way_of(dp) == "drawn":
        return None
    return (NoisedLabels if way_of(dp) == "labels" else NoisedModel)(plan, own, log)


class OwnReleases:
    """The releases of a run at the active party, one ledger for all attempts of a process."""

    def __init__(self, plan: Plan, own: Active, log: Log, first: Sequence[Planned]) -> None:
        dp = plan.method.dp
        if dp is None:
            raise PrivacyError("The plan promises no differential privacy, so that nothing can be counted against it.")
        self.words = WORDS[way_of(dp)]
        self.budget = Budget(dp.epsilon, dp.delta, dp.unit, self.words[0])
        own_log = AuditLog(None, "", "") if isinstance(log, NoLog) else log
        ledger = Ledger(self.budget, all_released(first), own_log, plan.digest.hex(), more_to_come=True)
        self.noised = NoisedWords(ledger, own.noised or KeptWords())
        self.release = noise_by(self.noised)
        self._planned = False

    def plan(self, planned: Sequence[Planned]) -> None:
        """All others, once the columns are known."""
        if not self._planned:
            self.noised.ledger.plan(all_released(planned))
            self._planned = True

    def promise(self, others: Sequence[Release] = ()) -> Promise:
        """What was released in all, by other parties too."""
        made, budget = (*self.noised.finish().releases, *others), self.budget
        everything = spent(made, budget.delta, budget.unit, budget.neighbours)
        return promised(budget, everything, *self.words[1:])


def _mu(plan: Plan) -> float:
    dp = plan.method.dp
    return 0.0 if dp is None else mu_of_budget(dp.epsilon, dp.delta)


def _classes(plan: Plan, own: Active) -> tuple[ClassLabel, ...]:
    if own.own_table.weights is not None:
        raise DataError("Labels of rows with weights need more noise; leave the weights out.")
    dp = plan.method.dp
    return dp.classes if dp is not None and dp.classes else tuple(np.unique(np.asarray(own.own_table.labels)).tolist())


class NoisedLabels:
    """What is released of labels, where a promise is of them."""

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:
        self.plan, self.mu = plan, _mu(plan)
        self.first = first_score(self.mu)
        self.releases = OwnReleases(plan, own, log, (self.first,))

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """What becomes known: the mean label, with noise."""
        return prepare(plan, own, threads, self.mean(own))

    def mean(self, own: Active) -> float | None:
        """What becomes known of the share of the second class, if there are two and no first score is given."""
        classes, labels = _classes(self.plan, own), np.asarray(own.own_table.labels)
        if self.plan.goal.base_score is not None or len(classes) != 2:
            return None
        exact = np.array([int((labels == classes[1]).sum()) * GRADIENT_UNITS])
        word = self.releases.release("first score", self.first, b"", exact)[0]
        return float(np.clip(word / GRADIENT_UNITS / max(len(labels), 1), LEAST_MEAN, 1 - LEAST_MEAN))

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


class NoisedModel:
    """What is released of linked rows, where a promise is of the model."""

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:
        self.plan, self.schedule = plan, drawn_schedule(_mu(plan), plan.params.n_estimators)
        cuts = cuts_for(plan, declared(plan, own.own_table))
        self.releases = OwnReleases(plan, own, log, (*cuts.opening.planned, *self.schedule.planned))

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """What becomes known: own cut points, and the mean label, of noised sums."""
        own = replace(own, own_table=declared(plan, own.own_table))
        grid = private_grid(plan, own.own_table, self.releases.release, threads)
        ready = prepare(plan, own, threads, self.mean(own), grid)
        return replace(ready, rows=clipped_rows(ready.rows))

    def mean(self, own: Active) -> float | None:
        """What becomes known of the share of the second class, if there are two and no first score is given."""
        classes = _classes(self.plan, own)
        if self.plan.goal.base_score is not None or len(classes) != 2:
            return None
        exact = root_words(ground.labels_of(own.own_table, classes))
        return root_mean(self.releases.release("first score", self.schedule.root, b"", exact))

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[DrawnNoisedRows, TreeParams]:  # noqa: ARG002  # all are drawn alike
        """Rows of which sums of leaves leave, with noise, and nothing else."""
        return DrawnNoisedRows(rows, self.schedule, self.releases.release), self.plan.params

    def promise(self, joint: AllColumns) -> Promise:
        """With what the owners of other columns have released of these, as the plan has it."""
        others: list[Release] = []
        for owned in joint.passive():
            by_category = joint.grid.categorical[owned.first : owned.last]
            cuts = cuts_of(self.plan, len(by_category), int((~by_category).sum()))
            others += all_released(cuts.opening.planned)
        return self.releases.promise(others)
