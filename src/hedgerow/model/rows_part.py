"""A part of a table, in the hands of a worker of whoever owns the table: what it answers while a model is trained.

All of it stays with one owner; nothing here is said to another party.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError
from hedgerow.model import labels as ground
from hedgerow.model.model import ClassLabel, distinct
from hedgerow.model.prepare import Binned, under_cuts
from hedgerow.trees.bins import Grid
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.forest import Forest
from hedgerow.trees.grow import Summed
from hedgerow.trees.local import LocalRows, RoundSettings
from hedgerow.trees.losses import LabelFacts
from hedgerow.trees.splits import Cuts, Nodes


class PartFacts(NamedTuple):
    """What a part has."""

    columns: tuple[Column, ...]
    category_counts: tuple[NDArray[np.int64], ...]
    """Rows of every category, column by column."""
    n_rows: int
    classes: tuple[ClassLabel, ...]
    """Its different labels, where they are asked for."""


class RowsPart:
    """Rows of a table that are asked by name, as `PartedRows` does."""

    def __init__(self, table: Table, number: int, threads: int) -> None:
        if not isinstance(table.values, np.ndarray):
            raise DataError("Tables in parts are dense; give dense arrays or frames.")
        self.table, self.number, self.threads = ground.used(table), number, threads
        self.labels = self.weights = np.empty(0, np.float32)
        self.first = 0
        """How many rows the parts before it have."""
        self.rows: LocalRows | None = None
        self._keys: list[NDArray[np.uint32]] = []
        self._round = -1
        self._before: list[NDArray[np.float32]] = []
        """Scores before this round."""

    def facts(self, most_labels: int) -> PartFacts:
        """What is known of it before anything is agreed on; its different labels, but no more than so many."""
        table = self.table
        if table.labels is None:
            raise DataError("The table has no labels; name the label column.")
        counts = tuple(_category_counts(table, j) for j in range(table.n_columns))
        own_classes = distinct(table.labels)[:most_labels] if most_labels else ()
        return PartFacts(table.columns, counts, table.n_rows, own_classes)

    def agree(
        self, columns: Sequence[Column], classes: tuple[ClassLabel, ...], scale_pos_weight: float, firsts: Sequence[int]
    ) -> LabelFacts:
        """Its rows in these columns and classes; the range of their labels and weights."""
        if self._round >= 0:
            raise DataError("A part whose trees have begun was asked to begin again; start the training anew.")
        self.table, self.first = self.table.aligned(columns), firsts[self.number]
        self.labels = ground.labels_of(self.table, classes)
        self.weights = ground.weights_of(self.table, classes, scale_pos_weight)
        low, high = float(self.labels.min(initial=np.inf)), float(self.labels.max(initial=-np.inf))
        return LabelFacts(low, high, float(self.weights.max()) if len(self.weights) else float(len(self.labels) > 0))

    def moments(self, facts: LabelFacts) -> NDArray[np.int64]:
        """Sums of labels and weights."""
        return ground.moments(self.labels, self.weights, facts)

    def present(self) -> NDArray[np.int64]:
        """Rows with a value, column by column."""
        values: Any = self.table.values
        self._keys = _native.sorted_keys([values[:, j] for j in range(self.table.n_columns)], self.threads)
        return np.array([len(keys) for keys in self._keys], np.int64)

    def counts_of(self, asked: Prefixes) -> NDArray[np.int64]:
        """Rows with each prefix; those of one column and length stand together."""
        edges = np.flatnonzero((np.diff(asked.column) != 0) | (np.diff(asked.shift.astype(np.int16)) != 0)) + 1
        runs = np.split(np.arange(len(asked.column)), edges)
        wanted = [
            (self._keys[asked.column[run[0]]], np.ascontiguousarray(asked.prefix[run]), int(asked.shift[run[0]]))
            for run in runs
            if len(run)
        ]
        return _native.count_prefixes(wanted, self.threads)

    def begin(self, grid: Grid, settings: RoundSettings, forest: Forest) -> None:
        """Bin the rows, with the scores that they have after these trees."""
        self._keys = []
        own = Binned(self.table, under_cuts(self.table, grid, self.threads), self.labels, self.weights)
        sample = own.sample(settings, forest, self.threads)
        if len(sample.keys) and self.table.ids is None:
            sample.keys = sample.keys + np.uint64(self.first)
        self.rows = LocalRows(sample, settings, self.threads)

    @property
    def _begun(self) -> LocalRows:
        if self.rows is None:
            raise DataError("A part of the rows was asked for sums before it began; begin again.")
        return self.rows

    def start_round(self, round_: int) -> None:
        """Begin a round, or begin it anew with the scores from before."""
        rows = self._begun
        self.table = self.table.take(slice(0, 0))  # its values are no longer needed
        samples = [rows.own, *(() if rows.held_out is None else (rows.held_out,))]
        if self._round == round_:
            for sample, before in zip(samples, self._before, strict=True):
                sample.scores[:] = before
        self._round, self._before = round_, [sample.scores.copy() for sample in samples]
        rows.start_round(round_)

    def histograms(self, nodes: Nodes) -> NDArray[np.int64]:
        """As `LocalRows` has it; so has what follows."""
        return self._begun.histograms(nodes)

    def counts(self, nodes: Nodes) -> NDArray[np.int64]:
        """Numbers of rows."""
        return self._begun.counts(nodes)

    def divide(self, cuts: Cuts) -> NDArray[np.int64]:
        """Sizes of the children."""
        return self._begun.divide(cuts)

    def node_sums(self, nodes: Nodes) -> NDArray[np.int64]:
        """Narrow sums."""
        return self._begun.node_sums(nodes)

    def leaf_sums(self, leaves: Nodes) -> NDArray[np.int64]:
        """Wide sums."""
        return self._begun.leaf_sums(leaves)

    def finish_round(self, leaves: Nodes, values: NDArray[np.float32]) -> None:
        """Add values to the scores."""
        self._begun.finish_round(leaves, values)

    def held_out_sums(self, metric: Summed, n_rounds: int) -> NDArray[np.int64]:
        """Of a metric."""
        return self._begun.held_out_sums(metric, n_rounds)

    def lost_in_integers(self) -> NDArray[np.int64]:
        """How many gradients were cut off, and how many rows are too light to be seen."""
        return np.array([self._begun.clipped, self._begun.unseen], np.int64)


def _category_counts(table: Table, column: int) -> NDArray[np.int64]:
    values: Any = table.values
    codes = values[:, column]
    n = len(table.columns[column].categories)
    return np.bincount(codes[~np.isnan(codes)].astype(np.int64), minlength=n)[:n] if n else np.empty(0, np.int64)
