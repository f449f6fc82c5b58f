"""What node membership tells a passive party of the labels: an attacker who knows forty of them guesses the others.

It has its own columns, and what it was told in the run: which rows share a node of each tree, the sides at its own cuts
included. A logistic regression learns from the forty, once from the own columns alone and once from both.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.horizontal_rows import Figure, Line
from benchmarks.horizontal_runs import Recipe
from benchmarks.sets import SETS as OTHERS
from benchmarks.settings import Request
from benchmarks.vertical_runs import PLAIN, Columns, dealt
from hedgerow.agreement.options import Lattice, Vertical
from hedgerow.corridor.messages import Answer, AskSealedSums, AskSides, EndRound, Sides
from hedgerow.corridor.messages import Request as Asked
from hedgerow.data.table import Table
from hedgerow.trees.local import Part
from hedgerow.trees.splits import Nodes

SETS = OTHERS
FULL = ("credit2",)
QUICK = ("credit1",)
KNOWN, DRAWS, PARTS, BINS = 40, 30, 8, 32
SHEET = f"labels, by a passive party that knows {KNOWN} of them (AUC over all others, mean of {DRAWS} draws)"


@dataclass(frozen=True)
class Way:
    """A way to train: settings of `Vertical`, how many trees, and how much the attack may gain."""

    settings: dict[str, Any]
    trees: int
    most_gain: float | None = None


WAYS = {
    "default": Way({}, 50),
    "first tree local": Way({"local_trees": 1}, 50),
    "first 5 trees local": Way({"local_trees": 5}, 50),
    "hidden rows": Way({"hidden_rows": True, "privacy": Lattice()}, 3, 0.005),
}


@dataclass(frozen=True)
class GainsAtMost:
    """The attack gains at most so much beyond own columns."""

    limit: float

    def holds(self, ours: float, peer: float | None) -> bool:
        """Ours is with what the run told, the peer without."""
        return peer is not None and ours - peer <= self.limit

    def __str__(self) -> str:
        return f"gain <= {self.limit:g}"


class Told:
    """The nodes of rows, tree by tree, as the messages of a run tell them to one passive party."""

    def __init__(self, party: str, n_rows: int) -> None:
        self.party, self.n_rows = party, n_rows
        self.trees: list[NDArray[np.int64]] = []
        self._part: Part | None = None
        self._nodes: set[int] = set()
        self._cut: AskSides | None = None
        self._left: NDArray[np.uint8] | None = None

    def __call__(self, sender: str, receiver: str, message: Asked | Answer, frame: bytes) -> None:  # noqa: ARG002
        """A listener."""
        if self.party not in (sender, receiver):
            return
        if isinstance(message, AskSealedSums):
            if message.level == 0:
                self._begin()
            for moves in message.moves:
                self._divide(Nodes(moves.tree, moves.node), moves.child, moves.left)
            self._left = None
        elif isinstance(message, AskSides):
            self._cut = message
        elif isinstance(message, Sides):
            self._left = message.left
        elif isinstance(message, EndRound) and self._part is not None:
            self._end()

    def _begin(self) -> None:
        every = np.arange(self.n_rows, dtype=np.uint32)[None].copy()
        self._part, self._nodes = Part(None, every, 1), {0}  # type: ignore[arg-type]  # no bins are needed

    def _divide(self, nodes: Nodes, child: NDArray[np.int64], left: NDArray[np.uint8]) -> None:
        if self._part is None:
            return
        n = int(self._part.sizes(nodes).sum())
        sides = np.unpackbits(left, count=n, bitorder="little").astype(np.bool_)
        self._part.divide_by(nodes, child, sides)
        self._nodes = (self._nodes - set(nodes.node.tolist())) | {c + i for c in child.tolist() for i in (0, 1)}

    def _end(self) -> None:
        """Of the last level the party knows the sides at its own cuts alone."""
        if self._left is not None and self._cut is not None:
            cuts = self._cut.cuts
            self._divide(Nodes(cuts.tree, cuts.node), cuts.child, self._left)
        where = np.empty(self.n_rows, np.int64)
        for node in self._nodes if self._part is not None else ():
            at = Nodes(np.array([0]), np.array([node]))
            where[self._part.rows(at)] = node  # type: ignore[union-attr]
        self.trees.append(where)
        self._part = self._left = self._cut = None


def run(request: Request) -> Iterator[Line]:
    """A line for every set and way that this hedgerow has."""
    known = {field.name for field in msgspec.structs.fields(Vertical)}
    for name in request.sets:
        split = SETS[name].load()
        table = Table.of(split.X_train, split.y_train)
        parties = dealt(table, 2)
        own = ranked(parties)
        alone = attacked(own, split.y_train)
        for way, how in WAYS.items():
            if lacking := sorted(set(how.settings) - known):
                print(f"Left out, this hedgerow does not know it yet: {way} ({lacking[0]}).", file=sys.stderr)
                continue
            trees = min(how.trees, 10) if request.quick else how.trees
            recipe = Recipe.of(replace(request.settings, trees=trees, bins=BINS), split.y_train)
            found = attacked(np.hstack([own, *told_in(recipe, parties, how)]), split.y_train)
            figures: dict[str, Figure] = {"trees": trees, "own columns": alone, "with the run": found}
            bar = None if how.most_gain is None else GainsAtMost(how.most_gain)
            figures["gain"] = found - alone
            yield Line(f"{name}: {way}", SETS[name].origin, found, alone, bar, sheet=SHEET, figures=figures)


def told_in(recipe: Recipe, parties: Columns, how: Way) -> list[NDArray[np.float64]]:
    """What a run told the passive party about which rows are alike, as a few numbers a row; nothing if it told none."""
    told = Told(list(parties)[1], next(iter(parties.values())).n_rows)
    recipe.federated(parties, msgspec.structs.replace(PLAIN, **how.settings), (told,))
    if not told.trees:
        return []
    leaves = [np.unique(tree, return_inverse=True)[1] for tree in told.trees]
    firsts = np.cumsum([0, *(leaf.max() + 1 for leaf in leaves)])
    columns = np.column_stack([leaf + first for leaf, first in zip(leaves, firsts, strict=False)])
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    ones = sparse.csr_array((np.ones(columns.size), (rows, columns.ravel())), (len(columns), int(firsts[-1])))
    parts = TruncatedSVD(min(PARTS, int(firsts[-1]) - 1), random_state=0).fit_transform(ones)
    return [standard(parts)]


def ranked(parties: Columns) -> NDArray[np.float64]:
    """The passive party's own columns, each as ranks, missing values in the middle."""
    values = list(parties.values())[1].values
    dense = values if isinstance(values, np.ndarray) else values.toarray()
    out: list[NDArray[np.float64]] = []
    for column in dense.T:
        known = ~np.isnan(column)
        ranks = np.zeros(len(column))
        _, places, counts = np.unique(column[known], return_inverse=True, return_counts=True)
        ranks[known] = (np.cumsum(counts) - counts / 2)[places] / max(known.sum(), 1) - 0.5
        out += [ranks, (~known).astype(np.float64)] if not known.all() else [ranks]
    return standard(np.column_stack(out))


def standard(values: NDArray[Any]) -> NDArray[np.float64]:
    """Every column with mean 0 and deviation 1."""
    return np.asarray((values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-9), np.float64)


def attacked(features: NDArray[np.float64], labels: NDArray[Any]) -> float:
    """The AUC of guessed labels over all rows that are not known, mean over draws of the known ones."""
    found: list[float] = []
    rng = np.random.default_rng(0)
    while len(found) < DRAWS:
        known = rng.choice(len(labels), KNOWN, replace=False)
        if not 2 <= labels[known].sum() <= KNOWN - 2:
            continue
        learner = LogisticRegression(C=0.1, class_weight="balanced", max_iter=1000).fit(features[known], labels[known])
        others = np.ones(len(labels), np.bool_)
        others[known] = False
        found.append(roc_auc_score(labels[others], learner.decision_function(features[others])))
    return fmean(found)
