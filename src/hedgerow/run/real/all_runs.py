"""What the active party of a vertical run counts over all its runs, and how much these may tell together."""

from dataclasses import dataclass
from pathlib import Path

from hedgerow.privacy.lifetime import NO_LIMIT, LifetimeLimit
from hedgerow.run.file.policy import read_policy
from hedgerow.run.folder.ledger_file import ledger_beside


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


ONE_RUN = AllRuns()
"""Nothing is counted beyond the run."""
