"""Cuts one table into hybrid parties, for simulations: an active one with labels, and passive ones with rows of theirs.

The active party has some columns, the labels and the ids of all rows. Passive parties have the other columns, the same
at all of them unless some are dropped, each for rows of its own. Whoever cuts or joins tables here holds everybody's
rows. Rows are dealt by hashes of (seed, id), so that their order in the table changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.holders import holder_of
from hedgerow.data.hybrid_cut import HybridCut
from hedgerow.data.hybrid_rows import ACTIVE, Deal, column_of, held, least
from hedgerow.data.ids import check_once
from hedgerow.data.partition import joined_column, numbered, positions_of
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError

__all__ = ["HybridCut", "HybridTables", "hybrid", "hybrid_pair", "merged", "places_of", "pooled"]


class HybridTables(NamedTuple):
    """The parties' tables."""

    active: Table
    """With labels."""
    passive: dict[str, Table]
    """By party, without labels."""

    def pooled(self) -> Table:
        """All in one table, as `pooled` joins them."""
        return pooled(self.active, self.passive)


def hybrid(table: Table, cut: HybridCut) -> HybridTables:
    """One table as hybrid parties; without ids, the row numbers become the ids."""
    return _Drawn.of(table, cut).training(numbered(table))


def hybrid_pair(
    table: Table, test: Table, cut: HybridCut, *, test_rows: Literal["alike", "even"] = "alike"
) -> tuple[HybridTables, HybridTables]:
    """Training and test rows as the same hybrid parties.

    Of test rows each party holds the shares that it holds of training rows ("alike"), or all parties hold the same
    ("even"): with skewed labels, who holds a row tells its label in the first case, and misleads in the second.
    """
    if test_rows not in ("alike", "even"):
        raise ParameterError(f"test_rows={test_rows!r} is unknown; it is 'alike' or 'even'.")
    drawn = _Drawn.of(table, cut)
    deal = drawn.deal if test_rows == "alike" else drawn.deal.evenly()
    return drawn.training(numbered(table)), drawn.tables(numbered(test), deal, none_empty=False)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What is drawn before rows are dealt: whose the columns are, and what share of rows each party holds."""

    cut: HybridCut
    active: tuple[Column, ...]
    passive: tuple[tuple[Column, ...], ...]
    """Of each passive party."""
    deal: Deal

    @classmethod
    def of(cls, table: Table, cut: HybridCut) -> "_Drawn":
        rng = np.random.default_rng([cut.seed, 0])
        grouped_by = None if cut.by is None else column_of(table, cut.by)[0]
        passive = _passive_columns(table, cut, grouped_by, rng)
        active = [c for c in table.columns if c not in passive and c.name != grouped_by]
        if not active:
            raise DataError("All columns are passive; leave at least one to the active party.")
        kept = _some(active, max(1, round(cut.active_columns * len(active))), rng)
        deal = Deal.of(table, cut)
        if cut.dropped >= len(passive):
            raise DataError(
                f"dropped={cut.dropped} could leave a party without any of the {len(passive)} passive columns; "
                f"choose at most {len(passive) - 1}."
            )
        own = [_some(passive, len(passive) - int(rng.integers(cut.dropped + 1)), rng) for _ in deal.names]
        return cls(cut, kept, tuple(own), deal)

    def training(self, table: Table) -> HybridTables:
        """Of training rows, of which the active party may have a share only."""
        made = self.tables(table, self.deal, none_empty=True)
        n = max(1, round(self.cut.active_rows * table.n_rows))
        if n == table.n_rows:
            return made
        return made._replace(active=made.active.take(least(made.active.row_keys(), n, self.cut.seed, ACTIVE)))

    def tables(self, table: Table, deal: Deal, *, none_empty: bool) -> HybridTables:
        rows = held(table, self.cut, deal, none_empty=none_empty)
        bare = replace(table, labels=None, weights=None)
        passive = {
            name: bare.take(np.flatnonzero(own)).aligned(columns)
            for name, own, columns in zip(deal.names, rows, self.passive, strict=True)
        }
        return HybridTables(table.aligned(self.active), passive)


def _passive_columns(table: Table, cut: HybridCut, by: str | None, rng: np.random.Generator) -> list[Column]:
    free = [column for column in table.columns if column.name != by]
    if isinstance(cut.passive, Sequence):
        chosen = [cut.passive] if isinstance(cut.passive, str) else cut.passive
        places = sorted(set(positions_of(chosen, table.names, "passive")))
        if not places or by in {table.names[place] for place in places}:
            raise ParameterError("passive= needs at least one column, and cannot name that of by=.")
        return [table.columns[place] for place in places]
    if cut.passive >= len(free):
        raise DataError(f"{cut.passive} of {len(free)} columns cannot be passive; leave one to the active party.")
    return list(_some(free, cut.passive, rng))


def _some(columns: Sequence[Column], n: int, rng: np.random.Generator) -> tuple[Column, ...]:
    """So many of the columns, in their order."""
    return tuple(columns[place] for place in np.sort(rng.permutation(len(columns))[:n]))


# One table again


def pooled(active: Table, passive: Mapping[str, Table]) -> Table:
    """The active party's rows with the columns of the passive parties, missing where nobody holds the row.

    Where several parties hold a row, a cell comes from the one with the least claim on the row among those that have
    the column (`holders.holder_of`). Ids of the active party may repeat, as accounts of payments do.
    """
    columns = _joined_columns(active, passive)
    keys = numbered(active).row_keys()
    places = {name: places_of(keys, name, table) for name, table in passive.items()}
    values = np.full((active.n_rows, len(columns)), np.nan, np.float32)
    owners = [tuple(name for name, table in passive.items() if column.name in table.names) for column in columns]
    for having in dict.fromkeys(owners):
        at = [j for j, parties in enumerate(owners) if parties == having]
        holder = holder_of(keys, {name: places[name] >= 0 for name in having})
        for number, name in enumerate(having):
            rows = np.flatnonzero(holder == number)
            own: Any = passive[name].aligned([columns[j] for j in at]).values
            values[rows[:, None], at] = own[places[name][rows]]
    whole = np.ascontiguousarray(np.concatenate([np.asarray(active.values), values], axis=1))
    return replace(active, columns=(*active.columns, *columns), values=whole)


def merged(passive: Mapping[str, Table]) -> Table:
    """What all passive parties hold in one table, each row once, in the order of the parties."""
    if not passive:
        raise DataError("There are no passive parties to merge; give at least one.")
    tables = [table.take(slice(None)) for table in passive.values()]
    if any(table.ids is None for table in tables):
        raise DataError("A passive party's table has no ids, by which rows are matched; give ids.")
    ids = np.concatenate([np.asarray(table.ids) for table in tables])
    keys = np.concatenate([table.row_keys() for table in tables])
    first = np.sort(np.unique(keys, return_index=True)[1])
    return pooled(Table((), np.empty((len(first), 0), np.float32), ids=ids[first]), passive)


def _joined_columns(active: Table, passive: Mapping[str, Table]) -> list[Column]:
    """The columns of all passive parties, each with the categories of all that have it."""
    found: dict[str, list[Column]] = {}
    for name, table in {"": active, **passive}.items():
        if not isinstance(table.values, np.ndarray):
            raise DataError(f"{f'Party {name!r}' if name else 'The active party'} has a sparse table; make it dense.")
        for column in table.columns if name else ():
            if column.name in active.names:
                raise DataError(f"The active party and {name!r} both have a column {column.name!r}; rename one.")
            found.setdefault(column.name, []).append(column)
    return [joined_column(same) for same in found.values()]


def places_of(keys: NDArray[np.uint64], name: str, table: Table) -> NDArray[np.intp]:
    """Where each of the keys stands in a party's table, -1 where it does not."""
    if table.ids is None:
        raise DataError(f"The table of party {name!r} has no ids, by which rows are matched; give ids.")
    own = table.row_keys()
    order = np.argsort(own, kind="stable")
    ascending = own[order]
    check_once(len(own), len(own) - int((ascending[1:] == ascending[:-1]).sum()))
    if not len(own):
        return np.full(len(keys), -1, np.intp)
    at = np.minimum(np.searchsorted(ascending, keys), len(own) - 1)
    return np.where(ascending[at] == keys, order[at], -1)
