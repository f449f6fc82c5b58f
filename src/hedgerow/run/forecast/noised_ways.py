"""What is said where every sum has noise, and how many nodes the model has, by the way to grow trees."""

from collections.abc import Callable, Iterator, Mapping

from hedgerow.agreement.dp import DP, PUBLIC_TREES, PrivateMethod
from hedgerow.agreement.plan import Plan
from hedgerow.protocols.vertical.private_cuts import has_private_columns as has_private_columns
from hedgerow.run.forecast.greedy import greedy_nodes, greedy_sums
from hedgerow.run.forecast.line import Line
from hedgerow.run.forecast.noised_sums import noised_nodes, noised_sums
from hedgerow.run.forecast.one_batch import one_batch as one_batch
from hedgerow.run.forecast.shape import Shape

Sums = Callable[[Plan, DP, Shape], Iterator[Line]]
Nodes = Callable[[Plan, DP, Shape], int]
NOISED: Mapping[PrivateMethod, tuple[Sums, Nodes]] = {
    **dict.fromkeys(PUBLIC_TREES, (noised_sums, noised_nodes)),
    "greedy": (greedy_sums, greedy_nodes),
}
