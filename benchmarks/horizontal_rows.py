"""Rows of the federated benchmarks: some have more figures than ours and the peer's, on sheets of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.rows import RatioAtMost, Row, verdict

Figure = float | int | str | None


@dataclass(frozen=True)
class SameForest:
    """The federated forests are the pooled one, bit for bit; what they score or cost has no part in it."""

    equal: bool

    def holds(self, ours: float, peer: float | None) -> bool:  # noqa: ARG002 - this bar looks at forests alone
        """Whether they are."""
        return self.equal

    def __str__(self) -> str:
        return "forest == pooled"


@dataclass(frozen=True)
class RatioAndGoal:
    """Ours costs at most `limit` times the peer's; the goal is told, not held against us."""

    limit: float
    goal: float

    def holds(self, ours: float, peer: float | None) -> bool:
        """As without a goal."""
        return RatioAtMost(self.limit).holds(ours, peer)

    def __str__(self) -> str:
        return f"ratio <= {self.limit:g}, goal {self.goal:g}"


@dataclass(frozen=True)
class Line(Row):
    """A row whose figures, by heading, stand on a sheet; all lines of a sheet have the same headings."""

    sheet: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The row in the form kept in files."""
        return {**super().as_json(), "sheet": self.sheet, "figures": dict(self.figures)}


def print_sheets(title: str, rows: list[Row], console: Console) -> None:
    """Each sheet's lines for people, in a table of its own."""
    lines = [row for row in rows if isinstance(row, Line)]
    order = list(dict.fromkeys(line.sheet for line in lines))
    for sheet, group in groupby(sorted(lines, key=lambda line: order.index(line.sheet)), lambda line: line.sheet):
        print_sheet(f"{title}: {sheet}", list(group), console)


def print_sheet(title: str, lines: list[Line], console: Console) -> None:
    """One table; the last column says whether the forests are equal, or another bar is reached."""
    table = Table("name", "data", title=title)
    for heading in lines[0].figures:
        table.add_column(heading.replace(" ", "\n"), justify="right")
    table.add_column("equal" if isinstance(lines[0].bar, SameForest) else "ok")
    for line in lines:
        table.add_row(line.name, line.data, *map(figure, line.figures.values()), verdict(line.ok))
    console.print(table)


def figure(value: Figure) -> str:
    """A score, seconds or a ratio with its digits, a count without."""
    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else value
