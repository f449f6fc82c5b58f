"""A line of a run's cost."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """Messages of one type: how many each party gets or sends, and their bytes for each party."""

    message: str
    times: int
    n_bytes: float
    trip: bool = False
    """Whether it is a request, and so a round trip."""
