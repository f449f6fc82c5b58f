"""Ids on both sides of a linkage, in the order in which linked rows stand; and what a linkage has told its own side.

Nothing is said to other parties here.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.plan import Plan
from hedgerow.data.cells import gaps
from hedgerow.data.ids import AS_TEXT
from hedgerow.data.table import Table
from hedgerow.errors import DataError
from hedgerow.protocols.session.journal import Log

LINKED = "linked"
"""The event in the log."""


class RowIds(NamedTuple):
    """The different ids of the active party's rows, sorted as text, and the rows of each."""

    ids: list[str]
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    """By id, then by number; rows without an id are left out."""
    n_rows: int

    def rows_of(self, held: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The rows of these ids, in the agreed order."""
        return self.rows[np.repeat(held, self.counts)]


def row_ids(own: Table | NDArray[Any]) -> RowIds:
    """Of a table, or of an array with an id for each row; None, NaN and empty text are no id."""
    cells = own.ids if isinstance(own, Table) else np.asarray(own)
    if cells is None or cells.ndim != 1:
        raise DataError("Rows are linked by ids, one for each row, and this table has none; name the column of ids.")
    there = np.flatnonzero(~(gaps(cells) | (cells == "" if cells.dtype.kind in "UO" else False)))
    ids, which, counts = _different(cells[there])
    if not len(ids):
        raise DataError("No row of the active party has an id, so that none can be linked; name the column of ids.")
    return RowIds(ids.tolist(), counts, there[np.argsort(which, kind="stable")], len(cells))


def _different(cells: NDArray[Any]) -> tuple[NDArray[np.str_], NDArray[np.int64], NDArray[np.int64]]:
    """The different ids, sorted as text; which of them each cell is, and how many cells are of each."""
    if cells.dtype.kind not in "iu":
        texts = np.array([_text(one) for one in cells.tolist()], dtype=np.str_)
        return np.unique(texts, return_inverse=True, return_counts=True)
    numbers, which, counts = np.unique(cells, return_inverse=True, return_counts=True)
    texts = numbers.astype(np.str_)  # there are fewer of them than cells
    order = np.argsort(texts)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return texts[order], place[which], counts[order]


def _text(cell: Any) -> str:
    """As `texts_of` has it; a column of whole numbers with gaps comes as decimal numbers."""
    if isinstance(cell, float):
        if not cell.is_integer():
            raise DataError("The ids are not all whole numbers or text; convert them to one of these.")
        return str(int(cell))
    return str(cell)


def linked_digest(plan: Plan | None, party: str, ids: Sequence[str], counts: NDArray[np.int64]) -> bytes:
    """A hash of the linked ids and of how many rows each has: both sides can tell whether theirs are the same.

    One that stays with its owner is of no plan, so that a simulation, whose certificates are new in every process and
    with them its plan, knows it again.
    """
    texts = [one.encode() for one in ids]
    lengths = np.array([len(text) for text in texts], "<i8")
    told = b"" if plan is None else plan.digest
    parts = (told, hashlib.sha256(party.encode()).digest(), lengths.tobytes(), counts.astype("<i8").tobytes())
    return hashlib.sha256(b"".join((b"hedgerow linked", *parts, *texts))).digest()


class Cost(NamedTuple):
    """What one linkage cost one side."""

    operations: int
    """Multiplications of points of the group; of an own id, with its hash. None where ids are shown."""
    seconds: float
    """Spent with them on this side."""

    def __str__(self) -> str:
        """Part of a sentence."""
        return f"{self.operations:,} group operations, {self.seconds:.2f} s" if self.operations else "ids were shown"


class Found(NamedTuple):
    """What one side knows after a linkage with the other."""

    party: str
    what: str
    rows: int
    """Linked rows."""
    n_rows: int
    """Of the active party's; at a passive party, the ids of its table."""
    ids: int
    """Different ids of the linked rows."""
    cost: Cost
    most: int = 0
    """Linked rows of the id that has most of them."""

    @property
    def sentence(self) -> str:
        """For the active party."""
        if not self.rows:
            return f"Party {self.party!r} holds none of your {self.n_rows:,} {self.what} ({self.cost}); {AS_TEXT}."
        held = f"{self.rows:,} of your {self.n_rows:,} {self.what} ({self.ids:,} ids)"
        return f"Party {self.party!r} holds {held}; {self.cost} on this side."

    @property
    def own_sentence(self) -> str:
        """For the passive party."""
        if not self.rows:
            return f"None of this party's {self.n_rows:,} ids is among the active party's ({self.cost}); {AS_TEXT}."
        ids = f"{self.ids:,} of this party's {self.n_rows:,} ids"
        return f"{ids} are linked with {self.rows:,} {self.what} of the active party; {self.cost} on this side."

    def note(self, log: Log) -> None:
        """Write it into the log."""
        operations = self.cost.operations
        log.note(
            LINKED, party=self.party, what=self.what, rows=self.rows, ids=self.ids, most=self.most,
            operations=operations,
        )  # fmt: skip


def linkages(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the linkages of a run told whoever keeps this log, by party; of those that were done anew, the last."""
    found = {}
    for line in lines:
        if line.get("event") == LINKED:
            told = {"rows": line["rows"], "ids": line["ids"], "most_rows_of_an_id": line.get("most", 0)}
            found[line["party"], line["what"]] = {"party": line["party"], "what": line["what"], **told}
    return list(found.values())
