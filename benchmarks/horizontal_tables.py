"""FedTree's tables 1 and 5 for horizontal federations: scores of masked parties, of each alone, and of whole trees."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean

from benchmarks.horizontal_rows import Figure, Line, SameForest
from benchmarks.horizontal_runs import Recipe, same
from benchmarks.horizontal_sets import SETS
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request
from hedgerow.agreement.options import Horizontal, WholeTrees
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.model import Model

FULL = ("breast", "a9a", "cod-rna", "mnist", "abalone")
QUICK = ("breast", "a9a", "abalone")

FEDTREE = {"reg_lambda": 0.1, "gamma": 0.001, "min_child_weight": 0.0}
PARTIES, ALPHA, NOISE = 2, 0.5, 1 / 20
DRAWS = {"mnist": 1}  # how many partitions by quantity; the others: 3

TABLE_1 = "table 1, 2 parties of unequal size (Dirichlet .5)"
TABLE_5 = "table 5, 2 parties whose rows differ"


@dataclass(frozen=True)
class Published:
    """What the FedTree paper prints of one set: table 1, then table 5."""

    pooled: float | None = None
    masked: float | None = None
    alone: float | None = None
    whole: float | None = None
    skewed: dict[str, float] = field(default_factory=dict)


def both(value: float) -> dict[str, float]:
    """Table 5 prints the same for label and for feature skew."""
    return {"labels": value, "features": value}


PUBLISHED = {
    "breast": Published(1.0, 1.0, 0.999, 1.0, both(1.0)),
    "a9a": Published(0.902, 0.902, 0.883, 0.896, both(0.902)),
    "cod-rna": Published(0.993, 0.993, 0.968, 0.977, both(0.989)),
    "mnist": Published(0.983, 0.983, 0.926, 0.943, both(0.981)),
    "abalone": Published(0.078, 0.079, 0.085, 0.289, both(0.079)),
}


def run(request: Request) -> Iterator[Line]:
    """Both tables' lines of every set asked for, as they come."""
    for name in request.sets:
        yield from lines_of(SETS[name], request)


def lines_of(data: DataSet, request: Request) -> Iterator[Line]:
    """The lines of one set; one pooled forest serves wherever the rows are the same."""
    split = data.load()
    table = Table.of(split.X_train, split.y_train)
    trial = Trial(data, split, table, Recipe.of(request.settings, split.y_train, **FEDTREE))
    pooled = trial.recipe.pooled(table)
    yield trial.by_quantity(pooled, 1 if request.quick else DRAWS.get(data.name, 3))
    yield trial.by_skew("even", pooled)
    yield trial.by_skew("labels", pooled)
    yield trial.by_skew("features", None)


@dataclass(frozen=True, eq=False)
class Trial:
    """One set and how its forests are grown."""

    data: DataSet
    split: Split
    table: Table
    recipe: Recipe

    def by_quantity(self, pooled: Model, draws: int) -> Line:
        """Table 1: scores are means over some partitions, and every masked forest must equal the pooled one."""
        recipe, found = self.recipe, [self.drawn(pooled, seed) for seed in range(draws)]
        said = PUBLISHED.get(self.data.name, Published())
        ours, peer, equal = fmean(each["masked"] for each in found), self.score(pooled), all(e["equal"] for e in found)
        figures: dict[str, Figure] = {
            "pooled": peer,
            "all cuts": self.score(recipe.exact().pooled(self.table)),
            "masked": ours,
            **{way: fmean(each[way] for each in found) for way in ("alone", "bagging", "in turn")},
            "their pooled": said.pooled,
            "their masked": said.masked,
            "their SOLO": said.alone,
            "their FEL": said.whole,
        }
        name = f"{self.data.name}: {recipe.metric}"
        return Line(name, self.data.origin, ours, peer, SameForest(equal), sheet=TABLE_1, figures=figures)

    def drawn(self, pooled: Model, seed: int) -> dict[str, float]:
        """The scores of one partition; parties alone and whole trees need not keep to the cuts of a federation."""
        parties = partition.rows(self.table, n=PARTIES, how="quantity", alpha=ALPHA, seed=seed)
        masked, exact = self.recipe.federated(parties, Horizontal()), self.recipe.exact()
        return {
            "equal": same(masked, pooled),
            "masked": self.score(masked),
            "alone": fmean(self.score(exact.pooled(own)) for own in parties.values()),
            "bagging": self.score(exact.federated(parties, WholeTrees("bagging"))),
            "in turn": self.score(exact.federated(parties, WholeTrees("sequential"))),
        }

    def by_skew(self, skew: str, pooled: Model | None) -> Line:
        """Table 5: beside the pooled forest, which is grown here if the parties' values are not the table's."""
        how, noise = ("even", NOISE) if skew == "features" else (skew, 0.0)
        parties = partition.rows(self.table, n=PARTIES, how=how, alpha=ALPHA, noise=noise)
        pooled = pooled or self.recipe.pooled(partition.pooled(parties))
        masked = self.recipe.federated(parties, Horizontal())
        ours, peer, equal = self.score(masked), self.score(pooled), same(masked, pooled)
        said = PUBLISHED.get(self.data.name, Published()).skewed.get(skew)
        figures: dict[str, Figure] = {"score": self.recipe.metric, "pooled": peer, "masked": ours, "their masked": said}
        name = f"{self.data.name}: {skew}"
        return Line(name, self.data.origin, ours, peer, SameForest(equal), sheet=TABLE_5, figures=figures)

    def score(self, model: Model) -> float:
        """How well a model predicts the test rows."""
        return self.recipe.score(model, self.split)
