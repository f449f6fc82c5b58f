"""25 banks of a hybrid run: three killed in its middle, or the network that drives.

Banks that share their columns are waited for, and the model is that of the undisturbed run. Where they do not, the run
goes on: the trees before are those of the undisturbed run, and no later one has a column of those that are lost.
"""

import functools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from campaign.accounts import NETWORK, BanksWorld
from campaign.kills import Kill
from campaign.kills import trial as killed_once
from campaign.logs import DriverLog
from campaign.process import Crew, Wrong
from campaign.trials import Options, Reference, Trial, check_bounds, check_same, tried, undisturbed
from campaign.world import Place, Size
from hedgerow.model.file import decoded
from hedgerow.trees.forest import Forest

PART = "banks"
N_BANKS, N_KILLED = 25, 3
FULL = Size(rows=20_000, columns=3, trees=20, depth=6)
QUICK = Size(rows=5_000, columns=2, trees=12, depth=4)
SECONDS = 540.0
"""Of a trial: so many processes begin slowly where there are few cores."""


def run(options: Options) -> Iterator[Trial]:
    """Three of 25 killed and started again; the network; three killed for good where the run goes on."""
    rng = np.random.default_rng([options.seed, 25])
    size, limit = QUICK if options.quick else FULL, max(options.limit, SECONDS)
    sharing = BanksWorld(options.folder / "banks", size, N_BANKS)
    whole = undisturbed(sharing, limit)
    three = [sharing.names[i] for i in sorted(rng.choice(N_BANKS, N_KILLED, replace=False))]
    moment = float(rng.uniform(0.2, 0.8)) * whole.seconds
    what = ", ".join(three)
    yield tried(Trial(PART, what), functools.partial(away, sharing, three, moment, whole, options))
    kill = Kill(PART, NETWORK, float(rng.uniform(0.2, 0.8)) * whole.seconds)
    slow = replace(options, limit=limit)
    yield tried(Trial(PART, NETWORK), functools.partial(killed_once, sharing, kill, whole, slow))
    apart = BanksWorld(options.folder / "banks apart", size, N_BANKS, "continue")
    undisturbed(apart, limit)
    yield tried(Trial(PART, f"{what} for good"), functools.partial(gone, apart, three, limit))


def away(world: BanksWorld, banks: Sequence[str], moment: float, whole: Reference, options: Options) -> Trial:
    """These killed at once, and started again a little later: nothing was opened without them, nothing is another."""
    place = world.place()
    with Crew(place.folder, max(options.limit, SECONDS)) as crew:
        place.start(crew)
        log = DriverLog(place.log(world.driver))
        crew.until(lambda: log.look().first_answer is not None, "the first answer")
        crew.until(lambda: log.look().tree > 0, "the first tree")
        time.sleep(max((log.first_answer or 0.0) + moment - time.time(), 0))
        tree, killed = log.look().tree, max(crew[bank].kill() for bank in banks)
        time.sleep(options.away)
        for bank in banks:
            crew.start(bank, place.words(bank))
        crew.ended(*place.roles)
    log.look()
    noticed = max((when - killed for when, who in log.lost if who in banks), default=None)
    if noticed is None:
        raise Wrong("nobody noticed the deaths")
    repeated = log.begun - world.size.trees
    check_bounds(noticed, repeated)
    check_same(place, whole.model)
    return Trial(PART, ", ".join(banks), moment, tree, noticed, repeated, "identical")


def gone(world: BanksWorld, banks: Sequence[str], limit: float) -> Trial:
    """These killed in a tree, never to come back: the run goes on without their columns; the first was undisturbed."""
    place, at = world.place(), world.size.trees // 2
    left = [name for name in world.names if name not in banks]
    with Crew(place.folder, limit) as crew:
        place.start(crew)
        log = DriverLog(place.log(world.driver))
        crew.until(lambda: log.look().tree >= at, f"tree {at}")
        tree, killed = log.look().tree, max(crew[bank].kill() for bank in banks)
        crew.ended(world.driver, *left)
    log.look()
    noticed = max((when - killed for when, who in log.lost if who in banks), default=None)
    check_bounds(noticed, 0)
    place.check_logs(world.driver, *left)
    _check_trees(place, banks, _forest(world.folder / "run1" / NETWORK))
    return Trial(PART, f"{', '.join(banks)} for good", tree=tree, noticed=noticed, model="usable")


def _forest(folder: Path) -> Forest:
    return decoded((folder / "model.json").read_bytes(), "The model").forest


def _check_trees(place: Place, banks: Sequence[str], calm: Forest) -> None:
    """Those before the first loss are of the undisturbed run, later ones without the columns of the lost."""
    kept = json.loads((place.folder / NETWORK / "manifest.json").read_text())
    lost = {name: line["round"] for line in kept["losses"] for name in line["parties"]}
    if lost.keys() != set(banks):
        raise Wrong(f"the manifest names {sorted(lost)} as lost")
    model = decoded((place.folder / NETWORK / "model.json").read_bytes(), "The model")
    first, n = min(lost.values()), place.world.size.trees
    if model.forest.n_trees != n or model.forest.first(first) != calm.first(first):
        raise Wrong("the trees before the loss are others")
    owners = [party for party, n_columns in model.ownership.columns for _ in range(n_columns)]  # type: ignore[union-attr]
    for name, trees in lost.items():
        columns = [number for number, owner in enumerate(owners) if owner == name]
        if np.isin(model.forest.part(trees, n).columns, columns).any():
            raise Wrong(f"a tree after the loss of {name} has one of its columns")
