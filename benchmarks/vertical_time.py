"""Seconds of a vertical run under lattice encryption, beside XGBoost's, our own without encryption, and Paillier's.

With the gradient bits that encrypted classes have by default.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.horizontal_rows import RatioAndGoal, SameForest
from benchmarks.horizontal_runs import Recipe, beginning, same
from benchmarks.horizontal_sets import SETS
from benchmarks.horizontal_turns import Contenders, Taken, busier, take_turns, turn
from benchmarks.rows import RatioAtMost, Row
from benchmarks.seats import SEATS
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request, Settings
from benchmarks.vertical_processes import Place
from benchmarks.vertical_runs import PLAIN, dealt
from hedgerow.agreement.options import FEW_BITS, Lattice, Paillier, Vertical
from hedgerow.data.table import Table

FULL = ("a9a", "credit1")
QUICK = ("credit1",)

PARTIES, BINS, ROUNDS = 2, 32, 3
PAILLIER_BITS, PAILLIER_TREES = 2048, 1

NEAR_XGBOOST = RatioAndGoal(190, 50)  # FedTree's encryption with keys of 512 bits: 5600 to 6000
NEAR_PLAIN = RatioAndGoal(40, 10)
BELOW_PAILLIER = RatioAndGoal(1 / 15, 1 / 60)
NEAR_ONE_PROCESS = RatioAtMost(1.5)
NEAR_DEFAULT = RatioAndGoal(6, 3)
HIDDEN_TREES = 3


def run(request: Request) -> Iterator[Row]:
    """The rows of every set asked for, as they come."""
    request = replace(request, settings=replace(request.settings, bins=BINS, gradient_bits=FEW_BITS))
    for name in request.sets:
        yield from rows_of(SETS[name], request)


def rows_of(data: DataSet, request: Request) -> Iterator[Row]:
    """One set: whole trainings in turn, then Paillier for few trees, then real processes."""
    split = data.load()
    recipe = Recipe.of(request.settings, split.y_train)
    for fit in contenders(recipe, request.settings, beginning(split)).values():
        fit()
    taken = take_turns(contenders(recipe, request.settings, split), 1 if request.quick else ROUNDS)
    lattice, plain = taken["lattice"], taken["plain"]
    yield beside(data, "XGBoost", lattice, taken["xgboost"], NEAR_XGBOOST)
    yield beside(data, "no encryption", lattice, plain, NEAR_PLAIN)
    paillier = with_paillier(recipe, split, plain)
    told = f"Paillier {PAILLIER_BITS} (from {PAILLIER_TREES} tree)"
    yield beside(data, told, lattice, paillier, BELOW_PAILLIER)
    pooled = recipe.pooled(Table.of(split.X_train, split.y_train))
    equal = [same(each.made, pooled) for each in (lattice, plain)]
    yield Row(f"{data.name}: equal forests", data.origin, sum(equal), len(equal), SameForest(all(equal)))
    yield from hidden(data, recipe, split)
    yield from on_loopback(data, recipe, split, 1 if request.quick else ROUNDS)


def hidden(data: DataSet, recipe: Recipe, split: Split) -> Iterator[Row]:
    """Seconds of few trees with hidden rows, beside those of the default."""
    few = replace(recipe, params=replace(recipe.params, n_estimators=HIDDEN_TREES))
    parties = dealt(Table.of(split.X_train, split.y_train), PARTIES)
    ways = {way: Vertical(Lattice(), hidden_rows=way == "hidden rows") for way in ("hidden rows", "default")}
    taken = take_turns({way: partial(few.federated, parties, federation) for way, federation in ways.items()}, ROUNDS)
    ours, theirs = taken["hidden rows"], taken["default"]
    name = f"{data.name}: hidden rows / default, {HIDDEN_TREES} trees, s"
    yield Row(name, data.origin, ours.seconds, theirs.seconds, NEAR_DEFAULT, busier(ours, theirs))
    equal = same(ours.made, theirs.made)
    yield Row(f"{data.name}: equal with hidden rows", data.origin, int(equal), 1, SameForest(equal))


def contenders(recipe: Recipe, settings: Settings, split: Split) -> Contenders:
    """The fits of one round, from arrays to fitted model."""

    def vertical(federation: Vertical) -> object:
        return recipe.federated(dealt(Table.of(split.X_train, split.y_train), PARTIES), federation)

    return {
        "xgboost": partial(SEATS["xgboost"](settings).fit, split.X_train, split.y_train),
        "plain": partial(vertical, PLAIN),
        "lattice": partial(vertical, Vertical(Lattice())),
    }


def beside(data: DataSet, peer: str, ours: Taken, theirs: Taken, bar: RatioAndGoal) -> Row:
    """The seconds of the lattice run beside a peer's."""
    name = f"{data.name}: lattice / {peer}, s"
    return Row(name, data.origin, ours.seconds, theirs.seconds, bar, busier(ours, theirs))


def with_paillier(recipe: Recipe, split: Split, plain: Taken) -> Taken:
    """Paillier's seconds for all trees: what few trees take beyond the same without encryption, times their number."""
    few = replace(recipe, params=replace(recipe.params, n_estimators=PAILLIER_TREES))
    parties = dealt(Table.of(split.X_train, split.y_train), PARTIES)
    slow = turn(partial(few.federated, parties, Vertical(Paillier(bits=PAILLIER_BITS))))
    quick = turn(partial(few.federated, parties, PLAIN))
    trees = recipe.params.n_estimators / PAILLIER_TREES
    return Taken(slow.made, plain.seconds + trees * max(slow.seconds - quick.seconds, 0.0), slow.others)


def on_loopback(data: DataSet, recipe: Recipe, split: Split, rounds: int) -> Iterator[Row]:
    """Seconds of all trees with real processes beside those in one process, by the same run file, in turn."""
    parties = dealt(Table.of(split.X_train, split.y_train), PARTIES)
    turns = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="hedgerow-benchmark-") as folder:
            place = Place(Path(folder), parties, recipe.params, recipe.threads)
            turns.append((turn(place.over_grpc), turn(place.in_process)))
    ours, theirs = (median(taken.made.seconds for taken in each) for each in zip(*turns, strict=True))
    there, here = turns[-1]
    yield Row(f"{data.name}: over gRPC / in one process, s", data.origin, ours, theirs, NEAR_ONE_PROCESS, here.others)
    equal = there.made.forest == here.made.forest
    yield Row(f"{data.name}: equal over gRPC", data.origin, int(equal), 1, SameForest(equal))
