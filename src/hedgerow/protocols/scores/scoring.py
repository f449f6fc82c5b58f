"""Scores and reasons of a table by sealed prediction: batches, fixed-point numbers, and what columns contribute.

A column's contribution to a row's score is the score minus the score that the row would have if the column were
missing. For a passive party's columns that party answers a second time about the same sealed weights; for the active
party's own, the row is asked about once more, with the column missing in the weights. Both are answers about the row's
id, and are counted as such.

Of a passive column that is what its owner's cuts change by themselves. In a tree that several passive parties cut, what
cuts below one another's change together is no party's alone, and is in no passive column's contribution.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import Key, Scores
from hedgerow.data.table import Table
from hedgerow.identity.identity import Identity
from hedgerow.model.fixed_scores import FixedScores
from hedgerow.model.model import Model, dense
from hedgerow.model.part import ownership_of, part_of, told_columns
from hedgerow.protocols.scores.active import SealedAsking
from hedgerow.protocols.scores.layout import Layout, placed
from hedgerow.protocols.scores.lockstep import together
from hedgerow.protocols.scores.opened_rows import OpenedRows, Progress, in_batches
from hedgerow.protocols.scores.openings import KeepsOpenings
from hedgerow.protocols.scores.owner_limits import check_owners
from hedgerow.protocols.scores.sessions import Route, Sessions
from hedgerow.protocols.scores.speakers import Routes, Speakers, with_units
from hedgerow.protocols.session.group import PartyGroup


@dataclass(frozen=True, eq=False)
class Reason:
    """What a party's column, or group of columns, contributes to rows' scores."""

    party: str
    label: str
    contributions: NDArray[np.float64]
    """Rows x classes, in the units of raw scores."""


class SealedScores:
    """The active party's side of sealed predictions with one model, for as many tables as come."""

    def __init__(
        self,
        group: PartyGroup,
        model: Model,
        fixed: FixedScores,
        keys: Sequence[Key],
        identity: Identity,
        threads: int,
        *,
        openings: KeepsOpenings | None = None,
    ) -> None:
        self.model, self.fixed, self.group = model, fixed, group
        own = ownership_of(model)
        self.columns, self.units = told_columns(model), own.units
        self.speakers = Speakers(group, [key.name for key in keys], own.once)
        weights, cutting = placed(model, fixed), {key.name for key in keys if len(part_of(model, key.name).tree)}

        def asking(route: Route) -> SealedAsking:
            answering = [key for key in keys if key.name in route and key.name in cutting]
            layout = Layout.of(model, [key.name for key in answering], model.loss.n_trees)
            return SealedAsking(group, layout, weights, answering, identity, threads, openings=openings)

        self.sessions = Sessions(group, asking, partial(check_owners, model, fixed), alone=openings is not None)
        if not self.speakers.groups:
            self.sessions.begin([self.speakers.names])

    def close(self) -> None:
        """Ask nothing more."""
        self.sessions.close()

    def scores(self, own_table: Table, progress: Progress = lambda _done, _of: None) -> NDArray[np.float32]:
        """Raw scores, rows x classes."""
        own_table = self._aligned(own_table)
        routes = self.speakers.routes(own_table)
        own_table = with_units(own_table, self.units, routes)
        return self.fixed.scores(self._opened(own_table, routes, progress).scores)

    def explained(
        self, own_table: Table, own_columns: Sequence[str], progress: Progress = lambda _done, _of: None
    ) -> tuple[NDArray[np.float32], list[Reason]]:
        """Raw scores, and what passive columns and these of the own contribute to them."""
        own_table = self._aligned(own_table)
        routes = self.speakers.routes(own_table)
        own_table = with_units(own_table, self.units, routes)
        opened = self._opened(own_table, routes, progress, reasons=True)
        labels = sorted(opened.reasons, key=lambda whose: self.speakers.names.index(whose[0]))
        reasons = [Reason(*whose, self._units(opened.reasons[whose])) for whose in labels]
        for name in own_columns:
            other = self._opened(self._without(own_table, name), routes, progress).scores
            reasons.append(Reason(ownership_of(self.model).active, name, self._units(opened.scores - other)))
        return self.fixed.scores(opened.scores), reasons

    def _aligned(self, own_table: Table) -> Table:
        self.model.check_gaps(own_table)
        return own_table.aligned(self.columns)

    def _opened(self, own_table: Table, routes: Routes, progress: Progress, *, reasons: bool = False) -> OpenedRows:
        """What becomes known: each row's score, from the answers of the parties that are asked about it."""
        opened = OpenedRows.of(own_table.n_rows, self.model.loss.n_trees, progress)
        for wave in self.sessions.waves(routes):
            asking = zip(wave, self.sessions.begin(wave), strict=True)
            asked = [in_batches(session, own_table, routes[route], opened, reasons) for route, session in asking]
            together(self.group, asked, Scores)
        return opened

    def _without(self, own_table: Table, name: str) -> Table:
        """The same rows, with a column missing."""
        values = dense(own_table).copy()
        values[:, [column.name for column in self.columns].index(name)] = np.nan
        return replace(own_table, values=values)

    def _units(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Differences of sums as differences of raw scores."""
        units = np.ldexp(sums.astype(np.float64), self.fixed.exponent)
        return units / max(self.fixed.n_rounds, 1) if self.fixed.average else units
