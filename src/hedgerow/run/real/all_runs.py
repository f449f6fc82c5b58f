"""What the active party of a vertical run counts over all its runs, and how much these may tell together."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hedgerow.agreement.plan import Plan
from hedgerow.privacy.lifetime import NO_LIMIT, LifetimeLimit
from hedgerow.protocols.session.owner import Active
from hedgerow.run.file.policy import read_policy
from hedgerow.run.folder.ledger_file import ledger_beside, opened


@dataclass(frozen=True, eq=False)
class AllRuns:
    """Where they are counted, and their limit."""

    ledger: Path | None = None
    """None: in the run's own log."""
    lifetime: LifetimeLimit = NO_LIMIT

    @classmethod
    def of(cls, policy: Path | None, ledger: Path | None, key: Path) -> "AllRuns":
        """As the owner's files say, beside its key if nobody names another ledger."""
        return cls(ledger or ledger_beside(key), NO_LIMIT if policy is None else read_policy(policy).lifetime)

    @contextmanager
    def counting(self, plan: Plan, active: Active | None) -> Iterator[Active | None]:
        """The active party with its ledger, where a plan of its own promises something."""
        with opened(self.ledger if active is not None and plan.method.promises_dp else None) as ledger:
            yield None if active is None else replace(active, ledger=ledger, lifetime=self.lifetime)


ONE_RUN = AllRuns()
"""Nothing is counted beyond the run."""
