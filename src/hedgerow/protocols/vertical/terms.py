"""What a passive party of a vertical run holds the active one to: rules of the plan and limits of its owner's policy.

Nothing is said here; `passive_rows` has the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hedgerow.errors import PolicyError


@dataclass(frozen=True)
class Terms:
    """What a passive party holds the active one to, beside the parameters of the trees."""

    asked: Callable[[int], bool] = lambda _: True
    """Whether a round may ask this party for anything."""
    shrinks: bool = False
    """Whether parties may be lost on the way, so that the sizes of the run become smaller."""
    fewest_rows: int = 1
    """Of a node that is summed, and of each side of a cut."""
    given: int = 0
    """Sums that processes before this one have given."""
    told: int = 0
    """Sides of rows that they have told."""
    most_trees: int = 1
    """Trees of a round: one, or one a class."""
    bin_rows: int = 1
    """Of each bin that has any; the own cut points are made coarser where they give smaller ones."""
    carried: int = 0
    """Bits for which the sums had room that processes before this one have given."""
    most_sides: int = 10**18
    most_bits: int = 10**18
    """What the owner gives at most, however much the trees of the plan need."""

    others: int = 0
    """Other passive parties, which may be asked for sums, too."""

    def check_given(self, sides: int, bits: int) -> None:
        """Refuse to give more than the owner's policy allows."""
        for n, most, what in ((sides, self.most_sides, "most_sides"), (bits, self.most_bits, "most_bits")):
            if n > most:
                raise PolicyError(f"The run takes more of this party's rows than its policy gives away ({what}).")
