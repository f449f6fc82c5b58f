"""Files to tables: CSV, TSV and Parquet by pyarrow, LIBSVM by scikit-learn; each also gzipped.

What those libraries say of a bad file quotes its cells, so it is never passed on: the file is read again,
slowly, to find the line, and the error names that.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np

from hedgerow.data.cells import Place
from hedgerow.data.csv_dialect import Decimal, Numbers, check_decimal, check_delimiter, delimiter_of
from hedgerow.data.id_columns import all_differ
from hedgerow.data.names import Ignored, check_distinct, column_names, no_column, positions
from hedgerow.data.table import Table, build_table
from hedgerow.errors import DataError, Keyword, ParameterError, Sentence

USUAL = {"csv": ",", "tsv": "\t"}
"""What stands between fields, unless the file shows otherwise."""
LIBSVM = ("libsvm", "svm", "txt")
KNOWN = "'.csv', '.tsv', '.parquet', '.libsvm', '.svm' and '.txt' (LIBSVM), each also with '.gz'"
INDEX = ("", "__index_level_0__")  # what pandas calls the index it writes beside the columns
MISSING = ["", "NA", "NaN", "nan", "NAN", "null", "NULL", "Null"]
WHOLE_ID = r"^(0|-?[1-9]\d{0,17})$"
WHOLE_FLOAT = r"^([+-]?\d+)\.0+$"
DAMAGED = (OSError, EOFError, zlib.error)


def read_table(
    path: str | Path,
    *,
    label: str | None = None,
    id_column: str | None = None,
    weight: str | None = None,
    categorical: Iterable[str | int] = (),
    names: Sequence[str] | None = None,
    absent: str = "missing",
    n_columns: int | None = None,
    first_index: Literal[0, 1] | None = None,
    kind: Literal["csv", "libsvm"] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    ignore: Iterable[str] = (),
    lenient: bool = False,
    repeated_ids: bool = False,
) -> Table:
    """The table in a file, its format told by its suffix, unless `kind` says what it is.

    `label`, `id_column` and `weight` name columns of a CSV, TSV or Parquet file; the other columns are features,
    but for a first column without a name, which is some frame's index: that is left out unless `id_column=""`
    asks for it. `names` renames the features. `n_columns` fixes the width of a LIBSVM file, whose label is its
    first field and whose absent entries are "missing" or "zero"; `first_index` is what its first column is called
    (None: 0 if the file has a column 0, else 1). `delimiter` is what stands between the fields of a CSV file and
    `decimal` what stands before decimals; without them both are recognised, and `Table.notes` tells it. Columns in
    `ignore` are left out; `lenient` passes over those that the file does not have. `repeated_ids` is as for `Table.of`.
    """
    path = Path(path)
    suffix = suffix_of(path, kind)
    written = _Written(
        None if delimiter is None else check_delimiter(delimiter), None if decimal is None else check_decimal(decimal)
    )
    categorical = (categorical,) if isinstance(categorical, str) else tuple(categorical)
    ignore = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    roles = {"label": label, "id_column": id_column, "weight": weight}
    if suffix not in USUAL and written != (None, None):
        why = f" are for CSV files, and {path} is none; leave them out."
        raise ParameterError(Sentence(Keyword("delimiter"), " and ", Keyword("decimal"), why))
    if suffix in LIBSVM:
        if ignore:
            why = f"{path} is LIBSVM, whose columns have no names; leave out "
            raise ParameterError(Sentence(why, Keyword("ignore"), "."))
        if given := [part for role, name in roles.items() if name is not None for part in (", ", Keyword(role))]:
            why = f"{path} is LIBSVM, whose label is its first field; leave out "
            raise ParameterError(Sentence(why, *given[1:], "."))
        return _read_libsvm(path, suffix, n_columns, first_index, names=names, categorical=categorical, absent=absent)
    if n_columns is not None:
        why = f" is for LIBSVM files; {path} says itself how wide it is, so leave it out."
        raise ParameterError(Sentence(Keyword("n_columns"), why))
    ignored = Ignored(ignore, lenient)
    notes: tuple[str, ...] = ()
    if suffix == "parquet":
        frame = _read_parquet(path, roles, ignored)
        place: Place = lambda row: f"row {row} of {path}"  # noqa: E731  # as a CSV file has it below
    else:
        place = lines = CsvLines(path, written.delimiter or delimiter_in(path, USUAL[suffix]))
        recognised = written.delimiter is None and lines.delimiter != USUAL[suffix]
        numbers = Numbers(arrow_library(), path, lines.delimiter, written.decimal, lines)
        frame = _read_csv(lines, roles, names, categorical, ignored, numbers)
        notes = numbers.notes(recognised)
    if frame.num_rows == 0:
        raise DataError(f"{path} has columns but no rows; give a file with at least one row.")
    table = build_table(
        frame, label, ids=id_column, weights=weight, names=names, categorical=categorical, absent=absent, place=place,
        repeated_ids=repeated_ids,
    )  # fmt: skip
    features = [name for name in frame.column_names if name not in roles.values()]
    return replace(table, remarks=notes, all_differ=all_differ(frame, features, table.names))


class _Written(NamedTuple):
    """What was said of how a CSV file is written."""

    delimiter: str | None
    decimal: Decimal | None


# Files


def suffix_of(path: Path, kind: str | None = None) -> str:
    """What a file says it is; refuses one that is not there, is empty, or is unknown."""
    suffix = kind or (path.name.lower().removesuffix(".gz").rpartition(".")[2] if "." in path.name else "")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name one file in it.")
    if suffix not in (*USUAL, "parquet", *LIBSVM):
        raise DataError(f"The suffix of {path} is unknown; the known ones are {KNOWN}.")
    if not path.exists():
        raise DataError(f"{path} does not exist; check the path.")
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror}.") from None
    if not start:
        raise DataError(f"{path} is empty; give a file with at least one row.")
    if is_gzipped(path) and start != b"\x1f\x8b":
        raise DataError(f"{path} is not gzip data, though its name says so; rename or compress it.")
    return suffix


def is_gzipped(path: Path) -> bool:
    """Whether its name says so."""
    return path.name.lower().endswith(".gz")


def _open(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path, "rb") if is_gzipped(path) else path.open("rb")


def _damaged(path: Path) -> DataError:
    return DataError(f"{path} cannot be read to its end; it is damaged or cut short, so fetch or write it again.")


def arrow_library() -> ModuleType:
    """The library, loaded when a file first needs it: that takes a noticeable while."""
    import pyarrow
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet

    return pyarrow  # type: ignore[no-any-return]


def _check_roles(roles: dict[str, str | None], header: Sequence[str], path: Path) -> None:
    for role, name in roles.items():
        if name is not None and name not in header:
            raise DataError(Sentence("For ", Keyword(role), f", {path} has {no_column(name, header)}."))


def _features(frame: Any, path: Path, roles: dict[str, str | None], ignored: Ignored) -> Any:
    """The frame without what is to be ignored, and without the index that pandas wrote, unless that was asked for."""
    _check_roles(roles, frame.column_names, path)
    left_out = {*ignored.among(frame.column_names, path, roles), *(set(INDEX) - set(roles.values()))}
    return frame.drop_columns([name for name in frame.column_names if name in left_out])


def _read_parquet(path: Path, roles: dict[str, str | None], ignored: Ignored) -> Any:
    arrow = arrow_library()
    try:
        with _open(path) as file:
            source = arrow.BufferReader(file.read()) if is_gzipped(path) else file
            frame = arrow.parquet.ParquetFile(source).read()
    except (arrow.ArrowException, *DAMAGED):
        raise DataError(f"{path} is not a whole Parquet file; write it again.") from None
    return _features(frame, path, roles, ignored)


# CSV


def delimiter_in(path: Path, usual: str) -> str:
    """What stands between the fields of a file."""
    try:
        return delimiter_of(lambda sign: (cells for _, cells in CsvLines(path, sign).records()), usual)
    except DAMAGED:
        raise _damaged(path) from None


class CsvLines:
    """Where a row lies in a CSV file: its line, counted from 1."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path, self.delimiter = path, delimiter

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The first line and the cells of every record that is not blank, the header's too."""
        with _open(self.path) as raw, io.TextIOWrapper(raw, "utf-8-sig", errors="replace", newline="") as text:
            reader, line = csv.reader(text, delimiter=self.delimiter), 1
            with suppress(csv.Error):  # a cell longer than that module allows: lines from here on stay unknown
                for cells in reader:
                    if cells:
                        yield line, cells
                    line = reader.line_num + 1

    def __call__(self, row: int) -> str:
        """The row's line, in the words of an error."""
        line = next((line for line, _ in islice(self.records(), row + 1, None)), None)
        return f"row {row} of {self.path}" if line is None else f"line {line} of {self.path}"

    def header(self) -> list[str]:
        """The columns' names."""
        try:
            _, names = next(self.records(), (0, []))
        except DAMAGED:
            raise _damaged(self.path) from None
        if not names:
            raise DataError(f"{self.path} is empty; give a file with a header and at least one row.")
        for j, name in enumerate(names):
            if "\ufffd" in name or (j > 0 and not name):
                raise DataError(
                    f"Column {j + 1} in the header of {self.path} has no readable name; give it one in UTF-8."
                )
        check_distinct(names)
        return names

    def ragged(self) -> DataError:
        """The error for the first record with more or fewer cells than the header."""
        width = len(self.header())
        for line, cells in self.records():
            if len(cells) != width:
                return DataError(
                    f"Line {line} of {self.path} has {len(cells)} columns where the header has {width}; "
                    "correct that line, or quote the cells that hold the delimiter."
                )
        return DataError(f"A row of {self.path} has another number of columns than the header; look for a stray quote.")


