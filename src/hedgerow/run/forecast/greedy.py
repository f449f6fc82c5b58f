"""What a run of greedy trees with differential privacy says of each release."""

from collections.abc import Iterator

from hedgerow.agreement.dp import DP
from hedgerow.agreement.plan import Plan
from hedgerow.protocols.columns import loss_of
from hedgerow.run.forecast.line import Line
from hedgerow.run.forecast.noised_sums import PREFIX, USUAL_ROWS, VALUE, WORD, opening_lines, terms_for
from hedgerow.run.forecast.shape import Shape
from hedgerow.trees.noised.fit_greedy import chosen_of
from hedgerow.trees.noised.greedy_rule import GreedySchedule, greedy_schedule

NODE, CUT = 4, 24 + 3 * PREFIX


def greedy_for(plan: Plan, dp: DP, shape: Shape) -> GreedySchedule:
    """What would be released of tables of this shape."""
    return greedy_schedule(terms_for(plan, dp, shape), float(shape.n_rows or USUAL_ROWS), chosen_of(plan.params))


def greedy_sums(plan: Plan, dp: DP, shape: Shape) -> Iterator[Line]:
    """Every release, and what is told before it; each level at its widest."""
    told = greedy_for(plan, dp, shape)
    n_scores, width = loss_of(plan, range(shape.n_classes)).n_trees, shape.columns * (told.max_bin + 1) + 1
    yield from opening_lines(shape, told.max_bin)
    if told.root is not None:
        yield Line("AskNoisedRoot", 1, 1, trip=True)
        yield Line("NoisedSums", 1, 2 * WORD)
    rounds, leaves = told.n_trees, n_scores << told.max_depth
    for level in range(told.max_depth):
        nodes = n_scores << level
        said = nodes * (NODE + CUT / 2 if level else NODE) + (0 if level else leaves * (NODE + VALUE))
        yield Line("AskNoisedLevel", rounds, rounds * said, trip=True)
        yield Line("NoisedSums", rounds, rounds * nodes * width * 2 * WORD)
    yield Line("AskNoisedLevel", rounds, rounds * leaves * (NODE + CUT / 2), trip=True)
    yield Line("NoisedSums", rounds, rounds * leaves * 2 * WORD)


def greedy_nodes(plan: Plan, dp: DP, shape: Shape) -> int:
    """Of all trees of the model."""
    told = greedy_for(plan, dp, shape)
    return loss_of(plan, range(shape.n_classes)).n_trees * told.n_trees * (2 << told.max_depth)
