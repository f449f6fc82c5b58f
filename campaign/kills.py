"""kill -9 of a party or of the driver at random instants; started again a little later, the run comes to one model."""

import functools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from campaign.logs import DriverLog
from campaign.process import Crew, Wrong
from campaign.trials import NOTICED_SECONDS, Options, Reference, Trial, check_bounds, check_same, tried, undisturbed
from campaign.world import DRIVER, Place, Size, World

FULL = Size(rows=20_000, columns=20, trees=80, depth=6)
QUICK = Size(rows=4_000, columns=10, trees=30, depth=5)
AWAY = "The driver is away."


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


def _killed(part: str, options: Options) -> Iterator[Trial]:
    rng = np.random.default_rng([options.seed, part == DRIVER])
    for _ in range(options.kills):
        world, reference = three(options)
        who = DRIVER if part == DRIVER else str(rng.choice(world.names))
        kill = Kill(part, who, float(rng.random()) * reference.seconds)
        yield tried(Trial(part, who), functools.partial(trial, world, kill, reference, options))


@functools.cache
def three(options: Options) -> tuple[World, Reference]:
    """Three parties, and how a run of theirs goes that nobody disturbs."""
    world = World(options.folder / "three", QUICK if options.quick else FULL, 3)
    return world, undisturbed(world, options.limit)


def trial(world: World, kill: Kill, reference: Reference, options: Options) -> Trial:
    """One kill; where this run was quicker than the undisturbed one and is over, an earlier instant is tried."""
    for attempt in range(5):
        place = world.place()
        moment = kill.moment * 0.8**attempt
        with Crew(place.folder, options.limit) as crew:
            place.start(crew)
            log = DriverLog(place.log(DRIVER))
            crew.until(lambda log=log: log.look().first_answer is not None, "the first answer")  # type: ignore[misc]
            time.sleep(max((log.first_answer or 0.0) + moment - time.time(), 0))
            if place.finished(DRIVER) or place.finished(kill.who):
                continue
            tree, killed = log.look().tree, crew[kill.who].kill()
            noticed = _back(crew, place, kill.who, killed, options.away)
            return _judged(place, log, Trial(kill.part, kill.who, moment, tree, noticed), killed, reference)
    raise Wrong("every run was over before the kill")


def _back(crew: Crew, place: Place, who: str, killed: float, away: float) -> float | None:
    """Start whoever was killed again, and see the run to its end; seconds until parties noticed a driver's death."""
    noticed = _all_noticed(crew, place.world.names, killed) if who == DRIVER else None
    time.sleep(max(killed + away - time.time(), 0))
    crew.start(who, place.words(who, *(["--resume"] if who == DRIVER else [])))
    crew.ended(*place.roles)
    return noticed


def _all_noticed(crew: Crew, names: Sequence[str], killed: float) -> float:
    """Seconds until all parties had noticed that the driver is away."""
    crew.until(
        lambda: time.time() - killed > NOTICED_SECONDS + 1 or all(AWAY in crew[name].said for name in names),
        "word that the driver is away",
    )
    return time.time() - killed


def _judged(place: Place, log: DriverLog, done: Trial, killed: float, reference: Reference) -> Trial:
    log.look()
    lost = [at - killed for at, who in log.lost if who == done.what and at > killed - 0.5]
    noticed = done.noticed if done.what == DRIVER else max(lost[0], 0.0) if lost else None
    if noticed is None:
        raise Wrong(f"nobody noticed the death of {done.what}")
    repeated = log.begun - place.world.size.trees
    check_bounds(noticed, repeated)
    check_same(place, reference.model)
    return Trial(done.part, done.what, done.moment, done.tree, noticed, repeated, "identical")
