"""What is known of a run with differential privacy before its first release, for one table or many parties alike."""

from collections.abc import Iterable, Sequence

from hedgerow.agreement.dp import DP
from hedgerow.data.table import Column
from hedgerow.privacy import noise
from hedgerow.privacy.accountant import Release, mu_of_budget, shared
from hedgerow.trees.noised.rule import Planned, Terms, Way

METHODS: dict[str, Way] = {"auto": "auto", "additive": "additive", "random": "random", "greedy": "greedy"}


def terms_of(dp: DP, columns: Sequence[Column], n_classes: int) -> Terms:
    """What is public before the first release; `n_classes` is 0 for numbers."""
    return Terms(
        METHODS[dp.method],
        mu_of_budget(dp.epsilon, dp.delta),
        n_columns=len(columns),
        n_numeric=sum(column.kind == "numeric" for column in columns),
        n_scores=n_classes if n_classes > 2 else 1,
        label_range=None if n_classes else dp.label_range,
        rows_per_id=dp.rows_per_id,
        max_nonzero=dp.max_nonzero,
    )


def own_share(planned: Planned, n_parties: int, colluders: int) -> int:
    """The variance of the noise that each party adds to a release."""
    return noise.share_of(planned.variance, n_parties, colluders)


def released(planned: Planned, n_parties: int = 1, colluders: int = 0) -> Release:
    """A release as it is accounted for: with the noise of honest parties alone."""
    share = own_share(planned, n_parties, colluders)
    return shared(planned.what, planned.sensitivity, share, n_parties - colluders, planned.times)


def all_released(planned: Iterable[Planned], n_parties: int = 1, colluders: int = 0) -> tuple[Release, ...]:
    """Several of them."""
    return tuple(released(one, n_parties, colluders) for one in planned)
