"""What a run will cost, before it runs: messages, bytes and seconds, from its plan and the shape of the data.

Where the data lies here, some trees are grown first and cut points searched for, without a message, to see how large
they become (`trees`). Elsewhere trees are reckoned full and every prefix refined: an upper estimate. A message is
reckoned by the arrays in it (see `messages`), and the few bytes around them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from hedgerow.agreement.ciphers import cipher_of, key_bytes
from hedgerow.agreement.options import Horizontal, Hybrid, Method, Vertical, WholeTrees
from hedgerow.agreement.plan import Plan
from hedgerow.errors import ParameterError
from hedgerow.privacy.intersection import PROOF_BYTES
from hedgerow.protocols.columns import loss_of
from hedgerow.run.forecast.hidden import hidden_levels, hidden_merging
from hedgerow.run.forecast.line import Line
from hedgerow.run.forecast.linking import aligning, linking
from hedgerow.run.forecast.noised_ways import NOISED, has_private_columns, one_batch
from hedgerow.run.forecast.opener import through_opener
from hedgerow.run.forecast.shape import Shape
from hedgerow.run.forecast.trees import Trees, drawn, full, metric_words
from hedgerow.run.forecast.vertical import Sizes, drawn_levels, levels, merging_of, n_asked, over_usual_link, probes
from hedgerow.trees.cut_search import DIGIT_BITS, KEY_BITS

__all__ = ["BITS_PER_SECOND", "SECONDS_PER_TRIP", "Cost", "Shape", "cost"]

BITS_PER_SECOND = 100e6
SECONDS_PER_TRIP = 0.02
WORD = 8
CONSENT = 550
"""A key, a certificate and a signature."""
COLUMN = 40
"""A column's name and kind."""
PREFIX, CUT, MOVE, NODE, VALUE = 9, 65, 24, 16, 4
"""Items of AskCounts, of lists of cuts, of moves and of nodes; a leaf's value."""
HASH = 32
TREE_NODE, SAVED_NODE, MODEL = 33, 55, 1000
"""A node of trees as they travel, and in a model file; what else is in that."""


@dataclass(frozen=True)
class Cost:
    """What a run costs."""

    lines: tuple[Line, ...]
    n_parties: int

    @property
    def per_party(self) -> float:
        """Bytes that each party gets and sends."""
        return sum(line.n_bytes for line in self.lines)

    @property
    def total(self) -> float:
        """Bytes over the driver's line."""
        return self.per_party * self.n_parties

    @property
    def trips(self) -> int:
        """Round trips, one after the other."""
        return sum(line.times for line in self.lines if line.trip)

    @property
    def seconds(self) -> float:
        """Time on the way; computing comes on top."""
        return self.total * 8 / BITS_PER_SECOND + self.trips * SECONDS_PER_TRIP


def cost(plan: Plan, shape: Shape) -> Cost:
    """The cost of a plan on data of this shape; a link that is still to be measured is taken for the usual one."""
    plan = over_usual_link(plan, BITS_PER_SECOND / 1e6, SECONDS_PER_TRIP)
    lines = FORECASTS[type(plan.method)](plan, shape)
    return Cost(tuple(line for line in lines if line.times), len(plan.answering))


def _same_columns(plan: Plan, shape: Shape) -> Iterator[Line]:
    """A horizontal run."""
    dp = plan.method.dp
    kinds = _horizontal(plan, shape) if dp is None or dp.method not in NOISED else NOISED[dp.method][0](plan, dp, shape)
    yield from _joining(plan, shape)
    yield from through_opener(plan, kinds) if plan.opener else kinds
    yield from _farewell(plan, shape)


def _told(message: str, n_bytes: float) -> Iterator[Line]:
    yield Line(message, 1, n_bytes, trip=True)
    yield Line("Done", 1, 1)


