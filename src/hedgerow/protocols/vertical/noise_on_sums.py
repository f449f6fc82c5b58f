"""The ways to train that keep a promise of differential privacy, as the active party of a vertical run goes them.

Nothing is said here.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from hedgerow.agreement.dp_vertical import Way, way_of
from hedgerow.agreement.plan import Plan
from hedgerow.model.train import Ready
from hedgerow.privacy.promise import Promise
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.state import Progress
from hedgerow.protocols.vertical.batch_active import NoisedPassive
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.label_noise import NoisedLabels
from hedgerow.protocols.vertical.model_noise import NoisedModel
from hedgerow.protocols.vertical.nothing_told import NothingTold, Talk
from hedgerow.trees.boost import Boosted, Callback, Round
from hedgerow.trees.grow import Rows
from hedgerow.trees.params import TreeParams


class Noised(Protocol):
    """A way to train that keeps a promise."""

    @property
    def subtracts(self) -> bool:
        """Whether of two siblings the larger's sums are the parent's less the other's."""

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """The own rows before the first tree, with what is released of them by then."""

    def before(self, talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:
        """What is asked before the first tree."""

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[Rows, TreeParams]:
        """Rows of which nothing is released without noise, and by which parameters trees grow over them."""

    @property
    def after(self) -> Callable[[Talk, Ready, AllColumns, Boosted], Boosted] | None:
        """Adds the trees that are made of what is asked for after the last of the others; None: nothing is."""

    def promise(self, joint: AllColumns) -> Promise:
        """The run is over: what it has told."""


WAYS: dict[Way, type[NothingTold] | type[NoisedLabels] | type[NoisedModel] | type[NoisedPassive]] = {
    "drawn": NothingTold,
    "labels": NoisedLabels,
    "model": NoisedModel,
    "passive": NoisedPassive,
}


def noise_of(plan: Plan, own: Active, log: Log) -> Noised | None:
    """How the plan's promise is kept; None: there is none."""
    dp = plan.method.dp
    return None if dp is None else WAYS[way_of(dp)](plan, own, log)


def to_the_end(plan: Plan, callbacks: Sequence[Callback]) -> Sequence[Callback]:
    """They are told of every round; where something is promised they cannot end training, which would tell."""
    if plan.method.dp is None:
        return callbacks

    def told(round_: Round) -> None:
        for callback in callbacks:
            callback(round_)

    return (told,)
