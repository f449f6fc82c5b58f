"""Parameters of trees that fit a promise: where every tree, level and bin costs noise, fewer are grown."""

from hedgerow.agreement.dp import DP
from hedgerow.agreement.dp_vertical import way_of
from hedgerow.trees.noised.label_rule import few
from hedgerow.trees.params import TreeParams


def settled_params(dp: DP | None, params: TreeParams) -> TreeParams:
    """Those of a vertical run: what the user left as it usually is becomes what goes well with noise."""
    return few(params) if dp is not None and way_of(dp) == "labels" else params
