"""Parquet files that are read in pieces, one after the other as if they were one file: a file, or a folder of them."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.data.names import check_distinct
from hedgerow.data.read import DAMAGED, arrow_library, is_gzipped
from hedgerow.errors import DataError

PIECE_ROWS = 1 << 17
"""Rows that are read at once."""


@dataclass(frozen=True, eq=False)
class ParquetPieces:
    """Open files; `name` is what errors call them."""

    name: str
    files: Sequence[Any]
    n_rows: int
    lock: threading.Lock

    @property
    def schema(self) -> Any:
        """Names and types of the columns, as the first file has them."""
        return self.files[0].schema_arrow

    def pieces(self, names: Sequence[str]) -> Iterator[Any]:
        """The rows of these columns as Arrow tables, piece by piece, in the order of the files."""
        arrow = arrow_library()
        for file in self.files:
            batches = file.iter_batches(PIECE_ROWS, columns=list(names))
            while True:
                try:
                    with self.lock:
                        batch = next(batches, None)
                except (arrow.ArrowException, *DAMAGED):
                    raise _not_whole(self.name) from None
                if batch is None:
                    break
                yield arrow.Table.from_batches([batch]).select(list(names))


def open_parquet(path: Path) -> ParquetPieces:
    """A Parquet file, or all those of a folder in the order of their names."""
    paths = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not paths:
        raise DataError(f"The folder {path} has no file that ends in .parquet; name a folder of such files.")
    return opened(str(path), paths)


def opened(name: str, sources: Sequence[Any]) -> ParquetPieces:
    """Files or open ones, all with the same columns."""
    arrow, files = arrow_library(), []
    for source in sources:
        if isinstance(source, Path) and is_gzipped(source):
            raise DataError(f"{source} is gzipped as a whole and cannot be read in pieces; unpack it first.")
        try:
            files.append(arrow.parquet.ParquetFile(source, pre_buffer=False))  # else pages of the whole file stay
        except (arrow.ArrowException, *DAMAGED):
            raise _not_whole(source) from None
    names = files[0].schema_arrow.names
    check_distinct(names)
    for file, source in zip(files, sources, strict=True):
        if lacking := set(names) ^ set(file.schema_arrow.names):
            raise DataError(f"Not all files of {name} have column {min(lacking)!r}; {source} differs from the first.")
    n_rows = sum(file.metadata.num_rows for file in files)
    if n_rows == 0:
        raise DataError(f"{name} has columns but no rows; give a file with at least one row.")
    return ParquetPieces(name, files, n_rows, threading.Lock())


def _not_whole(source: object) -> DataError:
    return DataError(f"{source} is not a whole Parquet file; write it again.")
