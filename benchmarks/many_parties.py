"""FedTree's table 8: what a tree costs with 8, 16 and 32 parties, rows or columns dealt evenly to them.

All parties are on this machine, theirs on several, so that beside the seconds stand processor seconds of everybody
together, as a multiple of those of pooled training in the same run: what is added by more parties.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import process_time

from benchmarks.horizontal_rows import Figure, Line, SameForest
from benchmarks.horizontal_runs import Recipe, beginning, same
from benchmarks.horizontal_sets import SETS
from benchmarks.horizontal_tables import FEDTREE
from benchmarks.horizontal_turns import Taken, turn
from benchmarks.sets import DataSet
from benchmarks.settings import Request
from benchmarks.vertical_runs import PLAIN, dealt
from hedgerow.agreement.options import Federation, Horizontal, Lattice, Vertical
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.model import Model

FULL = ("breast", "a9a", "cod-rna", "mnist", "abalone")
QUICK = ("breast", "abalone")
MANY = (8, 16, 32)
PLAINLY = {"mnist"}
"""Without encryption, which takes long there; the forest is the same."""

Seconds = Mapping[str, Mapping[int, float]]

HORIZONTAL: Seconds = {
    "breast": {8: 0.15, 16: 0.12, 32: 0.12},
    "a9a": {8: 0.31, 16: 0.22, 32: 0.19},
    "cod-rna": {8: 0.19, 16: 0.14, 32: 0.12},
    "mnist": {8: 13.7, 16: 10.3, 32: 7.76},
    "abalone": {8: 0.16, 16: 0.15, 32: 0.11},
}
VERTICAL: Seconds = {
    "breast": {8: 0.75},
    "a9a": {8: 4.75, 16: 3.26, 32: 2.88},
    "cod-rna": {8: 6.52},
    "mnist": {8: 12.9, 16: 9.98, 32: 8.57},
    "abalone": {8: 1.66},
}
"""Seconds a tree that the paper prints."""


@dataclass(frozen=True)
class Mode:
    """One of the two: how a table is dealt, what protects it, how many trees are grown, and what the paper prints."""

    word: str
    trees: Mapping[str, int]
    said: Seconds

    @property
    def sheet(self) -> str:
        """The heading of its lines."""
        return f"table 8, many parties, {self.word}"

    def parties(self, table: Table, n: int) -> dict[str, Table] | None:
        """The table dealt evenly; None if there are fewer columns than parties."""
        if self.word == "horizontal":
            return partition.rows(table, n=n, how="even")
        return dealt(table, n) if n <= table.n_columns else None

    def federation(self, name: str) -> Federation:
        """Masks, or encryption."""
        if self.word == "horizontal":
            return Horizontal()
        return PLAIN if name in PLAINLY else Vertical(Lattice())

    def run(self, request: Request) -> Iterator[Line]:
        """The lines of every set asked for."""
        for name in request.sets:
            yield from self.lines_of(SETS[name], request)

    def lines_of(self, data: DataSet, request: Request) -> Iterator[Line]:
        """One set with each number of parties."""
        split = data.load()
        recipe = Recipe.of(request.settings, split.y_train, **FEDTREE)
        trees = 3 if request.quick else self.trees.get(data.name, recipe.params.n_estimators)
        recipe = replace(recipe, params=replace(recipe.params, n_estimators=trees))
        start, table = beginning(split), Table.of(split.X_train, split.y_train)
        recipe.pooled(Table.of(start.X_train, start.y_train))
        for n in MANY:
            parties = self.parties(table, n)
            if parties is not None:
                yield self.line(data, recipe, parties, table)

    def line(self, data: DataSet, recipe: Recipe, parties: dict[str, Table], table: Table) -> Line:
        """One number of parties beside pooled training; the forests are the same."""
        n, trees = len(parties), recipe.params.n_estimators
        columns = [column for part in parties.values() for column in part.columns]
        ordered = table.aligned(columns) if self.word == "vertical" else table
        pooled = cost(partial(recipe.pooled, ordered))
        taken = cost(partial(recipe.federated, parties, self.federation(data.name)))
        equal = same(taken[0].made, pooled[0].made)
        figures: dict[str, Figure] = {
            "parties": n,
            "trees": trees,
            "s/tree": taken[0].seconds / trees,
            "their s/tree": self.said.get(data.name, {}).get(n),
            "processor s / pooled": taken[1] / pooled[1],
        }
        name = f"{data.name}: {n} parties"
        return Line(
            name, data.origin, taken[0].seconds / trees, None, SameForest(equal), taken[0].others, self.sheet, figures
        )


def cost(fit: Callable[[], Model]) -> tuple[Taken, float]:
    """A fit with its seconds, and the processor's seconds of all threads."""
    began = process_time()
    taken = turn(fit)
    return taken, process_time() - began


MODES = {
    "horizontal": Mode("horizontal", {"mnist": 5}, HORIZONTAL),
    "vertical": Mode("vertical", {"breast": 10, "a9a": 10, "cod-rna": 10, "mnist": 3, "abalone": 10}, VERTICAL),
}
