"""What a run's cost depends on besides its plan: the sizes of tables that lie here, or those that are said."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from hedgerow.agreement.options import Horizontal
from hedgerow.agreement.plan import Plan
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.prepare import own_cuts
from hedgerow.protocols.align.lists import texts_of
from hedgerow.run.file.hybrid_tables import same_rows
from hedgerow.run.file.vertical_tables import common_rows, side_by_side
from hedgerow.run.forecast.trees import Trees, first_grown, searched


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
    """Ids, or names of columns, that the mean party brings to an alignment; None: as many as there are in common.

    In a hybrid run the different ids of the active party; rows are those that the mean passive party is linked with.
    """
    n_passive_ids: int | None = None
    """In a hybrid run the mean passive party's ids."""

    @classmethod
    def wide(cls, columns: int, max_bin: int, n_rows: int | None = None) -> "Shape":
        """Of so many columns, nothing else being known but perhaps the rows: every bin is used."""
        return cls(columns, columns * max_bin, n_rows)

    trees: Trees | None = None
    """As they were grown here first; None: full."""
    searched: tuple[int, int] | None = None
    """Requests for counts, and prefixes in them, that find the cut points of all numeric columns."""

    @classmethod
    def of(cls, tables: list[Table], plan: Plan, threads: int = 1) -> "Shape":
        """Of tables that lie here; the largest stands for all where each party grows trees by itself.

        It also does where some are sparse and others not, which do not go into one table.
        """
        largest, params = max(tables, key=lambda table: table.n_rows), plan.params
        alike = len({type(table.values) for table in tables}) == len({np.isnan(t.absent) for t in tables}) == 1
        whole = _in_one(tables, plan) if alike else largest
        own = whole if isinstance(plan.method, Horizontal) else largest
        grid, _ = own_cuts(whole, params.max_bin, params.min_cut_rows, threads)
        noised = plan.method.dp is not None
        by_counts = alike and isinstance(plan.method, Horizontal) and not plan.method.local_cuts and not noised
        return cls(
            whole.n_columns,
            int(grid.offsets[-1]),
            sum(table.n_rows for table in tables),
            _n_classes(tables, plan),
            trees=first_grown(own, plan, threads) if alike and not noised else None,
            searched=searched(whole, plan, threads) if by_counts else None,
        )

    @classmethod
    def by_columns(cls, tables: Mapping[str, Table], plan: Plan, threads: int = 1) -> "Shape":
        """Of a vertical run whose tables lie here; trees are reckoned over the rows that all parties have."""
        if plan.method.links:
            return _linked(tables, plan, threads)
        n_ids = ceil(sum(table.n_rows for table in tables.values()) / len(tables))
        tables = common_rows(tables) if plan.method.aligns else tables
        passive = [tables[name] for name in plan.answering]
        columns, n_bins = _mean_passive(passive, plan, threads)
        n_classes = _n_classes(list(tables.values()), plan)
        trees = _grown_by_columns(tables, plan, threads)
        return cls(columns, n_bins, passive[0].n_rows, n_classes, n_ids, trees=trees)


def _mean_passive(passive: list[Table], plan: Plan, threads: int) -> tuple[int, int]:
    """Columns and bins."""
    n_bins = 0
    for table in passive:
        n_bins += int(own_cuts(table, plan.params.max_bin, plan.params.min_cut_rows, threads)[0].offsets[-1])
    return ceil(sum(table.n_columns for table in passive) / len(passive)), ceil(n_bins / len(passive))


def _linked(tables: Mapping[str, Table], plan: Plan, threads: int) -> Shape:
    """Of a hybrid run; trees are reckoned over all of the active party's rows, with gaps where a party lacks one."""
    whole, ids = same_rows(tables, plan.active), texts_of(tables[plan.active])
    passive, rows = [], 0
    for name in plan.answering:
        linked = np.flatnonzero(np.isin(ids, texts_of(tables[name])))
        passive.append(whole[name].take(linked) if len(linked) else tables[name])
        rows += len(linked)
    n = len(passive)
    columns, n_bins = _mean_passive(passive, plan, threads)
    n_passive = ceil(sum(tables[name].n_rows for name in plan.answering) / n)
    n_classes, trees = _n_classes(list(tables.values()), plan), _grown_by_columns(whole, plan, threads)
    n_ids = len(set(ids))
    return Shape(columns, n_bins, max(1, ceil(rows / n)), n_classes, n_ids, n_passive, trees)


def _in_one(tables: list[Table], plan: Plan) -> Table:
    """The rows of all parties below each other, in the columns that the run uses."""
    every = {column.name: column for table in tables for column in table.columns}
    shared = [name for name in tables[0].names if all(name in table.names for table in tables)]
    parts = {}
    for i, table in enumerate(tables):
        if plan.method.all_columns:
            table = table.widened([column for name, column in every.items() if name not in table.names])
        names = list(every) if plan.method.all_columns else shared
        by_name = {column.name: column for column in table.columns}
        parts[str(i)] = table.aligned([by_name[name] for name in names])
    return partition.pooled(parts)


def _grown_by_columns(tables: Mapping[str, Table], plan: Plan, threads: int) -> Trees:
    """Trees over the columns of all parties beside each other; names may occur at several."""
    ends = np.cumsum([0, *(table.n_columns for table in tables.values())])
    places = {name: range(int(ends[i]), int(ends[i + 1])) for i, name in enumerate(tables)}
    whole = side_by_side(tables, plan.active)
    named = replace(whole, columns=tuple(replace(c, name=f"{j} {c.name}") for j, c in enumerate(whole.columns)))
    return first_grown(named, plan, threads, [places[name] for name in plan.answering])


def _n_classes(tables: list[Table], plan: Plan) -> int:
    if plan.goal.objective is not None:
        return 2
    labels: set[Any] = set().union(*(np.unique(t.labels).tolist() for t in tables if t.labels is not None))
    return len(labels)
