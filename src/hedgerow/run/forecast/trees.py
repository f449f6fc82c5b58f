"""How large the trees of a run will be: as some that are grown here first where the data lies here, or else full.

Growing some trees of all parties' rows in one table tells what the run itself will grow, without a message.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.model import train as pooled
from hedgerow.model.model import classes_of
from hedgerow.protocols.columns import loss_of
from hedgerow.protocols.horizontal.prepare import metric_of
from hedgerow.trees.cut_search import CutSearch
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import LabelFacts

MOST_ROUNDS = 100
MOST_CELLS = 3e8
"""Rounds that are grown first, and cells that they may look at; the rounds after them are taken to be like the last."""


@dataclass(frozen=True)
class Trees:
    """The trees of a mean round, those of all classes together, a number for each level."""

    width: int
    """Trees of a round."""
    cuts: tuple[float, ...]
    """Nodes that are cut."""
    reached: tuple[float, ...]
    """The share of rounds in which there are nodes to be cut."""
    rows: tuple[float, ...]
    """The share of all rows that lies in nodes whose sums are asked for; of two siblings that is the smaller."""
    owned: tuple[float, ...] = ()
    """The share of rounds in which the mean passive party of a vertical run owns one of the cuts."""
    share: float | None = None
    """Of the cuts, the mean passive party's."""
    grown: bool = False
    """Whether such trees were grown."""

    @property
    def asked(self) -> tuple[float, ...]:
        """Nodes whose sums are asked for: the roots, then one of each two siblings."""
        return (self.width, *self.cuts[:-1])

    @property
    def leaves(self) -> float:
        """Of a round."""
        return self.width + sum(self.cuts)

    @property
    def nodes(self) -> float:
        """Of a round, the leaves too."""
        return self.width + 2 * sum(self.cuts)


def full(plan: Plan, width: int, n_rows: int | None) -> Trees:
    """As large as the plan allows; a table of few rows ends a tree sooner."""
    most = None if n_rows is None else max(1, n_rows // (2 * plan.params.min_child_rows))
    levels = [2**level for level in range(plan.params.max_depth)]
    cuts = tuple(float(width * (n if most is None else min(n, most))) for n in levels)
    whole = (1.0,) * len(cuts)
    return Trees(width, cuts, whole, (1.0, *(0.5 for _ in cuts[1:])), whole)


def first_grown(table: Table, plan: Plan, threads: int, passive: Sequence[Collection[int]] = ()) -> Trees:
    """As some trees of this table; `passive` has the columns of each passive party of a vertical run."""
    classes = () if plan.goal.objective is not None or table.labels is None else classes_of(table.labels)
    loss, params = loss_of(plan, classes), plan.params
    cells = table.n_rows * table.n_columns * params.max_depth * loss.n_trees
    rounds = max(1, min(params.n_estimators, MOST_ROUNDS, int(MOST_CELLS / cells)))
    task = pooled.Task(loss, classes, plan.goal.base_score, plan.goal.scale_pos_weight, threads=threads)
    forest = pooled.train(table, replace(params, n_estimators=rounds), task).forest
    return _sizes(forest, loss.n_trees, params.n_estimators, params.max_depth, passive)


def _sizes(forest: Forest, width: int, n_rounds: int, depth: int, passive: Sequence[Collection[int]]) -> Trees:
    """What these trees, of the first rounds, say of all rounds."""
    rounds = forest.n_trees // width
    where, round_ = forest.roots[:-1], np.arange(forest.n_trees) // width
    weight = np.bincount(round_, forest.covers[where], rounds)
    cuts, owned = np.zeros((depth, rounds)), np.zeros((len(passive), depth, rounds))
    reached, rows = np.zeros((depth, rounds)), np.zeros((depth, rounds))
    reached[0] = rows[0] = 1
    for level in range(depth):
        is_cut = forest.columns[where] >= 0
        where, round_ = where[is_cut], round_[is_cut]
        cuts[level] = np.bincount(round_, minlength=rounds)
        for party, columns in enumerate(passive):
            own = np.isin(forest.columns[where], list(columns))
            owned[party, level] = np.bincount(round_[own], minlength=rounds)
        left = forest.children[where]
        if level + 1 < depth:
            reached[level + 1] = cuts[level] > 0
            smaller = np.minimum(forest.covers[left], forest.covers[left + 1])
            rows[level + 1] = np.bincount(round_, smaller, rounds) / np.maximum(weight, 1e-300)
        where, round_ = np.concatenate([left, left + 1]), np.tile(round_, 2)
    share = owned.sum() / max(cuts.sum(), 1) / len(passive) if passive else None
    asked = (owned > 0).mean(axis=0) if passive else np.zeros((depth, rounds))
    means = [_over_all(numbers, n_rounds) for numbers in (cuts, reached, rows, asked)]
    return Trees(width, means[0], means[1], means[2], means[3], share, grown=True)


def _over_all(numbers: NDArray[np.float64], n_rounds: int) -> tuple[float, ...]:
    """The mean over all rounds of what is known of the first; the others are like the later half of these."""
    known = numbers.shape[1]
    later = numbers[:, known // 2 :].mean(axis=1)
    return tuple(((numbers.sum(axis=1) + (n_rounds - known) * later) / n_rounds).tolist())


def searched(table: Table, plan: Plan, threads: int) -> tuple[int, int] | None:
    """Requests for counts that find the cut points of this table, and the prefixes in all; None: it is too large."""
    if table.n_rows * table.n_columns > MOST_CELLS:
        return None
    numeric = [j for j, column in enumerate(table.columns) if column.kind == "numeric"]
    keys = _native.sorted_keys(_columns(table, numeric), threads)
    search = CutSearch(np.array([len(own) for own in keys], np.int64), plan.params.max_bin, plan.params.min_cut_rows)
    steps = prefixes = 0
    while len((asked := search.ask()).column):
        steps, prefixes = steps + 1, prefixes + len(asked.column)
        search.tell(_counted(keys, asked.column, asked.prefix.astype(np.int64), asked.shift.astype(np.int64)))
    return steps, prefixes


def _columns(table: Table, which: Sequence[int]) -> list[NDArray[np.float32]]:
    """The values of some columns."""
    if isinstance(table.values, np.ndarray):
        return [np.ascontiguousarray(table.values[:, j]) for j in which]
    stored = table.values.tocsc()
    parts = [stored.data[stored.indptr[j] : stored.indptr[j + 1]] for j in which]
    gaps = [0 if np.isnan(table.absent) else table.n_rows - len(part) for part in parts]
    return [np.concatenate([part, np.zeros(n, np.float32)]) for part, n in zip(parts, gaps, strict=True)]


def _counted(
    keys: Sequence[NDArray[np.uint32]], column: NDArray[np.int32], prefix: NDArray[np.int64], shift: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rows of each prefix."""
    counts = np.zeros(len(column), np.int64)
    for j, own in enumerate(keys):
        at = np.flatnonzero(column == j)
        low, high = (np.searchsorted(own, (prefix[at] + more) << shift[at]) for more in (0, 1))
        counts[at] = high - low
    return counts


def drawn(plan: Plan, n_rows: int) -> int:
    """Rows that count in a tree."""
    return ceil(n_rows * plan.params.subsample)


def metric_words(plan: Plan, n_classes: int) -> int:
    """Words that say a metric after a round; none where nothing is followed."""
    if not plan.goal.follow:
        return 0
    return metric_of(plan, loss_of(plan, range(n_classes)), LabelFacts(0.0, 1.0)).n_sums