def _joining(plan: Plan, shape: Shape) -> Iterator[Line]:
    yield Line("Propose", 1, len(plan.text) + (CONSENT if plan.coordinator else 0), trip=True)
    yield Line("Consent", 1, CONSENT)
    yield Line("Introduce", 1, len(plan.members) * CONSENT, trip=True)
    if plan.method.private_names:
        yield Line("Facts", 1, WORD)
        yield from aligning(len(plan.members), shape.n_ids or shape.columns)
        proofs = (len(plan.members) - 1) * PROOF_BYTES
        yield Line("AskProofs", 1, 1, trip=True)
        yield Line("Proofs", 1, proofs)
        yield Line("AskCommonColumns", 1, proofs, trip=True)
        yield Line("CommonColumns", 1, shape.columns * COLUMN)
    else:
        yield Line("Facts", 1, shape.columns * COLUMN)
    yield from _told("Agree", shape.columns * COLUMN)


def _farewell(plan: Plan, shape: Shape) -> Iterator[Line]:
    dp = plan.method.dp
    if dp is not None and dp.method in NOISED:
        nodes: float = NOISED[dp.method][1](plan, dp, shape)
    else:
        nodes = _n_rounds(plan) * _trees(plan, shape).nodes
    yield from _told("Farewell", MODEL + shape.columns * COLUMN + nodes * SAVED_NODE)


def _horizontal(plan: Plan, shape: Shape) -> Iterator[Line]:
    answer = "PlainSums" if plan.method.plain else "SealedWords" if plan.opener else "MaskedSums"
    rounds, trees, taking = plan.params.n_estimators, _trees(plan, shape), _share(plan)
    words = (shape.n_bins + 1) * (3 if plan.params.min_child_rows > 1 else 2)
    sums, levels = sum(trees.asked) * words * WORD, round(rounds * sum(trees.reached))
    cuts, leaves = sum(trees.cuts[:-1]) * CUT, trees.leaves
    yield from _before_trees(plan, shape, answer)
    joined = rounds - 1 if plan.joins_rounds else 0
    yield Line("AskHistograms", levels - joined, rounds * (cuts + sum(trees.asked) * NODE), trip=True)
    yield Line(answer, levels, rounds * sums * taking)
    yield Line("AskLeafSums", rounds, rounds * (trees.cuts[-1] * CUT + leaves * NODE), trip=True)
    yield Line(answer, rounds, rounds * leaves * 2 * WORD * taking)
    if joined:
        yield Line("NextRound", joined, joined * leaves * (NODE + VALUE), trip=True)
    ends = rounds - joined
    yield Line("FinishRound", ends, ends * leaves * (NODE + VALUE), trip=True)
    yield Line(answer, ends, ends * (1 + metric_words(plan, shape.n_classes)) * WORD)


def _before_trees(plan: Plan, shape: Shape, answer: str) -> Iterator[Line]:
    steps, prefixes = _counts(plan, shape)
    yield Line("AskCounts", steps, prefixes * PREFIX, trip=True)
    yield Line(answer, steps, prefixes * WORD)
    grid = shape.n_bins * VALUE + shape.columns * (WORD + 1)
    if plan.method.local_cuts:
        yield Line("AskLocalCuts", 1, 1, trip=True)
        yield Line("LocalCuts", 1, grid)
    if plan.goal.base_score is None and _per_round(plan, shape) == 1:
        yield Line("AskMoments", 1, 3 * WORD, trip=True)
        yield Line(answer, 1, 2 * WORD)
    yield from _told("Begin", grid)


def _counts(plan: Plan, shape: Shape) -> tuple[int, int]:
    """Requests for counts, and the prefixes in all of them."""
    digits, fan = KEY_BITS // DIGIT_BITS, 1 << DIGIT_BITS
    has_labels = isinstance(plan.method, Horizontal)
    steps, prefixes = int(has_labels), int(has_labels)
    if has_labels and plan.goal.objective is not None:  # the range of the labels
        steps, prefixes = steps + digits, prefixes + (2 * digits - 1) * fan
    if shape.searched is not None:
        return steps + 1 + shape.searched[0], prefixes + shape.columns + shape.searched[1]
    if not plan.method.local_cuts:
        most = ceil(shape.n_bins / max(shape.columns, 1))
        if shape.n_rows is not None:
            most = min(most, ceil(shape.n_rows / plan.params.min_cut_rows))
        refined = sum(min(fan**digit, most) for digit in range(digits))
        steps, prefixes = steps + 1 + digits, prefixes + shape.columns * (1 + refined * fan)
    return steps, prefixes