def _read_csv(
    lines: CsvLines, roles: dict[str, str | None], names: Any, categorical: Any, ignored: Ignored, numbers: Numbers
) -> Any:
    """The file as an Arrow table in which every column is numbers or text."""
    header = lines.header()
    _check_roles(roles, header, lines.path)
    left_out = ignored.among(header, lines.path, roles)
    features = [name for name in header if name not in (*roles.values(), *INDEX, *left_out)]
    chosen = {features[j] for j in positions(categorical, column_names(names, features))}
    id_column = roles["id_column"]
    texts = chosen | {*left_out} | ({id_column} if id_column is not None else set())
    frame = _parsed(lines, header, texts, numbers.decimal)
    _check_closed(frame, lines)
    frame = _features(frame, lines.path, roles, ignored)
    floats = [name for name in features if arrow_library().types.is_floating(frame.column(name).type)]
    for j, name in enumerate(frame.column_names):
        column = frame.column(j)
        if name == id_column:
            column = _as_ids(column)
        elif name in chosen:
            column = arrow_library().compute.replace_substring_regex(column, WHOLE_FLOAT, r"\1")
        else:
            column = numbers.of(column, name) if name in features else numbers.beside(column, name)
        frame = frame.set_column(j, name, column)
    numbers.check(floats)
    return frame


