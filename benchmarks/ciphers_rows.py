"""Bars of the ciphers' benchmark."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Faster:
    """Ours takes at most one so-many-eth of the peer's seconds; a goal is told, not held against us."""

    times: float
    goal: float | None = None

    def holds(self, ours: float, peer: float | None) -> bool:
        """Without a peer nothing is faster."""
        return peer is not None and peer >= self.times * ours

    def __str__(self) -> str:
        told = f">= {self.times:g}x faster"
        return told if self.goal is None else f"{told}, goal {self.goal:g}x"


@dataclass(frozen=True)
class Below:
    """Ours alone is less than so much."""

    limit: float

    def holds(self, ours: float, peer: float | None) -> bool:  # noqa: ARG002 - this bar looks at ours alone
        """The peer has no part in it."""
        return ours < self.limit

    def __str__(self) -> str:
        return f"< {self.limit:g}"


@dataclass(frozen=True)
class SameSums:
    """Every opened sum is the plain one; what it costs has no part in it."""

    equal: bool

    def holds(self, ours: float, peer: float | None) -> bool:  # noqa: ARG002 - this bar looks at sums alone
        """Whether they are."""
        return self.equal

    def __str__(self) -> str:
        return "sums == plain"
