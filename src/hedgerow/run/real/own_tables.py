"""What a real party of a training brings: its own files, read as the run file says."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from hedgerow.agreement.plan import Plan
from hedgerow.data.ids import check_rows_per_id
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError, RunError
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.vertical.prepare import check_labels
from hedgerow.run.file import tables
from hedgerow.run.file.read import RunFile, Source
from hedgerow.run.folder.folder import RunFolder
from hedgerow.run.folder.private_state import PlacesFile, noised_words
from hedgerow.run.folder.recorder import Say

ROWS = "rows.sha256"
"""Beside a party's log: a hash of its rows, so that a run does not go on with others."""


@dataclass(frozen=True)
class Own:
    """The files that a party brings."""

    data: Source
    valid: Source | None = None

    def check(self, plan: Plan) -> None:
        """Refuse validation rows in a vertical run that has no use for them."""
        if plan.active and self.valid is not None and not plan.goal.follow:
            raise ParameterError("--valid has no use, because the run follows no metric; add [trees] eval_metric.")

    def tables(self, run: RunFile, name: str, say: Say) -> tuple[Table, Table | None]:
        """The rows to learn from, and those that are held out; says what the user should know of the files."""
        notes: list[str] = []
        found = tables.own_tables(run, name, self.data, self.valid, notes)
        for sentence in notes:
            say(sentence)
        dp, ids = run.method.dp, found[0].ids
        if dp is not None and dp.of_persons and ids is not None:
            check_rows_per_id(ids, dp.rows_per_id)
        return found


def digest(*own: Table | None) -> str:
    """A hash of a party's tables."""
    return hashlib.sha256("".join(tables.digest(table) for table in own if table is not None).encode()).hexdigest()


def active_of(run: RunFile, plan: Plan, own: Own | None, places: PlacesFile, say: Say) -> Active | None:
    """The active party's tables; a driver without data has none."""
    if not plan.active:
        if own is not None:
            raise ParameterError(
                f"--data and --valid do not go with method {run.method.word}, whose driver has no data."
            )
        return None
    if own is None:
        raise ParameterError(f"--data is missing; {plan.active!r}, who drives a vertical run, names its own table.")
    run.check_cipher()
    own.check(plan)
    table, valid = own.tables(run, plan.active, say)
    check_labels(plan, table)
    return Active(table, valid, places, noised_words(places.folder, places.plan))


def other_than(place: Path, rows: str) -> bool:
    """Whether a folder is of a run with other rows."""
    return (place / ROWS).exists() and (place / ROWS).read_text() != rows


def check_rows(folder: RunFolder, rows: str) -> None:
    """Sums over other rows than before would show, in the difference, the rows that changed."""
    known = folder.path / ROWS
    if not known.exists():
        folder.write(ROWS, rows.encode())
    elif known.read_text() != rows:
        raise RunError(
            f"The rows are not those with which this party joined the run in {folder.path}; give the same data, or "
            "another --folder in a new run."
        )
