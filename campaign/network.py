"""A bad line between one party and the driver: the run finishes with the same model, or stops in words and resumes."""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from campaign.kills import three
from campaign.logs import DriverLog
from campaign.process import Crew, Wrong
from campaign.proxy import Proxy
from campaign.trials import Options, Reference, Trial, check_bounds, check_same, tried
from campaign.world import DRIVER, Place, World

PART = "network"
BEHIND = "bob"
"""The party behind the bad line."""

LATE = 0.01
"""Seconds."""

Harm = Callable[[Proxy, int], None]
"""Does something to the line, at once or after so many bytes."""


@dataclass(frozen=True)
class Fault:
    """What happens to the line, and the seconds after which it is as before (0: it heals itself)."""

    name: str
    harm: Harm
    lasts: float = 0.0


def faults(quick: bool) -> tuple[Fault, ...]:
    """All of them."""
    return (
        Fault(f"{3 if quick else 30} s of silence", _silence, 3.0 if quick else 30.0),
        Fault("a connection cut off", _set("cut_after")),
        Fault("a corrupted byte", _set("corrupt_after")),
        Fault("bytes sent twice", _set("duplicate_after")),
        Fault(f"every packet {LATE * 1000:.0f} ms late", _delay, 3600.0),
    )


def _set(name: str) -> Harm:
    return lambda proxy, after: setattr(proxy, name, after)


def _silence(proxy: Proxy, after: int) -> None:
    proxy.swallow_after = after


def _delay(proxy: Proxy, after: int) -> None:  # noqa: ARG001  # from the beginning on
    proxy.delay = LATE
    proxy.happened.set()


def run(options: Options) -> Iterator[Trial]:
    """Every fault, at a random number of bytes."""
    rng = np.random.default_rng([options.seed, 3])
    world, reference = three(options)
    for fault in faults(options.quick):
        after = int(rng.integers(reference.sent // 10, reference.sent // 2))
        yield tried(Trial(PART, fault.name), functools.partial(trial, world, (fault, after), reference, options))


def trial(world: World, what: tuple[Fault, int], reference: Reference, options: Options) -> Trial:
    """One fault, after so many bytes of the party; if the run stops, everybody is started again on a good line."""
    (fault, after), place = what, world.place()
    with closing(Proxy(place.port)) as proxy, Crew(place.folder, options.limit) as crew:
        fault.harm(proxy, after)
        place.start(crew, {BEHIND: proxy.port})
        log = DriverLog(place.log(DRIVER))
        crew.until(lambda: proxy.happened.is_set() or crew[DRIVER].code is not None, "the fault")
        moment, tree = time.time(), log.look().tree
        _heal(proxy, crew, fault)
        stopped = _seen_through(crew, place)
    log.look()
    if not proxy.happened.is_set():
        raise Wrong("the run was over before the fault")
    check_same(place, reference.model)
    lost = [max(at - moment, 0.0) for at, who in log.lost if who == BEHIND]
    noticed, repeated = lost[0] if lost else None, log.begun - world.size.trees
    check_bounds(noticed, repeated)
    name = f"{fault.name} (stopped and resumed)" if stopped else fault.name
    first = log.first_answer or moment
    return Trial(PART, name, max(moment - first, 0.0), tree, noticed, repeated, "identical")


def _heal(proxy: Proxy, crew: Crew, fault: Fault) -> None:
    end = time.monotonic() + fault.lasts
    crew.until(lambda: time.monotonic() > end or crew[DRIVER].code is not None, "the end of the fault")
    proxy.swallow = False


def _seen_through(crew: Crew, place: Place) -> bool:
    """Whether the run had stopped, in one sentence, and was resumed."""
    crew.until(lambda: crew[DRIVER].code is not None, "the driver's end")
    if crew[DRIVER].code == 0:
        crew.ended(*place.roles)
        return False
    if "Traceback" in crew[DRIVER].said:
        raise Wrong(f"the driver showed a traceback: {crew[DRIVER].last_words}")
    crew.until(lambda: all(crew[role].code is not None for role in place.roles), "the end of all")
    for role in place.roles:
        crew.start(role, place.words(role, *(["--resume"] if role == DRIVER else [])))
    crew.ended(*place.roles)
    return True
