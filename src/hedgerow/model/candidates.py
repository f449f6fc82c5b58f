"""Candidate leaves of a vertical model: what one party's own cuts leave of a row's ways, and what all parties' leave.

From its own cuts and columns alone a party says at which of its cuts, and on which side, a row may come out. A leaf is
a candidate of a party if the row may come out at the nearest own cut above it, on that side, or if there is none.
Exactly one leaf of each tree is a candidate of every party: the one that the row reaches. A row that a party does not
have is to it a row of missing values, which goes the default way.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import ModelError
from hedgerow.model.model import Model
from hedgerow.model.part import Part, ends_below, ownership_of


def reached(part: Part, own_values: NDArray[np.float32], threads: int) -> NDArray[np.bool_]:
    """Whether each row may come out of each own cut on its left, then on its right (rows x 2 cuts)."""
    if part.after is None:
        raise ModelError(
            "This part of a model does not say how its cuts lie below each other: nodes were hidden in training, or an "
            "older version wrote it. Train again, without hidden_rows."
        )
    if not len(part.tree):
        return np.empty((len(own_values), 0), np.bool_)
    by_set = np.array([column.kind == "categorical" for column in part.columns], np.bool_)
    cuts = (part.column, part.thresholds, part.missing_left, part.sets, part.after)
    return _native.reached_sides(cuts, by_set[part.column], np.ascontiguousarray(own_values), threads)


def own_rows(own_values: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """The values of these rows; a row -1, which the party does not have, is one of missing values."""
    picked = own_values[np.maximum(rows, 0)]
    picked[rows < 0] = np.nan
    return picked


def leaves_of(model: Model) -> NDArray[np.int64]:
    """The leaves of all trees, by their places in the forest."""
    return np.flatnonzero(model.forest.columns < 0)


def ends_of(model: Model, party: str) -> NDArray[np.int64]:
    """For each leaf the party's nearest cut above it: twice its number, one more right of it; -1 if there is none."""
    first, last = ownership_of(model).span(party)
    columns = model.forest.columns
    at = np.flatnonzero((columns >= first) & (columns < last))
    return ends_below(model.forest, at)[leaves_of(model)]


def candidates(ends: NDArray[np.int64], sides: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which leaves a party allows to rows that come out so of its cuts, which end above the leaves (rows x leaves)."""
    always = np.ones((len(sides), 1), np.bool_)
    return np.concatenate([sides, always], axis=1)[:, ends]
