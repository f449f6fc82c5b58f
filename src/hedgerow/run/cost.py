"""What a run will cost, before it runs: messages, bytes and seconds, from its plan and the shape of the data.

Trees are reckoned full, so this is an upper estimate; most trees are smaller. A message is reckoned by the arrays in it
(see `messages`), the few bytes around them left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.plan import Plan
from hedgerow.privacy.intersection import POINT_BYTES, PROOF_BYTES
from hedgerow.privacy.paillier_wire import key_bytes
from hedgerow.protocols.agreeing import loss_of
from hedgerow.protocols.begun import metric_of
from hedgerow.protocols.own_sets import STEP
from hedgerow.run.by_columns import common_rows
from hedgerow.run.cost_by_columns import LATTICE_KEY, Sizes, levels
from hedgerow.run.cost_hidden import hidden_levels
from hedgerow.run.cost_line import Line
from hedgerow.run.cost_with_opener import through_opener
from hedgerow.trees import bins
from hedgerow.trees.cut_search import DIGIT_BITS, KEY_BITS
from hedgerow.trees.losses import LabelFacts

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
TREE_NODE, SAVED_NODE = 33, 100
"""A node of trees as they travel, and in a model file."""


@dataclass(frozen=True)
class Shape:
    """What the cost depends on besides the plan."""

    columns: int
    n_bins: int
    """Bins of all columns together, those of missing values included."""
    n_rows: int | None = None
    """Rows of all parties together, where they are known."""
    n_classes: int = 2
    """In a vertical run columns and bins are the mean passive party's, and rows everybody's."""
    n_ids: int | None = None
    """Ids, or names of columns, that the mean party brings to an alignment; None: as many as there are in common."""

    @classmethod
    def wide(cls, columns: int, max_bin: int, n_rows: int | None = None) -> "Shape":
        """Of so many columns, nothing else being known but perhaps the rows: every bin is used."""
        return cls(columns, columns * max_bin, n_rows)

    @classmethod
    def of(cls, tables: list[Table], plan: Plan, threads: int = 1) -> "Shape":
        """Of tables that lie here; the bins are those of the largest, whose rows stand for those of all."""
        largest = max(tables, key=lambda table: table.n_rows)
        n_categories = np.array([len(column.categories) for column in largest.columns], np.int64)
        few = max(1, plan.params.min_cut_rows // len(tables))
        grid, _ = bins.find(largest.values, largest.absent, n_categories, plan.params.max_bin, few, threads)
        return cls(largest.n_columns, int(grid.offsets[-1]), sum(t.n_rows for t in tables), _n_classes(tables, plan))

    @classmethod
    def by_columns(cls, tables: Mapping[str, Table], plan: Plan, threads: int = 1) -> "Shape":
        """Of a vertical run whose tables lie here; trees are reckoned over the rows that all parties have."""
        n_ids = ceil(sum(table.n_rows for table in tables.values()) / len(tables))
        tables = common_rows(tables) if plan.align == "private" else tables
        passive = [tables[name] for name in plan.answering]
        n_bins = 0
        for table in passive:
            n_categories = np.array([len(column.categories) for column in table.columns], np.int64)
            most, few = plan.params.max_bin, plan.params.min_cut_rows
            n_bins += int(bins.find(table.values, table.absent, n_categories, most, few, threads)[0].offsets[-1])
        n_columns, n = sum(table.n_columns for table in passive), len(passive)
        n_classes = _n_classes(list(tables.values()), plan)
        return cls(ceil(n_columns / n), ceil(n_bins / n), passive[0].n_rows, n_classes, n_ids)


def _n_classes(tables: list[Table], plan: Plan) -> int:
    if plan.goal.objective is not None:
        return 2
    labels: set[Any] = set().union(*(np.unique(t.labels).tolist() for t in tables if t.labels is not None))
    return len(labels)


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
    """The cost of a plan on data of this shape."""
    if plan.method == "vertical":
        lines = [*_by_columns(plan, shape)]
    else:
        kinds = _horizontal(plan, shape) if plan.method == "horizontal" else _whole_trees(plan, shape)
        kinds = through_opener(plan, kinds) if plan.opener else kinds
        lines = [*_joining(plan, shape), *kinds, *_farewell(plan, shape)]
    return Cost(tuple(line for line in lines if line.times), len(plan.answering))


def _told(message: str, n_bytes: float) -> Iterator[Line]:
    yield Line(message, 1, n_bytes, trip=True)
    yield Line("Done", 1, 1)


def _joining(plan: Plan, shape: Shape) -> Iterator[Line]:
    yield Line("Propose", 1, len(plan.text) + (CONSENT if plan.coordinator else 0), trip=True)
    yield Line("Consent", 1, CONSENT)
    yield Line("Introduce", 1, len(plan.members) * CONSENT, trip=True)
    if plan.column_names == "private":
        yield Line("Facts", 1, WORD)
        yield from _aligning(len(plan.members), shape.n_ids or shape.columns)
        proofs = (len(plan.members) - 1) * PROOF_BYTES
        yield Line("AskProofs", 1, 1, trip=True)
        yield Line("Proofs", 1, proofs)
        yield Line("AskCommonColumns", 1, proofs, trip=True)
        yield Line("CommonColumns", 1, shape.columns * COLUMN)
    else:
        yield Line("Facts", 1, shape.columns * COLUMN)
    yield from _told("Agree", shape.columns * COLUMN)


def _farewell(plan: Plan, shape: Shape) -> Iterator[Line]:
    yield from _told("Farewell", _n_trees(plan, shape) * _n_nodes(plan, shape) * SAVED_NODE)


def _horizontal(plan: Plan, shape: Shape) -> Iterator[Line]:
    answer = "PlainSums" if plan.protection == "plain" else "SealedWords" if plan.opener else "MaskedSums"
    rounds, width, taking = plan.params.n_estimators, _per_round(plan, shape), _share(plan)
    levels = _levels(plan, shape)
    asked = [1, *(ceil(n / 2) for n in levels[1:])]
    words = (shape.n_bins + 1) * (3 if plan.params.min_child_rows > 1 else 2)
    sums = sum(asked) * words * width * WORD
    cuts = sum(levels[:-1]) * CUT * width
    leaves = _n_leaves(levels) * width
    yield from _before_trees(plan, shape, answer)
    joined = rounds - 1 if plan.joins_rounds else 0
    yield Line("AskHistograms", rounds * len(levels) - joined, rounds * (cuts + sum(asked) * NODE * width), trip=True)
    yield Line(answer, rounds * len(levels), rounds * sums * taking)
    yield Line("AskLeafSums", rounds, rounds * (levels[-1] * width * CUT + leaves * NODE), trip=True)
    yield Line(answer, rounds, rounds * leaves * 2 * WORD * taking)
    if joined:
        yield Line("NextRound", joined, joined * leaves * (NODE + VALUE), trip=True)
    ends = rounds - joined
    yield Line("FinishRound", ends, ends * leaves * (NODE + VALUE), trip=True)
    yield Line(answer, ends, ends * (1 + _metric_words(plan, shape)) * WORD)


def _before_trees(plan: Plan, shape: Shape, answer: str) -> Iterator[Line]:
    steps, prefixes = _counts(plan, shape)
    yield Line("AskCounts", steps, prefixes * PREFIX, trip=True)
    yield Line(answer, steps, prefixes * WORD)
    grid = shape.n_bins * VALUE + shape.columns * (WORD + 1)
    if plan.cut_points == "local":
        yield Line("AskLocalCuts", 1, 1, trip=True)
        yield Line("LocalCuts", 1, grid)
    if plan.goal.base_score is None and _per_round(plan, shape) == 1:
        yield Line("AskMoments", 1, 3 * WORD, trip=True)
        yield Line(answer, 1, 2 * WORD)
    yield from _told("Begin", grid)


def _counts(plan: Plan, shape: Shape) -> tuple[int, int]:
    """Requests for counts, and the prefixes in all of them."""
    digits, fan = KEY_BITS // DIGIT_BITS, 1 << DIGIT_BITS
    steps, prefixes = 1, 1
    if plan.goal.objective is not None:  # the range of the labels
        steps, prefixes = steps + digits, prefixes + (2 * digits - 1) * fan
    if plan.cut_points == "counts":
        most = ceil(shape.n_bins / max(shape.columns, 1))
        if shape.n_rows is not None:
            most = min(most, ceil(shape.n_rows / plan.params.min_cut_rows))
        refined = sum(min(fan**digit, most) for digit in range(digits))
        steps, prefixes = steps + 1 + digits, prefixes + shape.columns * (1 + refined * fan)
    return steps, prefixes


def _whole_trees(plan: Plan, shape: Shape) -> Iterator[Line]:
    """Sequential: the mean over the parties, each of which gets the trees so far and sends them with its own."""
    trees = plan.params.n_estimators * _per_round(plan, shape) * _n_nodes(plan, shape) * TREE_NODE
    n = len(plan.members)
    if plan.method == "bagging":
        yield Line("AskTrees", 1, WORD, trip=True)
        yield Line("OwnTrees", 1, trees)
        return
    yield Line("AskTrees", 1, trees * (n - 1) / 2 / n, trip=True)
    yield Line("OwnTrees", 1, trees * (n + 1) / 2 / n)


def _by_columns(plan: Plan, shape: Shape) -> Iterator[Line]:
    """A vertical run, for the mean passive party; each is asked for sides at its share of the cuts."""
    if shape.n_rows is None:
        raise ParameterError("The cost of a vertical run depends on its rows; say how many with --rows.")
    yield Line("Propose", 1, len(plan.text) + (CONSENT if plan.coordinator else 0), trip=True)
    yield Line("Consent", 1, CONSENT)
    yield Line("Introduce", 1, len(plan.answering) * CONSENT, trip=True)
    yield Line("Facts", 1, WORD)
    if plan.align == "private":
        yield from _aligning(len(plan.members), shape.n_ids or shape.n_rows)
    yield Line("AskColumns", 1, 2 * HASH, trip=True)
    yield Line("OwnColumns", 1, shape.columns * (WORD + 2))
    yield from _told("BeginSealed", 6 * WORD)
    yield from (_hidden_trees if plan.hidden_rows else _sealed_trees)(plan, shape, shape.n_rows)
    yield from _told("KeepPart", 6 * WORD)


def _aligning(n: int, n_ids: int) -> Iterator[Line]:
    """Lists of n parties go once round all of them, and marks back."""
    parts, others, points, marks = ceil(n_ids / STEP), n - 1, n_ids * POINT_BYTES, ceil(n_ids / 8)
    yield Line("AskSetSize", 1, 2, trip=True)
    yield Line("SetSize", 1, WORD)
    yield from _told("BeginBlinding", n * WORD)
    yield Line("AskBlinded", n * parts, n * parts * WORD, trip=True)
    yield Line("BlindedIds", n * parts, n * points)
    yield Line("BlindIds", others * parts, others * points, trip=True)
    yield Line("Done", others * parts + 1, others * parts + 1)
    yield Line("MarkCommon", n, n * marks, trip=True)
    yield Line("Marks", others, others * marks)


def _sealed_trees(plan: Plan, shape: Shape, n_rows: int) -> Iterator[Line]:
    rounds, width, cut = _rounds_asked(plan), _per_round(plan, shape), _levels(plan, shape)
    asked = [1, *(ceil(n / 2) for n in cut[1:])]
    drawn = ceil(n_rows * plan.params.subsample)
    sizes = Sizes(drawn, width, shape.n_bins - shape.columns, shape.columns)
    steps = list(levels(plan, sizes, asked))
    bits, share = width * n_rows / 8, 1 / len(plan.members)
    moved = sum(n * MOVE for n in cut[:-1]) * width + (len(cut) - 1) * bits
    keys = steps[0].key + sum(step.sealed for step in steps)
    yield Line("AskSealedSums", rounds * len(cut), rounds * (keys + moved + sum(asked) * NODE * width), trip=True)
    returned = sum(step.returned for step in steps)
    if plan.params.min_child_rows > 1:
        allowed = sum(cut) * width * sizes.groups / 8
        yield Line("AllowedSums", rounds * len(cut), rounds * (returned + allowed))
    else:
        yield Line("SealedSums", rounds * len(cut), rounds * returned)
    yield Line("AskSides", rounds * len(cut), rounds * sum(cut) * CUT * width * share, trip=True)
    yield Line("Sides", rounds * len(cut), rounds * len(cut) * bits * share)
    every = plan.params.n_estimators
    yield Line("EndRound", every, every * WORD, trip=True)
    yield Line("Done", every, every)


def _hidden_trees(plan: Plan, shape: Shape, n_rows: int) -> Iterator[Line]:
    rounds, drawn = plan.params.n_estimators, ceil(n_rows * plan.params.subsample)
    sizes = Sizes(drawn, _per_round(plan, shape), shape.n_bins - shape.columns, shape.columns)
    steps = list(hidden_levels(plan, sizes, n_rows))
    key = key_bytes(plan.key_bits) if plan.key_bits else LATTICE_KEY
    asks, sides = rounds * sum(step.asks for step in steps), rounds * len(steps)
    yield Line("AskHiddenSums", asks, rounds * (key + sum(step.sealed for step in steps)), trip=True)
    yield Line("SealedSums", asks, rounds * sum(step.returned for step in steps))
    members = plan.key_bits / 8 + sum(step.members for step in steps)
    yield Line("AskHiddenSides", sides, rounds * members, trip=True)
    yield Line("HiddenSides", sides, rounds * sum(step.sides for step in steps))
    yield Line("EndRound", rounds, rounds * WORD, trip=True)
    yield Line("Done", rounds, rounds)


# Sizes


def _rounds_asked(plan: Plan) -> int:
    """Rounds in which the mean passive party is asked for anything but whether they are complete."""
    n = len(plan.answering)
    return ceil((plan.params.n_estimators - plan.local_trees) * plan.drawn(n) / n)


def _share(plan: Plan) -> float:
    return plan.drawn(len(plan.members)) / len(plan.members)


def _per_round(plan: Plan, shape: Shape) -> int:
    return loss_of(plan, range(shape.n_classes)).n_trees


def _n_trees(plan: Plan, shape: Shape) -> int:
    everybody = len(plan.members) if plan.method == "bagging" else 1
    return plan.params.n_estimators * _per_round(plan, shape) * everybody


def _levels(plan: Plan, shape: Shape) -> list[int]:
    """Nodes that can be cut, a level each; a table of few rows ends a tree sooner."""
    most = None if shape.n_rows is None else max(1, shape.n_rows // (2 * plan.params.min_child_rows))
    full = [2**level for level in range(plan.params.max_depth)]
    return full if most is None else [min(n, most) for n in full]


def _n_leaves(levels: list[int]) -> int:
    return 2 * levels[-1]


def _n_nodes(plan: Plan, shape: Shape) -> int:
    levels = _levels(plan, shape)
    return sum(levels) + _n_leaves(levels)


def _metric_words(plan: Plan, shape: Shape) -> int:
    if not plan.goal.follow:
        return 0
    return metric_of(plan, loss_of(plan, range(shape.n_classes)), LabelFacts(0.0, 1.0)).n_sums
