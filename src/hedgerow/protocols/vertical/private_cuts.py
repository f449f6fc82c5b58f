"""Cut points of own columns from noised counts, where a model is promised to tell little of any linked row.

Every owner does this for its own columns by itself and says nothing of it: its cut points stay where they are, and are
in the model's part that it has. It enters what they cost in its own ledger, and keeps the noised counts until the run
is over, so that it finds the same cut points after a restart.

Sees in the clear.  Its own table.
"""

import hashlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.dp_vertical import way_of
from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.errors import DataError
from hedgerow.model.noised_terms import all_released
from hedgerow.model.prepare import n_categories
from hedgerow.privacy.accountant import Release, mu_of_budget
from hedgerow.trees.bins import MOST_BINS, Grid
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.noised.drawn_rule import OwnedCuts
from hedgerow.trees.noised.fit import noised_grid
from hedgerow.trees.noised.label_rows import I64
from hedgerow.trees.noised.label_rows import Release as Noise
from hedgerow.trees.noised.rule import ROW_UNITS, Opening, Terms, require
from hedgerow.trees.noised.sums import OwnRows, OwnSums


def has_private_model(plan: Plan) -> bool:
    """Whether the model, all parts together, is promised to tell little of a linked row."""
    return plan.method.dp is not None and way_of(plan.method.dp) == "model"


def has_private_columns(plan: Plan) -> bool:
    """Whether the passive parties' columns are promised to tell the active party little of any row."""
    return plan.method.dp is not None and way_of(plan.method.dp) == "passive"


def declared(plan: Plan, table: Table) -> Table:
    """The table with the categories that are declared; a rare one, or that there is one, may tell of a single row."""
    dp = plan.method.dp
    if dp is None or not (has_private_model(plan) or has_private_columns(plan)):
        return table
    known = dict(dp.categories)
    bare = [c.name for c in table.columns if c.kind == "categorical" and c.name not in known]
    if bare and plan.coordinator:
        raise DataError(
            f"Column {bare[0]!r} has categories, of which a rare one would tell of a single row; declare them, like "
            f'[privacy] categories = {{"{bare[0]}" = ["one", "other"]}}, or leave the column out.'
        )
    columns = tuple(
        replace(c, categories=known[c.name]) if c.kind == "categorical" and c.name in known else c
        for c in table.columns
    )
    if most := [c.name for c in columns if len(c.categories) > MOST_BINS]:
        raise DataError(f"Column {most[0]!r} has more than {MOST_BINS} categories; declare those to be told apart.")
    return table.aligned(columns)


def cuts_of(plan: Plan, n_columns: int, n_numeric: int, rows_per_id: int = 1) -> OwnedCuts:
    """What an owner of so many columns releases."""
    dp = plan.method.dp
    mu = mu_of_budget(dp.epsilon, dp.delta) if dp is not None else 0.0
    return OwnedCuts(mu, len(plan.members), n_columns, n_numeric, rows_per_id)


def cuts_for(plan: Plan, table: Table, rows_per_id: int = 1) -> OwnedCuts:
    """What the owner of this table releases, whose unit of the promise has at most so many rows there."""
    return cuts_of(plan, table.n_columns, sum(column.kind == "numeric" for column in table.columns), rows_per_id)


def each_once(plan: Plan, table: Table) -> Table:
    """A passive party's rows as they are counted: one of many rows of the active party is counted once."""
    if not plan.method.links:
        return table
    return table.take(np.sort(np.unique(np.asarray(table.ids), return_index=True)[1]))


def releases_of_kinds(plan: Plan, by_category: NDArray[np.bool_]) -> tuple[Release, ...]:
    """The same of columns of which no more is known than which have categories."""
    return all_released(cuts_of(plan, len(by_category), int((~by_category).sum())).opening.planned)


def private_grid(plan: Plan, table: Table, cuts: OwnedCuts, noise: Noise, threads: int) -> Grid:
    """Cut points of a table from counts with noise; nothing is said."""
    counted = NoisedCounts(cuts.opening, sums_of(table, cuts.terms, threads), noise)
    n_rows = float(counted.rows()[0]) / ROW_UNITS
    return noised_grid(counted, cuts.search(n_rows, plan.params.max_bin), n_categories(table.columns))


def sums_of(table: Table, terms: Terms, threads: int) -> OwnSums:
    """Counts of one table's rows, whatever their labels are."""
    return OwnSums(OwnRows(table.values, table.absent, np.zeros(table.n_rows, np.float32)), terms, threads)


class NoisedCounts:
    """Counts of one table, with noise."""

    def __init__(self, opening: Opening, own: OwnSums, noise: Noise) -> None:
        self.opening, self.own, self.noise = opening, own, noise
        self._level = 0

    def rows(self) -> I64:
        """The number of rows."""
        return self.noise("row count", self.opening.rows, b"", self.own.rows())

    def counts(self, asked: Prefixes) -> I64:
        """Rows with each prefix."""
        self._level += 1
        told = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in asked)).digest()
        planned = require(self.opening.cuts)
        return self.noise(f"cut points, level {self._level}", planned, told, self.own.counts(asked))
