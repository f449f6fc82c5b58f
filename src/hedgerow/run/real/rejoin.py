"""Sealed scores for as long as parties come and go: one that is back as a new process is told all anew."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Table
from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.protocols.scores.opened_rows import Progress
from hedgerow.protocols.scores.scoring import Reason, SealedScores

T = TypeVar("T")


class Scoring:
    """Sealed scores for as long as the parties are here: a party that is back as a new process is told all anew."""

    def __init__(self, join: Callable[[], SealedScores]) -> None:
        self._join = join
        self._restarted = threading.Event()
        self._scores: SealedScores | None = None
        self.n_rows = 0
        """Rows that were scored."""

    def forget(self) -> None:
        """A party knows nothing any more of what it was told."""
        self._restarted.set()

    def joined(self) -> SealedScores:
        """The parties, told all that they need."""
        if self._scores is None or self._restarted.is_set():
            self._restarted.clear()
            self.close()
            self._scores = self._join()
        return self._scores

    def close(self) -> None:
        """What was begun with the parties is over."""
        begun, self._scores = self._scores, None
        if begun is not None:
            begun.close()

    def scores(self, own_table: Table, progress: Progress = lambda _done, _of: None) -> NDArray[np.float32]:
        """Raw scores, rows x classes."""
        found = self._tried(lambda: self.joined().scores(own_table, progress))
        self.n_rows += own_table.n_rows
        return found

    def explained(self, own_table: Table, own_columns: Sequence[str]) -> tuple[NDArray[np.float32], list[Reason]]:
        """Raw scores, and what columns contribute to them."""
        found = self._tried(lambda: self.joined().explained(own_table, own_columns))
        self.n_rows += own_table.n_rows
        return found

    def _tried(self, work: Callable[[], T]) -> T:
        """Once more, if a party was lost or came back as a new process meanwhile."""
        try:
            return work()
        except PartyLost:
            self._restarted.set()
        except ProtocolError:
            if not self._restarted.is_set():
                raise
        return work()
