"""What stands beside the columns: labels, weights and ids, each checked against the rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.cells import Place, as_array, as_numbers, gaps
from hedgerow.data.ids import check_once
from hedgerow.errors import DataError


def _vector(given: Any, what: str, n_rows: int) -> NDArray[Any]:
    cells = as_array(given)
    if what == "labels" and cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells.ravel()
    if cells.ndim != 1:
        raise DataError(f"The {what} have {cells.ndim} dimensions; give a 1-D array with one entry for each row.")
    if len(cells) != n_rows:
        raise DataError(f"{len(cells)} {what} were given for {n_rows} rows; give one for each row.")
    return cells


def _check_present(cells: NDArray[Any], what: str, place: Place) -> None:
    where = np.flatnonzero(gaps(cells))
    if where.size:
        raise DataError(
            f"{where.size} of the {what} are missing, the first at {place(int(where[0]))}; "
            "fill them in or drop those rows."
        )


def as_labels(given: Any, n_rows: int, place: Place) -> NDArray[Any]:
    """One label a row: numbers, or text."""
    labels = _vector(given, "labels", n_rows)
    _check_present(labels, "labels", place)
    kind = labels.dtype.kind
    if kind == "O":
        kinds = set(map(type, labels))
        if all(issubclass(k, str) for k in kinds):
            return labels
        if not all(issubclass(k, int | float | np.number | np.bool_) for k in kinds):
            raise DataError(
                "Unknown label type: the labels are not all text or all numbers; make them one or the other."
            )
        return as_labels(np.array(labels.tolist()), n_rows, place)
    if kind in "USTb":
        return labels
    if kind == "f":
        endless = np.flatnonzero(np.isinf(labels))
        if endless.size:
            raise DataError(f"The label at {place(int(endless[0]))} is infinite; correct it or drop that row.")
        return labels.astype(np.float64, copy=False)
    if kind not in "iu":
        raise DataError(f"Unknown label type: {labels.dtype.name}; give labels as numbers or text.")
    return labels.astype(np.int64, copy=False)


def as_weights(given: Any, n_rows: int, place: Place) -> NDArray[np.float64]:
    """One weight a row."""
    weights = as_numbers(_vector(given, "weights", n_rows), "weights", place).astype(np.float64, copy=False)
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if bad.size:
        raise DataError(
            f"{bad.size} of the weights are negative, missing or infinite, the first at {place(int(bad[0]))}; "
            "weights are finite numbers of at least 0."
        )
    if not weights.any():
        raise DataError("All weights are zero; at least one row must count.")
    return weights


def as_ids(given: Any, n_rows: int, place: Place, repeated: bool = False) -> NDArray[Any]:
    """One id a row, no two alike unless they may be repeated."""
    ids = _vector(given, "ids", n_rows)
    _check_present(ids, "ids", place)
    if ids.dtype.kind == "O" and all(isinstance(cell, str) for cell in ids):
        ids = ids.astype(str)
    elif ids.dtype.kind == "O" and all(isinstance(cell, int | np.integer) for cell in ids):
        ids = np.array(ids.tolist())
    if ids.dtype.kind not in "iuU" or (ids.dtype.kind == "u" and ids.max() > np.iinfo(np.int64).max):
        raise DataError("The ids are not all whole 64-bit numbers or all text; convert them to one of these.")
    if not repeated:
        check_once(n_rows, len(set(ids.tolist())) if ids.dtype.kind == "U" else np.unique(ids).size)
    return ids if ids.dtype.kind == "U" else ids.astype(np.int64, copy=False)
