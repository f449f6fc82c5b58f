"""Scores and reasons of a table by sealed prediction: batches, fixed-point numbers, and what columns contribute.

A column's contribution to a row's score is the score minus the score that the row would have if the column were
missing. For a passive party's columns that party answers a second time about the same sealed weights; for the active
party's own, the row is asked about once more, with the column missing in the weights. Both are answers about the row's
id, and are counted as such.

Of a passive column that is what its owner's cuts change by themselves. In a tree that several passive parties cut, what
cuts below one another's change together is no party's alone, and is in no passive column's contribution.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import Key
from hedgerow.data.table import Table
from hedgerow.errors import ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model.fixed_scores import FixedScores
from hedgerow.model.model import Model, dense
from hedgerow.model.part import ownership_of, part_of
from hedgerow.model.score_paths import check_paths
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.scores.active import Opened, SealedAsking
from hedgerow.protocols.scores.blur import check_blur
from hedgerow.protocols.scores.layout import Layout, placed
from hedgerow.protocols.scores.openings import KeepsOpenings
from hedgerow.protocols.session.group import PartyGroup

Progress = Callable[[int, int], None]
"""Told how many of how many rows are done."""


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
        self.model, self.fixed = model, fixed
        weights = placed(model, fixed)
        layout = Layout.of(model, tuple(key.name for key in keys), model.loss.n_trees)
        self.asking = SealedAsking(group, layout, weights, keys, identity, threads, openings=openings)
        blurs = {name: ready.blur_permille for name, ready in zip(layout.names, self.asking.session.ready, strict=True)}
        check_blur(self.asking.method, fixed, blurs)
        for name, ready in zip(layout.names, self.asking.session.ready, strict=True):
            first, last = ownership_of(model).span(name)
            if len(ready.reasons) > last - first + 1:
                raise ProtocolError(f"Party {name!r} would tell contributions of more columns than it has.")
            if ready.least_paths:
                check_paths(model, name, ready.least_paths, bits=fixed.bits)
        self.columns = part_of(model, ownership_of(model).active).columns

    def close(self) -> None:
        """Ask nothing more."""
        self.asking.close()

    def scores(self, own_table: Table, progress: Progress = lambda _done, _of: None) -> NDArray[np.float32]:
        """Raw scores, rows x classes."""
        opened = self._opened(own_table, reasons=False, progress=progress)
        return self.fixed.scores(np.concatenate([one.scores for one in opened]))

    def explained(
        self, own_table: Table, own_columns: Sequence[str], progress: Progress = lambda _done, _of: None
    ) -> tuple[NDArray[np.float32], list[Reason]]:
        """Raw scores, and what passive columns and these of the own contribute to them."""
        opened = self._opened(own_table, reasons=True, progress=progress)
        sums = np.concatenate([one.scores for one in opened])
        reasons = []
        for number, party in enumerate(self.asking.layout.names):
            told = np.concatenate([one.reasons[number] for one in opened], axis=1)
            labels = self.asking.session.ready[number].reasons
            reasons += [Reason(party, label, self._units(of)) for label, of in zip(labels, told, strict=True)]
        for name in own_columns:
            without = self._without(own_table, name)
            other = np.concatenate([one.scores for one in self._opened(without, reasons=False, progress=progress)])
            reasons.append(Reason(ownership_of(self.model).active, name, self._units(sums - other)))
        return self.fixed.scores(sums), reasons

    def _opened(self, own_table: Table, *, reasons: bool, progress: Progress) -> list[Opened]:
        self.model.check_gaps(own_table)
        own_table = own_table.aligned(self.columns)
        ids, step, opened = texts_of(own_table), self.asking.layout.most_rows, []
        for first in range(0, len(ids), step):
            batch = slice(first, first + step)
            opened.append(self.asking.ask(ids[batch], dense(own_table.take(batch)), reasons))
            progress(min(first + step, len(ids)), len(ids))
        return opened

    def _without(self, own_table: Table, name: str) -> Table:
        """The same rows, with a column missing."""
        own_table = own_table.aligned(self.columns)
        values = dense(own_table).copy()
        values[:, [column.name for column in self.columns].index(name)] = np.nan
        return replace(own_table, values=values)

    def _units(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Differences of sums as differences of raw scores."""
        units = np.ldexp(sums.astype(np.float64), self.fixed.exponent)
        return units / max(self.fixed.n_rounds, 1) if self.fixed.average else units
