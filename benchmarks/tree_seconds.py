"""FedTree's tables 2 and 3: seconds of a tree in both modes, beside XGBoost, and vertical with one thread and several.

From arrays to fitted model, joining and keys among them, divided by the trees. Vertical runs have the gradient bits
that encrypted classes have by default. FedTree takes part where its program is named (`fedtree_program`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from benchmarks.fedtree_program import FedTree
from benchmarks.horizontal_rows import Figure, Line, SameForest
from benchmarks.horizontal_runs import Recipe, beginning, same
from benchmarks.horizontal_sets import SETS as SETS
from benchmarks.horizontal_tables import FEDTREE
from benchmarks.horizontal_turns import Contenders, Taken, busier, take_turns
from benchmarks.seats import xgboost_learner
from benchmarks.sets import DataSet, Split
from benchmarks.settings import Request, Settings
from benchmarks.vertical_runs import dealt
from hedgerow.agreement.options import FEW_BITS, Federation, Horizontal, Lattice, Vertical
from hedgerow.data import partition
from hedgerow.data.table import Table

FULL = ("breast", "a9a", "cod-rna", "mnist", "abalone")
PARTIES, ROUNDS, QUICK_TREES = 2, 3, 2
TABLE_2, TABLE_3 = "table 2, seconds of a tree", "table 3, vertical with one thread and with several"


@dataclass(frozen=True)
class Mode:
    """A way of learning: its protection, how many trees are grown of which set, and what the paper prints."""

    federation: Federation
    trees: Mapping[str, int]
    published: Mapping[str, tuple[float, float]]
    """FedTree's seconds of a tree, and FATE's."""
    bits: int = Settings.gradient_bits


MODES = {
    "horizontal": Mode(
        Horizontal(),
        {"mnist": 3},
        {
            "breast": (0.117, 1.97),
            "a9a": (0.289, 18.41),
            "cod-rna": (0.388, 25.84),
            "mnist": (8.102, 529.49),
            "abalone": (0.075, 1.55),
        },
    ),
    "vertical": Mode(
        Vertical(Lattice()),
        {"mnist": 1},
        {
            "breast": (0.90, 1.73),
            "a9a": (6.46, 55.31),
            "cod-rna": (4.22, 104.59),
            "mnist": (274.42, 790.37),
            "abalone": (0.877, 3.10),
        },
        FEW_BITS,
    ),
}
ONE_THREAD = {"breast": 1.75, "a9a": 17.8, "cod-rna": 43.6, "mnist": 567.7, "abalone": 13.48}
"""Table 3 without parallelism; with it, it has the figures of table 2."""
USUAL_TREES = 20


@dataclass(frozen=True, eq=False)
class Trial:
    """One set in one mode, or over the whole table."""

    data: DataSet
    split: Split
    settings: Settings
    mode: Mode

    @property
    def recipe(self) -> Recipe:
        """How its forests are grown."""
        return Recipe.of(self.settings, self.split.y_train, **FEDTREE)

    def fit(self, threads: int) -> Any:
        """The parties, from arrays to fitted model."""
        table = Table.of(self.split.X_train, self.split.y_train)
        vertical = isinstance(self.mode.federation, Vertical)
        parties = dealt(table, PARTIES) if vertical else partition.rows(table, n=PARTIES, how="even")
        return replace(self.recipe, threads=threads).federated(parties, self.mode.federation)

    def peer(self) -> Any:
        """XGBoost on all rows."""
        learner: Any = xgboost_learner(self.settings, not self.recipe.classes, **FEDTREE)
        return learner.fit(self.split.X_train, self.split.y_train)


def run(request: Request) -> Iterator[Line]:
    """The lines of every set asked for: both modes of table 2, then table 3."""
    for name in request.sets:
        split = SETS[name].load()
        for word, mode in MODES.items():
            trees = QUICK_TREES if request.quick else mode.trees.get(name, USUAL_TREES)
            settings = replace(request.settings, trees=trees, gradient_bits=mode.bits)
            trial = Trial(SETS[name], split, settings, mode)
            rounds = 1 if request.quick or name == "mnist" else ROUNDS
            yield from lines_of(trial, word, rounds)


def lines_of(trial: Trial, word: str, rounds: int) -> Iterator[Line]:
    """One mode: all in turn, after a small round that loads and starts everything."""
    several, vertical = trial.settings.threads, isinstance(trial.mode.federation, Vertical)
    for fit in contenders(replace(trial, split=beginning(trial.split)), several, vertical).values():
        fit()
    taken = take_turns(contenders(trial, several, vertical), rounds)
    yield table_2(trial, word, taken)
    if vertical:
        yield table_3(trial, taken)


def contenders(trial: Trial, threads: int, vertical: bool) -> Contenders:
    """Those that take turns."""
    fits: dict[str, Callable[[], Any]] = {"xgboost": trial.peer, "ours": partial(trial.fit, threads)}
    if vertical:
        fits["one thread"] = partial(trial.fit, 1)
    return fits


def table_2(trial: Trial, word: str, taken: Mapping[str, Taken]) -> Line:
    """Seconds of a tree; and whether the forest is the pooled one."""
    data, trees = trial.data, trial.settings.trees
    pooled = trial.recipe.pooled(Table.of(trial.split.X_train, trial.split.y_train))
    program, (theirs, fate) = FedTree.at_hand(trial.settings), trial.mode.published.get(data.name, (None, None))
    ours, peer, n_classes = taken["ours"], taken["xgboost"], len(trial.recipe.classes)
    figures: dict[str, Figure] = {
        "trees": trees,
        "s/tree": ours.seconds / trees,
        "XGBoost s/tree": peer.seconds / trees,
        "FedTree s/tree": None if program is None else program.seconds(trial.split, word, min(trees, 3), n_classes),
        "their s/tree": theirs,
        "FATE's s/tree": fate,
    }
    bar, busy = SameForest(same(ours.made, pooled)), busier(ours, peer)
    each = ours.seconds / trees
    return Line(f"{data.name}: {word}", data.origin, each, peer.seconds / trees, bar, busy, TABLE_2, figures)


def table_3(trial: Trial, taken: Mapping[str, Taken]) -> Line:
    """One thread beside several; the forests are the same."""
    one, several, trees = taken["one thread"], taken["ours"], trial.settings.trees
    said = ONE_THREAD.get(trial.data.name)
    published = MODES["vertical"].published.get(trial.data.name)
    figures: dict[str, Figure] = {
        "threads": trial.settings.threads,
        "one thread s/tree": one.seconds / trees,
        "several s/tree": several.seconds / trees,
        "their one s/tree": said,
        "their several s/tree": published and published[0],
    }
    bar = SameForest(same(one.made, several.made))
    return Line(
        trial.data.name, trial.data.origin, several.seconds / trees, one.seconds / trees, bar, busier(one, several),
        TABLE_3, figures,
    )  # fmt: skip
