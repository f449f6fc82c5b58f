"""How a CSV file is written: what stands between its fields, and which sign begins the decimals of its numbers.

Both are recognised where they are not given, and what was recognised is told, so that a file of one wide column, or
numbers read as text, go unnoticed nowhere.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from hedgerow.data.cells import Place, text_in_numbers
from hedgerow.errors import DataError, Keyword, ParameterError, Sentence

NUMBER = r"(?i)^\s*[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|infinity)\s*$"
COMMA_NUMBER = r"(?i)^\s*[+-]?(((\d+|\d{1,3}(\.\d{3})+)(,\d*)?|,\d+)(e[+-]?\d+)?|inf|infinity)\s*$"
"""With ',' before the decimals, and maybe '.' between thousands."""
MOSTLY = 0.9
DELIMITERS = (";", "\t", "|")
"""What may stand between fields where it is not the comma."""
LOOKED_AT = 100
"""Records from which the delimiter is recognised."""

DECIMAL = Keyword("decimal")
Decimal = Literal[".", ","]
Records = Callable[[str], Iterable[Sequence[str]]]
"""The records of a file, the header first, if this stands between fields."""


def check_delimiter(given: str) -> str:
    """One sign that can stand between fields; tab may be written out."""
    found = "\t" if given in ("tab", r"\t") else given
    if len(found) != 1 or not found.isascii() or found.isalnum() or found in '"\r\n.+-':
        allowed = f" must be one sign, like ';', or the word tab; it is {given!r}."
        raise ParameterError(Sentence(Keyword("delimiter"), allowed))
    return found


def check_decimal(given: str) -> Decimal:
    """The sign before decimals."""
    if given not in (".", ","):
        raise ParameterError(Sentence(DECIMAL, f" must be '.' or ','; it is {given!r}."))
    return given  # type: ignore[return-value]  # one of the two


def delimiter_of(records: Records, usual: str) -> str:
    """What stands between fields: the usual sign, unless only another one gives rows that are as wide as the header."""
    fits, width = _fit(records(usual))
    if fits and width > 1:
        return usual
    others = {sign: _fit(records(sign)) for sign in DELIMITERS if sign != usual}
    fitting = [sign for sign, (fits, width) in others.items() if fits and width > 1]
    if not fitting and width == 1:
        fitting = [sign for sign, (_, width) in others.items() if width > 1]
    return max(fitting, key=lambda sign: others[sign][1], default=usual)


def _fit(records: Iterable[Sequence[str]]) -> tuple[bool, int]:
    """Whether the first records are all as wide as the header, and how wide that is."""
    widths = [len(cells) for cells in islice(records, LOOKED_AT)]
    return len(set(widths)) == 1, widths[0] if widths else 0


@dataclass
class Numbers:
    """Turns columns of text into numbers where all their cells are written as such."""

    arrow: ModuleType
    path: Path
    delimiter: str
    decimal: Decimal | None
    """None: recognised column by column, where the delimiter is not the comma."""
    place: Place
    commas: list[str] = field(default_factory=list)
    """Columns recognised to have ',' before decimals."""
    unsure: list[str] = field(default_factory=list)
    """Columns of text that might be such numbers."""

    def of(self, column: Any, name: str) -> Any:
        """The column as numbers if it is written as such, or as it stands; text among numbers is refused."""
        if not self.arrow.types.is_string(column.type):
            return column
        if self.decimal != "." and (found := self._with_commas(column, name)) is not None:
            return found
        numeric = self._matches(column, NUMBER)
        count, present = self._count(numeric), len(column) - column.null_count
        if count == present > 0 and self.decimal == ",":
            found = f"Column {name!r} of {self.path} has numbers with '.' before decimals, where "
            raise DataError(Sentence(found, DECIMAL, " says ','; write all alike, or leave out ", DECIMAL, "."))
        if count == present:
            return self._floats(column, float)
        if count >= MOSTLY * present:
            raise text_in_numbers(name, self.place(self._first_other(numeric)))
        return column

    def beside(self, column: Any, name: str) -> Any:
        """Labels or weights, as numbers if they are written with ',' before decimals."""
        if self.decimal == "." or not self.arrow.types.is_string(column.type):
            return column
        found = self._with_commas(column, name, strict=False)
        return column if found is None else found

    def check(self, floats: Sequence[str]) -> None:
        """Refuse a file in which columns of `floats` have '.' before decimals and others were found to have ','."""
        if self.commas and floats:
            found = f"',' before decimals in column {self.commas[0]!r} and '.' in column {floats[0]!r}"
            advice = Sentence("say which it is with ", DECIMAL, ", or write them alike.")
            raise DataError(Sentence(f"{self.path} has {found}; ", advice))

    def _with_commas(self, column: Any, name: str, strict: bool = True) -> Any:
        """The column as numbers if all are written with ',' before decimals; None if not."""
        written = self._matches(column, COMMA_NUMBER)
        count, present = self._count(written), len(column) - column.null_count
        if self.decimal is None:
            if not self._count(self.arrow.compute.and_(written, self._matches(column, ","))):
                return None
            if self.delimiter == ",":
                self.unsure += [name] * (count == present)
                return None
        if count == present:
            self.commas += [name] * (self.decimal is None)
            return self._floats(column, lambda text: float(text.replace(".", "").replace(",", ".")))
        if strict and count >= MOSTLY * present:
            raise text_in_numbers(name, self.place(self._first_other(written)))
        return None

    def _matches(self, column: Any, pattern: str) -> Any:
        return self.arrow.compute.match_substring_regex(column, pattern)

    def _count(self, which: Any) -> int:
        return int(self.arrow.compute.sum(which).as_py() or 0)

    def _first_other(self, which: Any) -> int:
        return int(self.arrow.compute.index(which, False).as_py())

    def _floats(self, column: Any, read: Callable[[str], float]) -> Any:
        encoded = column.dictionary_encode().combine_chunks()
        numbers = self.arrow.array([read(text) for text in encoded.dictionary.to_pylist()], "float64")
        return self.arrow.chunked_array([numbers.take(encoded.indices)])

    def notes(self, recognised: bool) -> tuple[str, ...]:
        """Sentences about what was recognised, and about what might be meant otherwise."""
        parts = [f"{_shown(self.delimiter)} between fields"] * recognised + ["',' for decimals"] * bool(self.commas)
        found = (f"{self.path} uses {' and '.join(parts)}.",) if parts else ()
        asked = Sentence("has numbers with ',' and is read as text: are they decimals? Then say ", DECIMAL, ", as ','.")
        return found + tuple(Sentence(f"Column {name!r} of {self.path} ", asked) for name in self.unsure)


def _shown(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else f"{delimiter!r}"
