"""Columns that look like ids: every value differs, so that nothing learnt from one of them holds for another row."""

import sys
from collections.abc import Collection, Sequence
from typing import Any

from hedgerow.data.table import Table
from hedgerow.errors import DataError, Keyword, Sentence

FEWEST = 20
"""Rows below which every value may differ by chance."""
FIRST = 1000


def all_differ(frame: Any, features: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The names of those features of an Arrow table, of text or whole numbers, in which every value differs."""
    if frame.num_rows < FEWEST:
        return ()
    return tuple(name for feature, name in zip(features, names, strict=True) if _differs(frame.column(feature)))


def _differs(column: Any) -> bool:
    arrow = sys.modules["pyarrow"]
    kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
    if not (arrow.types.is_integer(kind) or arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
        return False
    first = column.slice(0, FIRST)
    return column.null_count == 0 and all(len(part.unique()) == len(part) for part in (first, column))


def asked_about(table: Table, meant: Collection[str], how: str) -> list[str]:
    """A question for every column of whole numbers that looks like an id; text that does is refused unless `meant`.

    `how` is what to do about it, with {} where the column's name goes.
    """
    sentences = []
    for column in table.columns:
        if column.name not in table.all_differ or column.name in meant:
            continue
        what = f"Every value of column {column.name!r} differs"
        asked = f"is it an id? {how.format(column.name)}"
        if column.kind == "categorical":
            why = f"{what}, so that each row would be a category of its own: {asked} If that is meant, name it in "
            raise DataError(Sentence(why, Keyword("categorical"), "."))
        sentences.append(f"{what}: {asked}")
    return sentences
