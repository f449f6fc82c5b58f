"""kill -9 of a party or of who drives at random instants; started again a little later, the run comes to one model."""

import functools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from campaign.columns import ColumnsWorld
from campaign.logs import DriverLog
from campaign.process import Crew, Wrong
from campaign.trials import NOTICED_SECONDS, Options, Reference, Trial, check_bounds, check_same, tried, undisturbed
from campaign.world import DRIVER, Place, Size, World

FULL = Size(rows=20_000, columns=20, trees=80, depth=6, patience=45.0)
QUICK = Size(rows=4_000, columns=10, trees=30, depth=5, patience=45.0)
FULL_COLUMNS = Size(rows=4_000, columns=12, trees=25, depth=5, patience=45.0)
QUICK_COLUMNS = Size(rows=1_000, columns=6, trees=12, depth=4, patience=45.0)
AWAY = "The driver is away."
HAS_MODEL, IS_FINISHED = "The model had come and is", "is finished and not overwritten"
LATE = " after the model was told"


@dataclass(frozen=True)
class Kill:
    """Who is killed when: seconds after the first answer."""

    part: str
    who: str
    moment: float


def parties(options: Options) -> Iterator[Trial]:
    """A random party."""
    return _killed("parties", options)


def driver(options: Options) -> Iterator[Trial]:
    """The driver."""
    return _killed(DRIVER, options)


def passive(options: Options) -> Iterator[Trial]:
    """A random passive party of a vertical run under lattice encryption."""
    return _killed("passive", options)


def active(options: Options) -> Iterator[Trial]:
    """Its active party."""
    return _killed("active", options)


def _killed(part: str, options: Options) -> Iterator[Trial]:
    rng = np.random.default_rng([options.seed, *part.encode()])
    for _ in range(options.kills):
        world, reference = by_columns(options) if part in ("passive", "active") else three(options)
        who = world.driver if part in (DRIVER, "active") else str(rng.choice(world.names))
        kill = Kill(part, who, float(rng.random()) * reference.seconds)
        yield tried(Trial(part, who), functools.partial(trial, world, kill, reference, options))


@functools.cache
def three(options: Options) -> tuple[World, Reference]:
    """Three parties, and how a run of theirs goes that nobody disturbs."""
    world = World(options.folder / "three", QUICK if options.quick else FULL, 3)
    return world, undisturbed(world, options.limit)


@functools.cache
def by_columns(options: Options) -> tuple[World, Reference]:
    """An active party and two passive ones, and how a run of theirs goes that nobody disturbs."""
    world = ColumnsWorld(options.folder / "columns", QUICK_COLUMNS if options.quick else FULL_COLUMNS)
    return world, undisturbed(world, options.limit)


def trial(world: World, kill: Kill, reference: Reference, options: Options) -> Trial:
    """One kill; where this run was quicker than the undisturbed one and is over, an earlier instant is tried."""
    for attempt in range(5):
        place = world.place()
        moment = kill.moment * 0.8**attempt
        with Crew(place.folder, options.limit) as crew:
            place.start(crew)
            log = DriverLog(place.log(world.driver))
            crew.until(lambda log=log: log.look().first_answer is not None, "the first answer")  # type: ignore[misc]
            time.sleep(max((log.first_answer or 0.0) + moment - time.time(), 0))
            if place.finished(world.driver) or place.finished(kill.who):
                continue
            tree, killed = log.look().tree, crew[kill.who].kill()
            noticed, late = _back(crew, place, kill.who, killed, options.away)
            done = Trial(kill.part, kill.who + (LATE if late else ""), moment, tree, noticed)
            return _judged(place, log, done, killed, reference)
    raise Wrong("every run was over before the kill")


def _back(crew: Crew, place: Place, who: str, killed: float, away: float) -> tuple[float | None, bool]:
    """Start whoever was killed again, and see the run to its end.

    Returns the seconds until parties noticed a driver's death, and whether the run had ended without the one killed.
    """
    drives = who == place.world.driver
    noticed = _all_noticed(crew, place.world.names, killed) if drives else None
    time.sleep(max(killed + away - time.time(), 0))
    crew.start(who, place.words(who, *(["--resume"] if drives else [])))
    crew.over(*place.roles)
    late = _is_late(crew, place, who)
    if not late:
        crew.ended(*place.roles)
    return noticed, late


def _is_late(crew: Crew, place: Place, who: str) -> bool:
    """Whether everyone had the model when the kill came, so that nobody was waited for.

    A party then gives up after its patience and says that it has the model; a driver says that the run is finished.
    """
    if who == place.world.driver:
        waiting = [name for name in place.world.names if crew[name].code != 0]
        return IS_FINISHED in crew[who].said and all(HAS_MODEL in crew[name].said for name in waiting)
    others = [role for role in place.roles if role != who]
    return all(crew[role].code == 0 for role in others) and HAS_MODEL in crew[who].said


def _all_noticed(crew: Crew, names: Sequence[str], killed: float) -> float:
    """Seconds until all parties had noticed that the driver is away, or had ended because it said goodbye."""

    def known() -> bool:
        return all(crew[name].code == 0 or AWAY in crew[name].said for name in names)

    crew.until(lambda: time.time() - killed > NOTICED_SECONDS + 1 or known(), "word that the driver is away")
    return time.time() - killed


def _judged(place: Place, log: DriverLog, done: Trial, killed: float, reference: Reference) -> Trial:
    log.look()
    who, late = done.what.removesuffix(LATE), done.what.endswith(LATE)
    lost = [max(at - killed, 0.0) for at, name in log.lost if name == who and at > killed - 0.5]
    noticed = lost[0] if lost else done.noticed
    if noticed is None and not late:
        raise Wrong(f"nobody noticed the death of {who}")
    repeated = log.begun - place.world.size.trees
    check_bounds(noticed, repeated)
    check_same(place, reference.model)
    return Trial(done.part, done.what, done.moment, done.tree, noticed, repeated, "identical")
