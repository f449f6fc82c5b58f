"""What a party is told while it cannot reach the driver: why, and for how much longer it goes on trying.

Nothing here is text of the other side, which has not shown yet who it is: sentences are this side's own, by the kind of
failure.
"""

import time
from collections.abc import Callable
from math import ceil, isinf

FIRST_GAP, LONGEST_GAP = 10.0, 60.0
"""Seconds between two sentences about the same failure; they double."""


class Waiting:
    """Tells of a failure at once, again when the reason changes, and after longer and longer gaps while it stays."""

    def __init__(self, tell: Callable[[str], None], now: Callable[[], float] = time.monotonic) -> None:
        self._tell, self._now = tell, now
        self._reason, self._due, self._gap = "", 0.0, FIRST_GAP

    def over(self) -> None:
        """The driver was reached; the next failure is a new one."""
        self._reason, self._due, self._gap = "", 0.0, FIRST_GAP

    def failed(self, reason: str, seconds_left: float) -> None:
        """The driver was not reached; `reason` is a sentence without its full stop."""
        now = self._now()
        if reason == self._reason and now < self._due:
            return
        self._gap = FIRST_GAP if reason != self._reason else min(LONGEST_GAP, 2 * self._gap)
        self._reason, self._due = reason, now + self._gap
        how_long = "until it is there" if isinf(seconds_left) else f"for another {duration(seconds_left)}"
        self._tell(f"{reason}. Trying {how_long}.")


def duration(seconds: float) -> str:
    """Seconds for people: 58 s, 9 min 58 s, 2 h 5 min."""
    whole = max(0, ceil(seconds))
    hours, minutes, left = whole // 3600, whole // 60 % 60, whole % 60
    parts = [f"{hours} h" * bool(hours), f"{minutes} min" * bool(minutes), f"{left} s" * (not hours and left > 0)]
    return " ".join(part for part in parts if part) or "0 s"
