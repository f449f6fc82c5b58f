"""What the active party of a vertical run releases with noise: each release is in its ledger before its words are used.

Sees in the clear.  Its own table. All its runs with one budget are counted together, as those of every owner: one that
would tell more of it than its policy allows over all runs is refused before anything is released. Each release is in
its log, and on its disk, before anything that follows from it is said; the noised sums are kept until the run is over,
so that trees that are grown again after a restart have the very same noise.
"""

from collections.abc import Sequence

import numpy as np

from hedgerow.agreement.dp_vertical import words_of
from hedgerow.agreement.plan import Plan
from hedgerow.errors import DataError, PrivacyError
from hedgerow.model.model import ClassLabel
from hedgerow.model.noised_terms import all_released
from hedgerow.privacy.accountant import Release, mu_of_budget, spent
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.privacy.lifetime import OwnerBudget
from hedgerow.privacy.noised_words import KeptWords, NoisedWords
from hedgerow.privacy.promise import Promise, promised
from hedgerow.protocols.session.journal import Log, NoLog
from hedgerow.protocols.session.noised_releases import noise_by
from hedgerow.protocols.session.owner import Active
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.noised.rule import Planned


class OwnReleases:
    """The releases of a run at the active party, one ledger for all attempts of a process."""

    def __init__(self, plan: Plan, own: Active, log: Log, first: Sequence[Planned]) -> None:
        dp = plan.method.dp
        if dp is None:
            raise PrivacyError("The plan promises no differential privacy, so that nothing can be counted against it.")
        self.words = words_of(plan)
        self.budget = Budget(dp.epsilon, dp.delta, dp.unit, self.words[0])
        own_log = AuditLog(None, "", "") if isinstance(log, NoLog) else log
        all_runs = OwnerBudget(own.ledger or own_log, own.lifetime)
        ledger = Ledger(self.budget, all_released(first), own_log, plan.digest.hex(), all_runs, more_to_come=True)
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


def mu_of(plan: Plan) -> float:
    """Of the Gaussian mechanism that all releases of a run together are."""
    dp = plan.method.dp
    return 0.0 if dp is None else mu_of_budget(dp.epsilon, dp.delta)


def rows_per_id(plan: Plan) -> int:
    """The most rows that the promise's unit has at the active party."""
    dp = plan.method.dp
    return 1 if dp is None else dp.rows_per_id


def classes_of(plan: Plan, own: Active) -> tuple[ClassLabel, ...]:
    """Those that are declared; else those of the table, taken as known to everybody."""
    if own.own_table.weights is not None:
        raise DataError("Labels of rows with weights need more noise; leave the weights out.")
    dp = plan.method.dp
    return dp.classes if dp is not None and dp.classes else tuple(np.unique(np.asarray(own.own_table.labels)).tolist())
