"""What columns are called: names given, automatic, looked up, missed."""

import difflib
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hedgerow.data.cells import is_a
from hedgerow.errors import DataError, Keyword, ParameterError, Sentence

CATEGORICAL, IGNORE = Keyword("categorical"), Keyword("ignore")


@dataclass
class Frame:
    """The columns of a pandas or Arrow frame, and which of them are still features."""

    columns: Mapping[str, Any]
    features: list[str]


def frame_of(X: Any) -> Frame | None:
    """The columns of a data frame, or None for anything else."""
    if is_a(X, "pandas", "DataFrame"):
        names, columns = [str(name) for name in X.columns], [X.iloc[:, j] for j in range(X.shape[1])]
    elif is_a(X, "pyarrow", "Table"):
        names, columns = list(X.column_names), list(X.columns)
    else:
        return None
    check_distinct(names)
    return Frame(dict(zip(names, columns, strict=True)), names)


def taken(frame: Frame | None, given: Any, what: str) -> Any:
    """The column that a word names, taken out of the features; anything else as it is."""
    if not isinstance(given, str):
        return given
    if frame is None:
        raise DataError(f"{what}={given!r} names a column, but X is not a data frame; pass the values themselves.")
    if given not in frame.columns:
        raise DataError(f"The table has {no_column(given, frame.columns)}.")
    frame.features = [name for name in frame.features if name != given]
    return frame.columns[given]


def no_column(name: str, available: Iterable[str]) -> str:
    """The part of a sentence that says which column is not there, and which are."""
    known = list(available)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    more = f" and {len(known) - 8} more" if len(known) > 8 else ""
    return f"no column {name!r}{hint}; its columns are {', '.join(map(repr, known[:8]))}{more}"


def some(names: Sequence[str], most: int = 5) -> str:
    """Names in a sentence: the first few, and how many more there are."""
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def automatic_names(count: int) -> list[str]:
    """f0, f1, ..."""
    return [f"f{j}" for j in range(count)]


def column_names(given: Sequence[str] | None, default: Sequence[str]) -> list[str]:
    """The names given, if they fit, or else the default."""
    names = list(default) if given is None else [str(name) for name in given]
    if len(names) != len(default):
        raise DataError(f"{len(names)} names were given for {len(default)} columns; give one name for each column.")
    check_distinct(names)
    return names


def check_distinct(names: Sequence[str]) -> None:
    """No two columns may share a name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"Column name {name!r} occurs more than once; give each column a name of its own.")
        seen.add(name)


def positions(chosen: Iterable[str | int], names: Sequence[str]) -> set[int]:
    """Where the chosen columns, given by name or position, lie."""
    where = {name: j for j, name in enumerate(names)}
    found = set()
    for item in [chosen] if isinstance(chosen, str) else chosen:
        if isinstance(item, str) and item not in where:
            raise DataError(Sentence(CATEGORICAL, f" names a column that is not there: {no_column(item, names)}."))
        j = where[item] if isinstance(item, str) else operator.index(item)
        if not 0 <= j < len(names):
            raise DataError(Sentence(CATEGORICAL, f" holds position {j}; positions run from 0 to {len(names) - 1}."))
        found.add(j)
    return found


class Ignored(NamedTuple):
    """Columns to leave out, by name or several in one text with commas; `lenient` if there may be none such."""

    names: tuple[str, ...]
    lenient: bool

    def among(self, header: Sequence[str], path: object, roles: Mapping[str, str | None]) -> list[str]:
        """Those that the file has; refuses one that it has not, and one that has a use."""
        names = [name for given in self.names for name in _several(given, header)]
        for name in names:
            role = next((role for role, used in roles.items() if used == name), None)
            if role is not None:
                both = (f"Column {name!r} is named both by ", Keyword(role), " and by ", IGNORE, "; leave out one.")
                raise ParameterError(Sentence(*both))
            if name not in header and not self.lenient:
                raise DataError(Sentence("For ", IGNORE, f", {path} has {no_column(name, header)}."))
        return [name for name in names if name in header]


def _several(given: str, header: Sequence[str]) -> list[str]:
    """One name, or where there is no such column, names separated by commas."""
    return [given] if given in header else [name.strip() for name in given.split(",")]
