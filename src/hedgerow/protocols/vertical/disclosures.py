"""What a passive party of a vertical run gives away: how much, and what it holds the active party to.

Rules are those of the plan and of its owner's policy. What an answer gives is in the party's log, and there for good,
before it leaves. Sums are counted before they are worked out, so that the disk writes meanwhile; an answer that is
refused half-way counts as given.

Sees in the clear.  Nothing but counts.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass

from hedgerow.errors import PolicyError
from hedgerow.protocols.session.journal import Journal

GAVE = "gave"
"""The line of the party's log that counts what it gave."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a passive party holds the active one to, beside the parameters of the trees."""

    asked: Callable[[int], bool] = lambda _: True
    """Whether a round may ask this party for anything."""
    shrinks: bool = False
    """Whether parties may be lost on the way, so that the sizes of the run become smaller."""
    fewest_rows: int = 1
    """Of a node that is summed, and of each side of a cut."""
    most_trees: int = 1
    """Trees of a round: one, or one a class."""
    bin_rows: int = 1
    """Of each bin that has any; the own cut points are made coarser where they give smaller ones."""
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


@dataclass
class Given:
    """What was given so far, also by processes before this one."""

    sums: int = 0
    sides: int = 0
    """Of rows at chosen cuts."""
    bits: int = 0
    """That the sums can carry at most, whatever was sealed, and what is told with them."""


class DisclosureCounter:
    """What one answer gives; with `durable` it would outlast a loss of power."""

    def __init__(self, given: Given, journal: Journal, durable: bool) -> None:
        self.given, self.journal, self.durable = given, journal, durable
        self._noted = asdict(given)
        self._written: Future[None] | None = None

    def _note(self) -> None:
        before, self._noted = self._noted, asdict(self.given)
        new = {what: n - before[what] for what, n in self._noted.items()}
        self.journal.log.note(GAVE, run=self.journal.run, **new)

    def begin(self) -> None:
        """Note what is about to be worked out; the disk begins to write it."""
        self._note()
        if self.durable:
            writing = ThreadPoolExecutor(1)
            self._written = writing.submit(self.journal.log.sync)
            writing.shutdown(wait=False)

    def finish(self) -> None:
        """Return when everything that the answer gives is written; raises if it could not be."""
        if self._written is not None:
            self._written.result()
        if self._noted != asdict(self.given):
            self._note()
            if self.durable:
                self.journal.log.sync()
