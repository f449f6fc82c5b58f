"""What a party of a run with differential privacy counts before its noised sums leave."""

from collections.abc import Sequence

from hedgerow.agreement.plan import Plan
from hedgerow.errors import PrivacyError
from hedgerow.privacy.accountant import Release
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.privacy.lifetime import OwnerBudget
from hedgerow.privacy.noised_words import KeptWords, NoisedWords
from hedgerow.protocols.session.journal import NoLog
from hedgerow.protocols.session.owner import Owner
from hedgerow.storage.audit import AuditLog


def releases_of(owner: Owner, plan: Plan, planned: Sequence[Release], *, more_to_come: bool = True) -> NoisedWords:
    """The releases of this run at this party, those of processes before this one included.

    Refused, before anything of the table moves, if they cost more than the plan promises, or together with other runs
    more than the owner's policy allows. The run is counted in its own log, all runs in the owner's ledger.
    """
    dp = plan.method.dp
    if dp is None:
        raise PrivacyError("The plan promises no differential privacy, so that nothing can be counted against it.")
    log = AuditLog(None, "", "") if owner.log is None or isinstance(owner.log, NoLog) else owner.log
    all_runs = OwnerBudget(owner.ledger or log, owner.policy.lifetime)
    budget = Budget(dp.epsilon, dp.delta, dp.unit)
    ledger = Ledger(budget, planned, log, plan.digest.hex(), all_runs, more_to_come=more_to_come)
    return NoisedWords(ledger, owner.noised or KeptWords())
