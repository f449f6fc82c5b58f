"""From an estimator's parameters to those of its trees."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.agreement.active_parties import Bagged
from hedgerow.agreement.dp import DP
from hedgerow.agreement.options import LEAST_CUT_ROWS, Horizontal, Vertical, check_federation
from hedgerow.errors import ParameterError
from hedgerow.estimators.inputs import seed_of
from hedgerow.trees.params import TreeParams
from hedgerow.trees.watched_metrics import check_name


def check_choices(federation: Any, eval_metrics: Sequence[str]) -> None:
    """Refuse a federation or metrics that there are not, before anything is done."""
    if not isinstance(federation, Bagged):
        check_federation(federation)
    for name in eval_metrics:
        check_name(name)
    if federation is not None and len(eval_metrics) > 1:
        raise ParameterError("A federation follows one metric, whose sums are opened after every round; name one.")


def check_dp(dp: Any, federation: Any) -> None:
    """Refuse what is not the option, and one that belongs elsewhere."""
    if dp is not None and not isinstance(dp, DP):
        raise ParameterError(f"dp must be DP(epsilon=...) or None; it is {dp!r}.")
    if dp is not None and federation is not None:
        raise ParameterError("With a federation, dp belongs into it, like Horizontal(dp=DP(epsilon=1)).")


def tree_params(own: Mapping[str, Any], n_columns: int, average: bool, few_bits: int | None = None) -> TreeParams:
    """The parameters of the trees, from those of the same names; `few_bits`, if so many are enough for gradients."""
    names = {n for n in TreeParams.__dataclass_fields__ if n in own} - {"random_state", "monotone_constraints"}
    share, constraints = own["colsample_bynode"], own.get("monotone_constraints")
    chosen: dict[str, Any] = {n: own[n] for n in names}
    if own["min_cut_rows"] is None:
        chosen["min_cut_rows"] = LEAST_CUT_ROWS if isinstance(own["federation"], Horizontal | Vertical) else 1
    if own["gradient_bits"] is None:
        chosen["gradient_bits"] = few_bits or TreeParams.gradient_bits
    chosen["colsample_bynode"] = min(1.0, np.sqrt(n_columns) / n_columns) if share == "sqrt" else share
    return TreeParams(
        **chosen,
        monotone_constraints=() if constraints is None else tuple(constraints),
        random_state=seed_of(own["random_state"]),
        average=average,
    )
