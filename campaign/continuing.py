"""Two of five parties killed at each stage of a masked round: the run goes on, and no other set is opened for."""

import functools
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from campaign.logs import FINISH, LEAVES, LEVELS, Asking, DriverLog, Tail
from campaign.process import Crew, Wrong
from campaign.transcript import check_one_set, opened_sums
from campaign.trials import Options, Trial, check_bounds, tried
from campaign.world import DRIVER, Place, Size, World
from hedgerow.data.read import read_table
from hedgerow.model.file import decoded

FULL = Size(rows=4_000, columns=10, trees=30, depth=4, deadline=6.0)
QUICK = Size(rows=1_500, columns=8, trees=30, depth=4, deadline=5.0)
PART = "continue"
GLANCE = 0.05
"""Seconds after which a driver that waits for frozen parties has written down what it waits for."""


@dataclass(frozen=True)
class Stage:
    """A request of a masked round, and the one just before it."""

    name: str
    kind: str
    root: bool = False

    def is_at(self, asking: Asking) -> bool:
        """Whether this is the request."""
        return asking.kind == self.kind and (self.kind != LEVELS or (asking.step == 0) == self.root)


STAGES = (
    Stage("root sums", LEVELS, root=True),
    Stage("a middle level", LEVELS),
    Stage("leaf sums", LEAVES),
    Stage("the end of a tree", FINISH),
)


def run(options: Options) -> Iterator[Trial]:
    """Every pair of five at every stage; quick: one pair at each."""
    rng = np.random.default_rng([options.seed, 2])
    world = World(options.folder / PART, QUICK if options.quick else FULL, 5, PART)
    pairs = list(itertools.combinations(world.names, 2))
    for stage in STAGES:
        for pair in [pairs[rng.integers(len(pairs))]] if options.quick else pairs:
            tree = int(rng.integers(2, world.size.trees // 2))
            what = f"{' and '.join(pair)} at {stage.name}"
            yield tried(Trial(PART, what), functools.partial(trial, world, stage, (pair, tree), options))


def trial(world: World, stage: Stage, whom: tuple[Sequence[str], int], options: Options) -> Trial:
    """Two killed at that stage of that tree or, where that was missed, of a later one."""
    pair = whom[0]
    place = world.place()
    left = [name for name in world.names if name not in pair]
    with Crew(place.folder, options.limit) as crew:
        place.start(crew)
        log = DriverLog(place.log(DRIVER))
        at, killed = _kill(crew, place, log, stage, whom)
        crew.ended(DRIVER, *left)
    log.look()
    noticed = max((when - killed for when, who in log.lost if who in pair), default=None)
    check_bounds(noticed, 0)
    _check(place, at, left)
    what = f"{' and '.join(pair)} at {stage.name}"
    return Trial(PART, what, at.at - (log.first_answer or at.at), at.tree, noticed, model="usable")


def _kill(
    crew: Crew, place: Place, log: DriverLog, stage: Stage, whom: tuple[Sequence[str], int]
) -> tuple[Asking, float]:
    """Freeze both; if the driver then waits for them at this stage kill them, if not let them go on."""
    pair, tree = whom
    given = {name: _Given(place, name) for name in pair}
    while True:
        crew.until(lambda: log.look().tree >= tree or crew[DRIVER].code is not None, f"tree {tree}")
        if crew[DRIVER].code is not None:
            raise Wrong(f"the run was over before the kill: {crew[DRIVER].last_words}")
        for name in pair:
            crew[name].freeze()
        time.sleep(GLANCE)
        now = log.look().now
        if now is not None and stage.is_at(now) and all(given[name].n() < log.n_sums(name) for name in pair):
            return now, max(crew[name].kill() for name in pair)
        for name in pair:
            crew[name].thaw()
        time.sleep(GLANCE / 10)


class _Given:
    """How many sums a party has given so far, from its own log."""

    def __init__(self, place: Place, name: str) -> None:
        self._tail, self._n = Tail(place.log(name)), 0

    def n(self) -> int:
        """Now."""
        self._n += sum(line["event"] == "sent" and line["type"] == "MaskedSums" for line in self._tail.fresh())
        return self._n


def _check(place: Place, at: Asking, left: Sequence[str]) -> None:
    """The run went on with those that are left, its sums were opened for one set a tree, and the model can be used."""
    names, size = place.world.names, place.world.size
    place.check_logs(DRIVER, *left)
    opened = opened_sums(place.log(DRIVER), {name: place.log(name) for name in left}, names)
    check_one_set(opened)
    if {one.tree for one in opened} != set(range(size.trees + 1)):
        raise Wrong("not every tree was grown")
    for one in opened:
        others = one.tree > at.tree or (one.tree == at.tree and one.step >= at.step)
        if one.parties != frozenset(left if others else names):
            raise Wrong(f"{one.kind} of tree {one.tree} was opened for {', '.join(sorted(one.parties))}")
    if len({place.model(role) for role in (DRIVER, *left)}) != 1:
        raise Wrong("those that are left have different models")
    _check_usable(place)


def _check_usable(place: Place) -> None:
    model = decoded(place.model(DRIVER), "The model")
    table = read_table(place.world.folder / f"{place.world.names[0]}.csv", label="y")
    if model.n_rounds != place.world.size.trees or not np.isfinite(model.predict(table)).all():
        raise Wrong("the model cannot be used")
