"""What few gradient bits cost: AUC against full precision, over five ways to hold rows out.

A vertical forest is the pooled one at the same bits, bit for bit, so that pooled training measures both.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split

from benchmarks.measure import score_of
from benchmarks.rows import NotBelowPeer, Row
from benchmarks.sets import SETS, DataSet, Split
from benchmarks.settings import Request

FULL = ("a9a", "credit1", "credit2")
QUICK = ("credit1",)
BITS, QUICK_BITS = (5, 6, 7, 8, 9, 10), (8,)
FULL_PRECISION = 31
SEEDS, QUICK_SEEDS = 5, 1
DEFAULT = 8
"""What encrypted vertical runs use unless told otherwise."""
LOST_AT_MOST = NotBelowPeer(0.001)


def run(request: Request) -> Iterator[Row]:
    """For every set and number of bits, the mean AUC beside that of full precision, and the worst of the seeds."""
    for name in request.sets:
        yield from rows_of(SETS[name], request)


def rows_of(data: DataSet, request: Request) -> Iterator[Row]:
    """The rows of one set."""
    splits = list(shuffled(data.load(), QUICK_SEEDS if request.quick else SEEDS))

    def scores(bits: int) -> np.ndarray:
        settings = replace(request.settings, gradient_bits=bits)
        return np.array([score_of(request.ours, settings, split) for split in splits])

    full = scores(FULL_PRECISION)
    for bits in QUICK_BITS if request.quick else BITS:
        found, bar = scores(bits), LOST_AT_MOST if bits >= DEFAULT else None
        worst = int((found - full).argmin())
        yield Row(f"{data.name}: mean AUC at {bits} bits", data.origin, float(found.mean()), float(full.mean()), bar)
        yield Row(f"{data.name}: worst seed at {bits} bits", data.origin, float(found[worst]), float(full[worst]))


def shuffled(split: Split, n: int) -> Iterator[Split]:
    """All rows of a set, a quarter of them held out, drawn anew by each seed."""
    stacked = sparse.vstack if sparse.issparse(split.X_train) else np.vstack
    X, y = stacked([split.X_train, split.X_test]), np.concatenate([split.y_train, split.y_test])
    for seed in range(n):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=seed)
        yield Split(X_train, y_train, X_test, y_test)
