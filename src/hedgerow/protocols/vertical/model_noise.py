"""Noise on a model: all its cuts are drawn, so that the first score and sums of leaves are all that is in it of rows.

Cut points have noise too (`private_cuts`), at the owner of each column. It is not against the parties, who learn exact
sides of rows, and which share a node.

Sees in the clear.  As `drawn_first` says.
"""

from dataclasses import replace

import numpy as np

from hedgerow.agreement.plan import Plan
from hedgerow.model.train import Before, Ready
from hedgerow.privacy.promise import Promise
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.state import Progress
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.drawn_first import Talk, ask_all_sides
from hedgerow.protocols.vertical.own_releases import OwnReleases, classes_of, mu_of, rows_per_id
from hedgerow.protocols.vertical.prepare import prepare
from hedgerow.protocols.vertical.private_cuts import cuts_for, declared, private_grid, releases_of_kinds
from hedgerow.trees.grow import Rows
from hedgerow.trees.noised.drawn_rows import DrawnNoisedRows, clipped_rows
from hedgerow.trees.noised.drawn_rule import TreeParams, drawn_schedule
from hedgerow.trees.noised.greedy import root_mean, root_words


class NoisedModel:
    """What is released of linked rows, where a promise is of the model."""

    subtracts = False
    after = None

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:
        most = rows_per_id(plan)
        self.plan, self.schedule = plan, drawn_schedule(mu_of(plan), plan.params.n_estimators, most)
        self.cuts = cuts_for(plan, declared(plan, own.own_table), most)
        self.releases = OwnReleases(plan, own, log, (*self.cuts.opening.planned, *self.schedule.planned))

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """What becomes known: own cut points, and the mean label, of noised sums."""
        own = replace(own, own_table=declared(plan, own.own_table))
        grid = private_grid(plan, own.own_table, self.cuts, self.releases.release, threads)
        ready = prepare(plan, own, threads, Before(self.mean(own), grid))
        return replace(ready, rows=clipped_rows(ready.rows))

    def mean(self, own: Active) -> float | None:
        """What becomes known of the share of the second class, if there are two and no first score is given."""
        classes = classes_of(self.plan, own)
        if self.plan.goal.base_score is not None or len(classes) != 2:
            return None
        exact = root_words((np.asarray(own.own_table.labels) == classes[1]).astype(np.float32))
        return root_mean(self.releases.release("first score", self.schedule.root, b"", exact))

    def before(self, talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:
        """What becomes known: sides of all rows at all cuts, which are drawn."""
        ask_all_sides(talk, ready, joint, progress)

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[DrawnNoisedRows, TreeParams]:  # noqa: ARG002  # all are drawn alike
        """Rows of which sums of leaves leave, with noise, and nothing else."""
        return DrawnNoisedRows(rows, self.schedule, self.releases.release), self.plan.params

    def promise(self, joint: AllColumns) -> Promise:
        """With what the owners of other columns have released of these, as the plan has it."""
        others = [joint.grid.categorical[owned.first : owned.last] for owned in joint.passive()]
        return self.releases.promise([one for kinds in others for one in releases_of_kinds(self.plan, kinds)])
