"""How much a passive party's answer gives away: in its log, and there for good, before the answer leaves.

Sees in the clear.  Nothing but counts.

Sums are counted before they are worked out, so that the disk writes meanwhile; an answer that is refused half-way
counts as given.
"""

from concurrent.futures import Future, ThreadPoolExecutor

from hedgerow.protocols.session.journal import Journal
from hedgerow.protocols.vertical.passive_rows import GAVE, PassiveRows


class DisclosureCounter:
    """What one answer gives; with `durable` it would outlast a loss of power."""

    def __init__(self, rows: PassiveRows, journal: Journal, durable: bool) -> None:
        self.rows, self.journal, self.durable = rows, journal, durable
        self._noted = self._counts()
        self._written: Future[None] | None = None

    def _counts(self) -> dict[str, int]:
        return {"sums": self.rows.returned, "sides": self.rows.told_sides, "bits": self.rows.carried}

    def _note(self) -> None:
        before, self._noted = self._noted, self._counts()
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
        if self._noted != self._counts():
            self._note()
            if self.durable:
                self.journal.log.sync()
