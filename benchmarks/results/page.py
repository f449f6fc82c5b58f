"""Pages from what is kept: tables of ours beside what the papers print, and a sentence wherever the two differ."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.results.parts import PARTS
from benchmarks.results.record import Record, Records

Cell = float | int | str | None
NEAR = 0.005
"""Scores no further apart than this are taken for the same."""
UNKNOWN = "Why is not known."


class Compared(NamedTuple):
    """A figure of ours beside the published one."""

    name: str
    what: str
    published: float | None
    ours: float | None
    key: str = ""
    """What explains a difference, where that is not the name."""


@dataclass(frozen=True)
class Found:
    """What a section may show: the rows of its parts."""

    records: Sequence[Record]

    def rows(self, sheet: str = "", part: str = "") -> list[dict[str, Any]]:
        """The figures of a sheet, each with its `name` and `set`; all lines where no sheet is named."""
        return [
            {"name": row["name"], "set": record.set_name, "quiet": record.quiet, "ok": row["ok"], **row["figures"]}
            for record in self.records
            for row in record.rows
            if row["sheet"].startswith(sheet) and record.part.startswith(part)
        ]


@dataclass(frozen=True)
class Section:
    """A table or figure of a paper: a heading, what was done, and how the rows of its parts become Markdown."""

    title: str
    about: str
    parts: tuple[str, ...]
    body: Callable[[Found], str]
    sets: tuple[str, ...] = ()
    """Those of its parts that it shows; all if none are named."""

    def markdown(self, records: Records) -> str:
        """The section; it says what is missing."""
        wanted = [(part, name) for part in self.parts for name in self.sets or PARTS[part].sets]
        found = [records.get(*each) for each in wanted]
        here = [record for record in found if record is not None]
        lines = [f"## {self.title}", "", self.about, ""]
        if here or not wanted:
            lines += [self.body(Found(here)).rstrip(), ""]
        several = len(self.parts) > 1
        named = [f"{part} {name}" if several else name for part, name in wanted]
        if absent := [name for name, record in zip(named, found, strict=True) if record is None]:
            lines += [f"*Not measured yet: {', '.join(absent)}.*", ""]
        hurried = [
            name
            for (part, _), name, record in zip(wanted, named, found, strict=True)
            if record is not None and PARTS[part].timed and not record.quiet
        ]
        if hurried:
            lines += [f"*Seconds not yet measured on a quiet machine: {', '.join(hurried)}.*", ""]
        return "\n".join(lines)


@dataclass(frozen=True)
class Page:
    """A page of sections."""

    file: str
    title: str
    about: str
    sections: tuple[Section, ...] = field(default_factory=tuple)

    def markdown(self, records: Records) -> str:
        """The page."""
        parts = [f"# {self.title}", self.about, *(section.markdown(records) for section in self.sections)]
        return "\n\n".join(part.strip() for part in parts) + "\n"


def grid(headings: Sequence[str], rows: Iterable[Sequence[Cell]], digits: int = 3) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(headings)} |", f"| {' | '.join(['---'] * len(headings))} |"]
    lines += [f"| {' | '.join(shown(cell, digits) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def scores(rows: Iterable[Compared], why: Mapping[str, str]) -> str:
    """Scores: the difference of each, and below the table why, where it is more than `NEAR`."""
    told: list[str] = []
    cells: list[list[Cell]] = []
    for row in rows:
        note: Cell = ""
        apart = None if row.published is None or row.ours is None else row.ours - row.published
        if apart is not None and abs(apart) > NEAR:
            reason = why.get(row.key or row.name, UNKNOWN)
            told += [] if reason in told else [reason]
            note = f"({told.index(reason) + 1})"
        cells.append([row.name, row.what, row.published, row.ours, signed(apart), note])
    notes = "".join(f"{number}. {reason}\n" for number, reason in enumerate(told, 1))
    return grid(("set", "", "published", "ours", "difference", ""), cells) + ("\n" + notes if notes else "")


def times(rows: Iterable[Compared], unit: str) -> str:
    """Seconds or megabytes: the multiple of the published ones."""
    cells = [[r.name, r.what, r.published, r.ours, multiple(r.ours, r.published)] for r in rows]
    return grid(("set", "", f"published, {unit}", f"ours, {unit}", "ours / published"), cells)


def signed(value: float | None) -> str:
    """A difference; one that rounds to nothing has no sign."""
    if value is None:
        return ""
    return f"{value:+.3f}" if f"{abs(value):.3f}" != "0.000" else "0"


def multiple(ours: float | None, theirs: float | None) -> str:
    """How many times the published figure."""
    return "" if ours is None or not theirs else shown(ours / theirs, 2) + "x"


def shown(cell: Cell, digits: int = 3) -> str:
    """A cell; of large figures no more digits than say something."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        places = digits if abs(cell) < 10 else 1 if abs(cell) < 1000 else 0
        return f"{cell:.{places}f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def when_quiet(row: Mapping[str, Any], key: str) -> Any:
    """Seconds of a row, if nobody else was busy while they were measured."""
    return row[key] if row["quiet"] else None
