"""Sparse values. SciPy takes long to load, so it is loaded where a table has some, not before."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def is_sparse(values: Any) -> bool:
    """Whether these are sparse values; none can have been made while SciPy's are not loaded."""
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(values))


def by_rows(values: Any, shape: tuple[int, int] | None = None) -> "csr_array[Any]":
    """Sparse values laid out by rows."""
    from scipy import sparse

    return sparse.csr_array(values, shape=shape)


def side_by_side(parts: Sequence[Any]) -> "csr_array[Any]":
    """The columns of all in one, laid out by rows."""
    from scipy import sparse

    return sparse.csr_array(sparse.hstack(parts))


def one_below_another(parts: Sequence[Any]) -> "csr_array[Any]":
    """The rows of all in one."""
    from scipy import sparse

    return sparse.csr_array(sparse.vstack(parts, format="csr"))