def _whole_trees(plan: Plan, shape: Shape) -> Iterator[Line]:
    """Sequential: the mean over the parties, each of which gets the trees so far and sends them with its own."""
    trees = plan.params.n_estimators * _trees(plan, shape).nodes * TREE_NODE
    n = len(plan.members)
    yield from _joining(plan, shape)
    if plan.method.in_turn:
        yield Line("AskTrees", 1, trees * (n - 1) / 2 / n, trip=True)
        yield Line("OwnTrees", 1, trees * (n + 1) / 2 / n)
    else:
        yield Line("AskTrees", 1, WORD, trip=True)
        yield Line("OwnTrees", 1, trees)
    yield from _farewell(plan, shape)


def _by_columns(plan: Plan, shape: Shape) -> Iterator[Line]:
    """A vertical or hybrid run, for the mean passive party; each is asked for sides at its share of the cuts."""
    if shape.n_rows is None:
        raise ParameterError(f"The cost of a {plan.method.word} run depends on its rows; say how many with --rows.")
    yield from probes(plan)
    yield Line("Propose", 1, len(plan.text) + (CONSENT if plan.coordinator else 0), trip=True)
    yield Line("Consent", 1, CONSENT)
    yield Line("Introduce", 1, len(plan.answering) * CONSENT, trip=True)
    yield Line("Facts", 1, WORD + (shape.columns * COLUMN if plan.groups else 0))
    if plan.method.aligns:
        yield from aligning(len(plan.members), shape.n_ids or shape.n_rows)
    if plan.method.links:
        yield from linking(plan, shape.n_ids or shape.n_rows, shape.n_passive_ids or shape.n_rows)
    sharing = sum(map(len, plan.groups)) / len(plan.answering)
    if sharing:
        yield from _sharing(plan, shape, sharing)
    if sharing < 1:
        yield Line("AskColumns", 1, (1 - sharing) * 2 * HASH, trip=True)
        yield Line("OwnColumns", 1, (1 - sharing) * shape.columns * (WORD + 2))
    if has_private_columns(plan):
        yield from one_batch(plan, shape, _per_round(plan, shape))
        yield from _told("KeepPart", 6 * WORD + HASH)
        return
    yield from _told("BeginSealed", 6 * WORD)
    grown = _hidden_trees if plan.method.hidden_rows else _drawn_trees if plan.method.draws_cuts else _sealed_trees
    yield from grown(plan, shape, shape.n_rows)
    yield from _told("KeepPart", 6 * WORD + HASH)


def _sharing(plan: Plan, shape: Shape, share: float) -> Iterator[Line]:
    """Columns and cut points that this share of the passive parties agree on."""
    every = replace(shape, n_rows=shape.n_rows and shape.n_rows * len(plan.answering))
    steps, prefixes = _counts(plan, every)
    grid = shape.n_bins * VALUE + shape.columns * (WORD + 1)
    yield from _told("Agree", share * shape.columns * COLUMN)
    yield Line("AskCounts", steps, share * prefixes * PREFIX, trip=True)
    yield Line("PlainSums" if plan.method.plain else "MaskedSums", steps, share * prefixes * WORD)
    yield from _told("ShareColumns", share * (2 * HASH + grid))


def _sealed_trees(plan: Plan, shape: Shape, n_rows: int) -> Iterator[Line]:
    rounds, trees = _rounds_asked(plan), _trees(plan, shape)
    summed = ceil(drawn(plan, n_rows) * plan.method.passive_rows)
    sizes = Sizes(summed, trees.width, shape.n_bins - shape.columns, shape.columns)
    steps = list(levels(plan, sizes, trees))
    n_steps, share = round(rounds * n_asked(plan, trees)), trees.share or 1 / len(plan.members)
    bits = trees.width * n_rows / 8
    moved = sum(trees.cuts[:-1]) * MOVE + sum(trees.reached[1:]) * bits
    sealed = key_bytes(plan, merging_of(plan, sizes)) + sum(step.sealed for step in steps)
    yield Line("AskSealedSums", n_steps, rounds * (sealed + moved + sum(trees.asked) * NODE), trip=True)
    returned = sum(step.returned for step in steps)
    if plan.params.min_child_rows > 1:
        allowed = 2 * sum(trees.asked) * sizes.groups / 8
        yield Line("AllowedSums", n_steps, rounds * (returned + allowed))
    else:
        yield Line("SealedSums", n_steps, rounds * returned)
    sides = round(rounds * sum(trees.owned))
    yield Line("AskSides", sides, rounds * sum(trees.cuts) * CUT * share, trip=True)
    yield Line("Sides", sides, rounds * sum(trees.reached) * bits * share)
    every = plan.params.n_estimators
    yield Line("EndRound", every, every * WORD, trip=True)
    yield Line("Done", every, every)


