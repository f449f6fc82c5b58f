"""Levels at which not all columns compete: growing by sums is growing node by node, each down its own levels."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import strategies
import twins
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import Layout

from hedgerow.trees.grow import Growth, grow
from hedgerow.trees.levels import ALIKE, Levels
from hedgerow.trees.sampling import ColumnSampler
from hedgerow.trees.splits import Rules

OWNERS = {"A": frozenset("a"), "P": frozenset("p"), "J": frozenset("ap"), "D": frozenset("d")}
ANY = (-np.inf, np.inf)
schedules = st.text("APJ", min_size=1, max_size=6)


def levels_of(letters):
    return Levels(tuple(OWNERS[letter] for letter in letters))


def searched(letters, born):
    """The levels at which a node is looked at that came to be at one and is never cut: the rule, word by word."""
    tried, out = set(), []
    for depth in range(born, len(letters)):
        if not OWNERS[letters[depth]] <= tried:
            out.append(depth)
            tried |= OWNERS[letters[depth]]
    return out


@given(st.text("APJD", min_size=1, max_size=9))
def test_a_node_is_looked_at_again_where_columns_compete_that_did_not_yet(letters):
    levels = levels_of(letters)
    for born in range(len(letters)):
        found = [depth for depth in range(born, len(letters)) if levels.again(np.array([born]), depth)[0]]
        assert found == searched(letters, born)
        for depth in range(born, len(letters)):
            goes_on = any(later > depth for later in found)
            assert levels.go_on(np.array([born]), depth)[0] == goes_on


@given(st.text("APJD", min_size=1, max_size=9), st.sets(st.sampled_from("APJ")))
def test_whether_a_node_is_asked_about_twice_is_known_before(letters, asking):
    asked = [depth for depth, letter in enumerate(letters) if letter in asking]
    often = max(len(set(searched(letters, born)) & set(asked)) for born in range(len(letters)))
    assert levels_of(letters).twice(asked) == (often > 1)


def test_without_levels_no_node_is_looked_at_again():
    born, levels = np.arange(4), ALIKE
    assert [levels.again(born, 3).tolist(), levels.go_on(born, 3).tolist()] == [[False] * 3 + [True], [False] * 4]
    assert levels.alike(0)
    assert not levels.twice(range(4))


@dataclass
class Naive:
    """Rows of some trees, of whose columns the first `own` are the active party's; nothing is subtracted."""

    bins: np.ndarray
    pairs: np.ndarray
    layout: Layout
    letters: str
    own: int
    depth: int = 0
    at: dict = field(default_factory=dict)
    """The rows of every node."""

    counts_every = False

    def __post_init__(self):
        every = np.arange(len(self.bins))
        self.at = {(tree, 0): every for tree in range(len(self.pairs))}

    def histograms(self, nodes):
        """Rows stand in the last bin of columns that do not compete."""
        sums = np.zeros((len(nodes.tree), int(self.layout.offsets[-1]) + 1, 2), np.int64)
        for out, tree, node in zip(sums, *nodes, strict=True):
            rows = self.at[tree, node]
            bins = np.where(self.allowed, self.bins, np.diff(self.layout.offsets) - 1)
            orders = np.stack([rows] * len(self.pairs))
            out[:] = twins.histograms(bins, self.layout.offsets, self.pairs, orders, [(tree, 0, len(rows))])[0]
        return sums

    @property
    def allowed(self):
        own = np.arange(self.bins.shape[1]) < self.own
        return {"A": own, "P": ~own, "J": own | True}[self.letters[self.depth]]

    def divide(self, cuts):
        sizes = []
        for tree, node, child, column, words in zip(*cuts.nodes, cuts.child, cuts.column, cuts.left_bins, strict=True):
            rows = self.at[tree, node]
            left = np.isin(self.bins[rows, column], members(words))
            self.at[tree, child], self.at[tree, child + 1] = rows[left], rows[~left]
            sizes.append((left.sum(), (~left).sum()))
        self.depth += 1
        return np.array(sizes, np.int64).reshape(-1, 2)

    def tree(self, grown, tree):
        """As nested tuples: (column, rows on the left, left, right), or the rows of a leaf."""
        nodes = zip(*grown.cuts.nodes, grown.cuts.child, grown.cuts.column, strict=True)
        cuts = {node: (child, int(column)) for of, node, child, column in nodes if of == tree}

        def below(node):
            if node not in cuts:
                return tuple(self.at[tree, node].tolist())
            child, column = cuts[node]
            return column, tuple(self.at[tree, child].tolist()), below(child), below(child + 1)

        return below(0)


def members(words):
    return [64 * i + b for i, word in enumerate(words.tolist()) for b in range(64) if word >> b & 1]


