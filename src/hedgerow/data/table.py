"""A table: named columns over rows, and maybe labels, weights and ids.

A float32 C-contiguous array is kept, not copied, and nothing here makes a second array as large as the
table: conversions and checks go through blocks of rows, or one column at a time. Errors name columns, rows
and counts, never a cell's value.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.cells import (
    EXACT,
    Place,
    as_array,
    as_numbers,
    coded,
    infinite,
    is_text,
    lookup,
    raw_codes,
    text_of,
)
from hedgerow.data.frames import to_pandas
from hedgerow.data.names import Frame, automatic_names, column_names, frame_of, positions, taken
from hedgerow.data.side_columns import as_ids, as_labels, as_weights
from hedgerow.data.sparse import by_rows, is_sparse, side_by_side
from hedgerow.errors import DataError, Keyword, MissingExtra, ParameterError, Sentence

if TYPE_CHECKING:
    import pandas as pd
    from scipy import sparse

Values: TypeAlias = "NDArray[np.float32] | sparse.csr_array[Any]"
Categories: TypeAlias = dict[int, tuple[str, ...]]

ABSENT = {"missing": float("nan"), "zero": 0.0}
BLOCK_CELLS = 1 << 20
MOST_SHOWN = 10
"""Rows and columns that a notebook shows."""
LARGEST = np.finfo(np.float32).max  # stands for "no greater value" in a forest, so no cell may hold it


@dataclass(frozen=True)
class Column:
    """A column's name, its kind and, if categorical, its categories sorted by text: a value is its code."""

    name: str
    kind: Literal["numeric", "categorical"] = "numeric"
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of named columns, checked by `Table.of`; the constructor itself checks nothing.

    `values` is a C-contiguous float32 array in which NaN is missing, or a canonical float32 `csr_array`;
    `absent` is what an entry that a sparse table does not store means: NaN (missing) or 0.0.
    """

    columns: tuple[Column, ...]
    values: Values
    absent: float = float("nan")
    labels: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    ids: NDArray[Any] | None = None
    remarks: tuple[str, ...] = ()
    """Sentences about how a file was read, where that was recognised and not said."""
    all_differ: tuple[str, ...] = ()
    """Columns of text or whole numbers of a file in which every value differs, as ids do."""

    def __repr__(self) -> str:
        beside = [part for part in ("labels", "weights", "ids") if getattr(self, part) is not None]
        return f"<Table of {self.n_rows} rows, {self.n_columns} columns{''.join(', ' + part for part in beside)}>"

    def __len__(self) -> int:
        return self.n_rows

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        shown = self.take(np.arange(min(self.n_rows, MOST_SHOWN)))
        try:
            body = str(shown.to_pandas().to_html(index=False, max_cols=MOST_SHOWN))  # escapes what it shows
        except (MissingExtra, DataError):
            body = ""
        return f"<p>{escape(repr(self))}</p>{body}"

    def to_pandas(self, label: str = "label", weight: str = "weight", id_: str = "id") -> "pd.DataFrame":
        """A frame with the table's columns, and its labels, weights and ids in columns of these names, if there are."""
        return to_pandas(self, label, weight, id_)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        *,
        names: Sequence[str] | None = None,
        categorical: Iterable[str | int] = (),
        weights: Any = None,
        ids: Any = None,
        absent: str = "missing",
        repeated_ids: bool = False,
    ) -> "Table":
        """A table from an array, a sparse matrix, a pandas or Arrow frame, or a table.

        `y`, `weights` and `ids` may name columns of a frame; `categorical` takes names or positions of columns of
        numbers to be treated as text; `absent` is what a sparse X does not store: "missing" or "zero". With
        `repeated_ids` one id may stand in several rows, as an account does among payments: for the active party of a
        hybrid federation.
        """
        return build_table(
            X, y, names=names, categorical=categorical, weights=weights, ids=ids, absent=absent,
            repeated_ids=repeated_ids,
        )  # fmt: skip

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """How many columns."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def take(self, rows: Any) -> "Table":
        """The given rows (positions, a mask or a slice), in the given order."""
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        if not isinstance(index, slice) and index.size == 0 and index.dtype != bool:
            index = index.astype(np.intp)
        values: Any = self.values[index]
        labels, weights, ids = (None if part is None else part[index] for part in (self.labels, self.weights, self.ids))
        values = values if is_sparse(values) else np.ascontiguousarray(values)
        return replace(self, values=values, labels=labels, weights=weights, ids=ids)

    def row_keys(self) -> NDArray[np.uint64]:
        """The ids as 64-bit keys: whole numbers as they are, also as text, other text hashed; without, row numbers.

        Several rows whose id is empty have a key each, by row number.
        """
        if self.ids is None:
            return np.arange(self.n_rows, dtype=np.uint64)
        if self.ids.dtype.kind == "i":
            return self.ids.astype(np.uint64)
        keys, blank = keys_of(self.ids.tolist()), np.flatnonzero(self.ids == "")
        if len(blank) > 1:  # rows of the active party that nobody is linked with; they are not one
            keys[blank] = keys_of([f"\0{row}" for row in blank.tolist()])
        return keys

    def aligned(self, columns: Sequence[Column]) -> "Table":
        """These columns in this order, by name, with their category codes; a category they do not know is missing.

        A table with automatic names (f0, f1, ...) of the right width is matched by position where names fail.
        """
        if tuple(columns) == self.columns:
            return self
        order = sources(self.names, [column.name for column in columns])
        recoded = [
            (j, source, target)
            for j, target in enumerate(columns)
            if ((source := self.columns[order[j]]).kind, source.categories) != (target.kind, target.categories)
        ]
        values = self.values
        if recoded or order != list(range(self.n_columns)):
            values = _columns_of(self.values, order)
        for j, source, target in recoded:
            _check_absent(values, self.absent, target)
            cells, at = _stored(values, j)
            cells[at] = _recoded(cells[at], source, target)
        return replace(self, columns=tuple(columns), values=values)

    def widened(self, columns: Sequence[Column]) -> "Table":
        """With these columns behind its own, missing throughout."""
        if not columns:
            return self
        empty = np.full((self.n_rows, len(columns)), np.nan, np.float32)
        values: Any = self.values
        if isinstance(values, np.ndarray):
            values = np.ascontiguousarray(np.hstack([values, empty]))
        else:
            values = side_by_side([values, by_rows(empty)])
            values.sort_indices()
        return replace(self, columns=(*self.columns, *columns), values=values)

    def _spans(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
        """Each column's lowest and highest value and how many rows have one, zeros that are not stored included."""
        low, high, present = _ranges(self.values)
        if is_sparse(self.values) and self.absent == 0.0:
            gaps = present < self.n_rows
            low, high = np.where(gaps, np.fmin(low, 0), low), np.where(gaps, np.fmax(high, 0), high)
            present = np.full_like(present, self.n_rows)
        return low, high, present

    def ranges(self) -> NDArray[np.float64]:
        """Each column's lowest and highest value; 0 for one that is wholly missing."""
        low, high, _ = self._spans()
        return np.nan_to_num(np.stack([low, high], axis=1).astype(np.float64), nan=0.0)

    def notes(self) -> list[str]:
        """How a file was read, where recognised; and every column that no tree can cut: of one value, or none."""
        low, high, present = self._spans()
        sentences = list(self.remarks)
        for j, name in enumerate(self.names):
            if present[j] == 0:
                sentences.append(f"Column {name!r} is wholly missing; no tree can cut it.")
            elif present[j] == self.n_rows and low[j] == high[j]:
                sentences.append(f"Column {name!r} holds one value only; no tree can cut it.")
        return sentences


