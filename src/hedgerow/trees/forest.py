"""A forest as flat arrays: prediction, importances, and what each node says."""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import ModelError, ParameterError
from hedgerow.trees.bins import Grid, SparseRows, Values
from hedgerow.trees.grow import Grown

ImportanceKind = Literal["gain", "split", "cover"]
MOST_EXPLAINED_DEPTH = 256
"""No tree is grown as deep as that; one from a strange file may be."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Nodes of all trees one after the other; a node's right child stands behind its left one."""

    columns: NDArray[np.int32]
    """The column a node cuts, -1 for a leaf."""
    thresholds: NDArray[np.float32]
    """Values below go left; 0 for a leaf or a categorical cut."""
    missing_left: NDArray[np.bool_]
    children: NDArray[np.int32]
    """Where the left child stands in the whole array, -1 for a leaf."""
    sets: NDArray[np.int32]
    """Which of `category_sets` goes left, -1 for a numeric cut."""
    category_sets: NDArray[np.uint64]
    values: NDArray[np.float32]
    """A leaf's value, the learning rate in it; 0 for a cut."""
    gains: NDArray[np.float64]
    covers: NDArray[np.float32]
    """The sum of hessians."""
    roots: NDArray[np.int64]
    """Where each tree begins, and the end."""

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.roots) - 1

    @property
    def depth(self) -> int:
        """The deepest leaf's distance from its root; children stand behind their parents."""
        level, depth = self.roots[:-1], -1
        while len(level):
            depth += 1
            cuts = level[self.columns[level] >= 0]
            level = np.concatenate([self.children[cuts], self.children[cuts] + 1])
        return max(depth, 0)

    def __eq__(self, other: object) -> bool:
        """Every number the same."""
        if not isinstance(other, Forest):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def empty(cls) -> "Forest":
        """No tree."""
        i, f = np.empty(0, np.int32), np.empty(0, np.float32)
        return cls(
            columns=i,
            thresholds=f,
            missing_left=np.empty(0, np.bool_),
            children=i,
            sets=i,
            category_sets=np.empty((0, 4), np.uint64),
            values=f,
            gains=f.astype(np.float64),
            covers=f,
            roots=np.zeros(1, np.int64),
        )

    @classmethod
    def of_round(
        cls, grown: Grown, values: NDArray[np.float32], covers: NDArray[np.float64], grid: Grid, unit: float
    ) -> "Forest":
        """The trees of one round; leaves in the order of `grown.leaves`, `unit` that of the sums at the cuts."""
        cuts, leaves = grown.cuts, grown.leaves
        sizes = 2 * np.bincount(cuts.nodes.tree, minlength=int(leaves.tree.max()) + 1) + 1
        roots = np.concatenate([[0], np.cumsum(sizes)])
        n = int(roots[-1])
        at, at_leaf = roots[cuts.nodes.tree] + cuts.nodes.node, roots[leaves.tree] + leaves.node

        def spread(where: NDArray[np.int64], what: NDArray[Any], rest: Any, kind: Any) -> NDArray[Any]:
            out: NDArray[Any] = np.full(n, rest, kind)
            out[where] = what
            return out

        by_set = cuts.bin < 0
        thresholds = np.where(by_set, np.float32(0), grid.thresholds(cuts.column, cuts.bin))
        cover = spread(at_leaf, covers, 0, np.float32)
        cover[at] = (grown.worth.left[:, 1] + grown.worth.right[:, 1]) * unit
        return cls(
            columns=spread(at, cuts.column, -1, np.int32),
            thresholds=spread(at, thresholds, 0, np.float32),
            missing_left=spread(at, cuts.missing_left, False, np.bool_),
            children=spread(at, roots[cuts.nodes.tree] + cuts.child, -1, np.int32),
            sets=spread(at[by_set], np.arange(by_set.sum()), -1, np.int32),
            category_sets=cuts.left_bins[by_set],
            values=spread(at_leaf, values, 0, np.float32),
            gains=spread(at, grown.worth.gain, 0, np.float64),
            covers=cover,
            roots=roots,
        )

    def first(self, n_trees: int) -> "Forest":
        """Only the first trees."""
        return self.part(0, n_trees)

    def part(self, begin: int, end: int) -> "Forest":
        """Only the trees from `begin` up to `end`."""
        a, b = int(self.roots[begin]), int(self.roots[end])
        kept = {f.name: getattr(self, f.name)[a:b] for f in fields(self) if f.name not in ("category_sets", "roots")}
        n_sets, used = int(self.sets[:a].max(initial=-1)) + 1, int(kept["sets"].max(initial=-1)) + 1
        kept["children"] = np.where(kept["children"] >= 0, kept["children"] - a, -1).astype(np.int32)
        kept["sets"] = np.where(kept["sets"] >= 0, kept["sets"] - n_sets, -1).astype(np.int32)
        sets = self.category_sets[n_sets : max(used, n_sets)]
        return Forest(**kept, category_sets=sets, roots=self.roots[begin : end + 1] - a)

    def add_scores(self, values: Values, absent: float, scores: NDArray[np.float32], threads: int) -> None:
        """Add every tree's value to the scores (rows x trees of a round), tree after tree."""
        if self.n_trees % scores.shape[1]:
            raise ModelError(f"The forest has {self.n_trees} trees, not a multiple of {scores.shape[1]} classes.")
        table = values if isinstance(values, np.ndarray) else SparseRows.of(values)
        _native.add_scores(self, table, values.shape[1], absent, scores, threads)

    def contributions(
        self, values: Values, absent: float, known: NDArray[np.bool_], n_scores: int, threads: int
    ) -> NDArray[np.float64]:
        """Path-dependent SHAP values (rows x trees of a round x columns), the mean over the covers behind them.

        At cuts of columns that are not `known` a row goes both ways, each as likely as its cover says.
        """
        if self.depth > MOST_EXPLAINED_DEPTH:
            raise ModelError(f"Trees of more than {MOST_EXPLAINED_DEPTH} levels cannot be explained row by row.")
        if not self.covers[self.roots[:-1]].all():
            raise ModelError(
                "The model has no covers, without which columns cannot be said to add to scores; whoever gave it left "
                "them out, and can explain its own."
            )
        out = np.zeros((values.shape[0], n_scores, len(known) + 1))
        table = values if isinstance(values, np.ndarray) else SparseRows.of(values)
        _native.add_contributions(self, self.covers, known, table, absent, out, threads)
        return out

    def leaf_places(self, values: NDArray[np.float32], threads: int) -> NDArray[np.int32]:
        """The node, counted from its tree's root, at which each row ends (rows x trees)."""
        return _native.leaf_places(self, values, threads)

    def importances(self, n_columns: int, kind: ImportanceKind = "gain") -> NDArray[np.float64]:
        """How much of the forest's gain, cuts or cover each column has; shares that add up to 1 (or all 0)."""
        if kind not in ("gain", "split", "cover"):
            raise ParameterError(f"Importances are of kind gain, split or cover; not {kind!r}.")
        cut = self.columns >= 0
        weights: dict[str, NDArray[Any]] = {"gain": self.gains, "split": np.ones(len(cut)), "cover": self.covers}
        total = np.bincount(self.columns[cut], weights[kind][cut], minlength=n_columns).astype(np.float64)
        return total / max(float(total.sum()), np.finfo(np.float64).tiny)


def join(forests: list[Forest]) -> Forest:
    """All trees, in order."""
    starts = np.cumsum([0] + [int(f.roots[-1]) for f in forests])
    sets = np.cumsum([0] + [len(f.category_sets) for f in forests])
    joined = {
        f.name: np.concatenate([getattr(x, f.name) for x in forests]) for f in fields(Forest) if f.name != "roots"
    }
    moved = {
        "children": [np.where(f.children >= 0, f.children + s, -1) for f, s in zip(forests, starts, strict=False)],
        "sets": [np.where(f.sets >= 0, f.sets + s, -1) for f, s in zip(forests, sets, strict=False)],
    }
    joined |= {name: np.concatenate(parts).astype(np.int32) for name, parts in moved.items()}
    roots = [f.roots[:-1] + s for f, s in zip(forests, starts, strict=False)]
    return Forest(**joined, roots=np.concatenate([*roots, starts[-1:]]))


def averaged(sums: NDArray[np.float32], base: float, n_rounds: int) -> NDArray[np.float32]:
    """Scores of a random forest: the mean of its trees, from their first score on."""
    return np.asarray(np.float32(base) + sums / np.float32(max(n_rounds, 1)), np.float32)