def node_by_node(rows, rules, tree):
    """The naive twin: a node that none of a level's columns improves goes down to the next level as it is."""
    n = rows.bins.shape[1]
    owner = np.array(["a"] * rows.own + ["p"] * (n - rows.own))

    def below(here, depth, tried, bounds):
        if depth == len(rows.letters):
            return tuple(here.tolist())
        letter = OWNERS[rows.letters[depth]]
        if letter <= tried:
            return below(here, depth + 1, tried, bounds)
        orders = np.stack([here] * len(rows.pairs))
        sums = twins.histograms(rows.bins, rows.layout.offsets, rows.pairs, orders, [(tree, 0, len(here))])[0]
        cut = twins.best_cut(sums, None, rows.layout, rules, np.isin(owner, list(letter)), bounds)
        if cut.column < 0:
            return below(here, depth + 1, tried | letter, bounds)
        left = np.isin(rows.bins[here, cut.column], list(cut.left_bins))
        low, high = sides(cut, rules, bounds)
        parts = below(here[left], depth + 1, frozenset(), low), below(here[~left], depth + 1, frozenset(), high)
        return cut.column, tuple(here[left].tolist()), *parts

    return below(np.arange(len(rows.bins)), 0, frozenset(), ANY)


def sides(cut, rules, bounds):
    """The ranges of values below a cut."""
    sign = rules.monotone[cut.column] if len(rules.monotone) else 0
    middle = (rules.weight(cut.left, bounds) + rules.weight(cut.right, bounds)) / 2
    first, second = (bounds[0], middle), (middle, bounds[1])
    return (first, second) if sign > 0 else (second, first) if sign < 0 else (bounds, bounds)


def table(rng, letters, n_trees, n_rows):
    """Few bins and small gradients, so that many nodes are improved by some columns only."""
    sizes = rng.integers(1, 5, 4)
    has_missing = rng.random(4) < 0.3
    offsets = np.concatenate([[0], np.cumsum(sizes + has_missing)]).astype(np.uint32)
    bins = np.stack([rng.integers(0, n, n_rows) for n in sizes + has_missing], axis=1)
    pairs = np.stack([rng.integers(-4, 5, (n_trees, n_rows)), np.ones((n_trees, n_rows), np.int64)], axis=-1)
    return Naive(bins, pairs, Layout(offsets, has_missing, rng.random(4) < 0.3), letters, int(rng.integers(1, 4)))


def grown(rows, rules, levels):
    ours = Rules(1.0, 1.0, rules.reg_lambda, 0.0, rules.gamma, 0.0, 1, rules.monotone)
    growth = Growth(
        rows.layout,
        ours,
        ColumnSampler(rows.bins.shape[1], 1.0, 1.0, 0),
        max_depth=len(rows.letters),
        threads=1,
        levels=levels,
    )
    return grow(rows, len(rows.pairs), 0, growth)


@settings(max_examples=60, deadline=None)
@given(strategies.generators, schedules, st.integers(1, 3), st.sampled_from([0.0, 2.0, 6.0]), st.booleans())
def test_trees_grow_as_node_by_node(rng, letters, n_trees, gamma, monotone):
    rows = table(rng, letters, n_trees, int(rng.integers(1, 60)))
    signs = rng.integers(-1, 2, 4) * ~rows.layout.categorical if monotone else ()
    rules = twins.Rules(gamma=gamma, monotone=signs if np.any(signs) else ())
    found = grown(rows, rules, levels_of(letters))
    for tree in range(n_trees):
        assert rows.tree(found, tree) == node_by_node(rows, rules, tree)
    sizes = [len(rows.at[place]) for place in zip(*found.leaves, strict=True)]
    assert sum(sizes) == n_trees * len(rows.bins), "every row is in one leaf of each tree"
    assert len(found.leaf_bounds) == len(sizes) if np.any(signs) else found.leaf_bounds is None


def test_a_node_that_the_first_columns_cannot_improve_is_cut_by_the_others():
    """The sabotage: without levels it would be a leaf."""
    bins = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    pairs = np.stack([np.where(bins[:, 1], 3, -3), np.ones(20, np.int64)], axis=1)[None]
    layout = Layout(np.array([0, 2, 4], np.uint32), np.zeros(2, bool), np.zeros(2, bool))
    rules, rows = twins.Rules(gamma=1.0), Naive(bins, pairs, layout, "AAP", 1)
    assert grown(replace(rows), rules, levels_of("AAP")).cuts.column.tolist() == [1]
    assert not len(grown(replace(rows), rules, ALIKE).cuts.column)


@pytest.mark.parametrize("letters", ["AJAP", "PAJ"])
def test_children_are_numbered_in_the_order_of_trees_and_nodes(letters):
    rng = np.random.default_rng(3)
    waited = 0
    for _ in range(20):
        rows = table(rng, letters, 2, 40)
        found = grown(rows, twins.Rules(gamma=2.0), levels_of(letters)).cuts
        for tree in (0, 1):
            own = found.nodes.tree == tree
            assert found.child[own].tolist() == list(range(1, 2 * own.sum(), 2))
            waited += int((np.diff(found.nodes.node[own]) < 0).any())
    assert waited, "no node of these trees has waited for another level"


def test_nodes_that_waited_are_asked_about_in_order_among_those_of_the_level():
    rng, mixed = np.random.default_rng(5), 0
    for _ in range(30):
        rows = table(rng, "AAJ", 1, 50)
        asked, honest = [], rows.histograms
        rows.histograms = lambda nodes, asked=asked, honest=honest: asked.append(nodes.node) or honest(nodes)
        grown(rows, twins.Rules(gamma=4.0), levels_of("AAJ"))
        assert all((np.diff(nodes) > 0).all() for nodes in asked)
        mixed += len(asked) > 2 and len(asked[-1]) % 2 and len(asked[-1]) > 1
    assert mixed, "no level had nodes of both kinds"
