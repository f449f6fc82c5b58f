"""One source that a run names, read into one table; what cannot be read is said in the run file's own words."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hedgerow.data.builtin import BUILTIN, BUILTIN_LABEL, read_builtin
from hedgerow.data.read import LIBSVM, USUAL, libsvm_first_index, read_table
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, Keyword, ParameterError, Sentence
from hedgerow.run.file.options import DataOptions
from hedgerow.run.file.section import Source

_KEYS = {
    "label": "label",
    "id_column": "id",
    "weight": "weight",
    "categorical": "categorical",
    "n_columns": "n_columns",
    "first_index": "first_index",
    "delimiter": "delimiter",
    "decimal": "decimal",
    "ignore": "ignore",
}


def in_keys(sentence: str) -> str:
    """A sentence of the library in the run file's words: where Python has a keyword, it has a key."""
    return sentence.reworded(_key) if isinstance(sentence, Sentence) else sentence


def _key(keyword: Keyword) -> str:
    value = "" if keyword.value is None else f" = {keyword.value}"
    return f"[data] {_KEYS[keyword.name]}{value}"


def read(options: DataOptions, source: Source, n_columns: int | None = None) -> Table:
    """One table, with labels."""
    if isinstance(source, str) and source.startswith(BUILTIN):
        if options.label not in (None, BUILTIN_LABEL) or options.id or options.weight:
            raise ParameterError(
                f"{source} has its own label, {BUILTIN_LABEL!r}; leave out [data] label, id and weight."
            )
        return read_builtin(source, options.categorical)
    if options.label is None and not is_libsvm(options, source):
        raise ParameterError(f'[data] lacks label, and {source} needs one; add label = "NAME OF A COLUMN".')
    return read_file(options, source, n_columns)


def read_file(options: DataOptions, source: Source, n_columns: int | None = None) -> Table:
    """One file, with labels if the options name them."""
    libsvm = is_libsvm(options, source)
    width = (n_columns or options.n_columns) if libsvm else None
    written: dict[str, Any] = {"ignore": () if libsvm else options.ignore}
    if is_csv(options, source):
        written |= {"delimiter": options.delimiter, "decimal": options.decimal}
    try:
        return read_table(
            source, label=options.label, id_column=options.id, weight=options.weight, n_columns=width,
            categorical=options.categorical, absent=options.absent if libsvm else "missing", kind=options.format,
            first_index=options.first_index if libsvm else None, lenient=True,
            repeated_ids=options.repeated_ids, **written,
        )  # fmt: skip
    except (DataError, ParameterError) as error:
        said = in_keys(error.sentence)
        raise type(error)(said if str(source) in said else f"{source}: {said}") from None


def counted(options: DataOptions, sources: Sequence[Source | None]) -> DataOptions:
    """How these are read; LIBSVM files among them all count their columns from the same number."""
    files = [s for s in sources if isinstance(s, Path) and is_libsvm(options, s) and s.is_file()]
    if options.first_index is not None or not files:
        return options
    return replace(options, first_index=min(map(libsvm_first_index, files)))


def width_of(options: DataOptions, source: Source, columns: Sequence[Column]) -> int | None:
    """How wide a LIBSVM file must be to fit these columns."""
    return max(len(columns), options.n_columns or 0) if is_libsvm(options, source) else None


def is_csv(options: DataOptions, source: Source) -> bool:
    """Whether a source is read as CSV or TSV."""
    suffix = str(source).lower().removesuffix(".gz").rpartition(".")[2]
    return options.format == "csv" or (options.format is None and suffix in USUAL)


def is_libsvm(options: DataOptions, source: Source) -> bool:
    """Whether a source is read as LIBSVM."""
    suffix = str(source).lower().removesuffix(".gz").rpartition(".")[2]
    return options.format == "libsvm" or (options.format is None and suffix in LIBSVM)
