"""How fast the driver's links to its parties are: measured before a plan is signed, and written into it.

A measured speed is kept as the nearest of a few steps, so that measuring again mostly gives the same plan. Links
faster than the last step count as that: there bytes cost no time, and still they cost.
"""

from dataclasses import dataclass
from math import log

from hedgerow.errors import ParameterError

STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
"""Mbit/s."""
LONGEST_DELAY = 60_000
"""Milliseconds."""


@dataclass(frozen=True)
class LinkSpeed:
    """The way from the driver to a party and back."""

    party: str
    mbit: float
    """The slower of both ways, with all parties asked at once where there are several."""
    delay_ms: int
    """A round trip."""

    def __post_init__(self) -> None:
        if self.mbit not in STEPS or not 0 <= self.delay_ms <= LONGEST_DELAY:
            raise ParameterError(
                f"The plan has a link to {self.party!r} of {self.mbit:g} Mbit/s and {self.delay_ms} ms; the speed must "
                f"be one of {', '.join(f'{step:g}' for step in STEPS)}, the delay from 0 to {LONGEST_DELAY}."
            )

    @classmethod
    def measured(cls, party: str, mbit: float, delay: float) -> "LinkSpeed":
        """A link of about this speed, with a round trip of so many seconds."""
        step = min(STEPS, key=lambda step: abs(log(step / max(mbit, STEPS[0] / 2))))
        return cls(party, step, min(round(delay * 1000), LONGEST_DELAY))

    def __str__(self) -> str:
        return f"{self.party} {self.mbit:g} Mbit/s, {self.delay_ms} ms"
