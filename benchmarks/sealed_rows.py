"""Bars of the benchmark of sealed prediction."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SameDigits:
    """No two scores of a line differ by half of the third digit, whoever computed them."""

    largest: float
    """Difference between any two of them."""

    def holds(self, ours: float, peer: float | None) -> bool:  # noqa: ARG002 - this bar looks at differences alone
        """Whether they are."""
        return self.largest < 0.0005

    def __str__(self) -> str:
        return "same to 3 digits"


@dataclass(frozen=True)
class WithinSteps:
    """No opened score is further from the pooled one than fixed-point numbers allow."""

    largest: float
    allowed: float

    def holds(self, ours: float, peer: float | None) -> bool:  # noqa: ARG002 - this bar looks at differences alone
        """Whether none is."""
        return self.largest <= self.allowed

    def __str__(self) -> str:
        return f"within {self.allowed:.4g} of pooled"


@dataclass(frozen=True)
class AtMost:
    """Ours alone is at most so much; a goal is told, not held against us."""

    limit: float
    goal: float | None = None

    def holds(self, ours: float, peer: float | None) -> bool:  # noqa: ARG002 - this bar looks at ours alone
        """The peer has no part in it."""
        return ours <= self.limit

    def __str__(self) -> str:
        return f"<= {self.limit:g}" + ("" if self.goal is None else f", goal {self.goal:g}")


A_ROW = AtMost(8.0, 4.0)
"""Kilobytes that a row of a large batch takes, both ways."""
