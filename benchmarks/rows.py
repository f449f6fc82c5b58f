"""What every benchmark gives: rows of ours beside the peer's, each with a bar or none."""

from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table


class Bar(Protocol):
    """What a row must reach; its text is what readers see."""

    def holds(self, ours: float, peer: float | None) -> bool:
        """Whether ours reaches it."""


@dataclass(frozen=True)
class RatioAtMost:
    """Ours costs at most so many times the peer's."""

    limit: float

    def holds(self, ours: float, peer: float | None) -> bool:
        """Without a peer there is no ratio, and nothing is reached."""
        return peer is not None and ours <= self.limit * peer

    def __str__(self) -> str:
        return f"ratio <= {self.limit:g}"


@dataclass(frozen=True)
class NotBelowPeer:
    """Ours, of which more is better, lies above the peer's or at most `margin` below."""

    margin: float

    def holds(self, ours: float, peer: float | None) -> bool:
        """Better than the peer is always enough."""
        return peer is not None and ours >= peer - self.margin

    def __str__(self) -> str:
        return f">= peer - {self.margin:g}"


@dataclass(frozen=True)
class AtLeast:
    """Ours alone is at least so much."""

    limit: float

    def holds(self, ours: float, peer: float | None) -> bool:  # noqa: ARG002 - this bar looks at ours alone
        """The peer has no part in it."""
        return ours >= self.limit

    def __str__(self) -> str:
        return f">= {self.limit:.4f}"


@dataclass(frozen=True)
class Row:
    """One figure of ours, the peer's if there is one, and the bar if there is one.

    `data` says real or generated; `others` how many cores other processes kept busy meanwhile, where that matters.
    """

    name: str
    data: str
    ours: float
    peer: float | None = None
    bar: Bar | None = None
    others: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's."""
        return self.ours / self.peer if self.peer else None

    @property
    def ok(self) -> bool | None:
        """Whether the bar is reached; None without a bar."""
        return None if self.bar is None else self.bar.holds(self.ours, self.peer)

    def as_json(self) -> dict[str, Any]:
        """The row in the form kept in files."""
        return {
            "name": self.name,
            "data": self.data,
            "ours": self.ours,
            "peer": self.peer,
            "ratio": self.ratio,
            "bar": None if self.bar is None else str(self.bar),
            "ok": self.ok,
            "others": self.others,
        }


def all_ok(rows: list[Row]) -> bool:
    """Whether every row that has a bar reaches it."""
    return all(row.ok is not False for row in rows)


def print_table(title: str, rows: list[Row], console: Console) -> None:
    """The rows for people."""
    table = Table("name", "data", title=title)
    for heading in ("ours", "peer", "ratio"):
        table.add_column(heading, justify="right")
    table.add_column("bar")
    table.add_column("ok")
    table.add_column("others", justify="right")
    for row in rows:
        figures = (f"{row.ours:.4f}", figure(row.peer, 4), figure(row.ratio, 3))
        table.add_row(row.name, row.data, *figures, str(row.bar or ""), verdict(row.ok), figure(row.others, 2))
    console.print(table)


def figure(value: float | None, digits: int) -> str:
    """A number, or nothing where there is none."""
    return "" if value is None else f"{value:.{digits}f}"


def verdict(ok: bool | None) -> str:
    """A word for a verdict; none without a bar."""
    return "" if ok is None else "[green]yes[/]" if ok else "[red]no[/]"
