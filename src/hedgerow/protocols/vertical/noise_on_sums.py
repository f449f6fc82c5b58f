"""The ways to train that keep a promise of differential privacy, as the active party of a vertical run goes them.

Nothing is said here.
"""

from collections.abc import Sequence
from typing import Protocol

from hedgerow.agreement.dp_vertical import Way, way_of, words_of
from hedgerow.agreement.plan import Plan
from hedgerow.model.train import Ready
from hedgerow.privacy.promise import Promise, nothing_told
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.state import Progress
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.drawn_first import Talk, ask_all_sides
from hedgerow.protocols.vertical.label_noise import NoisedLabels
from hedgerow.protocols.vertical.model_noise import NoisedModel
from hedgerow.protocols.vertical.prepare import prepare
from hedgerow.trees.boost import Callback, Round
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

    def promise(self, joint: AllColumns) -> Promise:
        """The run is over: what it has told."""


class NothingTold:
    """No label is in anything that passive parties are told, so that no noise is needed."""

    subtracts = True

    def __init__(self, plan: Plan, own: Active, log: Log) -> None:  # noqa: ARG002  # nothing is released
        self.plan = plan

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """Nothing becomes known."""
        return prepare(plan, own, threads)

    def before(self, talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:
        """What becomes known: sides of all rows at all cuts that are drawn."""
        ask_all_sides(talk, ready, joint, progress)

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[Rows, TreeParams]:  # noqa: ARG002  # whoever's
        """As they are: from here on nothing is said."""
        return rows, self.plan.params

    def promise(self, joint: AllColumns) -> Promise:  # noqa: ARG002  # whoever's
        """Epsilon 0."""
        dp = self.plan.method.dp
        return nothing_told("label" if dp is None else dp.unit, *words_of(self.plan))


WAYS: dict[Way, type[NothingTold] | type[NoisedLabels] | type[NoisedModel]] = {
    "drawn": NothingTold,
    "labels": NoisedLabels,
    "model": NoisedModel,
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