def _drawn_trees(plan: Plan, shape: Shape, n_rows: int) -> Iterator[Line]:
    """Every node at a passive level is cut; parties that share columns are all asked, others each at its share."""
    rounds, trees, bits = _rounds_asked(plan), _trees(plan, shape), _trees(plan, shape).width * n_rows / 8
    levels, share = drawn_levels(plan, trees), 1.0 if plan.method.shares else 1 / len(plan.answering)
    asked = [min(1.0, level.cuts * share) for level in levels]
    moved = sum(level.cuts_above * MOVE + level.levels_above * bits for level in levels)
    yield Line(
        "AskDrawnSides", round(rounds * sum(asked)),
        rounds * (moved + sum(level.cuts for level in levels) * CUT * share), trip=True,
    )  # fmt: skip
    yield Line("Sides", round(rounds * sum(asked)), rounds * len(levels) * bits * share)
    every = plan.params.n_estimators
    yield Line("EndRound", every, every * WORD, trip=True)
    yield Line("Done", every, every)


def _hidden_trees(plan: Plan, shape: Shape, n_rows: int) -> Iterator[Line]:
    rounds, owned = plan.params.n_estimators, _trees(plan, shape).owned
    sizes = Sizes(drawn(plan, n_rows), _per_round(plan, shape), shape.n_bins - shape.columns, shape.columns)
    steps, key = list(hidden_levels(plan, sizes, n_rows)), key_bytes(plan, hidden_merging(plan, sizes, n_rows))
    asks, sides = rounds * sum(step.asks for step in steps), round(rounds * sum(owned))
    yield Line("AskHiddenSums", asks, rounds * (key + sum(step.sealed for step in steps)), trip=True)
    yield Line("SealedSums", asks, rounds * sum(step.returned for step in steps))
    members = (0 if cipher_of(plan).keys_apart else key) + _over(owned, [step.members for step in steps])
    yield Line("AskHiddenSides", sides, rounds * members, trip=True)
    yield Line("HiddenSides", sides, rounds * _over(owned, [step.sides for step in steps]))
    yield Line("EndRound", rounds, rounds * WORD, trip=True)
    yield Line("Done", rounds, rounds)


# Sizes


def _over(shares: Sequence[float], n_bytes: Sequence[float]) -> float:
    """Bytes of all levels, each with the share of rounds that have it."""
    return sum(share * size for share, size in zip(shares, n_bytes, strict=True))


def _rounds_asked(plan: Plan) -> int:
    """Rounds in which the mean passive party is asked for anything but whether they are complete."""
    n = len(plan.answering)
    return ceil((plan.params.n_estimators - plan.vertical.local_trees) * plan.drawn(n) / n)


def _share(plan: Plan) -> float:
    return plan.drawn(len(plan.members)) / len(plan.members)


def _per_round(plan: Plan, shape: Shape) -> int:
    return loss_of(plan, range(shape.n_classes)).n_trees


def _trees(plan: Plan, shape: Shape) -> Trees:
    return shape.trees or full(plan, _per_round(plan, shape), shape.n_rows)


def _n_rounds(plan: Plan) -> int:
    """Rounds of trees in the model."""
    return plan.params.n_estimators * (
        len(plan.members) if isinstance(plan.method, WholeTrees) and not plan.method.in_turn else 1
    )


FORECASTS: Mapping[type[Method], Callable[[Plan, Shape], Iterator[Line]]] = {
    Horizontal: _same_columns,
    WholeTrees: _whole_trees,
    Vertical: _by_columns,
    Hybrid: _by_columns,
}
"""What each method that trains says to a party."""
