"""Inputs of the kernels, for hypothesis to choose from."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from twins import Matrix, laid_out

threads = st.integers(1, 4)
bits = st.integers(2, 31)
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
floats = st.floats(width=32, allow_nan=True, allow_infinity=True)
LIMIT = 1 << 30

COLUMN_KINDS = {
    "continuous": lambda rng, n: rng.normal(size=n),
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 1),
    "heavily repeated": lambda rng, n: np.where(rng.random(n) < 0.8, 0.0, rng.normal(size=n)),
    "a few values": lambda rng, n: rng.integers(-3, 4, n),
    "skewed": lambda rng, n: rng.lognormal(sigma=20, size=n),
    "constant": lambda rng, n: np.full(n, 2.5),
    "any bits": lambda rng, n: rng.integers(0, 2**32, n, dtype=np.uint32).view(np.float32),
    "with signed zeros": lambda rng, n: np.copysign(rng.integers(0, 2, n), rng.normal(size=n)),
    "mostly missing": lambda rng, n: np.where(rng.random(n) < 0.9, np.nan, rng.normal(size=n)),
    "wholly missing": lambda rng, n: np.full(n, np.nan),
}


def column_of(kind, rng, n):
    with np.errstate(over="ignore"):
        return COLUMN_KINDS[kind](rng, n).astype(np.float32)


@st.composite
def columns(draw, max_rows):
    """One column of some kind."""
    kind, rng = draw(st.sampled_from(sorted(COLUMN_KINDS))), draw(generators)
    return column_of(kind, rng, draw(st.integers(0, max_rows)))


@dataclass
class Binned:
    """A table of bins, and the same as the kernels read it."""

    bins: np.ndarray
    matrix: Matrix


few_rows = st.integers(0, 60)
many_rows = st.sampled_from([0, 1, 2047, 2049, 6000, 20_000])
"""Beyond the sizes at which kernels go over to blocks and to several threads."""


@st.composite
def binned(draw, rows=few_rows):
    """Dense and sparse columns, short or long entries, columns kept twice or not."""
    n, rng = draw(rows), draw(generators)
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 20, 64, 65, 256]), min_size=1, max_size=6))
    defaults = [draw(st.integers(-1, size - 1)) for size in sizes]
    bins = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    often = rng.random(bins.shape) < draw(st.sampled_from([0.0, 0.5, 0.95]))
    bins = np.where(often & (np.array(defaults) >= 0), defaults, bins).astype(np.uint8)
    matrix = laid_out(bins, sizes, defaults, twice=draw(st.booleans()))
    if draw(st.booleans()):
        matrix.entries = matrix.entries.astype(np.uint32)
    return Binned(bins, matrix)


def wide_pairs(rng, n_trees, n_rows, extreme):
    """Gradients within plus or minus 2^30 and hessians from 0 to 2^30; if extreme, only the limits themselves."""
    g = rng.integers(-LIMIT, LIMIT + 1, (n_trees, n_rows))
    h = rng.integers(0, LIMIT + 1, (n_trees, n_rows))
    if extreme:
        g, h = np.where(g < 0, -LIMIT, LIMIT), np.full_like(h, LIMIT)
    return np.stack([g, h], axis=-1).astype(np.int32)


@dataclass
class Placed:
    """Nodes of some trees: each tree's rows in some order, and where each node begins and ends in it."""

    orders: np.ndarray
    spans: np.ndarray
    nodes: tuple
    children: np.ndarray

    @property
    def known(self):
        """What kernels are told."""
        return self.orders, self.spans, self.nodes

    @property
    def places(self):
        """(tree, begin, end) of each node."""
        return [(t, *self.spans[t, n].tolist()) for t, n in zip(*self.nodes, strict=True)]


def placed(rng, n_trees, n_rows, n_nodes):
    """Nodes that hold parts of the rows without overlap, numbered and named at random, with room for their children."""
    orders = np.stack([rng.permutation(n_rows) for _ in range(n_trees)]).astype(np.uint32)
    edges = np.sort(rng.integers(0, n_rows + 1, (n_trees, n_nodes + 1)), axis=1)
    numbers = np.stack([rng.permutation(n_nodes) for _ in range(n_trees)])
    trees = np.repeat(np.arange(n_trees), n_nodes)
    spans = np.full((n_trees, 3 * n_nodes, 2), -1)
    spans[trees, numbers.ravel()] = np.stack([edges[:, :-1], edges[:, 1:]], axis=-1).reshape(-1, 2)
    named = rng.permutation(len(trees))
    trees, nodes = trees[named], numbers.ravel()[named]
    return Placed(orders, spans, (trees, nodes), n_nodes + 2 * nodes)


def one_node(n_rows):
    """All rows in one node."""
    nodes = (index(0), index(0))
    orders, spans = np.arange(n_rows, dtype=np.uint32)[None], index([[0, n_rows], [0, 0], [0, 0]])
    return Placed(orders, spans, nodes, index(1))


def index(*numbers):
    return np.array(numbers, np.int64)


WRONG_ROWS = {
    "a row that is not there": {"orders": np.array([[0, 1, 3]], np.uint32)},
    "a row far outside": {"orders": np.array([[0, 1, 2**32 - 1]], np.uint32)},
    "a node of another tree": {"nodes": (index(1), index(0))},
    "a node of a tree below zero": {"nodes": (index(-1), index(0))},
    "a node that is not there": {"nodes": (index(0), index(3))},
    "a node below zero": {"nodes": (index(0), index(-1))},
    "more trees than nodes": {"nodes": (index(0, 0), index(0))},
    "a span backwards": {"spans": index([[2, 1], [0, 0], [0, 0]])},
    "a span too long": {"spans": index([[0, 4], [0, 0], [0, 0]])},
    "a span before the first row": {"spans": index([[-1, 2], [0, 0], [0, 0]])},
    "spans of one": {"spans": index([[0], [3], [0]])},
    "spans of three": {"spans": index([[0, 3, 0], [0, 0, 0], [0, 0, 0]])},
    "spans laid column after column": {"spans": np.asfortranarray(index([[0, 3], [0, 0], [0, 0]]))},
}
"""What can be wrong with the rows of `one_node(3)`."""
