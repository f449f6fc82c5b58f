"""A table's own clipped sums, exact integers without noise: what a release is before its noise.

Every method gives the words of one release. What they depend on besides the rows is what the table was told: grid,
schedule, seed and values. So a party that was restarted comes to the same words by being told the same again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import DataError, ProtocolError
from hedgerow.trees import bins
from hedgerow.trees.bins import BinMatrix, Grid, Values
from hedgerow.trees.cut_search import KEY_BITS, Prefixes
from hedgerow.trees.noised import clipping
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.rule import N_LEAVES, ROW_UNITS, Schedule, Terms, require

I64 = NDArray[np.int64]
F32 = NDArray[np.float32]
ZERO_KEY = int(_native.sorted_keys([np.zeros(1, np.float32)], 1)[0][0])
"""The ordered key of 0."""


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows of a table, as the sums take them."""

    values: Values
    absent: float
    labels: F32
    """Numbers of classes, or numbers; beyond the declared range they count as its nearer end."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.values.shape[0])

    def limited(self, terms: Terms) -> "OwnRows":
        """With values of 0 behind the first columns, as many as declared, that hold another value."""
        if not terms.counts_nonzero:
            return self
        return OwnRows(_limited(self.values, self.absent, int(terms.max_nonzero or 0)), self.absent, self.labels)


@dataclass(eq=False)
class Begun:
    """The same rows once cut points are agreed on, and how far they have come."""

    grid: Grid
    schedule: Schedule
    trees: PublicTrees | None
    """Those that are drawn, if any are."""
    matrix: BinMatrix
    scores: F32
    leaves: tuple[int, NDArray[np.int32]]
    """The round that was last, and the leaf of each row in its tree."""


class OwnSums:
    """Sums over the rows of one table."""

    def __init__(self, own: OwnRows, terms: Terms, threads: int = 1) -> None:
        self.own, self.terms, self.threads = own.limited(terms), terms, threads
        self.targets = clipping.targets_of(own.labels, terms)
        self._keys: dict[int, NDArray[np.uint32]] = {}
        self._begun: Begun | None = None

    @property
    def begun(self) -> Begun:
        """What there is once cut points are agreed on."""
        return require(self._begun)

    @property
    def matrix(self) -> BinMatrix:
        """The bins of the rows."""
        return self.begun.matrix

    @property
    def scores(self) -> F32:
        """What rows have so far."""
        return self.begun.scores

    def rows(self) -> I64:
        """The number of rows (one word)."""
        return np.array([self.own.n_rows * ROW_UNITS])

    def counts(self, asked: Prefixes) -> I64:
        """Rows with each of these prefixes, all of one length and each asked for once (a word a prefix).

        Of as many columns as are cut, at most: a row in more of them would move the counts by more than was planned.
        Where the number of columns with a value other than 0 is declared, rows with 0 are not counted.
        """
        _check_columns(asked, self.terms)
        _check_disjoint(asked)
        shift = int(asked.shift[0]) if len(asked.shift) else 0
        out = np.empty(len(asked.column), np.int64)
        for column in np.unique(asked.column).tolist():
            mine = asked.column == column
            keys, zeros = self._sorted(column)
            found = _native.count_prefixes([(keys, asked.prefix[mine], shift)], self.threads)
            out[mine] = found + zeros * (asked.prefix[mine] == ZERO_KEY >> shift)
        return out * ROW_UNITS

    def begin(self, grid: Grid, schedule: Schedule, trees: PublicTrees | None = None) -> None:
        """The cut points and all that follows are agreed on."""
        self._keys = {}
        fullest = bins.fullest_under(grid, self.own.values, self.own.absent, self.threads)
        matrix = bins.to_bins(grid, fullest, self.own.values, self.own.absent, self.threads)
        scores = np.zeros((self.terms.n_scores, self.own.n_rows), np.float32)
        self._begun = Begun(grid, schedule, trees, matrix, scores, (-1, np.empty(0, np.int32)))

    def bin_counts(self) -> I64:
        """Rows in each bin of each column (`n_words` words)."""
        every = np.zeros((1, self.own.n_rows, 2), np.int32)
        every[:, :, 0] = ROW_UNITS
        return self._in_bins(every)

    def additive(self, round_: int, base: F32, values: F32) -> I64:  # noqa: ARG002  # as a release has it
        """Gradients in each bin (scores x `n_words`), where scores are `base` (scores) and `values` (scores x bins)."""
        scores = self._additive_scores(base, values)
        return self._in_bins(self._pairs(scores, 0, require(self.begun.schedule.additive).clip))

    def restart(self, base: F32, values: F32) -> None:
        """The random trees begin from these scores."""
        self.begun.scores = self._additive_scores(base, values)

    def leaves(self, round_: int) -> I64:
        """Gradients and hessians in each leaf of the round's drawn tree (scores x leaves x 2 words)."""
        rule = require(self.begun.schedule.trees)
        leaf = self._leaf_of(round_)
        pairs = self._pairs(self.scores, rule.hessian_units, rule.clip)
        sums = [_native.sums_by_number(own, leaf, N_LEAVES, self.threads) for own in pairs]
        return np.stack(sums).reshape(-1)

    def follow(self, round_: int, values: F32) -> None:
        """The round's tree has these values (scores x leaves)."""
        leaf = self._leaf_of(round_)
        self.begun.scores += values.reshape(self.terms.n_scores, N_LEAVES)[:, leaf]

    def _leaf_of(self, round_: int) -> NDArray[np.int32]:
        """The leaf of each row; sums are made of it, and in the next round scores."""
        begun = self.begun
        if begun.leaves[0] != round_:
            begun.leaves = round_, require(begun.trees).leaves_of(round_, begun.matrix, self.threads)
        return begun.leaves[1]

    def _pairs(self, scores: F32, hessian_units: int, clip: int) -> NDArray[np.int32]:
        return clipping.clipped_pairs(scores, self.targets, self.terms, hessian_units, clip, self.threads)

    def _additive_scores(self, base: F32, values: F32) -> F32:
        out = np.empty((self.terms.n_scores, self.own.n_rows), np.float32)
        out[:] = base.reshape(-1, 1)
        for added, own in zip(values.astype(np.float64).reshape(self.terms.n_scores, -1), out, strict=True):
            _native.add_bin_values(self.matrix, added, own, self.threads)
        return out

    def _in_bins(self, pairs: NDArray[np.int32]) -> I64:
        """First sums in the bins of all columns; where 0 is not counted, no bin of 0 but the total of all rows."""
        sums = np.stack([_native.bin_sums(self.matrix, own, self.threads)[:, 0] for own in pairs])
        if self.terms.counts_nonzero:
            sums[:, zero_bins(self.begun.grid)] = 0
            sums = np.hstack([sums, pairs[:, :, 0].sum(axis=1, dtype=np.int64)[:, None]])
        return sums.reshape(-1)

    def _sorted(self, column: int) -> tuple[NDArray[np.uint32], int]:
        """A column's sorted keys and the rows of a 0 that is not among them; no zeros where these are not counted."""
        values, n_rows, gaps = self.own.values, self.own.n_rows, 0
        if column not in self._keys:
            if isinstance(values, np.ndarray):
                some = np.ascontiguousarray(values[:, column])
            else:
                some = values[:, [column]].tocsc().data
            if self.terms.counts_nonzero:
                some = some[some != 0]
            self._keys[column] = _native.sorted_keys([some], self.threads)[0]
        keys = self._keys[column]
        if not isinstance(values, np.ndarray) and self.own.absent == 0 and not self.terms.counts_nonzero:
            gaps = n_rows - int(np.diff(values[:, [column]].tocsc().indptr)[0])
        return keys, gaps


