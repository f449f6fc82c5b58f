"""What a party of a run with differential privacy counts before its noised sums leave."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.errors import PrivacyError
from hedgerow.model.noised_terms import released
from hedgerow.privacy import noise
from hedgerow.privacy.accountant import Release
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.privacy.lifetime import OwnerBudget
from hedgerow.privacy.noised_words import KeptWords, NoisedWords
from hedgerow.protocols.session.journal import NoLog
from hedgerow.protocols.session.owner import Owner
from hedgerow.storage.audit import AuditLog
from hedgerow.trees.noised.rule import Planned

Noise = Callable[[str, Planned, bytes, NDArray[np.int64]], NDArray[np.int64]]
"""Under this key, of this kind, asked for by a request of this hash: exact sums; returns them with noise."""


def noise_by(noised: NoisedWords) -> Noise:
    """Sums with all their noise, where one party has them alone; in the ledger and on disk when they are returned."""

    def with_noise(key: str, planned: Planned, told: bytes, exact: NDArray[np.int64]) -> NDArray[np.int64]:
        one = released(Planned(planned.what, planned.sensitivity, planned.variance))
        return noised.words(key, one, told, lambda: exact + noise.gaussian(exact.size, planned.variance))

    return with_noise


def releases_of(
    owner: Owner,
    plan: Plan,
    planned: Sequence[Release],
    *,
    more_to_come: bool = True,
    budget: Budget | None = None,
) -> NoisedWords:
    """The releases of this run at this party, those of processes before this one included.

    Where a party has a part of the budget of its own (`budget`), all that it releases is planned.

    Refused, before anything of the table moves, if they cost more than the plan promises, or together with other runs
    more than the owner's policy allows. The run is counted in its own log, all runs in the owner's ledger.
    """
    dp = plan.method.dp
    if dp is None:
        raise PrivacyError("The plan promises no differential privacy, so that nothing can be counted against it.")
    log = AuditLog(None, "", "") if owner.log is None or isinstance(owner.log, NoLog) else owner.log
    all_runs = OwnerBudget(owner.ledger or log, owner.policy.lifetime)
    own = budget or Budget(dp.epsilon, dp.delta, dp.unit)
    to_come = more_to_come and budget is None
    ledger = Ledger(own, planned, log, plan.digest.hex(), all_runs, more_to_come=to_come)
    return NoisedWords(ledger, owner.noised or KeptWords())