def keys_of(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Keys of ids that are text."""
    return np.frombuffer(b"".join(map(_key, texts)), dtype="<u8").astype(np.uint64)


def _key(text: str) -> bytes:
    """Eight bytes for an id; one that is written as a whole number gets those of the number."""
    if len(text) <= 20 and text.isascii() and text.removeprefix("-").isdigit():
        number = int(text)
        if str(number) == text and -(2**63) <= number < 2**63:
            return number.to_bytes(8, "little", signed=True)
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def build_table(
    X: Any,
    y: Any = None,
    *,
    names: Sequence[str] | None = None,
    categorical: Iterable[str | int] = (),
    weights: Any = None,
    ids: Any = None,
    absent: str = "missing",
    place: Place = "row {}".format,
    repeated_ids: bool = False,
) -> Table:
    """`Table.of` with a say in how errors name a row, so that a file's errors can name its lines."""
    if absent not in ABSENT:
        raise ParameterError(f"absent={absent!r} is unknown; it is 'missing' or 'zero'.")
    frame = frame_of(X)
    y, weights, ids = (taken(frame, part, what) for part, what in ((y, "y"), (weights, "weights"), (ids, "ids")))
    if isinstance(X, Table):
        table = _renamed(X, names, categorical)
    else:
        table = _features(X, frame, names, categorical, absent, place)
    if y is None and weights is None and ids is None:
        return table
    n = table.n_rows
    return replace(
        table,
        labels=table.labels if y is None else as_labels(y, n, place),
        weights=table.weights if weights is None else as_weights(weights, n, place),
        ids=table.ids if ids is None else as_ids(ids, n, place, repeated_ids),
    )


def _features(X: Any, frame: Frame | None, names: Any, categorical: Any, absent: str, place: Place) -> Table:
    if frame is None:
        X = X if is_sparse(X) else as_array(X)
        _check_array(X)
    shape = X.shape if frame is None else (len(X), len(frame.features))
    check_shape(*shape)
    columns = column_names(names, automatic_names(shape[1]) if frame is None else frame.features)
    chosen = positions(categorical, columns)
    values: Values
    if frame is not None:
        values, categories = _by_column([frame.columns[name] for name in frame.features], columns, chosen, place)
    elif is_sparse(X):
        values, categories = _sparse(X, columns, chosen, place)
    else:
        values, categories = _dense(X, columns, chosen, place)
    described = tuple(
        Column(name, "categorical", categories[j]) if j in categories else Column(name)
        for j, name in enumerate(columns)
    )
    for j in categories:
        _check_absent(values, ABSENT[absent], described[j])
    return Table(described, values, ABSENT[absent])


def _renamed(table: Table, names: Sequence[str] | None, categorical: Iterable[str | int]) -> Table:
    if list(categorical):
        why = " cannot change a Table; name the columns where the table is first made."
        raise ParameterError(Sentence(Keyword("categorical"), why))
    if names is None:
        return table
    pairs = zip(table.columns, column_names(names, table.names), strict=True)
    return replace(table, columns=tuple(replace(column, name=name) for column, name in pairs))


# Values


def _blocks(n_rows: int, n_columns: int = 1) -> Iterator[slice]:
    step = max(1, BLOCK_CELLS // n_columns)
    for start in range(0, n_rows, step):
        yield slice(start, start + step)


def _check_array(X: Any) -> None:
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported; pass real numbers, such as the real and the imaginary part.")
    if X.ndim == 1:
        raise DataError(
            "Expected a 2-D table, got a 1-D array. Reshape your data: array.reshape(-1, 1) if it is one column, "
            "array.reshape(1, -1) if it is one row."
        )
    if X.ndim != 2:
        raise DataError(f"Expected a 2-D table, got an array with dim {X.ndim}; reshape it to rows x columns.")


def check_shape(n_rows: int, n_columns: int) -> None:
    """A table has rows and columns; the wording is scikit-learn's, whose checks look for it."""
    for count, what in ((n_rows, "sample"), (n_columns, "feature")):
        if count == 0:
            raise DataError(
                f"Found array with 0 {what}(s) (shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
            )


def _check_finite(values: NDArray[np.float32], names: Sequence[str], place: Place) -> None:
    for rows in _blocks(*values.shape):
        bad = np.abs(values[rows]) >= LARGEST
        if bad.any():
            row, j = np.argwhere(bad)[0]
            raise infinite(names[j], place(rows.start + int(row)))


def _dense(
    X: NDArray[Any], names: Sequence[str], chosen: set[int], place: Place
) -> tuple[NDArray[np.float32], Categories]:
    if X.dtype.kind not in "biuf":
        return _by_column([X[:, j] for j in range(X.shape[1])], names, chosen, place)
    if X.dtype == np.float32 and X.flags.c_contiguous and not chosen:
        values = X
    else:
        values = np.empty(X.shape, dtype=np.float32)
        with np.errstate(over="ignore"):
            for rows in _blocks(*X.shape):
                values[rows] = X[rows]
    _check_finite(values, names, place)
    categories: Categories = {}
    for j in chosen:
        values[:, j], categories[j] = coded(X[:, j])
    return values, categories


def _by_column(
    cells: Sequence[Any], names: Sequence[str], chosen: Collection[int], place: Place
) -> tuple[NDArray[np.float32], Categories]:
    values = np.empty((len(cells[0]), len(cells)), dtype=np.float32)
    categories: Categories = {}
    for j, column in enumerate(cells):
        if j in chosen or is_text(column):
            values[:, j], categories[j] = coded(column)
        else:
            with np.errstate(over="ignore"):
                values[:, j] = as_numbers(column, names[j], place)
    _check_finite(values, names, place)
    return values, categories


def _sparse(X: Any, names: Sequence[str], chosen: set[int], place: Place) -> tuple[Values, Categories]:
    given = by_rows(X)
    if not given.has_canonical_format:
        given = given.copy()
        given.sum_duplicates()
    with np.errstate(over="ignore"):
        data = given.data.astype(np.float32, copy=bool(chosen))
    for part in _blocks(len(data)):
        bad = np.flatnonzero(np.abs(data[part]) >= LARGEST)
        if bad.size:
            at = part.start + int(bad[0])
            row = int(np.searchsorted(given.indptr, at, side="right")) - 1
            raise infinite(names[given.indices[at]], place(row))
    categories: Categories = {}
    for j in chosen:
        at = np.flatnonzero(given.indices == j)
        data[at], categories[j] = coded(given.data[at])
    return by_rows((data, given.indices, given.indptr), given.shape), categories


def _check_absent(values: Values, absent: float, column: Column) -> None:
    if is_sparse(values) and absent == 0.0 and column.kind == "categorical":
        raise DataError(
            f"Column {column.name!r} is categorical in a sparse table whose absent entries are zero; "
            "make the table dense, or say absent='missing'."
        )


# Columns for a model that knows them


def sources(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where the wanted columns lie among these: by name, or by position where the names only count."""
    where = {name: j for j, name in enumerate(names)}
    lacking = [name for name in wanted if name not in where]
    if not lacking:
        return [where[name] for name in wanted]
    if len(names) == len(wanted) and list(names) == automatic_names(len(names)):
        return list(range(len(names)))
    more = f" and {len(lacking) - 8} more" if len(lacking) > 8 else ""
    shown = ", ".join(map(repr, lacking[:8]))
    raise DataError(f"The table lacks column {shown}{more}; add what is lacking, under the same name.")


def _columns_of(values: Values, order: list[int]) -> Values:
    """A fresh copy of the columns in this order."""
    if not isinstance(values, np.ndarray):
        chosen: Any = values[:, order]
        chosen.sort_indices()
        return by_rows(chosen)
    return np.take(values, order, axis=1)


def _stored(values: Values, j: int) -> tuple[NDArray[np.float32], Any]:
    if not isinstance(values, np.ndarray):
        return values.data, np.flatnonzero(values.indices == j)
    return values[:, j], slice(None)


def _recoded(cells: NDArray[np.float32], source: Column, target: Column) -> NDArray[np.float32]:
    if target.kind == "numeric":
        if source.categories:
            raise DataError(f"Column {target.name!r} holds text where numbers are expected; give it as numbers.")
        return np.full_like(cells, np.nan)
    if source.kind == "categorical":
        raw = np.where(np.isnan(cells), -1, cells).astype(np.intp)
        return lookup(source.categories, target.categories)[raw]
    if (np.abs(cells) >= EXACT).any():
        what = f"Column {target.name!r} is categorical and holds numbers that float32 cannot tell apart; name it in "
        raise DataError(Sentence(what, Keyword("categorical"), " where the table is made."))
    raw, texts = raw_codes(cells)
    return lookup([text_of(cell) for cell in texts], target.categories)[raw]


def _ranges(values: Values) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Each column's lowest and highest value and how many are stored and not NaN."""
    width = int(values.shape[1])
    low, high = np.full(width, np.nan, np.float32), np.full(width, np.nan, np.float32)
    present = np.zeros(width, np.int64)
    if not isinstance(values, np.ndarray):
        np.fmin.at(low, values.indices, values.data)
        np.fmax.at(high, values.indices, values.data)
        present += np.bincount(values.indices[~np.isnan(values.data)], minlength=width)
        return low, high, present
    for rows in _blocks(*values.shape):
        low = np.fmin(low, np.fmin.reduce(values[rows], axis=0))
        high = np.fmax(high, np.fmax.reduce(values[rows], axis=0))
        present += np.count_nonzero(~np.isnan(values[rows]), axis=0)
    return low, high, present
