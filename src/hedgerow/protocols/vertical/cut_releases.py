"""A passive party's cut points from noised counts, where a plan asks for these; nothing is said here."""

from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.model.noised_terms import all_released
from hedgerow.privacy.noised_words import NoisedWords
from hedgerow.protocols.session.noised_releases import noise_by, releases_of
from hedgerow.protocols.session.owner import Owner
from hedgerow.protocols.vertical.private_cuts import cuts_for, each_once, has_private_model, private_grid
from hedgerow.trees.bins import Grid


class CutReleases:
    """What this party counts in its ledger of its cut points."""

    def __init__(self, owner: Owner, plan: Plan) -> None:
        self.owner, self.plan = owner, plan
        self._noised: NoisedWords | None = None

    def grid(self, table: Table, shared: Grid | None, threads: int) -> Grid | None:
        """Cut points with noise, where the plan asks for that, the same whenever asked; else those that are shared."""
        if not has_private_model(self.plan):
            return shared
        cuts, counted = cuts_for(self.plan, table), each_once(self.plan, table)
        self._noised = self._noised or releases_of(self.owner, self.plan, all_released(cuts.opening.planned))
        return private_grid(self.plan, counted, cuts, noise_by(self._noised), threads)

    def finish(self) -> None:
        """The run is over: counts are no longer kept."""
        if self._noised is not None:
            self._noised.finish()
