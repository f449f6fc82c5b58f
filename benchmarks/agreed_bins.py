"""What it costs to agree on bins: `python -m benchmarks.agreed_bins`, under two minutes.

Half of the columns are passive. Their cuts are rounded to the edges of at most 16, 32 or 64 agreed bins of about equal
counts, as `hedgerow disclose --data` chooses them, and the forest predicts with these cuts; beside that, a forest that
was trained on the bins in place of the values. `told` is the median over passive columns that are cut of the entropy of
a row's agreed bin, as a share of the entropy of its bin in training (255 at most): what whoever knows the agreed bin of
a row knows of its bin.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Grid

from benchmarks.sets import SETS, Split
from hedgerow import GBDTClassifier, metrics
from hedgerow._native import find_cuts_dense
from hedgerow.data.table import Table
from hedgerow.model.agreed_bins import agreed_edges
from hedgerow.model.model import Model
from hedgerow.trees.bins import GREATEST

NAMES, BINS = ("credit1", "credit2"), (16, 32, 64)
TREES, DEPTH, THREADS = 50, 6, 2


class Line(NamedTuple):
    """The figures of one set and number of bins."""

    name: str
    bins: int
    auc: float
    """Of the forest as it was trained."""
    rounded: float
    trained: float
    moved: float
    """The share of passive cuts that are not at an edge."""
    told: float


def lines_of(name: str, split: Split, bins: tuple[int, ...] = BINS, trees: int = TREES) -> Iterator[Line]:
    """A line for each number of bins; every second column is passive."""
    passive = range(1, split.X_train.shape[1], 2)
    model, auc = _trained(split, trees)
    for most in bins:
        rounded, moved = _rounded(model, split.X_train, passive, most)
        edges = {j: _edges(split.X_train[:, j], most) for j in passive}
        _, trained = _trained(_binned(split, edges), trees)
        cut = {j: cuts for j in passive if len(cuts := _cuts_of(rounded, j))}
        told = median(_share_told(split.X_train[:, j], cuts) for j, cuts in cut.items())
        yield Line(name, most, auc, _auc(rounded, split), trained, moved, told)


def _trained(split: Split, trees: int) -> tuple[Model, float]:
    model: Model = GBDTClassifier(trees, max_depth=DEPTH, n_jobs=THREADS).fit(split.X_train, split.y_train).model_
    return model, _auc(model, split)


def _auc(model: Model, split: Split) -> float:
    return metrics.auc(split.y_test, model.predict(Table.of(split.X_test), THREADS))


def _rounded(model: Model, X: NDArray[np.float32], passive: range, most: int) -> tuple[Model, float]:
    """The model with passive cuts at the agreed edges, and the share of them that moved."""
    thresholds, cut = model.forest.thresholds.copy(), 0
    for j in passive:
        at = np.flatnonzero((model.forest.columns == j) & (thresholds < GREATEST))
        edges, nearest = agreed_edges(thresholds[at], most, np.ascontiguousarray(X[:, j]))
        if edges:
            thresholds[at] = np.array(edges, np.float32)[nearest]
        cut += len(at)
    moved = int((thresholds != model.forest.thresholds).sum()) / max(cut, 1)
    return replace(model, forest=replace(model.forest, thresholds=thresholds)), moved


def _cuts_of(model: Model, column: int) -> NDArray[np.float32]:
    at = np.unique(model.forest.thresholds[model.forest.columns == column])
    return np.asarray(at[at < GREATEST], np.float32)


def _edges(values: NDArray[np.float32], most: int) -> NDArray[np.float32]:
    cuts, *_ = find_cuts_dense(np.ascontiguousarray(values[:, None]), most, 1, THREADS)
    return cuts


def _binned(split: Split, edges: dict[int, NDArray[np.float32]]) -> Split:
    """The split with bins in place of the values of these columns; missing values stay missing."""

    def of(X: NDArray[np.float32]) -> NDArray[np.float32]:
        out = X.copy()
        for j, cuts in edges.items():
            out[:, j] = np.where(np.isnan(X[:, j]), np.nan, np.searchsorted(cuts, X[:, j], side="right"))
        return out

    return Split(of(split.X_train), split.y_train, of(split.X_test), split.y_test)


def _share_told(values: NDArray[np.float32], edges: NDArray[np.float32]) -> float:
    whole = _entropy(values, _edges(values, 255))
    return _entropy(values, edges) / whole if whole else 0.0


def _entropy(values: NDArray[np.float32], cuts: NDArray[np.float32]) -> float:
    """Of the bin of a row, in bits; missing values are a bin of their own."""
    bins = np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values, side="right"))
    share = np.bincount(bins) / len(bins)
    share = share[share > 0]
    return float(-(share * np.log2(share)).sum())


def main() -> int:
    """Prints the table of the sets that are at hand; 2 if there is none."""
    at_hand = [name for name in NAMES if SETS[name].at_hand]
    if not at_hand:
        print("Neither credit1 nor credit2 is in the data folder (HEDGEROW_DATA).", file=sys.stderr)
        return 2
    grid = Grid("set", "bins", "AUC", "cuts rounded", "trained on bins", "cuts moved", "told")
    for name in at_hand:
        for line in lines_of(name, SETS[name].load()):
            grid.add_row(
                line.name, str(line.bins), *(f"{auc:.4f}" for auc in (line.auc, line.rounded, line.trained)),
                f"{line.moved:.0%}", f"{line.told:.0%}",
            )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 100).print(grid)
    return 0


if __name__ == "__main__":
    sys.exit(main())
