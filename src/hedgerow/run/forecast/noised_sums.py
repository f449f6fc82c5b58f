"""What a run with differential privacy says of each release; how many there are follows from the number of rows."""

from collections.abc import Iterator

from hedgerow.agreement.dp import DP
from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Column
from hedgerow.model.noised_terms import terms_of
from hedgerow.protocols.columns import loss_of
from hedgerow.protocols.noised.places import Kind, places
from hedgerow.run.forecast.line import Line
from hedgerow.run.forecast.shape import Shape
from hedgerow.trees.noised.rule import CUT_BITS, N_LEAVES, Schedule, Terms, schedule

USUAL_ROWS = 100_000
"""Where nobody says how many there are."""
PREFIX, WORD, VALUE = 9, 8, 4


def terms_for(plan: Plan, dp: DP, shape: Shape) -> Terms:
    """What is known before the first release of tables of this shape, all columns being numeric."""
    columns = [Column(f"c{i}") for i in range(shape.columns)]
    return terms_of(dp, columns, 0 if plan.goal.objective is not None else shape.n_classes)


def schedule_for(plan: Plan, dp: DP, shape: Shape) -> Schedule:
    """What would be released of tables of this shape."""
    return schedule(terms_for(plan, dp, shape), float(shape.n_rows or USUAL_ROWS))


def opening_lines(shape: Shape, max_bin: int) -> Iterator[Line]:
    """The number of rows and the cut points, and what is fixed by them."""
    refined = [shape.columns * min(2 * max_bin, 1 << CUT_BITS[0]) << bits for bits in CUT_BITS[1:]]
    for n, told in ((1, 1), *((n, n * PREFIX) for n in (shape.columns << CUT_BITS[0], *refined))):
        yield Line("AskNoisedCounts", 1, told, trip=True)
        yield Line("NoisedSums", 1, n * WORD)
    yield Line("BeginNoised", 1, shape.columns * ((max_bin + 1) * VALUE + WORD + 1), trip=True)
    yield Line("Done", 1, 1)


def noised_sums(plan: Plan, dp: DP, shape: Shape) -> Iterator[Line]:
    """Every release, and what is told before it."""
    told = schedule_for(plan, dp, shape)
    n_scores, bins = loss_of(plan, range(shape.n_classes)).n_trees, shape.columns * (told.max_bin + 1)
    yield from opening_lines(shape, told.max_bin)
    words: dict[Kind, int] = {"bins": bins, "additive": n_scores * bins, "leaves": n_scores * N_LEAVES * 2}
    for place in places(told):
        if place.kind in words:
            n = words[place.kind]
            values = 0 if place.kind == "bins" else n // (2 if place.kind == "leaves" else 1)
            yield Line("AskNoisedSums", 1, values * VALUE, trip=True)
            yield Line("NoisedSums", 1, n * WORD)


def noised_nodes(plan: Plan, dp: DP, shape: Shape) -> int:
    """Of all trees of the model."""
    told = schedule_for(plan, dp, shape)
    n_scores = loss_of(plan, range(shape.n_classes)).n_trees
    of_columns = shape.columns * (2 * (told.max_bin + 1) - 1) if told.additive is not None else 0
    drawn = told.trees.rounds * (2 * N_LEAVES - 1) if told.trees is not None else 0
    return n_scores * (of_columns + drawn)
