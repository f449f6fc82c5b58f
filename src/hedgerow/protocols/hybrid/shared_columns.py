"""Columns that several passive parties have: names, kinds and cut points, agreed on as in a horizontal run.

The folder has the conversation and who sees what.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hedgerow.agreement.options import FEWEST_MASKED
from hedgerow.corridor.messages import Agree, Done, Facts, NamedColumns, ShareColumns
from hedgerow.errors import PrivacyError
from hedgerow.model.train import Ready
from hedgerow.protocols.align.lists import rows_digest
from hedgerow.protocols.columns import same_columns
from hedgerow.protocols.horizontal.cut_points import Counter, grid_by_counts
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.vertical.held_rows import LinkedRows, RowsByParty
from hedgerow.trees.bins import Grid


def shared_columns(group: SummingGroup, ready: Ready, facts: Mapping[str, Facts], links: RowsByParty) -> NamedColumns:
    """The columns that the parties of this group share. What becomes known: see the folder."""
    columns = same_columns(facts)
    _check_rows(group, links)
    group.tell(Agree(columns, (), ""), Done)
    n_rows = sum(len(linked.own) for linked in links.values())
    grid = grid_by_counts(Counter(group), columns, group.plan.params, n_rows)
    lacks = n_rows < ready.table.n_rows
    if lacks:
        grid = replace(grid, has_missing=np.ones(grid.n_columns, np.bool_))
    group.ask({party: _request(group, ready, linked, grid, lacks) for party, linked in links.items()}, Done)
    return NamedColumns(grid.n_values, grid.has_missing, grid.categorical, tuple(column.name for column in columns))


def _check_rows(group: SummingGroup, links: RowsByParty) -> None:
    """A party without any of the rows hides nobody."""
    some, fewest = (
        sum(len(linked.own) > 0 for linked in links.values()),
        2 if group.plan.method.allow_two else FEWEST_MASKED,
    )
    if 0 < some < fewest:
        raise PrivacyError(
            f"Of the parties that share columns ({', '.join(links)}) only {some} have any of the rows, so that totals "
            f"would show one party's sums; {fewest} must, or use shared = false."
        )


def _request(group: SummingGroup, ready: Ready, linked: LinkedRows, grid: Grid, lacks: bool) -> ShareColumns:
    plan, held_out = group.plan, ready.task.held_out
    valid = None if held_out is None or linked.held_out is None else held_out.take(linked.held_out)
    rows = rows_digest(plan, ready.table.take(linked.own))
    return ShareColumns(rows, rows_digest(plan, valid), grid.cuts, grid.cut_starts, grid.has_missing, lacks)
