"""What a real party of a training brings: its own files, read as the run file says."""

import hashlib
from dataclasses import dataclass

from hedgerow.agreement.plan import Plan
from hedgerow.data.table import Table
from hedgerow.errors import ParameterError
from hedgerow.protocols.session.owner import Active
from hedgerow.run.file import tables
from hedgerow.run.file.read import RunFile, Source
from hedgerow.run.folder.private_state import PlacesFile, noised_words
from hedgerow.run.folder.recorder import Say


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
    return Active(table, valid, places, noised_words(places.folder, places.plan))
