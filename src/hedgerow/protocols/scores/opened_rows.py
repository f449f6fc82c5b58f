"""The rows of a table in a sealed prediction: asked about batch by batch, and what their answers open to."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.corridor.messages import Scores
from hedgerow.data.table import Table
from hedgerow.model.model import dense
from hedgerow.protocols.align.lists import texts_of
from hedgerow.protocols.scores.active import Opened, SealedAsking
from hedgerow.protocols.scores.lockstep import Conversation

Progress = Callable[[int, int], None]
"""Told how many of how many rows are done."""


@dataclass(eq=False)
class OpenedRows:
    """What answers about the rows of a table open to, batch by batch."""

    scores: NDArray[np.int64]
    """Rows x classes."""
    reasons: dict[tuple[str, str], NDArray[np.int64]]
    """By party and label the same of contributions; none where the party is not asked about the row."""
    progress: Progress
    done: int = 0

    @classmethod
    def of(cls, n_rows: int, classes: int, progress: Progress) -> "OpenedRows":
        """None yet."""
        return cls(np.zeros((n_rows, classes), np.int64), {}, progress)

    def put(self, asking: SealedAsking, rows: NDArray[np.int64], opened: Opened) -> None:
        """Keep a batch of these rows."""
        self.scores[rows] = opened.scores
        for party, ready, told in zip(asking.layout.names, asking.session.ready, opened.reasons, strict=True):
            for label, contributions in zip(ready.reasons, told, strict=bool(len(told))):
                self.reasons.setdefault((party, label), np.zeros_like(self.scores))[rows] = contributions
        self.done += len(rows)
        self.progress(self.done, len(self.scores))


def in_batches(
    asking: SealedAsking, own_table: Table, rows: NDArray[np.int64], opened: OpenedRows, reasons: bool
) -> Conversation[Scores, None]:
    """Ask about these rows of a table, a batch after the other, and keep what opens."""
    ids, step = texts_of(own_table.take(rows)), asking.layout.most_rows
    for first in range(0, len(rows), step):
        batch = rows[first : first + step]
        one = yield from asking.asked(ids[first : first + step], dense(own_table.take(batch)), reasons)
        opened.put(asking, batch, one)