def _parsed(lines: CsvLines, header: Sequence[str], texts: Iterable[str], decimal: Decimal | None) -> Any:
    """Columns of numbers, of text where there is any, and of text as it stands for those named in `texts`."""
    frame = _parse(lines, texts, decimal)
    types = arrow_library().types
    plain = (types.is_integer, types.is_floating, types.is_string, types.is_null)
    dated = [name for name in header if not any(is_kind(frame.column(name).type) for is_kind in plain)]
    if dated:  # dates and truth values, as pyarrow guesses: they are categories, to be kept as they are written
        again = _parse(lines, dated, decimal, only=dated)
        for name in dated:
            frame = frame.set_column(header.index(name), name, again.column(name))
    return frame


def _parse(lines: CsvLines, texts: Iterable[str], decimal: Decimal | None, only: Sequence[str] | None = None) -> Any:
    arrow = arrow_library()
    ragged = []

    def refuse(row: Any) -> str:
        ragged.append(row.actual_columns)
        return "error"

    parse = arrow.csv.ParseOptions(delimiter=lines.delimiter, newlines_in_values=True, invalid_row_handler=refuse)
    convert = arrow.csv.ConvertOptions(
        null_values=MISSING,
        strings_can_be_null=True,
        column_types=dict.fromkeys(texts, arrow.string()),
        include_columns=only,
        decimal_point=decimal or ".",
    )
    try:
        with arrow.input_stream(str(lines.path), compression="gzip" if is_gzipped(lines.path) else None) as file:
            read = arrow.csv.ReadOptions(block_size=1 << 22)
            return arrow.csv.read_csv(file, read, parse, convert)
    except DAMAGED:
        raise _damaged(lines.path) from None
    except (arrow.ArrowException, ValueError):
        if ragged:
            raise lines.ragged() from None
        raise DataError(
            f"{lines.path} cannot be read; check that it is UTF-8 text and that quotes are closed."
        ) from None


