"""What each way of learning costs and learns, on the same rows: scores, megabytes, exchanges, processor seconds.

Costs are those of few trees, of all parties together in one process; processor seconds are given as a multiple of
pooled training of as many trees in the same run. A score is that of all trees, without encryption where that has the
same forest, which is compared for the few trees.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from time import process_time

from benchmarks.horizontal_rows import Figure, Line, SameForest
from benchmarks.horizontal_runs import Recipe, same
from benchmarks.horizontal_sets import SETS as SETS
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request
from benchmarks.vertical_runs import PLAIN, dealt
from hedgerow.agreement.dp import DP
from hedgerow.agreement.options import (
    FEW_BITS,
    Federation,
    Horizontal,
    Lattice,
    NoPrivacy,
    Paillier,
    Vertical,
    WholeTrees,
)
from hedgerow.corridor.messages import Answer
from hedgerow.corridor.messages import Request as Asked
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.model import Model
from hedgerow.trees.params import TreeParams

FULL, QUICK = ("a9a", "credit1", "cod-rna"), ("breast",)
PARTIES = 2
EPSILONS = (5.0, 1.0)
SHEET = "ways of learning"


@dataclass(frozen=True)
class Way:
    """A way of learning: how the table is dealt, what is trained for the score and for the costs."""

    name: str
    dealt: str
    scored: Federation
    costed: Federation
    trees: int = 5
    pooled: bool = True
    """Whether its forest must be the pooled one."""
    bits: int | None = None
    """Of gradients, if other than usual."""


UNPROTECTED = Horizontal(NoPrivacy(i_accept_disclosure=True))
WAYS = (
    Way("whole trees, mean of models", "rows", WholeTrees("bagging"), WholeTrees("bagging"), pooled=False),
    Way("horizontal, unprotected", "rows", UNPROTECTED, UNPROTECTED),
    Way("horizontal, masked", "rows", Horizontal(), Horizontal()),
    Way("vertical, unprotected", "columns", PLAIN, PLAIN),
    Way("vertical, lattice", "columns", PLAIN, Vertical(Lattice()), bits=FEW_BITS),
    Way("vertical, lattice for 100 Mbit/s", "columns", PLAIN, Vertical(Lattice(100.0)), bits=FEW_BITS),
    Way(
        "vertical, lattice, hidden rows",
        "columns",
        PLAIN,
        Vertical(Lattice(), hidden_rows=True),
        trees=2,
        bits=FEW_BITS,
    ),
    Way("vertical, Paillier 2048", "columns", PLAIN, Vertical(Paillier(bits=2048)), trees=1, bits=FEW_BITS),
)


class Counted:
    """Bytes and questions: a listener."""

    def __init__(self) -> None:
        self.bytes = self.asked = 0

    def __call__(self, sender: str, receiver: str, message: Asked | Answer, frame: bytes) -> None:  # noqa: ARG002
        """Counts a message."""
        self.bytes += len(frame)
        self.asked += isinstance(message, Asked)


@dataclass(frozen=True, eq=False)
class Trial:
    """One set."""

    data: DataSet
    split: Split
    recipe: Recipe

    @property
    def table(self) -> Table:
        """All training rows."""
        return Table.of(self.split.X_train, self.split.y_train)

    def parties(self, dealt_by: str) -> dict[str, Table]:
        """Rows or columns of two."""
        return (
            dealt(self.table, PARTIES) if dealt_by == "columns" else partition.rows(self.table, n=PARTIES, how="even")
        )

    def ordered(self, dealt_by: str) -> Table:
        """The table with its columns in the order of the parties."""
        if dealt_by == "rows":
            return self.table
        return self.table.aligned([column for part in self.parties(dealt_by).values() for column in part.columns])

    def recipe_of(self, way: Way, trees: int | None = None) -> Recipe:
        """With its bits of gradients, and fewer trees."""
        bits, n = way.bits or self.recipe.params.gradient_bits, trees or self.recipe.params.n_estimators
        return replace(self.recipe, params=replace(self.recipe.params, n_estimators=n, gradient_bits=bits))

    def line(self, way: Way) -> Line:
        """Score and costs of one way."""
        whole, parties, few = self.parties(way.dealt), self.parties(way.dealt), self.recipe_of(way, way.trees)
        score = self.recipe.score(self.recipe_of(way).federated(whole, way.scored), self.split)
        counted = Counted()
        few.federated(parties, way.costed, (counted,))
        seconds, made = spent(partial(few.federated, parties, way.costed))
        pooled_seconds, pooled = spent(partial(few.pooled, self.ordered(way.dealt)))
        bar = SameForest(same(made, pooled)) if way.pooled else None
        figures: dict[str, Figure] = {
            "score": self.recipe.metric,
            "reached": score,
            "MB/tree": counted.bytes / way.trees / 1e6,
            "exchanges/tree": counted.asked / PARTIES / way.trees,
            "processor s / pooled": seconds / pooled_seconds,
            "trees": way.trees,
        }
        return Line(f"{self.data.name}: {way.name}", self.data.origin, score, None, bar, None, SHEET, figures)

    def alone(self, dealt_by: str) -> Line:
        """One party by itself: the mean over both, or the one that has the labels."""
        parties = list(self.parties(dealt_by).values())
        some = parties if dealt_by == "rows" else parties[:1]
        score = fmean(self.recipe.score(self.recipe.exact().pooled(own), self.split) for own in some)
        return self.without_costs(f"alone, half of the {dealt_by}", score)

    def private(self, epsilon: float) -> Line:
        """Masked and noised; the rule chooses how many trees of what size."""
        recipe = replace(self.recipe, params=TreeParams())
        made = recipe.federated(self.parties("rows"), Horizontal(dp=DP(epsilon)))
        return self.without_costs(f"horizontal, masked, epsilon {epsilon:g}", recipe.score(made, self.split))

    def without_costs(self, name: str, score: float) -> Line:
        """What crosses is not counted."""
        figures: dict[str, Figure] = {"score": self.recipe.metric, "reached": score, "MB/tree": None}
        figures |= {"exchanges/tree": None, "processor s / pooled": None, "trees": None}
        return Line(f"{self.data.name}: {name}", self.data.origin, score, sheet=SHEET, figures=figures)


def run(request: Request) -> Iterator[Line]:
    """The lines of every set asked for."""
    for name in request.sets:
        split = SETS[name].load()
        trial = Trial(SETS[name], split, Recipe.of(request.settings, split.y_train))
        yield trial.without_costs("pooled", trial.recipe.score(trial.recipe.pooled(trial.table), split))
        yield trial.alone("rows")
        yield trial.alone("columns")
        for way in WAYS:
            if not (request.quick and "Paillier" in way.name):
                yield trial.line(way)
        for epsilon in () if request.quick else EPSILONS:
            yield trial.private(epsilon)


def spent(fit: Callable[[], Model]) -> tuple[float, Model]:
    """The processor's seconds of a fit, of all threads."""
    began = process_time()
    made = fit()
    return process_time() - began, made
