"""Several active parties: what their runs have in common. It is no part of a plan, which has one active party."""

from collections.abc import Collection

import msgspec

from hedgerow.agreement.options import Hybrid
from hedgerow.errors import ParameterError

SEVERAL = (
    "Differential privacy is promised of the model of one active party; what the models of several tell together of a "
    "row is not added up. Train each in a run of its own, or leave dp out."
)


class Bagged(msgspec.Struct, frozen=True):
    """Several active parties, with labels and the same columns, for rows of their own, and passive parties beside.

    Each active party trains by itself, as `hybrid` says, with the passive parties that have some of its rows. Rows are
    predicted by all models: the mean of probabilities or numbers, or with `vote` the class that most models choose.
    """

    active: tuple[str, ...]
    hybrid: Hybrid = Hybrid()
    """What is the same in all of their runs."""
    vote: bool = False

    def __post_init__(self) -> None:
        names: object = self.active
        if not isinstance(names, tuple) or len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise ParameterError(f'active must name the active parties, like ("a", "b"); it is {names!r}.')
        if len(set(self.active)) < len(self.active):
            raise ParameterError(f"active names a party twice; it is {names!r}.")
        if not isinstance(self.hybrid, Hybrid):
            raise ParameterError(f"hybrid must be Hybrid(); it is {self.hybrid!r}.")
        if self.hybrid.active is not None:
            raise ParameterError("Which parties are active is said once; leave active out of Hybrid.")
        if self.hybrid.dp is not None:
            raise ParameterError(SEVERAL)
        if not isinstance(self.vote, bool):
            raise ParameterError(f"vote must be True or False; it is {self.vote!r}.")

    def of(self, active: str, beside: Collection[str]) -> Hybrid:
        """The run of one of the active parties with these passive ones; groups that share columns lose the others."""
        return one_of(self.hybrid, active, beside)


def one_of(hybrid: Hybrid, active: str, beside: Collection[str]) -> Hybrid:
    """The run of one active party with these passive ones, of which groups that share columns keep those that remain.

    A group that is left with too few to hide among is refused when the run is planned, not grown separately.
    """
    if hybrid.dp is not None:
        raise ParameterError(SEVERAL)
    shared = hybrid.shared
    if isinstance(shared, tuple):
        kept = (tuple(name for name in group if name in beside) for group in shared)
        shared = tuple(group for group in kept if group) or False
    return msgspec.structs.replace(hybrid, active=active, shared=shared)
