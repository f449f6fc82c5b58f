"""The ways to train that keep a promise of differential privacy, as the active party of a vertical run goes them.

FedTree's noise, which promises nothing, is one of them.
Nothing is said here.
"""

from collections.abc import Sequence

from hedgerow.agreement.dp_vertical import Way, way_of
from hedgerow.agreement.plan import Plan
from hedgerow.protocols.session.journal import Log
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.vertical.batch_active import NoisedPassive
from hedgerow.protocols.vertical.label_noise import NoisedLabels
from hedgerow.protocols.vertical.laplace_model import NoisedHistograms
from hedgerow.protocols.vertical.model_noise import NoisedModel
from hedgerow.protocols.vertical.noised_way import Noised as Noised
from hedgerow.protocols.vertical.nothing_told import NothingTold
from hedgerow.trees.boost import Callback, Round

Kinds = NothingTold | NoisedLabels | NoisedModel | NoisedPassive | NoisedHistograms
WAYS: dict[Way, type[Kinds]] = {
    "drawn": NothingTold,
    "labels": NoisedLabels,
    "model": NoisedModel,
    "passive": NoisedPassive,
    "laplace": NoisedHistograms,
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
