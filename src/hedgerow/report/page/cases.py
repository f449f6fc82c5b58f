"""Several runs that belong together, such as those of the demonstration, and what each reaches: a file beside them."""

import csv
from pathlib import Path
from typing import NamedTuple

import msgspec

from hedgerow.errors import RunError
from hedgerow.model import score_counts
from hedgerow.model.file import write_whole
from hedgerow.model.score_counts import Judged
from hedgerow.report.explain_reasons import Reason, Reasons

CASES = "cases.json"


class Step(NamedTuple):
    """Something that the parties did together."""

    what: str
    seconds: float
    n_bytes: int


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run, and what its parties reach alone, together, and with all data in one place. Paths are beside the file."""

    name: str
    title: str
    story: str
    run: str
    """The folder of whoever drove."""
    rows: str
    """The rows that figures are of."""
    figures: dict[str, dict[str, float]]
    """By who learns; names begin with alone, together or pooled."""
    steps: tuple[Step, ...]
    curves: str = ""
    """Counts of scores of these rows."""
    meanings: tuple[str, ...] = ()
    """What owners disclosed of their columns."""
    reasons: str = ""
    """Reasons of rows, as `hedgerow explain` writes them."""
    about_reasons: str = ""

    def judged(self, folder: Path) -> Judged | None:
        """What was counted of the rows that figures are of."""
        place = folder / self.curves
        return score_counts.decoded(_content(place), str(place)) if self.curves else None

    def reasons_of_rows(self, folder: Path) -> Reasons | None:
        """Why single rows have their score."""
        if not self.reasons:
            return None
        place = folder / self.reasons
        try:
            lines = list(csv.DictReader(_content(place).decode().splitlines()))
            found = [Reason(line["row"], line["column"], float(line["contribution"])) for line in lines]
        except (KeyError, ValueError, csv.Error):
            raise RunError(f"{place} has no reasons; make them again with hedgerow explain.") from None
        return Reasons(found, self.about_reasons)


class Cases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of them, and the metric of the first picture."""

    title: str
    about: str
    metric: str
    cases: tuple[Case, ...]

    def write(self, folder: Path) -> None:
        """Beside the folders of the runs."""
        write_whole(folder / CASES, msgspec.json.format(msgspec.json.encode(self), indent=2))


def read_cases(folder: Path) -> Cases:
    """What lies in a folder."""
    place = folder / CASES
    try:
        found = msgspec.json.decode(_content(place), type=Cases)
    except msgspec.DecodeError:
        raise RunError(f"{place} is damaged, or of another version; run the demonstration again.") from None
    if any(found.metric not in figures for case in found.cases for figures in case.figures.values()):
        raise RunError(f"{place} lacks the metric {found.metric!r} somewhere; run the demonstration again.")
    return found


def _content(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError as error:
        raise RunError(f"Cannot read {place}: {error.strerror or error}.") from None
