"""A passive party of a hybrid run: as in a vertical one, and where parties share columns, its part of totals.

The folder has the conversation and who sees what.
"""

import hashlib
from functools import partial
from typing import Never

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import Frame
from hedgerow.data.table import Column
from hedgerow.errors import ProtocolError
from hedgerow.protocols.align.lists import Tables
from hedgerow.protocols.columns import check_agreed
from hedgerow.protocols.hybrid.own_counts import OwnCounts
from hedgerow.protocols.hybrid.step_pads import StepPads
from hedgerow.protocols.session.owner import Attempt, PartyContext
from hedgerow.protocols.session.shell import Handler, Table
from hedgerow.protocols.vertical.party import VerticalParty
from hedgerow.trees.bins import Grid

AGREED, SHARED = "shared columns", "shared cut points"


class HybridParty(VerticalParty):
    """Answers what the active party asks of linked rows."""

    def __init__(self, context: PartyContext) -> None:
        super().__init__(context)
        self.agreed: tuple[Column, ...] = ()
        """The columns that others have too, where they share them."""
        self._shaped: Tables | None = None
        self._counted: OwnCounts | None = None
        self._pads: StepPads | None = None

    def stop(self) -> None:
        """No part of a total until all are introduced anew."""
        if self._pads is not None:
            self._pads.stop()

    def introduced(self, attempt: Attempt) -> Table[Never]:
        """As in a vertical run; where columns are shared, they are agreed on and not asked about."""
        table: dict[type[m.Request], Handler[Never]] = dict(super().introduced(attempt))
        if not self.sharing:
            return table
        del table[m.AskColumns]
        self.agreed, self._shaped, self._counted = (), None, None
        said = hashlib.sha256(b"hedgerow shared" + self.plan.digest + attempt.introduced.attempt.to_bytes(8, "little"))
        for key in attempt.introduced.keys:
            said.update(key.name.encode() + b"\0" + key.public_key)
        secrets = {number: attempt.pair_secrets[number] for number in self.numbers if number != attempt.number}
        pads = self._pads = StepPads(attempt.number, secrets, said.digest())
        return {
            **table,
            m.Agree: partial(self._agree, attempt, pads),
            m.AskCounts: partial(self._counts, attempt, pads),
            m.ShareColumns: partial(self._share, pads),
            m.BeginSealed: partial(self._begin_sums, pads),
        }

    @property
    def sharing(self) -> tuple[str, ...]:
        """The parties that share this one's columns, itself among them; nobody, if it has columns of its own."""
        return self.plan.group_of(self.name)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Their numbers in the plan."""
        return tuple(number for number, name in enumerate(self.plan.names) if name in self.sharing)

    @property
    def tables(self) -> Tables:
        """The own linked rows, in the shared columns where there are such."""
        if not self.sharing:
            return super().tables
        if not self.agreed:
            raise ProtocolError("The active party asks before columns are agreed.")
        if self._shaped is None:
            own, valid = super().tables
            self._shaped = own.aligned(self.agreed), None if valid is None else valid.aligned(self.agreed)
        return self._shaped

    def _agree(self, attempt: Attempt, pads: StepPads, request: m.Agree, frame: Frame) -> m.Done:
        own = self.context.owner.own_table
        check_agreed(self.plan, request, attempt.facts, own.n_rows, 0)
        if {column.name for column in request.columns} != {column.name for column in attempt.facts.columns}:
            raise ProtocolError("The columns that the active party agreed on are not those of this party.")
        self.journal.settle(AGREED, frame.sha256)
        self.journal.begin(frame.sha256)
        pads.hear(frame.sha256)
        self.agreed = request.columns
        return m.Done()

    def _counts(self, attempt: Attempt, pads: StepPads, request: m.AskCounts, frame: Frame) -> m.Answer:
        """What becomes known: own linked rows per prefix, in the sum over those that share columns."""
        pads.check()
        own = self.tables[0]
        if pads.begun:
            raise ProtocolError("The active party asks for counts after the trees have begun.")
        if len(request.column) and int(request.column.max()) >= own.n_columns:
            raise ProtocolError("Counts were asked for of a column that is not there.")
        if self._counted is None:
            self._counted = OwnCounts(self.context, attempt, self.numbers, pads.said, own)
        return self._counted.answer(request, frame)

    def _share(self, pads: StepPads, request: m.ShareColumns, _: Frame) -> m.Done:
        """Bin the own rows by cut points that all share."""
        self.ledger.check_guesses()
        tables, n = self.tables, len(self.agreed)
        sizes = np.diff(request.cut_starts)
        fits = len(request.cut_starts) == n + 1 and len(request.has_missing) == n and (sizes >= 0).all()
        if not fits or request.cut_starts[0] != 0 or request.cut_starts[-1] != len(request.cuts):
            raise ProtocolError("The cut points that the active party shares do not fit the columns.")
        grid = Grid(request.cuts, request.cut_starts, request.has_missing, _categorical(self.agreed))
        if not (sizes <= self._most_cuts()).all() or not _ordered(grid):
            raise ProtocolError("The cut points that the active party shares are not in order, or too many.")
        self._counted = None
        parts = [np.ascontiguousarray(part).tobytes() for part in (grid.cuts, grid.cut_starts, grid.has_missing)]
        # Before anything is said of them: refusals of one after the other (min_bin_rows) would tell where own rows lie.
        self.journal.settle(SHARED, hashlib.sha256(b"".join(parts)).digest())
        rows = self.begin_rows(request, tables, grid)
        if not rows.run.table.grid.equals(grid):
            raise ProtocolError("The active party shares other cut points than before in this run.")
        pads.hear(*parts)
        rows.run.pads, rows.run.sharing = pads.of, len(self.numbers)
        return m.Done()

    def _most_cuts(self) -> NDArray[np.int64]:
        """Of each column: by the plan, or one less than there are categories."""
        most = self.plan.params.max_bin
        bins = [max(len(c.categories), 1) if c.kind == "categorical" else most for c in self.agreed]
        return np.array(bins, np.int64) - 1

    def _begin_sums(self, pads: StepPads, request: m.BeginSealed, frame: Frame) -> m.Answer:
        pads.begun += 1
        pads.hear(frame.sha256)
        return self._answer(request, frame)


def _categorical(columns: tuple[Column, ...]) -> NDArray[np.bool_]:
    return np.array([column.kind == "categorical" for column in columns], np.bool_)


def _ordered(grid: Grid) -> bool:
    """Whether the cuts of each column grow, and are numbers."""
    grows = np.diff(grid.cuts) > 0
    grows[grid.cut_starts[1:-1][(grid.cut_starts[1:-1] > 0) & (grid.cut_starts[1:-1] < len(grid.cuts))] - 1] = True
    return bool(np.isfinite(grid.cuts).all() and grows.all())
