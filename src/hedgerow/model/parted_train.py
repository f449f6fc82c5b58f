"""Training on a table whose rows lie in parts elsewhere: the model of the same table in one place, to the last bit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hedgerow.data.table import Column
from hedgerow.errors import DataError, ParameterError
from hedgerow.model import labels as ground
from hedgerow.model.model import ClassLabel, Model
from hedgerow.model.prepare import check_constraints, growth_of, n_categories, scales_of
from hedgerow.model.rows_part import PartFacts
from hedgerow.model.train import Task, tell_of
from hedgerow.trees import bins, bins_in_pieces, fixedpoint
from hedgerow.trees.bins import Grid
from hedgerow.trees.boost import boost
from hedgerow.trees.cut_search import CutSearch
from hedgerow.trees.forest import Forest
from hedgerow.trees.local import RoundSettings
from hedgerow.trees.losses import LabelFacts
from hedgerow.trees.params import TreeParams
from hedgerow.trees.parted_rows import PartedRows, PartLost, Parts

MOST_LOSSES = 8
"""How often parts may be lost before the first tree."""


def described(parts: Parts, most_labels: int) -> list[PartFacts]:
    """What every part has; refuses tables that are not parts of one."""
    found: list[PartFacts] = parts.each("facts", most_labels)
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


def train_parts(parts: Parts, facts: Sequence[PartFacts], params: TreeParams, task: Task) -> Model:
    """Train on all rows of all parts."""
    _check(task)
    columns = _columns(facts, task)
    check_constraints(params.monotone_constraints, columns, "the table has")
    for again in range(MOST_LOSSES):
        try:
            return _trained(parts, facts, columns, params, task)
        except PartLost:
            if again == MOST_LOSSES - 1:
                raise
            parts.restore()
    raise DataError("Parts of the table are lost again and again; see to the workers, and begin anew.")


def _trained(
    parts: Parts, facts: Sequence[PartFacts], columns: tuple[Column, ...], params: TreeParams, task: Task
) -> Model:
    sizes = [one.n_rows for one in facts]
    agreed = (columns, task.classes, task.scale_pos_weight, np.cumsum([0, *sizes])[:-1].tolist())
    ranges: list[LabelFacts] = parts.each("agree", *agreed)
    known = LabelFacts(
        min(one.low for one in ranges), max(one.high for one in ranges), max(one.max_weight for one in ranges) or 1.0
    )
    task.loss.check_labels(known)
    base = _base_score(parts, task, known)
    scales = scales_of(task.loss, known, base, params)
    grid = _grid(parts, columns, params, sum(sizes))
    settings = RoundSettings.of(params, task.loss, scales, base)

    def begin(numbers: Sequence[int], forest: Forest) -> None:
        parts.some(numbers, "agree", *agreed)
        parts.some(numbers, "begin", grid, settings, forest)

    parts.each("begin", grid, settings, Forest.empty())
    rows = PartedRows(parts, begin)
    done = boost(
        rows, growth_of(grid, params, scales, task.threads), params, scales, task.loss.n_trees, callbacks=task.callbacks
    )
    clipped, unseen = parts.total("lost_in_integers").tolist()
    tell_of(task, clipped, unseen, sum(sizes), scales.bits)
    return Model(done.forest, columns, task.loss, base, params, task.classes, label=task.label)


def _check(task: Task) -> None:
    ground.check_first_score(task.loss, task.base_score)
    if task.start is not None:
        raise ParameterError("A table in parts begins a model of its own; leave out the one that is to go on.")
    if task.held_out is not None or task.eval_metric is not None or task.early_stopping_rounds is not None:
        raise ParameterError("A table in parts is trained on without held-out rows; leave out what follows a metric.")


def _columns(facts: Sequence[PartFacts], task: Task) -> tuple[Column, ...]:
    """The columns of all parts together; of very many categories the most frequent ones."""
    columns = []
    for j, first in enumerate(facts[0].columns):
        counts: Counter[str] = Counter()
        for one in facts:
            counts.update(dict(zip(one.columns[j].categories, one.category_counts[j].tolist(), strict=True)))
        categories = tuple(sorted(counts))
        if len(categories) > bins.MOST_BINS:
            order = np.argsort([-counts[text] for text in categories], kind="stable")[: bins.MOST_BINS]
            task.notes.append(
                f"Column {first.name!r} has {len(categories)} categories; the {bins.MOST_BINS} most frequent are told "
                "apart, the others count as missing."
            )
            categories = tuple(categories[k] for k in sorted(order.tolist()))
        is_text = any(one.columns[j].kind == "categorical" for one in facts)
        columns.append(replace(first, kind="categorical" if is_text else "numeric", categories=categories))
    return tuple(columns)


def _base_score(parts: Parts, task: Task, facts: LabelFacts) -> float:
    if task.base_score is not None:
        return float(np.float32(task.loss.base_score(float(task.base_score))))
    return ground.first_score(task.loss, parts.total("moments", facts), facts)


def _grid(parts: Parts, columns: Sequence[Column], params: TreeParams, n_rows: int) -> Grid:
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
