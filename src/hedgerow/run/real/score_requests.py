"""Local clients' requests for sealed scores, answered together: whoever waits at the same time shares a batch.

One thread asks the passive parties; clients wait for it. A batch that is refused is asked again request by request, so
that an id which may not be scored any more is no harm to the others.
"""

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, HedgerowError, ProtocolError, RunError
from hedgerow.model.model import Model
from hedgerow.protocols.scores.choices import MOST_ID
from hedgerow.protocols.scores.scoring import Reason
from hedgerow.run.real.rejoin import Scoring

MOST_WAITING = 1024
MOST_TOGETHER = 256
"""Rows of several requests that are asked about at once."""


@dataclass(frozen=True, eq=False)
class ScoreRequest:
    """Rows of the active party, and who waits for their scores."""

    table: Table
    reasons: tuple[str, ...] | None
    """Own columns whose contributions are wanted beside the passive ones; None: no reasons."""
    answer: "Future[tuple[NDArray[np.float32], list[Reason]]]" = field(default_factory=Future)


class ScoreDesk:
    """Takes requests from many threads and asks in one."""

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._waiting: queue.Queue[ScoreRequest | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._work, daemon=True, name="hedgerow-scores")
        self._thread.start()

    def scored(self, request: ScoreRequest) -> tuple[NDArray[np.float32], list[Reason]]:
        """Raw scores and reasons, when they are there."""
        try:
            self._waiting.put_nowait(request)
        except queue.Full:
            raise ProtocolError(f"{MOST_WAITING} requests are waiting already; ask again later.") from None
        return request.answer.result()

    def close(self) -> None:
        """Answer what waits, and no more."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        held: ScoreRequest | None = None
        while (first := held or self._waiting.get()) is not None:
            held, together = None, [first]
            while first.reasons is None and sum(one.table.n_rows for one in together) < MOST_TOGETHER:
                try:
                    following = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    self._waiting.put(None)
                    break
                if following.reasons is not None:
                    held = following
                    break
                together.append(following)
            self._settle(together)

    def _settle(self, together: Sequence[ScoreRequest]) -> None:
        try:
            found = self._ask(together)
        except HedgerowError as error:
            if len(together) > 1:
                for one in together:
                    self._settle([one])
            else:
                together[0].answer.set_exception(error)
        except Exception as error:  # whoever waits is told, and the next request is answered
            met = RunError(f"The active party met an error in its own program ({type(error).__name__}).")
            for one in together:
                one.answer.set_exception(met)
        else:
            for one, scores in zip(together, found, strict=True):
                one.answer.set_result(scores)

    def _ask(self, together: Sequence[ScoreRequest]) -> list[tuple[NDArray[np.float32], list[Reason]]]:
        first = together[0]
        if first.reasons is not None:
            return [self._scoring.explained(first.table, first.reasons)]
        scores = self._scoring.scores(joined([one.table for one in together]))
        ends = np.cumsum([one.table.n_rows for one in together])[:-1]
        return [(some, []) for some in np.split(scores, ends)]


def joined(tables: Sequence[Table]) -> Table:
    """The rows of tables with the same columns and ids, one after the other."""
    values: Any = np.concatenate([table.values for table in tables])
    return replace(
        tables[0], values=values, ids=np.concatenate([table.ids for table in tables if table.ids is not None])
    )


def table_of(columns: Sequence[Column], rows: Sequence[dict[str, Any]]) -> Table:
    """Rows of JSON objects, each with an "id" and a value for each column; null or nothing: missing."""
    values = np.full((len(rows), len(columns)), np.nan, np.float32)
    known = {"id", *(column.name for column in columns)}
    ids = []
    for i, row in enumerate(rows):
        strange = sorted(set(row) - known)
        if strange:
            raise DataError(f"Row {i} has {strange[0]!r}, which is no column of the model; leave it out.")
        if not isinstance(row.get("id"), str | int) or isinstance(row["id"], bool):
            raise DataError(f'Row {i} has no "id"; give it as text or as a whole number.')
        if isinstance(row["id"], int) and abs(row["id"]) >= 1 << 64:  # of which JSON may have thousands of digits
            raise DataError(f'The "id" of row {i} is too large a number; give it as text.')
        text = str(row["id"])
        if len(text) > MOST_ID or text.endswith("\0"):
            raise DataError(f'The "id" of row {i} is longer than {MOST_ID} characters, or ends in a zero byte.')
        ids.append(text)
        for j, column in enumerate(columns):
            values[i, j] = _cell(i, column, row.get(column.name))
    return Table(tuple(columns), values, ids=np.array(ids))


def _cell(row: int, column: Column, value: Any) -> float:
    if value is None:
        return float("nan")
    if column.kind == "categorical":
        text = str(value)
        return float(column.categories.index(text)) if text in column.categories else float("nan")
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < np.finfo(np.float32).max:
        raise DataError(f"Row {row} has {value!r} in column {column.name!r}, which takes a number or null.")
    return float(value)


def predictions(model: Model, scores: NDArray[np.float32]) -> dict[str, Any]:
    """What is told of scores: raw, and as probabilities and classes, or as numbers."""
    means = model.means(scores)
    told: dict[str, Any] = {"scores": scores.tolist(), "predictions": model.labels_of(means).tolist()}
    if model.classes:
        told |= {"classes": list(model.classes), "probabilities": means.tolist()}
    return told
