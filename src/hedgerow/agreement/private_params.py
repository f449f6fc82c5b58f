"""Parameters of trees that fit a promise: where every tree, level and bin costs noise, fewer are grown."""

from hedgerow.agreement.dp import DP
from hedgerow.agreement.dp_vertical import way_of
from hedgerow.trees.noised.drawn_rule import drawn_params
from hedgerow.trees.noised.label_rule import few
from hedgerow.trees.params import TreeParams


def settled_params(dp: DP | None, params: TreeParams) -> TreeParams:
    """Those of a vertical run: what the user left as it usually is becomes what goes well with noise."""
    if dp is None or way_of(dp) == "drawn":
        return params
    return few(params) if way_of(dp) == "labels" else drawn_params(params)
