"""Parameters of trees that fit a promise: where every tree, level and bin costs noise, fewer are grown."""

from collections.abc import Callable
from dataclasses import replace

from hedgerow.agreement.dp import DP
from hedgerow.agreement.dp_vertical import Way, way_of
from hedgerow.trees.noised.drawn_rule import drawn_params
from hedgerow.trees.noised.label_rule import few
from hedgerow.trees.noised.one_batch_rule import batch_params
from hedgerow.trees.params import TreeParams

PARAMS: dict[Way, Callable[[TreeParams], TreeParams]] = {
    "drawn": lambda params: params,
    "labels": few,
    "model": drawn_params,
    "passive": batch_params,
    "laplace": lambda params: replace(params, constant_hessian=True),
}
"""By how the promise is kept."""


def settled_params(dp: DP | None, params: TreeParams) -> TreeParams:
    """Those of a vertical run: what the user left as it usually is becomes what goes well with noise."""
    return params if dp is None else PARAMS[way_of(dp)](params)
