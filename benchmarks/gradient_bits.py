"""What few gradient bits cost: AUC against full precision, over five ways to hold rows out.

A vertical forest is the pooled one at the same bits, bit for bit, so that pooled training measures both. Long runs are
there because gradients shrink as training goes on, and small ones are the first to be lost in few bits.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

from benchmarks.measure import score_of
from benchmarks.rows import NotBelowPeer, Row
from benchmarks.sets import SETS, DataSet, Split
from benchmarks.settings import Request
from hedgerow.agreement.options import FEW_BITS

FULL = ("a9a", "credit1", "credit2")
QUICK = ("credit1",)
RUNS = {50: (5, 6, 7, 8, 9, 10), 200: (7, 8)}
"""Numbers of bits by numbers of trees."""
QUICK_RUNS = {50: (FEW_BITS,)}
FULL_PRECISION = 31
SEEDS = 5
LOST_AT_MOST = NotBelowPeer(0.001)


def run(request: Request) -> Iterator[Row]:
    """For every set and number of bits the mean AUC beside that of full precision, and the worst of the seeds.

    The bar is for the bits that encrypted vertical runs have by default.
    """
    for name in request.sets:
        yield from rows_of(SETS[name], request)


def rows_of(data: DataSet, request: Request) -> Iterator[Row]:
    """The rows of one set."""
    splits = list(shuffled(data.load(), SEEDS))
    for trees, every in (QUICK_RUNS if request.quick else RUNS).items():
        full = scores(request, splits, trees, FULL_PRECISION)
        for bits in every:
            found, bar = scores(request, splits, trees, bits), LOST_AT_MOST if bits == FEW_BITS else None
            worst, what = int((found - full).argmin()), f"at {bits} bits, {trees} trees"
            yield Row(f"{data.name}: mean AUC {what}", data.origin, float(found.mean()), float(full.mean()), bar)
            yield Row(f"{data.name}: worst seed {what}", data.origin, float(found[worst]), float(full[worst]))


def scores(request: Request, splits: list[Split], trees: int, bits: int) -> NDArray[np.float64]:
    """The AUC of each split."""
    settings = replace(request.settings, trees=trees, gradient_bits=bits)
    return np.array([score_of(request.ours, settings, split) for split in splits])


def shuffled(split: Split, n: int) -> Iterator[Split]:
    """All rows of a set, a quarter of them held out, drawn anew by each seed."""
    stacked = sparse.vstack if sparse.issparse(split.X_train) else np.vstack
    X, y = stacked([split.X_train, split.X_test]), np.concatenate([split.y_train, split.y_test])
    for seed in range(n):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
        yield Split(X_train, y_train, X_test, y_test)
