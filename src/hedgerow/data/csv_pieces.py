"""A CSV file read in pieces: parsed once, into a Parquet file without a name that ends with the process.

What a column is, numbers or text, its first piece says: the whole file is never here at once.
"""

import itertools
import re
import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.data.csv_dialect import COMMA_NUMBER, MOSTLY, NUMBER, check_decimal, check_delimiter
from hedgerow.data.parquet_pieces import ParquetPieces, opened
from hedgerow.data.read import DAMAGED, MISSING, USUAL, WHOLE_FLOAT, CsvLines, arrow_library, delimiter_in, is_gzipped
from hedgerow.errors import DataError, Keyword, Sentence

BLOCK = 1 << 23
"""Bytes of text that are parsed at once."""


@dataclass(frozen=True)
class Written:
    """How a CSV file is written, as far as that is said."""

    delimiter: str | None = None
    decimal: str | None = None


def parse_csv(
    path: Path, suffix: str, roles: Mapping[str, str | None], chosen: Collection[str], how: Written
) -> ParquetPieces:
    """The file as Parquet; `roles` are columns that are no features, `chosen` features that are categorical."""
    sign = delimiter_in(path, USUAL[suffix]) if how.delimiter is None else check_delimiter(how.delimiter)
    lines = CsvLines(path, sign)
    lines.header()
    parser = _Parser(lines, "." if how.decimal is None else check_decimal(how.decimal))
    beside = {name for name in roles.values() if name is not None}
    ids = [name for role, name in roles.items() if role == "id_column" and name is not None]
    types = parser.types(beside, {*chosen, *ids})
    with ExitStack() as closing:
        store = closing.enter_context(tempfile.TemporaryFile())  # has no name, and goes with the table or the process
        with parser.errors(types), parser.reader(types) as reader:
            _write(store, (_as_kept(batch, beside, chosen) for batch in reader))
        pieces = opened(str(path), [store])
        weakref.finalize(pieces, closing.pop_all().close)
    return pieces


def _write(store: Any, pieces: Iterator[Any]) -> None:
    arrow, first = arrow_library(), next(pieces)
    with arrow.parquet.ParquetWriter(store, first.schema, compression="snappy") as writer:
        for piece in itertools.chain([first], pieces):
            writer.write_table(piece)


def _as_kept(batch: Any, beside: Collection[str], chosen: Collection[str]) -> Any:
    """Numbers of features as 32-bit floats, which is what trees see of them; categories as they are spelt."""
    arrow = arrow_library()
    piece = arrow.Table.from_batches([batch])
    for j, name in enumerate(piece.column_names):
        column = piece.column(j)
        if name in chosen:
            column = arrow.compute.replace_substring_regex(column, WHOLE_FLOAT, r"\1")
        elif name not in beside and arrow.types.is_floating(column.type):
            column = column.cast(arrow.float32(), safe=False)
        piece = piece.set_column(j, name, column)
    return piece


class _Parser:
    def __init__(self, lines: CsvLines, decimal: str) -> None:
        self.lines, self.decimal = lines, decimal
        self._ragged: list[int] = []

    def types(self, beside: Collection[str], texts: Collection[str]) -> dict[str, Any]:
        """What each column is, by its first piece; whole numbers of features may become others further on."""
        arrow = arrow_library()
        with self.errors({}), self.reader(dict.fromkeys(texts, arrow.string())) as reader:
            first = next(iter(reader), None)
        if first is None:
            raise DataError(f"{self.lines.path} has columns but no rows; give a file with at least one row.")
        found = {}
        for name, kind in zip(first.schema.names, first.schema.types, strict=True):
            if arrow.types.is_null(kind) or (arrow.types.is_integer(kind) and name not in beside):
                kind = arrow.float64()
            elif not (arrow.types.is_integer(kind) or arrow.types.is_floating(kind)):
                kind = arrow.string()
            found[name] = kind
            if kind == arrow.string() and name not in beside and name not in texts:
                self._check_text(first.column(name), name)
        return found

    def _check_text(self, column: Any, name: str) -> None:
        arrow = arrow_library()
        if not arrow.types.is_string(column.type):  # dates and truth values
            return
        for pattern in (NUMBER, COMMA_NUMBER):
            matching = arrow.compute.sum(arrow.compute.match_substring_regex(column, pattern)).as_py() or 0
            if matching >= MOSTLY * (len(column) - column.null_count):
                what = f"Column {name!r} of {self.lines.path} is text that looks like numbers; say how decimals are "
                raise DataError(
                    Sentence(what, "written with ", Keyword("decimal"), ", or name it in ", Keyword("categorical"), ".")
                )

    @contextmanager
    def reader(self, types: Mapping[str, Any]) -> Iterator[Any]:
        """Batches of rows."""
        arrow = arrow_library()

        def refuse(row: Any) -> str:
            self._ragged.append(row.actual_columns)
            return "error"

        path = self.lines.path
        parse = arrow.csv.ParseOptions(
            delimiter=self.lines.delimiter, newlines_in_values=True, invalid_row_handler=refuse
        )
        convert = arrow.csv.ConvertOptions(
            null_values=MISSING, strings_can_be_null=True, column_types=dict(types), decimal_point=self.decimal
        )
        with arrow.input_stream(str(path), compression="gzip" if is_gzipped(path) else None) as file:
            read = arrow.csv.ReadOptions(block_size=BLOCK)
            with arrow.csv.open_csv(file, read, parse, convert) as reader:
                yield reader

    @contextmanager
    def errors(self, types: Mapping[str, Any]) -> Iterator[None]:
        """What the library says of a bad file quotes its cells; ours names the column."""
        path = self.lines.path
        try:
            yield
        except DAMAGED:
            raise DataError(
                f"{path} cannot be read to its end; it is damaged or cut short, so fetch or write it again."
            ) from None
        except (arrow_library().ArrowException, ValueError) as error:
            if isinstance(error, DataError):
                raise
            if self._ragged:
                raise self.lines.ragged() from None
            number = re.search(r"CSV column #(\d+)", str(error))
            if number is None or not types:
                raise DataError(f"{path} cannot be read; check that it is UTF-8 text and quotes are closed.") from None
            name = list(types)[int(number[1])]
            what = f"Column {name!r} of {path} begins as numbers and goes on as something else; name it in "
            raise DataError(Sentence(what, Keyword("categorical"), ", or correct the cells.")) from None
