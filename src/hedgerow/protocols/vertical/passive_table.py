"""A passive party's own table, binned by its own cut points; nothing is said here."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import OwnColumns
from hedgerow.data.table import Table
from hedgerow.errors import PolicyError
from hedgerow.model.prepare import own_cuts
from hedgerow.privacy.additive import Cipher
from hedgerow.protocols.vertical.columns import bins_of, wanted
from hedgerow.trees import bins
from hedgerow.trees.bins import Grid
from hedgerow.trees.local import Draw, Part, Sample, parts_of
from hedgerow.trees.merge_bins import coarser, counts_of
from hedgerow.trees.params import TreeParams
from hedgerow.trees.sampling import rows as sampled


@dataclass(frozen=True, eq=False)
class PassiveTable:
    """A passive party's own rows, binned by its own cut points, and the plan's rules for trees over them."""

    own: Sample
    held_out: Sample | None
    grid: Grid
    own_codes: NDArray[np.uint8]
    """The bins of all rows, in the columns that can be cut."""
    widths: NDArray[np.int64]
    """Sums that are asked for in each of these columns."""
    params: TreeParams
    cipher: Cipher
    threads: int
    passive_rows: float = 1.0
    """The share of the drawn rows that are summed."""
    levels: str = ""
    """The schedule of the plan's trees."""
    lacks: bool = False
    """Whether the active party has rows that this party lacks; a node may then have none of its rows."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        own: Table,
        valid: Table | None,
        threads: int,
        bin_rows: int,
        lacks: bool = False,
        shared: Grid | None = None,
    ) -> "PassiveTable":
        """With own cut points that leave so many own rows in every bin that has any, however often each is linked.

        Rows that this party lacks (`lacks`) have missing values in its columns, so that each has a bin for these, but
        for columns that are not used because too few own ones would lie there. Cut points that parties share (`shared`)
        are those of all of them; if they leave fewer own rows in a bin, they are refused.
        """
        params, used = plan.params, np.ones(own.n_columns, np.bool_)
        if shared is not None:
            found = shared, bins.fullest_under(shared, own.values, own.absent, threads)
        else:
            found = own_cuts(own, params.max_bin, params.min_cut_rows, threads)
        if bin_rows > 1:
            codes = _native.columns_of(bins.to_bins(*found, own.values, own.absent, threads), threads)
            counts = counts_of(codes[:, _firsts(own)] if plan.method.links else codes, found[0])
            if shared is not None:
                _check_bins(counts, bin_rows)
            grid = found[0] if shared is not None else coarser(found[0], counts, bin_rows)
            used = np.asarray((grid.n_values > 1) | grid.has_missing, np.bool_)
            found = grid, bins.fullest_under(grid, own.values, own.absent, threads)
        if lacks and shared is None:
            found = replace(found[0], has_missing=used), found[1]
        none = np.empty(0, np.float32)

        def sample(table: Table) -> Sample:
            matrix = bins.to_bins(*found, table.values, table.absent, threads)
            return Sample(matrix, none, none, table.row_keys(), none.reshape(0, 0))

        held_out = None if valid is None else sample(valid.aligned(own.columns))
        rows, n_bins = sample(own), bins_of(found[0])
        by_column = rows.matrix.by_column
        codes = by_column if by_column.size else _native.columns_of(rows.matrix, threads)
        own_codes = codes[np.flatnonzero(n_bins > 1)]
        cipher = cipher_of(plan)
        return cls(
            rows,
            held_out,
            found[0],
            own_codes,
            wanted(n_bins),
            params=params,
            cipher=cipher,
            threads=threads,
            passive_rows=plan.method.passive_rows,
            levels=plan.schedule,
            lacks=lacks,
        )

    @cached_property
    def n_sums(self) -> int:
        """Of a node."""
        return int(self.widths.sum())

    @cached_property
    def n_own(self) -> int:
        """Rows that are summed."""
        return self.own.matrix.n_rows

    @cached_property
    def n_rows(self) -> int:
        """All that go down the trees, validation rows included."""
        return self.n_own + (0 if self.held_out is None else self.held_out.matrix.n_rows)

    def grid_digest(self) -> bytes:
        """A hash of the own cut points, by which kept cuts are numbered; it stays with the party."""
        arrays = (self.grid.cuts, self.grid.cut_starts, self.grid.has_missing, self.grid.categorical)
        return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).digest()

    def describe(self) -> OwnColumns:
        """What becomes known: numbers of columns and bins."""
        return OwnColumns(self.grid.n_values, self.grid.has_missing, self.grid.categorical)

    def parts(self, n_trees: int, round_: int) -> list[Part]:
        """The rows at the roots of a round's trees, as the plan draws them; those that are summed first."""
        params = self.params
        draw = Draw(params.subsample, params.random_state, params.average, self.passive_rows)
        return parts_of(self.own, self.held_out, n_trees, draw, round_, self.threads)

    def n_drawn(self, round_: int) -> int:
        """Rows that count in a round."""
        if self.params.subsample >= 1:
            return self.n_own
        return int(sampled(self.own.keys, self.params.subsample, self.params.random_state, round_).sum())


def _firsts(linked: Table) -> NDArray[np.intp]:
    """Of linked rows the first of each id, which stand together; they repeat one row."""
    ids = np.asarray(linked.ids)
    return np.flatnonzero(np.concatenate([np.ones(min(len(ids), 1), np.bool_), ids[1:] != ids[:-1]]))


def _check_bins(counts: list[NDArray[np.int64]], least: int) -> None:
    if any(((rows > 0) & (rows < least)).any() for rows in counts):
        raise PolicyError(
            "The cut points that passive parties share leave fewer of this party's rows in a bin than its policy "
            "allows (min_bin_rows); this party stops. Use fewer bins (max_bin), or columns of its own (shared = false)."
        )
