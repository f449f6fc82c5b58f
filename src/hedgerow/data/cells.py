"""Cells of a column: numbers, or text and its codes; whatever array or frame they come in."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DataError, Keyword, Sentence

Place: TypeAlias = Callable[[int], str]  # where a row lies, in the user's words
EXACT = 1 << 24  # whole numbers up to here are exact in float32


def is_a(thing: Any, module: str, *kinds: str) -> bool:
    """Whether it is one of a library's kinds, without importing the library."""
    found = tuple(kind for name in kinds if (kind := getattr(sys.modules.get(module), name, None)) is not None)
    return isinstance(thing, found)


def infinite(name: str, where: str) -> DataError:
    """The refusal of a value that float32 cannot hold."""
    return DataError(
        f"Column {name!r} holds an infinite value, or one too large for a 32-bit float, at {where}; "
        "replace it, rescale the column, or make it missing (NaN)."
    )


def as_array(column: Any) -> NDArray[Any]:
    """A column as NumPy sees it; missing cells are NaN, or None or NA in an object array."""
    if is_a(column, "pyarrow", "ChunkedArray", "Array"):
        arrow = sys.modules["pyarrow"]
        if arrow.types.is_dictionary(column.type):  # whose own to_numpy() turns nulls into categories
            column = column.cast(column.type.value_type)
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if is_a(column, "pandas", "Series"):
        if not isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf" and column.hasnans:
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(column.to_numpy())
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.filled(column.astype(np.float64), np.nan)
    try:
        return np.asarray(column)
    except DataError:
        raise
    except ValueError:
        raise DataError("The rows given are not all of one length; give each the same number of cells.") from None


def is_text(column: Any) -> bool:
    """Whether a frame's column declares itself to be text, categories or truth values."""
    if is_a(column, "pandas", "Series"):
        return column.dtype.kind in "OUSTb"
    if is_a(column, "pyarrow", "ChunkedArray"):
        types = sys.modules["pyarrow"].types
        kinds = ("dictionary", "string", "large_string", "string_view", "boolean")
        return any(getattr(types, f"is_{kind}")(column.type) for kind in kinds)
    return False


def as_numbers(column: Any, name: str, place: Place) -> NDArray[Any]:
    """A column's cells as numbers; text among them is refused."""
    cells = as_array(column)
    if cells.dtype.kind in "biuf":
        return cells
    if cells.dtype.kind not in "OUST":
        raise DataError(f"Column {name!r} holds {cells.dtype.name} values; turn them into numbers or text first.")
    kinds = set(map(type, cells))
    text = tuple(kind for kind in kinds if issubclass(kind, str | bytes))
    if text:
        row = next(row for row, cell in enumerate(cells) if isinstance(cell, text))
        raise text_in_numbers(name, place(row))
    if not all(issubclass(kind, float | int | np.number) for kind in kinds):
        cells = cells.copy()
        cells[gaps(cells)] = np.nan
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _no_number(cells, name, place) from None


def text_in_numbers(name: str, where: str) -> DataError:
    """The refusal of a cell of text among numbers."""
    what = f"There is text in numeric column {name!r} at {where}; correct or empty that cell, or name the column in "
    return DataError(Sentence(what, Keyword("categorical"), "."))


def _no_number(cells: NDArray[Any], name: str, place: Place) -> Exception:
    for row, cell in enumerate(cells):
        try:
            float(cell)
        except OverflowError:
            return infinite(name, place(row))
        except (TypeError, ValueError):
            return TypeError(
                f"A cell given as argument must be a string or a number, but column {name!r} holds an object of type "
                f"{type(cell).__name__} at {place(row)}; replace it."
            )
    return DataError(f"Column {name!r} cannot be read as numbers; convert it first.")


def missing(cell: Any) -> bool:
    """Whether a cell of an object array is missing."""
    if isinstance(cell, float | np.floating):
        return bool(np.isnan(cell))
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def gaps(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells are missing."""
    if cells.dtype.kind == "f":
        return np.asarray(np.isnan(cells))
    if cells.dtype.kind == "O":
        return np.fromiter(map(missing, cells), dtype=bool, count=len(cells))
    return np.zeros(len(cells), dtype=bool)


def text_of(cell: Any) -> str | None:
    """A category's text: 3.0 is "3"; nothing for a missing cell."""
    if missing(cell):
        return None
    whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    return str(int(cell)) if whole else str(cell)


def coded(column: Any) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """Codes and their categories, sorted by text."""
    raw, cells = raw_codes(column)
    texts = [text_of(cell) for cell in cells]
    categories = tuple(sorted({text for text in texts if text is not None}))
    return lookup(texts, categories)[raw], categories


def lookup(texts: Sequence[str | None], categories: Sequence[str]) -> NDArray[np.float32]:
    """For each text its code, and at -1, as for a text unknown, NaN."""
    if len(categories) > EXACT:
        raise DataError(f"A column has more than {EXACT} categories; make it numeric or group its categories.")
    codes = {text: float(code) for code, text in enumerate(categories)}
    return np.array([np.nan if text is None else codes.get(text, np.nan) for text in texts] + [np.nan], np.float32)


def raw_codes(column: Any) -> tuple[NDArray[Any], Iterable[Any]]:
    """Codes in any order and the cells they stand for; -1 is missing."""
    if is_a(column, "pandas", "Series") and column.dtype.name == "category":
        return column.cat.codes.to_numpy(), column.cat.categories
    if is_a(column, "pandas", "Series") and column.dtype.name in ("str", "string"):
        codes, cells = column.factorize()
        return codes, cells
    if is_a(column, "pyarrow", "ChunkedArray"):
        dictionary = sys.modules["pyarrow"].types.is_dictionary(column.type)
        encoded = (column if dictionary else column.dictionary_encode()).combine_chunks()
        return encoded.indices.cast("int64").fill_null(-1).to_numpy(), encoded.dictionary.to_pylist()
    cells = as_array(column)
    if cells.dtype.kind != "O":
        cells, codes = np.unique(cells, return_inverse=True)
        return codes, cells
    texts = [text_of(cell) for cell in cells]
    code_of = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return np.fromiter(map(code_of.__getitem__, texts), dtype=np.int64, count=len(texts)), code_of
