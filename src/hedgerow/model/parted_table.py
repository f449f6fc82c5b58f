"""What all parts of a table have together: columns, classes, and cut points by counts."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from hedgerow.data.table import Column
from hedgerow.errors import DataError
from hedgerow.model.model import ClassLabel
from hedgerow.model.prepare import n_categories
from hedgerow.model.rows_part import PartFacts
from hedgerow.trees import bins, bins_in_pieces, fixedpoint
from hedgerow.trees.bins import Grid
from hedgerow.trees.cut_search import CutSearch
from hedgerow.trees.params import TreeParams
from hedgerow.trees.parted_rows import PartLost, Parts

T = TypeVar("T")
MOST_LOSSES = 8
"""How often parts may be lost before the first tree."""


def had_again(parts: Parts, work: Callable[[], T]) -> T:
    """What comes of it before the first tree; where parts are lost they are made again, and it begins anew."""
    for _ in range(MOST_LOSSES):
        try:
            return work()
        except PartLost:
            with suppress(PartLost):
                parts.restore()
    raise DataError("Parts of the table are lost again and again; see to the workers, and begin anew.")


def described(parts: Parts, most_labels: int) -> list[PartFacts]:
    """What every part has; refuses tables that are not parts of one."""
    found: list[PartFacts] = had_again(parts, partial(parts.each, "facts", most_labels))
    names = [tuple(column.name for column in one.columns) for one in found]
    if len(set(names)) > 1:
        odd = next(one for one in names if one != names[0])
        differ = sorted(set(odd) ^ set(names[0])) or list(odd)
        raise DataError(f"Parts of the table differ in their columns, as in {differ[0]!r}; give all the same columns.")
    fixedpoint.check_rows(sum(one.n_rows for one in found))
    return found


def classes_in(facts: Sequence[PartFacts]) -> list[ClassLabel]:
    """The classes of all parts, in order."""
    return sorted({label for one in facts for label in one.classes})


def columns_of(facts: Sequence[PartFacts], notes: list[str]) -> tuple[Column, ...]:
    """The columns of all parts together; of very many categories the most frequent ones."""
    columns = []
    for j, first in enumerate(facts[0].columns):
        counts: Counter[str] = Counter()
        for one in facts:
            counts.update(dict(zip(one.columns[j].categories, one.category_counts[j].tolist(), strict=True)))
        categories = tuple(sorted(counts))
        if len(categories) > bins.MOST_BINS:
            order = np.argsort([-counts[text] for text in categories], kind="stable")[: bins.MOST_BINS]
            notes.append(
                f"Column {first.name!r} has {len(categories)} categories; the {bins.MOST_BINS} most frequent are told "
                "apart, the others count as missing."
            )
            categories = tuple(categories[k] for k in sorted(order.tolist()))
        is_text = any(one.columns[j].kind == "categorical" for one in facts)
        columns.append(replace(first, kind="categorical" if is_text else "numeric", categories=categories))
    return tuple(columns)


def grid_of(parts: Parts, columns: Sequence[Column], params: TreeParams, n_rows: int) -> Grid:
    """Cut points from counts alone, which are the same wherever the rows lie."""
    sizes = n_categories(columns)
    present = np.asarray(parts.total("present"))
    search = CutSearch(np.where(sizes > 0, 0, present), params.max_bin, params.min_cut_rows)
    while len((asked := search.ask()).column):
        search.tell(parts.total("counts_of", asked))
    cuts, starts = search.cuts()
    found = []
    for j, n in enumerate(sizes.tolist()):
        if n:
            found.append(bins_in_pieces.of_categories(n))
            continue
        own, no = cuts[starts[j] : starts[j + 1]], np.zeros(1, np.bool_)
        grid = Grid(own, np.array([0, len(own)], np.int64), no | (present[j] < n_rows), no)
        found.append((grid, np.full(1, -1, np.int32)))
    return bins_in_pieces.joined(found)[0]
