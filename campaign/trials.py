"""One trial: what was done to a run, and whether it came through."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from campaign.logs import DriverLog
from campaign.process import Crew, Wrong
from campaign.world import Place, World
from hedgerow.errors import HedgerowError
from hedgerow.storage import audit

NOTICED_SECONDS = 10.0
MOST_REPEATED = 1


@dataclass(frozen=True)
class Trial:
    """What happened; `wrong` is empty when all was as it must be."""

    part: str
    what: str
    moment: float | None = None
    """Seconds from the first answer to what was done."""
    tree: int | None = None
    noticed: float | None = None
    """Seconds until everyone concerned had noticed."""
    repeated: int | None = None
    """Trees begun again."""
    model: str = ""
    wrong: str = ""
    seconds: float = 0.0

    @property
    def line(self) -> str:
        """One line about it."""
        facts = [
            self.what,
            None if self.moment is None else f"at {self.moment:.2f} s",
            None if self.tree is None else f"in tree {self.tree}",
            None if self.noticed is None else f"noticed after {self.noticed:.2f} s",
            None if self.repeated is None else f"trees repeated: {self.repeated}",
            self.model or None,
            f"WRONG: {self.wrong}" if self.wrong else "ok",
        ]
        return f"{self.part}: {', '.join(fact for fact in facts if fact)} ({self.seconds:.0f} s)"

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return {**asdict(self), "ok": not self.wrong}


@dataclass(frozen=True)
class Reference:
    """The undisturbed run."""

    model: bytes
    seconds: float
    """From the first answer to the last line of the driver's log."""
    sent: int
    """Bytes that each party sent."""


@dataclass(frozen=True)
class Options:
    """How thorough a campaign is."""

    folder: Path
    kills: int
    seed: int
    quick: bool
    limit: float
    """Seconds that a trial may take."""
    away: float
    """Seconds until whoever was killed is started again."""
    minutes: float = 10.0
    """CPU-minutes of mutated wire forms, in total."""


Part = Callable[[Options], Iterator[Trial]]


def tried(blank: Trial, trial: Callable[[], Trial]) -> Trial:
    """A trial with its seconds; what it raised is what was wrong."""
    began = time.monotonic()
    try:
        done = trial()
    except (Wrong, HedgerowError, OSError) as error:
        done = Trial(blank.part, blank.what, wrong=str(error))
    return replace(done, seconds=time.monotonic() - began)


def undisturbed(world: World, limit: float) -> Reference:
    """A run that nobody disturbs; every party has the driver's model."""
    place = world.place()
    with Crew(place.folder, limit) as crew:
        place.start(crew)
        crew.ended(*place.roles)
    log = DriverLog(place.log(world.driver)).look()
    if log.first_answer is None:
        raise Wrong("the undisturbed run has no answers in its log")
    model = place.model(world.driver)
    check_same(place, model)
    return Reference(model, log.last_line - log.first_answer, _sent_by(place, world.names[0]))


def _sent_by(place: Place, name: str) -> int:
    sizes = [line.get("bytes") for line in audit.read(place.log(name)) if line["event"] == "sent"]
    return sum(size for size in sizes if isinstance(size, int))


def check_same(place: Place, model: bytes) -> None:
    """Refuse a run after which anyone has another model, or a log that does not hold."""
    place.check_logs(*place.roles)
    for role in place.roles:
        if place.model(role) != model:
            raise Wrong(f"the model of {role} is another")


def check_bounds(noticed: float | None, repeated: int) -> None:
    """Refuse a loss that was noticed too late, or too much work lost."""
    if noticed is not None and noticed > NOTICED_SECONDS:
        raise Wrong(f"noticed after {noticed:.1f} s")
    if repeated > MOST_REPEATED:
        raise Wrong(f"{repeated} trees repeated")


def print_table(trials: list[Trial], console: Console) -> None:
    """The campaign at a glance, a row for each part."""
    table = Table("part", "trials", "latest notice", "most repeated", "identical", "wrong", box=box.SIMPLE)
    for part in dict.fromkeys(trial.part for trial in trials):
        of = [trial for trial in trials if trial.part == part]
        noticed = max((trial.noticed for trial in of if trial.noticed is not None), default=None)
        repeated = max((trial.repeated for trial in of if trial.repeated is not None), default=None)
        same = sum(trial.model == "identical" for trial in of)
        table.add_row(
            part,
            str(len(of)),
            "" if noticed is None else f"{noticed:.2f} s",
            "" if repeated is None else str(repeated),
            str(same) if same else "",
            str(sum(bool(trial.wrong) for trial in of)),
        )
    console.print(table)
