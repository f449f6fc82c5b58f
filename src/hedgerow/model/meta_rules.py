"""How many trees of a forest one rule of passive columns fixes (the meta-rules of HybridTree, section 3.2, measured).

A rule is a condition on a passive column, or all conditions from a root to a passive cut if they are of at most three
columns. A rule fixes a tree if all rows that meet it reach one leaf, or nearly one value. The measure is the largest
share of trees that one rule fixes. Beside it stands a control: the same for a forest whose passive columns were
shuffled over the rows, so that they know nothing. For whoever holds the pooled table.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.errors import DataError
from hedgerow.model.model import Model, dense
from hedgerow.model.train import Task, train
from hedgerow.trees.forest import Forest
from hedgerow.trees.params import TreeParams

MOST_COLUMNS, MOST_SUPPORT, SPREAD = 3, 0.9, 0.1
MOST_RULES = 1500
"""Rules that are measured; of more, so many are drawn."""
PARAMS = TreeParams(n_estimators=40, max_depth=7, max_bin=32)

Bools = NDArray[np.bool_]
Step = tuple[int, bool]
"""A cut's place in the forest, and whether a row goes left."""


@dataclass(frozen=True)
class Fixed:
    """The largest share of trees that one rule fixes."""

    exactly: float
    """All rows that meet the rule reach one leaf."""
    nearly: float
    """The spread of their values is at most a tenth of that of all rows."""
    rules: int
    """How many rules had enough rows, and not too many."""


@dataclass(frozen=True)
class MetaRules:
    """The measure, and that of a forest whose passive columns were shuffled."""

    passive: Fixed
    """Of the table as it is."""
    shuffled: Fixed
    """Of the same with passive columns that know nothing."""


def meta_rules(
    table: Table,
    passive: Collection[str],
    task: Task,
    *,
    params: TreeParams = PARAMS,
    least_support: float = 0.01,
    seed: int = 0,
) -> MetaRules:
    """Train on the pooled table and on one with its passive columns shuffled, and measure both."""
    shuffled = _shuffled(table, passive, seed)
    found = (fixed_by_rules(train(one, params, task), one, passive, least_support, seed) for one in (table, shuffled))
    return MetaRules(*found)


def fixed_by_rules(
    model: Model, table: Table, passive: Collection[str], least_support: float = 0.01, seed: int = 0
) -> Fixed:
    """The largest share of the model's trees that one rule fixes on these rows; trees without a cut do not count."""
    values, forest = dense(model.aligned(table)), model.forest
    places = forest.leaf_places(values, 1) + forest.roots[:-1]
    outputs = forest.values[places].astype(np.float64)
    spread = outputs.std(axis=0)
    cut = spread > 0
    if not cut.any():
        return Fixed(0.0, 0.0, 0)
    places, outputs, spread = places[:, cut], outputs[:, cut], spread[cut]
    exactly = nearly = 0.0
    n_rules = 0
    for rule in _chosen(forest, _passive_numbers(model, passive), seed):
        met = np.logical_and.reduce([_goes(forest, values, *step) for step in rule])
        if not least_support <= met.mean() <= MOST_SUPPORT:
            continue
        n_rules += 1
        reached = places[met]
        exactly = max(exactly, float((reached == reached[0]).all(axis=0).mean()))
        nearly = max(nearly, float((outputs[met].std(axis=0) <= SPREAD * spread).mean()))
    return Fixed(exactly, nearly, n_rules)


def _passive_numbers(model: Model, passive: Collection[str]) -> set[int]:
    lacking = sorted(set(passive) - set(model.names))
    if lacking or not passive:
        raise DataError(f"The passive columns must be columns of the table; {lacking[:1] or 'none'} is named.")
    return {model.names.index(name) for name in passive}


def _shuffled(table: Table, passive: Collection[str], seed: int) -> Table:
    """Rows of passive columns, each as it is, at other rows of the table."""
    values = dense(table).copy()
    at = [j for j, name in enumerate(table.names) if name in passive]
    values[:, at] = values[np.random.default_rng(seed).permutation(table.n_rows)][:, at]
    return replace(table, values=values)


def _chosen(forest: Forest, passive: set[int], seed: int) -> list[tuple[Step, ...]]:
    """Rules that are measured, no two with the same conditions."""
    rules = {tuple(sorted({_condition(forest, step) for step in rule})): rule for rule in _rules(forest, passive)}
    every = [rules[key] for key in sorted(rules)]
    if len(every) <= MOST_RULES:
        return every
    return [every[i] for i in np.sort(np.random.default_rng(seed).permutation(len(every))[:MOST_RULES])]


def _rules(forest: Forest, passive: set[int]) -> Iterator[tuple[Step, ...]]:
    paths: dict[int, tuple[Step, ...]] = {}
    for place, column in enumerate(forest.columns.tolist()):  # children stand behind their parents
        path = paths.pop(place, ())
        if column < 0:
            continue
        for side, left in enumerate((True, False)):
            whole = (*path, (place, left))
            paths[int(forest.children[place]) + side] = whole
            if column in passive:
                yield ((place, left),)
                if len({int(forest.columns[at]) for at, _ in whole}) <= MOST_COLUMNS:
                    yield whole


def _condition(forest: Forest, step: Step) -> tuple[int, float, bool, tuple[int, ...], bool]:
    place, left = step
    number = int(forest.sets[place])
    categories = tuple(forest.category_sets[number].tolist()) if number >= 0 else ()
    missing_left = bool(forest.missing_left[place])
    return int(forest.columns[place]), float(forest.thresholds[place]), missing_left, categories, left


def _goes(forest: Forest, values: NDArray[np.float32], place: int, left: bool) -> Bools:
    """Which rows go that way at a cut."""
    cells = values[:, forest.columns[place]]
    missing = np.isnan(cells)
    if forest.sets[place] >= 0:
        missing |= cells > 255  # as prediction takes a category that has no bit
        bits = np.unpackbits(forest.category_sets[forest.sets[place]].view(np.uint8), bitorder="little")
        goes_left = bits[np.where(missing, 0, cells).astype(np.intp)].astype(np.bool_)
    else:
        goes_left = cells < forest.thresholds[place]
    goes_left = np.where(missing, forest.missing_left[place], goes_left)
    return goes_left if left else ~goes_left
