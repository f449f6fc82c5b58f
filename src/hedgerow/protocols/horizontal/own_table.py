"""A party's own table, counted before the first tree and binned for the trees; the rows that lie here.

`cut_points` has the conversation, and what the driver sees of the counts.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.corridor.messages import AskMoments, ClassLabel, LocalCuts
from hedgerow.corridor.wire import Frame
from hedgerow.data.table import Column, Table
from hedgerow.errors import ProtocolError
from hedgerow.model import labels
from hedgerow.model.prepare import Binned, own_cuts, under_cuts
from hedgerow.protocols.horizontal.counts import LABEL, NO_COLUMN, VALID_LABEL, VALID_WEIGHT, WEIGHT, asked_by
from hedgerow.protocols.party_rows import RowsAfter
from hedgerow.trees.bins import BinMatrix, Grid
from hedgerow.trees.cut_search import KEY_BITS
from hedgerow.trees.fedtree_histograms import InterpolatedRows, Spread
from hedgerow.trees.forest import Forest
from hedgerow.trees.local import LocalRows, RoundSettings
from hedgerow.trees.losses import LabelFacts

ZERO_KEY = _native.sorted_keys([np.zeros(1, np.float32)], 1)[0][0]
"""The ordered key of 0."""


class OwnTable:
    """Tables in the agreed shape; their values as sorted keys for as long as counts are asked for."""

    def __init__(
        self,
        own: Table,
        valid: Table | None,
        classes: Sequence[ClassLabel],
        scale_pos_weight: float,
        agreement: bytes,
        threads: int,
    ) -> None:
        self.threads = threads
        self.table, self.valid, self.classes, self.agreement = own, valid, classes, agreement
        self.labels = labels.labels_of(own, classes)
        self.weights = labels.weights_of(own, classes, scale_pos_weight)
        self._columns: Any = None
        self.gappy: set[int] = set()
        """Columns found to have missing values, when their rows were counted."""
        self._keys: dict[int, NDArray[np.uint32]] = {}

    @property
    def columns(self) -> tuple[Column, ...]:
        """The agreed ones."""
        return self.table.columns

    def counts(self, frame: Frame) -> NDArray[np.int64]:
        """Own rows with each prefix."""
        asked = frame.derived(asked_by)
        if asked.columns and not 0 <= asked.columns[0] <= asked.columns[-1] <= self.table.n_columns + VALID_WEIGHT:
            raise ProtocolError(NO_COLUMN)
        self._sort({run.column for run in asked.runs if run.digits < KEY_BITS or run.column < self.table.n_columns})
        keys = self._keys
        prefixes = [(keys[run.column], run.prefixes, run.digits) for run in asked.runs if run.digits < KEY_BITS]
        found = _native.count_prefixes(prefixes, self.threads)
        if len(prefixes) == len(asked.runs) and self._columns is None:
            return found
        out = np.empty(len(asked.shift), np.int64)
        out[asked.shift < KEY_BITS] = found
        for run in asked.runs:
            if run.digits == KEY_BITS:
                out[run.at] = self._present(run.column)
            elif gaps := self._gaps(run.column):
                out[run.at] += gaps * (run.prefixes == ZERO_KEY >> run.digits)
        return out

    def _sort(self, columns: set[int]) -> None:
        """The keys of these columns, from now on."""
        if self._columns is None and not isinstance(self.table.values, np.ndarray):
            self._columns = self.table.values.tocsc()
        new = sorted(columns - self._keys.keys())
        if new:
            keys = _native.sorted_keys([self._values(column) for column in new], self.threads)
            self._keys.update(zip(new, keys, strict=True))

    def _present(self, column: int) -> int:
        """How many rows have a value there; labels and weights all rows have."""
        if column >= self.table.n_columns:
            return len(self._values(column))
        n_rows = len(self._keys[column]) + self._gaps(column)
        if n_rows < self.table.n_rows:
            self.gappy.add(column)
        return n_rows

    def _gaps(self, column: int) -> int:
        """Rows whose zero is not stored."""
        if self._columns is None or column >= self.table.n_columns or self.table.absent != 0:
            return 0
        begin, end = self._columns.indptr[column : column + 2]
        return self.table.n_rows - int(end - begin)

    def _values(self, column: int) -> NDArray[np.float32]:
        if column < self.table.n_columns:
            if self._columns is None:
                return np.asarray(self.table.values[:, column])
            begin, end = self._columns.indptr[column : column + 2]
            return np.ascontiguousarray(self._columns.data[begin:end])
        which, valid = column - self.table.n_columns, self.valid
        if which == LABEL:
            return self.labels
        if which == WEIGHT:
            return self.weights if len(self.weights) else np.ones(self.table.n_rows, np.float32)
        if valid is None:
            return np.empty(0, np.float32)
        if which == VALID_LABEL:
            return labels.labels_of(valid, self.classes)
        return np.ones(valid.n_rows, np.float32) if valid.weights is None else labels.own_weights(valid)

    def moments(self, request: AskMoments) -> NDArray[np.int64]:
        """Own sums of labels and weights."""
        facts = LabelFacts(request.low, request.high, request.max_weight)
        self.check(facts)
        return labels.moments(self.labels, self.weights, facts)

    def check(self, facts: LabelFacts) -> None:
        """Refuse a range that this party's own labels or weights leave: it would clip them in silence."""
        low, high = float(self.labels.min(initial=np.inf)), float(self.labels.max(initial=-np.inf))
        heaviest = float(self.weights.max()) if len(self.weights) else float(len(self.labels) > 0)
        if low < facts.low or high > facts.high or heaviest > facts.max_weight or facts.max_weight <= 0:
            raise ProtocolError("The agreed range of labels or weights leaves out some of this party's rows.")

    def local_cuts(self, max_bin: int, threads: int) -> LocalCuts:
        """Own quantiles. What becomes known to the driver: values of single rows."""
        grid, _ = own_cuts(self.table, max_bin, 1, threads)
        return LocalCuts(grid.cuts, grid.cut_starts, grid.has_missing)

    def forget_keys(self) -> None:
        """Counts are no longer asked for."""
        self._keys, self._columns = {}, None

    def binned(self, grid: Grid, settings: RoundSettings, own_bins: int | None) -> RowsAfter:
        """The rows under the agreed cut points, binned once; `own_bins` as in `PartyTable`."""
        # A gap without a bin of its own would count as the least value in silence.
        if any(not grid.has_missing[column] for column in self.gappy):
            raise ProtocolError("The agreed cut points have no place for this party's missing values.")
        valid, threads = self.valid, self.threads
        own = Binned(self.table, under_cuts(self.table, grid, threads), self.labels, self.weights)
        held_out = None
        if valid is not None:
            numbers = labels.labels_of(valid, self.classes), labels.own_weights(valid)
            held_out = Binned(valid, under_cuts(valid, grid, threads), *numbers)
        spread = None if own_bins is None else self._spread(grid, own_bins)

        def after(trees: Forest) -> LocalRows:
            sample = own.sample(settings, trees, threads)
            follows = None if held_out is None else held_out.sample(settings, trees, threads, held_out=True)
            if spread is None:
                return LocalRows(sample, settings, threads, follows)
            return InterpolatedRows(sample, settings, threads, follows, *spread)

        return after

    def _spread(self, grid: Grid, own_bins: int) -> tuple[BinMatrix, Spread]:
        """Bins of the own rows under their own cut points, and how sums over them become sums over the agreed ones."""
        found, _ = own_cuts(self.table, own_bins, 1, self.threads)
        own = Grid(found.cuts, found.cut_starts, grid.has_missing, grid.categorical)
        return under_cuts(self.table, own, self.threads), Spread(own, grid, self.table.ranges())
