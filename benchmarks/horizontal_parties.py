"""What a tree costs as parties become more: seconds, bytes and messages, masked and plain."""

from collections.abc import Iterator
from functools import partial

from benchmarks.horizontal_rows import Figure, Line, SameForest
from benchmarks.horizontal_runs import Recipe, beginning, blocks, same
from benchmarks.horizontal_sets import SETS
from benchmarks.horizontal_turns import Contenders, Taken, busier, take_turns
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request
from hedgerow.agreement.options import Horizontal, NoPrivacy, SecureAggregation
from hedgerow.corridor.messages import Answer, AskHistograms, AskLeafSums, FinishRound, NextRound
from hedgerow.corridor.messages import Request as Asked

FULL = QUICK = ("a9a", "credit2")

PARTIES, QUICK_PARTIES = (2, 4, 8, 16, 32), (2, 8)
WAYS = {"masked": Horizontal(SecureAggregation()), "plain": Horizontal(NoPrivacy(i_accept_disclosure=True))}
GROWING = (AskHistograms, AskLeafSums, FinishRound, NextRound)
ROUNDS = 3

SHEET = "cost by number of parties; bytes and messages are one party's"


class Traffic:
    """Counts what crosses the corridor: while trees grow, and before and after."""

    def __init__(self) -> None:
        self.up = self.down = self.messages = self.around = 0
        self._growing = False

    def __call__(self, sender: str, receiver: str, message: Asked | Answer, frame: bytes) -> None:  # noqa: ARG002
        """A listener: an answer belongs to the request before it."""
        if sender == "driver":
            self._growing = isinstance(message, GROWING)
        if not self._growing:
            self.around += len(frame)
            return
        self.messages += 1
        if sender == "driver":
            self.down += len(frame)
        else:
            self.up += len(frame)


def run(request: Request) -> Iterator[Line]:
    """The lines of every set asked for, as they come."""
    for name in request.sets:
        data = SETS[name]
        split = data.load()
        for n in QUICK_PARTIES if request.quick else PARTIES:
            yield from lines_of(data, split, n, request)


def lines_of(data: DataSet, split: Split, n: int, request: Request) -> Iterator[Line]:
    """One set at so many parties; what is counted is counted in another run than what is timed."""
    recipe = Recipe.of(request.settings, split.y_train)
    for fit in contenders(recipe, beginning(split), n).values():
        fit()
    taken = take_turns(contenders(recipe, split, n), 1 if request.quick else ROUNDS)
    pooled = taken["pooled"]
    trees = pooled.made.forest.n_trees
    for way, federation in WAYS.items():
        traffic = Traffic()
        recipe.federated(blocks(split, n), federation, (traffic,))
        ours = taken[way]
        yield Line(
            f"{data.name}: {n} {way}",
            data.origin,
            ours.seconds / trees,
            pooled.seconds / trees,
            SameForest(same(ours.made, pooled.made)),
            busier(ours, pooled),
            SHEET,
            figures(ours, pooled, traffic, n, trees),
        )


def contenders(recipe: Recipe, split: Split, n: int) -> Contenders:
    """The fits of one round."""
    fits = {"pooled": partial(recipe.pooled, split.X_train, split.y_train)}
    return fits | {way: partial(recipe.federated, blocks(split, n), chosen) for way, chosen in WAYS.items()}


def figures(ours: Taken, pooled: Taken, traffic: Traffic, n: int, trees: int) -> dict[str, Figure]:
    """Per tree and party, but for the seconds, which are everybody's, and the bytes before and after all trees."""
    return {
        "s/tree": ours.seconds / trees,
        "/ pooled": ours.seconds / pooled.seconds,
        "bytes up/tree": round(traffic.up / n / trees),
        "bytes down/tree": round(traffic.down / n / trees),
        "messages/tree": round(traffic.messages / n / trees),
        "other bytes": round(traffic.around / n),
    }
