"""A table that is larger than memory: its values lie in files and are read in pieces, as often as they are needed.

Labels, weights and ids lie here, and what each category is called. Training reads each column once for its cut points,
then all rows once for their bins, so that memory holds a byte a cell; the forest is that of the same table in memory.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.cells import Place, as_numbers, infinite, is_text, lookup, raw_codes, text_of
from hedgerow.data.csv_pieces import Written, parse_csv
from hedgerow.data.id_columns import all_differ
from hedgerow.data.ids import check_once
from hedgerow.data.names import Ignored, no_column, positions
from hedgerow.data.parquet_pieces import ParquetPieces, open_parquet
from hedgerow.data.read import INDEX, suffix_of
from hedgerow.data.side_columns import as_ids, as_labels, as_weights
from hedgerow.data.table import LARGEST, Column, keys_of, sources
from hedgerow.errors import DataError, Keyword, ParameterError, Sentence

Told = Callable[[str, int, int], object]
"""Told what is done, how far it is and how far it goes."""


def silent(_what: str, _done: int, _of: int) -> None:
    """Tells nobody."""


@dataclass(frozen=True, eq=False)
class PiecedTable:
    """Rows of named columns in files, read in pieces; made by `read_in_pieces`.

    It takes the place of a `Table` where one model is trained on one table; whatever needs all values at once says so.
    """

    columns: tuple[Column, ...]
    source: ParquetPieces
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None
    keys: NDArray[np.uint64] | None
    """Of the rows' ids."""
    counts: dict[str, dict[str, int]]
    """Rows of every category, column by column."""
    all_differ: tuple[str, ...] = ()
    """Columns of text or whole numbers in whose first piece every value differs, as ids do."""
    told: Told = silent
    kept: NDArray[np.intp] | None = None
    """The rows of the files that are rows of the table, in order; None: all."""
    remarks: tuple[str, ...] = ()
    absent = float("nan")

    def __repr__(self) -> str:
        return f"<PiecedTable of {self.n_rows} rows, {self.n_columns} columns in {self.source.name}>"

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(self.labels)

    @property
    def n_columns(self) -> int:
        """How many columns."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def values(self) -> NDArray[np.float32]:
        """Refused: they are more than memory is meant to hold."""
        raise DataError(
            f"{self.source.name} is read in pieces, for training on it alone; what is asked for here needs the whole "
            "table: read it with read_table."
        )

    def __array__(self, *_: object, **__: object) -> NDArray[np.float32]:
        return self.values

    def notes(self) -> list[str]:
        """Nothing yet: columns without a cut are told of when cut points were looked for."""
        return list(self.remarks)

    def row_keys(self) -> NDArray[np.uint64]:
        """The ids as keys, or row numbers."""
        return np.arange(self.n_rows, dtype=np.uint64) if self.keys is None else self.keys

    def aligned(self, columns: Sequence[Column]) -> "PiecedTable":
        """These columns in this order; a category they do not know is missing."""
        sources(self.names, [column.name for column in columns])
        return replace(self, columns=tuple(columns))

    def take(self, rows: NDArray[np.intp]) -> "PiecedTable":
        """The given rows, in rising order."""
        kept = rows if self.kept is None else self.kept[rows]
        weights = None if self.weights is None else self.weights[rows]
        keys = None if self.keys is None else self.keys[rows]
        return replace(self, labels=self.labels[rows], weights=weights, keys=keys, kept=kept)

    def category_counts(self, column: int) -> NDArray[np.int64]:
        """Rows of every category of a column, by code."""
        of = self.columns[column]
        return np.array([self.counts[of.name].get(text, 0) for text in of.categories], np.int64)

    def column(self, number: int) -> NDArray[np.float32]:
        """The values of one column, all rows."""
        out = np.empty(self.n_rows, np.float32)
        for at, block in self._blocks([self.columns[number]]):
            out[at : at + len(block)] = block[:, 0]
        return out

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """All columns piece by piece: the number of the first row, and rows x columns."""
        return self._blocks(self.columns)

    def _blocks(self, columns: Sequence[Column]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        first = at = 0
        for piece in self.source.pieces([column.name for column in columns]):
            block = np.empty((piece.num_rows, len(columns)), np.float32)
            place = _place(self.source.name, first)
            for j, column in enumerate(columns):
                block[:, j] = _values(piece.column(j), column, place)
            first += len(block)
            if self.kept is not None:
                low, high = np.searchsorted(self.kept, (first - len(block), first))
                block = block[self.kept[low:high] - (first - len(block))]
            yield at, block
            at += len(block)


def read_in_pieces(
    path: str | Path,
    *,
    label: str,
    id_column: str | None = None,
    weight: str | None = None,
    categorical: Iterable[str] = (),
    delimiter: str | None = None,
    decimal: str | None = None,
    ignore: Iterable[str] = (),
    told: Told | None = None,
) -> PiecedTable:
    """A table larger than memory, for `fit`: a Parquet file, a folder of them, or a CSV or TSV file.

    Arguments are those of `read_table`. A CSV file is parsed once, into a temporary file without a name in the folder
    for such files, of four bytes a number. `told` is called with what is done, how far it is and how far it goes.
    """
    path, told = Path(path), silent if told is None else told
    categorical = (categorical,) if isinstance(categorical, str) else tuple(categorical)
    roles = {"label": label, "id_column": id_column, "weight": weight}
    source = _opened(path, roles, categorical, Written(delimiter, decimal), told)
    header = source.schema.names
    for role, name in roles.items():
        if name is not None and name not in header:
            raise DataError(Sentence("For ", Keyword(role), f", {path} has {no_column(name, header)}."))
    ignored = Ignored((ignore,) if isinstance(ignore, str) else tuple(ignore), lenient=False).among(header, path, roles)
    left_out = {*ignored, *roles.values(), *INDEX}
    features = [name for name in header if name not in left_out]
    if not features:
        raise DataError(f"{path} has no column to learn from besides those that are named for something else.")
    chosen = {features[j] for j in positions(categorical, features)}
    labels, weights, keys = _beside(source, roles)
    found = next(source.pieces(features))
    texts = [name for name in features if name in chosen or is_text(found.column(name))]
    differ = all_differ(found, features, features)
    counts = _categories(source, [name for name in texts if name not in differ or name in chosen], told)
    columns = tuple(
        Column(name, "categorical", tuple(sorted(counts.get(name, ())))) if name in texts else Column(name)
        for name in features
    )
    return PiecedTable(columns, source, labels, weights, keys, counts, all_differ=differ, told=told)


def _opened(path: Path, roles: dict[str, str | None], chosen: Sequence[str], how: Written, told: Told) -> ParquetPieces:
    suffix = "parquet" if path.is_dir() else suffix_of(path)
    if suffix in ("csv", "tsv"):
        told("parsing", 0, 1)
        parsed = parse_csv(path, suffix, roles, chosen, how)
        told("parsing", 1, 1)
        return parsed
    if suffix != "parquet":
        raise DataError(f"{path} is LIBSVM, which is not read in pieces; write it as Parquet, or read it whole.")
    if how != Written():
        why = f" are for CSV files, and {path} is none; leave them out."
        raise ParameterError(Sentence(Keyword("delimiter"), " and ", Keyword("decimal"), why))
    return open_parquet(path)


def _place(name: str, first: int) -> Place:
    return lambda row: f"row {first + row} of {name}"


def _values(cells: Any, column: Column, place: Place) -> NDArray[np.float32]:
    """A piece of a column as numbers, or codes of its categories."""
    if column.kind == "categorical":
        raw, texts = raw_codes(cells)
        return np.asarray(lookup([text_of(text) for text in texts], column.categories)[raw], np.float32)
    if is_text(cells):
        raise DataError(f"Column {column.name!r} is text in one file and numbers in another; write it alike in all.")
    with np.errstate(over="ignore"):
        values: NDArray[np.float32] = as_numbers(cells, column.name, place).astype(np.float32)
    bad = np.flatnonzero(np.abs(values) >= LARGEST)
    if bad.size:
        raise infinite(column.name, place(int(bad[0])))
    return values


def _beside(source: ParquetPieces, roles: dict[str, str | None]) -> tuple[NDArray[Any], Any, Any]:
    """Labels, weights and keys of the ids."""
    wanted = {role: name for role, name in roles.items() if name is not None}
    found: dict[str, list[Any]] = {role: [] for role in wanted}
    first = 0
    for piece in source.pieces([*wanted.values()]):
        place, n = _place(source.name, first), piece.num_rows
        for role, cells in zip(wanted, piece.columns, strict=True):
            found[role].append(READ[role](cells, n, place))
        first += n
    whole = {role: np.concatenate(parts) for role, parts in found.items()}
    weights, keys = whole.get("weight"), whole.get("id_column")
    if weights is not None:
        weights = as_weights(weights, first, _place(source.name, 0))
    if keys is not None:
        check_once(len(keys), np.unique(keys).size)
    return whole["label"], weights, keys


def _keys(cells: Any, n: int, place: Place) -> NDArray[np.uint64]:
    ids = as_ids(cells, n, place, repeated=True)
    return ids.astype(np.uint64) if ids.dtype.kind == "i" else keys_of(ids.tolist())


READ: dict[str, Callable[[Any, int, Place], NDArray[Any]]] = {
    "label": as_labels,
    "weight": lambda cells, _, place: as_numbers(cells, "weights", place),
    "id_column": _keys,
}


def _categories(source: ParquetPieces, names: Sequence[str], told: Told) -> dict[str, dict[str, int]]:
    """Rows of every category of these columns."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    done = 0
    for piece in source.pieces(names) if names else ():
        for name in names:
            raw, texts = raw_codes(piece.column(name))
            found = np.bincount(raw[raw >= 0].astype(np.int64), minlength=len(list(texts)))
            for text, rows in zip(map(text_of, texts), found.tolist(), strict=True):
                if text is not None:
                    counts[name][text] += rows
        done += piece.num_rows
        told("categories", done, source.n_rows)
    return {name: dict(found) for name, found in counts.items()}