def _check_closed(frame: Any, lines: CsvLines) -> None:
    """A quote opened in the last column and never closed swallows the rest of the file; in others the row is ragged."""
    last = frame.column(frame.num_columns - 1)
    if len(last) > 0 and "\n" in str(last[-1].as_py()):
        with _open(lines.path) as file:
            quotes = sum(line.count(b'"') for line in file)
        if quotes % 2:
            raise DataError(f"A quote is opened and never closed at {lines(len(last) - 1)}; close it or leave it out.")


def _as_ids(column: Any) -> Any:
    """Whole numbers where every id is written as one; "007" stays text."""
    whole = arrow_library().compute.match_substring_regex(column, WHOLE_ID)
    return column.cast("int64") if arrow_library().compute.all(whole).as_py() else column


# LIBSVM


def _libsvm_lines(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Line number and fields of every line that is not blank or a comment."""
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            if fields := line.partition(b"#")[0].split():
                yield number, fields


def _is_libsvm(fields: Sequence[bytes]) -> bool:
    pairs = [field.partition(b":") for field in fields[1:] if not field.startswith(b"qid:")]
    try:
        float(fields[0])
        indices = [int(index) for index, _, value in pairs if float(value) is not None]
    except ValueError:
        return False
    return all(a < b for a, b in pairwise(indices)) and all(0 <= index < 2**31 for index in indices)


def libsvm_first_index(path: Path) -> Literal[0, 1]:
    """What a LIBSVM file seems to call its first column: 0 if a row has a column 0, else 1."""
    return 0 if any(field.startswith(b"0:") for _, fields in _libsvm_lines(path) for field in fields[1:3]) else 1


def _read_libsvm(path: Path, suffix: str, n_columns: int | None, first_index: int | None, **rest: Any) -> Table:
    try:
        first = next(_libsvm_lines(path), None)
        if first is None:
            raise DataError(f"{path} is empty; give a file with at least one row.")
        if suffix == "txt" and not _is_libsvm(first[1]):
            raise DataError(f"{path} is not LIBSVM, the one format read from '.txt'; the known suffixes are {KNOWN}.")
        X, y = _load_libsvm(path, first_index)
    except DAMAGED:
        raise _damaged(path) from None

    def place(row: int) -> str:
        line = next(line for line, _ in islice(_libsvm_lines(path), row, None))
        return f"line {line} of {path}"

    if n_columns is not None:
        beyond = np.flatnonzero(X.indices >= n_columns)
        if beyond.size:
            row = int(np.searchsorted(X.indptr, beyond[0], side="right")) - 1
            advice = "raise n_columns, or check that the file belongs to this data set."
            beyond_it = ("There is a column index beyond ", Keyword("n_columns", n_columns), f" at {place(row)}; ")
            raise DataError(Sentence(*beyond_it, advice))
        X.resize(X.shape[0], n_columns)
    y = y.astype(np.int64) if np.isfinite(y).all() and (y == np.rint(y)).all() else y
    return build_table(X, y, place=place, **rest)


def _load_libsvm(path: Path, first_index: int | None) -> tuple[Any, Any]:
    from sklearn.datasets import load_svmlight_file  # slow to import

    try:
        with _open(path) as file:
            zero_based = "auto" if first_index is None else first_index == 0
            return load_svmlight_file(file, dtype=np.float32, zero_based=zero_based)  # type: ignore[no-any-return]
    except (ValueError, OverflowError):
        if first_index == 1 and libsvm_first_index(path) == 0:
            what = f"{path} has a column 0 where columns are said to begin at 1; use "
            raise DataError(Sentence(what, Keyword("first_index", 0), ".")) from None
        bad = next((line for line, fields in _libsvm_lines(path) if not _is_libsvm(fields)), None)
        where = f"line {bad} of {path}" if bad is not None else f"{path}"
        raise DataError(
            f"There is a LIBSVM syntax error at {where}; a line is 'label index:value index:value ...', indices rising."
        ) from None
