"""What a passive party releases with noise, where a plan asks for it; nothing is said here.

Cut points of its own columns from noised counts, where a model or these columns are protected, and the one batch of
sums of a run that protects them.
"""

from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.errors import PolicyError
from hedgerow.model.noised_terms import all_released
from hedgerow.model.prepare import n_categories
from hedgerow.privacy.noised_words import NoisedWords
from hedgerow.protocols.session.noised_releases import Noise, noise_by, releases_of
from hedgerow.protocols.session.owner import Owner
from hedgerow.protocols.vertical.batch import batch_of, budget_of, releases_of_batch
from hedgerow.protocols.vertical.private_cuts import (
    NoisedCounts,
    cuts_for,
    each_once,
    has_private_columns,
    has_private_model,
    private_grid,
    sums_of,
)
from hedgerow.trees.bins import Grid
from hedgerow.trees.noised.fit import noised_grid
from hedgerow.trees.noised.one_batch_rule import OneBatch


class CutReleases:
    """What this party counts in its ledger."""

    def __init__(self, owner: Owner, plan: Plan) -> None:
        self.owner, self.plan = owner, plan
        self._noised: NoisedWords | None = None

    def grid(self, table: Table, shared: Grid | None, threads: int) -> Grid | None:
        """Cut points with noise, where the plan asks for that, the same whenever asked; else those that are shared."""
        if not (has_private_columns(self.plan) or has_private_model(self.plan)):
            return shared
        self._check_policy()
        if has_private_columns(self.plan):
            return self._batch_grid(table, threads)
        cuts, counted = cuts_for(self.plan, table), each_once(self.plan, table)
        self._noised = self._noised or releases_of(self.owner, self.plan, all_released(cuts.opening.planned))
        return private_grid(self.plan, counted, cuts, noise_by(self._noised), threads)

    def batch(self, table: Table) -> OneBatch | None:
        """Of a run that protects these columns, what is released of them."""
        if not has_private_columns(self.plan):
            return None
        return batch_of(self.plan, table.n_columns, sum(column.kind == "numeric" for column in table.columns))

    def noise(self, batch: OneBatch) -> Noise:
        """What adds noise to own sums: counted in this party's ledger, which has room for these releases only."""
        if self._noised is None:
            planned, budget = releases_of_batch(batch), budget_of(self.plan, batch)
            self._noised = releases_of(self.owner, self.plan, planned, budget=budget)
        return noise_by(self._noised)

    def _check_policy(self) -> None:
        """A refusal that depends on exact counts would tell of them; so it is one before anything is counted."""
        if self.owner.policy.min_bin_rows > 1:
            raise PolicyError(
                "Bins of a run whose cut points have noise have no fewest rows, which would be counted without noise; "
                "leave min_bin_rows out of the policy."
            )

    def _batch_grid(self, table: Table, threads: int) -> Grid:
        """How many rows there are is known to all, so that it has no noise."""
        batch = batch_of(self.plan, table.n_columns, sum(column.kind == "numeric" for column in table.columns))
        search = batch.search(table.n_rows, self.plan.params.max_bin)
        counted = NoisedCounts(search.opening, sums_of(table, batch.terms(), threads), self.noise(batch))
        return noised_grid(counted, search, n_categories(table.columns))

    def finish(self) -> None:
        """The run is over: noise and counts are no longer kept."""
        if self._noised is not None:
            self._noised.finish()
