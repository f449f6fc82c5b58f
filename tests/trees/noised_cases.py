"""Small tables and what is agreed on them, for tests of noised trees of public structure."""

import numpy as np
from scipy import sparse

from hedgerow.trees.bins import Grid
from hedgerow.trees.cut_search import Prefixes
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.rule import Terms, schedule
from hedgerow.trees.noised.sums import OwnRows, OwnSums

KINDS = ("classes", "three classes", "numbers", "few nonzero")
METHODS = ("auto", "additive", "random")
N_CATEGORIES = np.array([0, 0, 3, 0])


def terms(kind, method="auto", mu=2.0, **other):
    given = {
        "classes": {},
        "three classes": {"n_scores": 3},
        "numbers": {"label_range": (-2.0, 3.0)},
        "few nonzero": {"max_nonzero": 2},
    }[kind]
    return Terms(method, mu, n_columns=4, n_numeric=3, **{**given, **other})


def rows(kind, rng, n=60, *, as_sparse=False):
    values = rng.normal(0, 2, (n, 4)).astype(np.float32)
    values[:, 2] = rng.integers(0, 3, n)
    values[:, 3] = rng.integers(-1, 3, n)
    values[rng.random((n, 4)) < 0.3] = 0
    if not as_sparse:
        values[rng.random((n, 4)) < 0.1] = np.nan
    labels = rng.normal(0, 3, n) if kind == "numbers" else rng.integers(0, 3 if kind == "three classes" else 2, n)
    table = sparse.csr_array(values) if as_sparse else values
    return OwnRows(table, 0.0 if as_sparse else float("nan"), labels.astype(np.float32))


def without(own, row):
    """The table without one row."""
    kept = np.arange(own.n_rows) != row
    return OwnRows(own.values[kept], own.absent, own.labels[kept])


def grid():
    cuts = [[-1.5, -0.5, 0.5, 1.5], [0.0], [1, 2], []]
    starts = np.concatenate([[0], np.cumsum([len(x) for x in cuts])])
    return Grid(np.concatenate(cuts).astype(np.float32), starts, np.ones(4, bool), N_CATEGORIES > 0)


def begun(own, agreed, seed=3, n_rows=60.0):
    sums = OwnSums(own, agreed)
    agreed_grid = grid()
    sums.begin(agreed_grid, schedule(agreed, n_rows), PublicTrees(agreed_grid, seed))
    return sums


def every_prefix(shift=26):
    prefix = np.arange(1 << (32 - shift), dtype=np.uint32)
    columns = np.array([0, 1, 3], np.int32)
    n = len(prefix)
    return Prefixes(np.repeat(columns, n), np.tile(prefix, 3), np.full(3 * n, shift, np.uint8))