def zero_bins(grid: Grid) -> I64:
    """Where the bin of 0 of each column is among all bins."""
    return grid.offsets[:-1].astype(np.int64) + bins.absent_bins(grid, 0.0)


def n_words(grid: Grid, terms: Terms) -> int:
    """Words of a score in a release of all bins."""
    return int(grid.offsets[-1]) + terms.counts_nonzero


def _check_columns(asked: Prefixes, terms: Terms) -> None:
    """They are of the table, by the one number that each has, and no more of them than the noise is made for."""
    column = asked.column
    if not len(column) == len(asked.prefix) == len(asked.shift):
        raise ProtocolError("Counts with noise are asked for of prefixes that are not well formed.")
    outside = (column < 0) | (column >= terms.n_columns)
    if outside.any() or len(np.unique(column)) > terms.n_numeric:
        raise ProtocolError("Counts with noise are asked for of columns that are not to be cut.")


def _check_disjoint(asked: Prefixes) -> None:
    """A row may be counted once in each column."""
    places = (asked.column.astype(np.int64) << KEY_BITS) + asked.prefix
    if len(set(asked.shift.tolist())) > 1 or len(np.unique(places)) < len(places):
        raise ProtocolError("Counts with noise must be asked for of prefixes of one length, each of them once.")


def _limited(values: Values, absent: float, most: int) -> Values:
    if isinstance(values, np.ndarray):
        beyond = np.cumsum(values != 0, axis=1) > most
        return np.where(beyond, np.float32(0), values) if beyond.any() else values
    if absent != 0:
        raise DataError("max_nonzero needs a table whose gaps are zeros; make it with absent='zero'.")
    row = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    so_far = np.cumsum(values.data != 0)
    before = np.concatenate([[0], so_far])[values.indptr[:-1]]
    beyond = so_far - before[row] > most
    if not beyond.any():
        return values
    from scipy import sparse

    return sparse.csr_array((np.where(beyond, np.float32(0), values.data), values.indices, values.indptr), values.shape)
