"""FedTree's tables 1 and 5 for vertical federations: scores of parties with columns, alone, and of whole trees."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from benchmarks.horizontal_rows import Figure, Line, SameForest
from benchmarks.horizontal_runs import Recipe, same
from benchmarks.horizontal_sets import SETS
from benchmarks.horizontal_tables import FEDTREE
from benchmarks.rows import AtLeast, Bar
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request
from benchmarks.vertical_runs import (
    PLAIN,
    Columns,
    bagged,
    blurred,
    dealt,
    dealt_unequally,
    in_turn,
    together,
    with_labels,
)
from hedgerow.agreement.options import Lattice, Vertical
from hedgerow.data.table import Table
from hedgerow.model.model import Model

FULL = ("breast", "a9a", "cod-rna", "abalone")
QUICK = ("breast", "abalone")

PARTIES = 2
DRAWS = {"mnist": 1}  # how many partitions; the others: 3
PLAINLY = {"mnist"}  # without encryption in table 1, which is long enough

TABLE_1 = "table 1, 2 parties with unequal numbers of columns (Dirichlet .5)"
TABLE_5 = "table 5, 2 parties whose columns differ"


@dataclass(frozen=True)
class Published:
    """What the FedTree paper prints of one set: table 1, then table 5 (feature)."""

    pooled: float | None = None
    sealed: float | None = None
    alone: float | None = None
    whole: float | None = None
    noisy: float | None = None


PUBLISHED = {
    "breast": Published(1.0, 1.0, 0.944, 0.988, 1.0),
    "a9a": Published(0.902, 0.902, 0.608, 0.573, 0.902),
    "cod-rna": Published(0.993, 0.993, 0.667, 0.754, 0.993),
    "mnist": Published(0.983, 0.983, 0.759, 0.822, 0.983),
    "abalone": Published(0.078, 0.078, 0.138, 0.266, 0.079),
}


@dataclass(frozen=True)
class SameForestAtLeast:
    """The forests are the pooled one, and the score is at least so much."""

    equal: bool
    least: float

    def holds(self, ours: float, peer: float | None) -> bool:
        """Both."""
        return self.equal and AtLeast(self.least).holds(ours, peer)

    def __str__(self) -> str:
        return f"forest == pooled, >= {self.least:g}"


def run(request: Request) -> Iterator[Line]:
    """All tables' lines of every set asked for, as they come."""
    for name in request.sets:
        yield from lines_of(SETS[name], request)


def lines_of(data: DataSet, request: Request) -> Iterator[Line]:
    """The lines of one set."""
    split = data.load()
    table = Table.of(split.X_train, split.y_train)
    trial = Trial(data, split, table, Recipe.of(request.settings, split.y_train, **FEDTREE))
    yield trial.by_quantity(1 if request.quick else DRAWS.get(data.name, 3))
    yield trial.by_skew("even")
    yield trial.by_skew("features")


@dataclass(frozen=True, eq=False)
class Trial:
    """One set and how its forests are grown."""

    data: DataSet
    split: Split
    table: Table
    recipe: Recipe

    @property
    def federation(self) -> Vertical:
        """Lattice encryption, or where that takes too long none: the forest is the same."""
        return PLAIN if self.data.name in PLAINLY else Vertical(Lattice())

    @property
    def said(self) -> Published:
        """What the paper prints."""
        return PUBLISHED.get(self.data.name, Published())

    def by_quantity(self, draws: int) -> Line:
        """Table 1: means over some partitions, in each of which the federated forest must equal the pooled one."""
        found, said = [self.drawn(seed) for seed in range(draws)], self.said
        equal, ours = all(each["equal"] for each in found), fmean(each["sealed"] for each in found)
        peer = fmean(each["pooled"] for each in found)
        figures: dict[str, Figure] = {
            "pooled": peer,
            "sealed": ours,
            **{way: fmean(each[way] for each in found) for way in ("alone", "bagging", "in turn")},
            "their pooled": said.pooled,
            "their HE": said.sealed,
            "their SOLO": said.alone,
            "their FEL": said.whole,
        }
        name = f"{self.data.name}: {self.recipe.metric}"
        bar: Bar = SameForestAtLeast(equal, 0.902) if self.data.name == "a9a" else SameForest(equal)
        return Line(name, self.data.origin, ours, peer, bar, sheet=TABLE_1, figures=figures)

    def drawn(self, seed: int) -> dict[str, float]:
        """The scores of one partition; baselines need not keep to the cuts of a federation."""
        parties, recipe, exact = dealt_unequally(self.table, PARTIES, seed), self.recipe, self.recipe.exact()
        sealed, pooled = recipe.federated(parties, self.federation), recipe.pooled(self.ordered(parties))
        owners = with_labels(parties, self.table.labels)
        return {
            "equal": same(sealed, pooled),
            "pooled": self.score(pooled),
            "sealed": self.score(sealed),
            "alone": fmean(self.score(exact.pooled(own)) for own in owners.values()),
            "bagging": bagged(exact, owners, self.split),
            "in turn": in_turn(exact, owners, self.split),
        }

    def by_skew(self, skew: str) -> Line:
        """Table 5: columns dealt evenly, or with noise that differs from party to party."""
        parties = dealt(self.table, PARTIES)
        parties = blurred(parties) if skew == "features" else parties
        federated = self.recipe.federated(parties, PLAIN)
        pooled = self.recipe.pooled(together(parties) if skew == "features" else self.ordered(parties))
        ours, peer, equal = self.score(federated), self.score(pooled), same(federated, pooled)
        figures: dict[str, Figure] = {"score": self.recipe.metric, "pooled": peer, "federated": ours}
        figures["theirs"] = self.said.noisy if skew == "features" else self.said.sealed
        name = f"{self.data.name}: {skew}"
        return Line(name, self.data.origin, ours, peer, SameForest(equal), sheet=TABLE_5, figures=figures)

    def ordered(self, parties: Columns) -> Table:
        """The whole table with its columns in the order of the parties."""
        return self.table.aligned([column for part in parties.values() for column in part.columns])

    def score(self, model: Model) -> float:
        """How well a model predicts the test rows."""
        return self.recipe.score(model, self.split)
