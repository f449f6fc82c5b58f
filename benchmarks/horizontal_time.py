"""Seconds of masked parties beside our pooled training and XGBoost's: from arrays to fitted model, side by side."""

from collections.abc import Iterator
from functools import partial

from benchmarks.horizontal_rows import RatioAndGoal, SameForest
from benchmarks.horizontal_runs import Recipe, beginning, blocks, same
from benchmarks.horizontal_sets import SETS
from benchmarks.horizontal_turns import Contenders, Taken, busier, take_turns
from benchmarks.rows import Row
from benchmarks.seats import SEATS
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request
from hedgerow.agreement.options import Horizontal

FULL = ("credit2", "generated-5m", "a9a")
QUICK = ("credit2", "generated-300k", "a9a")

PARTIES = (2, 3, 5)
ROUNDS = {"mnist": 1, "generated-5m": 3}  # the others: 11
POOLED_BAR = {"credit2", "generated-5m"}

NEAR_POOLED = RatioAndGoal(1.5, 1.15)
NEAR_XGBOOST = RatioAndGoal(4, 1.5)  # FedTree's masks: 21
BESIDE_XGBOOST: dict[str, dict[int, RatioAndGoal | None]] = {
    "a9a": {2: NEAR_XGBOOST},
    "credit2": dict.fromkeys(PARTIES),
}
"""By set and number of parties: the bar, if there is one."""


def run(request: Request) -> Iterator[Row]:
    """The rows of every set asked for, as they come."""
    for name in request.sets:
        yield from rows_of(SETS[name], request)


def rows_of(data: DataSet, request: Request) -> Iterator[Row]:
    """Masked seconds over pooled and, where asked, over XGBoost's; and whether all forests are the pooled one."""
    split = data.load()
    peers = BESIDE_XGBOOST.get(data.name, {})
    for fit in contenders(beginning(split), request, bool(peers)).values():
        fit()
    rounds = 1 if request.quick else ROUNDS.get(data.name, 11)
    taken = take_turns(contenders(split, request, bool(peers)), rounds)
    bar = NEAR_POOLED if data.name in POOLED_BAR else None
    for n in PARTIES:
        yield beside(data, n, taken, "pooled", bar)
    for n, near in peers.items():
        yield beside(data, n, taken, "xgboost", near)
    equal = [same(taken[masked(n)].made, taken["pooled"].made) for n in PARTIES]
    yield Row(f"{data.name}: equal forests", data.origin, sum(equal), len(equal), SameForest(all(equal)))


def masked(n: int) -> str:
    """The name of a contender."""
    return f"{n} masked parties"


def contenders(split: Split, request: Request, with_xgboost: bool) -> Contenders:
    """The fits of one round; all of hedgerow's give one forest."""
    X, y = split.X_train, split.y_train
    recipe = Recipe.of(request.settings, y)
    fits = {"pooled": partial(recipe.pooled, X, y)}
    fits |= {masked(n): partial(recipe.federated, blocks(split, n), Horizontal()) for n in PARTIES}
    return fits | ({"xgboost": partial(SEATS["xgboost"](request.settings).fit, X, y)} if with_xgboost else {})


def beside(data: DataSet, n: int, taken: dict[str, Taken], peer: str, bar: RatioAndGoal | None) -> Row:
    """The seconds of `n` masked parties beside a peer's."""
    ours, theirs = taken[masked(n)], taken[peer]
    name = f"{data.name}: {masked(n)} / {peer}, s"
    return Row(name, data.origin, ours.seconds, theirs.seconds, bar, busier(ours, theirs))
