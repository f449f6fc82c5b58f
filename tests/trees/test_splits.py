from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
import strategies
import twins
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import Cut, Layout, Rules

from hedgerow import _native

ANY = np.empty((0, 2))
NO_PLACES = np.empty((0, 2), np.int32)
every = st.sampled_from


@dataclass
class Case:
    """Histograms of some nodes, spread over two slabs, and what is allowed."""

    slabs: list
    counts: list
    places: np.ndarray
    layout: Layout
    rules: Rules
    allowed: np.ndarray
    bounds: np.ndarray

    def found(self, threads):
        """Cuts by the kernel, `Cut()` where it makes none."""
        slabs = self.slabs, self.counts, self.places
        arrays = _native.best_cuts(*slabs, self.layout, self.rules, self.allowed, self.bounds, threads)
        cuts = [Cut()] * len(self.places)
        for node, *what, left, right, words in zip(*(array.tolist() for array in arrays), strict=True):
            cuts[node] = Cut(*what, tuple(left), tuple(right), members(words))
        return cuts

    def expected(self):
        """Cuts by the specification."""
        n_columns = len(self.layout.categorical)
        allowed = self.allowed if len(self.allowed) else np.ones((len(self.places), n_columns), bool)
        bounds = self.bounds if len(self.bounds) else np.tile([-np.inf, np.inf], (len(self.places), 1))
        sums = [self.slabs[slab][row] for slab, row in self.places]
        counts = [self.counts[slab][row] if self.counts else None for slab, row in self.places]
        return [
            twins.best_cut(*own, self.layout, self.rules, mask, tuple(limits))
            for *own, mask, limits in zip(sums, counts, allowed, bounds.tolist(), strict=True)
        ]


def members(words):
    """The bins of a set of four words."""
    return frozenset(64 * i + b for i, word in enumerate(words) for b in range(64) if word >> b & 1)


def of_rows(rng, layout, n_nodes, n_rows, reach):
    """Sums and counts of random rows; few rows and small integers make ties, empty bins and rows that weigh nothing."""
    sizes = np.diff(layout.offsets.astype(np.int64))
    bins = np.stack([rng.integers(0, s, n_rows) for s in sizes], axis=1)
    pairs = np.stack([rng.integers(-reach, reach + 1, (1, n_rows)), rng.integers(0, reach + 1, (1, n_rows))], axis=-1)
    orders = rng.permutation(n_rows)[None]
    edges = np.sort(rng.integers(0, n_rows + 1, (n_nodes, 2)), axis=1)
    spans = [(0, a, b) for a, b in edges]
    counts = twins.count_rows(bins, layout.offsets, orders, spans)
    return twins.histograms(bins, layout.offsets, pairs, orders, spans), counts


def layout_of(rng, sizes, categorical):
    has_missing = rng.random(len(sizes)) < 0.5
    offsets = np.concatenate([[0], np.cumsum(sizes + has_missing)]).astype(np.uint32)
    return Layout(offsets, has_missing, rng.random(len(sizes)) < categorical)


rules = st.builds(
    Rules,
    every([1.0, 0.25, 1e-4, 1 / 3]),
    every([1.0, 0.5, 1e-4, 1 / 3]),
    every([0.0, 1.0, 0.1, 7.0]),
    every([0.0, 0.5, 2.0]),
    every([0.0, 0.3, 5.0]),
    every([0.0, 1.0, 3.5]),
)


@st.composite
def cases(draw, wide=False):
    rng, n_nodes = draw(strategies.generators), draw(st.integers(1, 4))
    n_columns = rng.integers(80, 100) if wide else draw(st.integers(1, 5))
    sizes = rng.integers(200, 256, n_columns) if wide else rng.choice([1, 2, 3, 5, 9, 70, 255], n_columns)
    layout = layout_of(rng, sizes, draw(every([0.0, 0.5, 1.0])))
    n_rows, reach = (400, 10**6) if wide else (draw(st.integers(0, 40)), draw(every([1, 3, 20, 10**6, 10**15])))
    cut = draw(st.integers(0, n_nodes))
    slabs, counts = ([a[:cut].copy(), a[cut:].copy()] for a in of_rows(rng, layout, n_nodes, n_rows, reach))
    places = [(0, i) for i in range(cut)] + [(1, i) for i in range(n_nodes - cut)]
    rule = draw(rules)
    if draw(st.booleans()):
        counts = []
    else:
        rule = replace(rule, min_child_rows=draw(every([1, 2, 5, 12, 60])))
    allowed, bounds = np.empty((0, n_columns), bool), ANY
    if draw(st.booleans()):
        rule = replace(rule, monotone=rng.integers(-1, 2, n_columns))
        bounds = np.sort(rng.normal(size=(n_nodes, 2)), axis=1) * draw(every([0.1, 1.0, np.inf]))
    if draw(st.booleans()):
        allowed = rng.random((n_nodes, n_columns)) < 0.6
    return Case(slabs, counts, np.array(places, np.int32), layout, rule, allowed, bounds)


@settings(max_examples=400)
@given(cases(), strategies.threads)
def test_the_best_cut_is_that_of_the_specification(case, threads):
    assert case.found(threads) == case.expected()


@settings(max_examples=8)
@given(cases(wide=True))
def test_threads_that_share_the_columns_find_the_same_cut(case):
    expected = case.expected()
    assert all(case.found(threads) == expected for threads in (1, 2, 3, 4))


def single(columns, rules=None, has_missing=None, categorical=None, counts=None):
    """The best cut of one node with these (gradient, hessian) pairs, and maybe numbers of rows, per column."""
    sizes, n = [len(c) for c in columns], len(columns)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    layout = Layout(offsets, np.array(has_missing or [False] * n), np.array(categorical or [False] * n))
    sums = np.concatenate([*columns, [np.sum(columns[0], axis=0)]])[None].astype(np.int64)
    counts = [np.concatenate([*counts, [np.sum(counts[0])]])[None].astype(np.int64)] if counts else []
    case = Case([sums], counts, np.zeros((1, 2), np.int32), layout, rules or Rules(), np.empty((0, n), bool), ANY)
    return case.found(1)[0]


UP = [(-5, 3), (0, 0), (5, 3)]


def test_equal_gains_go_to_the_lowest_column_then_the_lowest_cut():
    assert single([UP, UP]).column == 0
    assert single([[(0, 6)], UP, UP]).column == 1
    assert single([UP]).bin == 0
    assert single([[(-5, 3), (0, 1), (5, 3)]]).bin == 0


def test_equal_gains_send_the_missing_to_the_left():
    assert single([[(-5, 3), (5, 3), (0, 0)]], has_missing=[True]).missing_left
    assert single([[(-5, 3), (5, 3), (0, 2)]], has_missing=[True]).missing_left
    assert single([[(-5, 3), (5, 3), (-1, 2)]], has_missing=[True]).missing_left
    assert not single([[(-5, 3), (5, 3), (1, 2)]], has_missing=[True]).missing_left


def test_the_missing_alone_can_be_cut_off():
    cut = single([[(-5, 3), (-5, 3), (9, 3)]], has_missing=[True])
    assert (cut.bin, cut.missing_left, cut.right) == (1, False, (9, 3))


def test_a_cut_must_be_worth_more_than_gamma():
    gain = single([UP], Rules(gamma=0.0)).gain
    assert gain == 12.5
    assert single([UP], Rules(gamma=12.4)).column == 0
    assert single([UP], Rules(gamma=12.5)) == Cut()
    assert single([[(0, 3), (0, 3)]]) == Cut()


def test_both_sides_must_be_heavy_enough():
    assert single([UP], Rules(min_child_weight=3.0)).column == 0
    assert single([UP], Rules(min_child_weight=3.1)) == Cut()
    assert single([[(-5, 0), (5, 3)]]) == Cut()


def test_both_sides_must_have_rows_enough():
    rows = [[4, 3, 9]]
    assert single([UP], Rules(min_child_rows=4), counts=rows).bin == 0
    # Rows that weigh nothing count too: with those of the middle bin the left side has seven.
    assert single([UP], Rules(min_child_rows=7), counts=rows).bin == 1
    assert single([UP], Rules(min_child_rows=8), counts=rows) == Cut()


def test_missing_rows_count_on_the_side_they_go_to():
    pairs, rows = [(-5, 3), (5, 3), (-1, 1)], [[2, 5, 3]]
    assert single([pairs], Rules(min_child_rows=5), [True], counts=rows).missing_left
    pairs[-1] = (1, 1)
    assert not single([pairs], Rules(min_child_rows=2), [True], counts=rows).missing_left
    assert single([pairs], Rules(min_child_rows=3), [True], counts=rows).missing_left
    # Missing rows that weigh nothing are tried on both sides as well.
    pairs[-1] = (0, 0)
    assert single([pairs], Rules(min_child_rows=5), [True], counts=rows).missing_left
    assert not single([pairs], Rules(min_child_rows=6), [True], counts=[[6, 4, 2]]).missing_left


def test_categories_count_on_the_side_they_go_to():
    pairs, rows = [(5, 3), (0, 0), (-5, 3), (4, 3)], [[2, 1, 3, 6]]
    cut = single([pairs], Rules(min_child_rows=3), categorical=[True], counts=rows)
    assert (cut.left_bins, cut.missing_left) == ({1, 2}, True)
    # The third has too few rows alone; with the one that weighs nothing it has four.
    assert single([pairs], Rules(min_child_rows=4), categorical=[True], counts=rows).left_bins == {1, 2}
    assert single([pairs], Rules(min_child_rows=5), categorical=[True], counts=rows) == Cut()
    # On the right it makes up for what the others lack.
    assert single([pairs], Rules(min_child_rows=3), categorical=[True], counts=[[1, 1, 4, 1]]).left_bins == {2}


@pytest.mark.parametrize(("direction", "found"), [(1, -1), (0, 0), (-1, 0)])
def test_a_constrained_column_is_cut_only_in_its_direction(direction, found):
    """A negative gradient to the left is a greater value to the left."""
    assert single([UP, [(0, 6)]], Rules(monotone=[direction, 1])).column == found


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 9)), min_size=2, max_size=7), st.floats(0, 20))
def test_no_division_of_the_categories_beats_the_one_found(pairs, reg_lambda):
    rules = Rules(reg_lambda=reg_lambda)
    total = np.sum(pairs, axis=0)

    def gain(members):
        left = np.sum([pairs[i] for i in members], axis=0)
        g, h = np.stack([left, total - left, total]).T
        return float((g**2 / (h + reg_lambda)) @ [1, 1, -1])

    sides = [m for k in range(1, len(pairs)) for m in combinations(range(len(pairs)), k)]
    best = max(gain(m) for m in sides)
    assert single([pairs], rules, categorical=[True]).gain == pytest.approx(best if best > 1e-6 else 0.0, abs=1e-9)


def test_categories_are_ordered_by_gradient_over_hessian_whatever_lambda():
    """With lambda in the order, the first and the second would be neighbours."""
    cut = single([[(17, 37), (3, 1), (27, 22)]], Rules(reg_lambda=9.0), categorical=[True])
    assert cut.left_bins == {0}


def test_categories_that_no_row_has_go_with_the_missing():
    pairs = [(-5, 3), (0, 0), (5, 3), (9, 3), (-5, 1)]
    assert single([pairs], has_missing=[True], categorical=[True]).left_bins == {0, 1, 4}
    pairs[-1] = (5, 1)
    assert single([pairs], has_missing=[True], categorical=[True]).left_bins == {0}


SUMS = np.zeros((2, 4, 2), np.int64)
LAYOUT = Layout(np.array([0, 2, 3], np.uint32), np.array([True, False]), np.zeros(2, bool))
COUNTS = np.zeros((2, 4), np.int64)
CASE = Case([SUMS], [], np.zeros((1, 2), np.int32), LAYOUT, Rules(), np.ones((1, 2), bool), ANY)
TWO = Rules(monotone=[1, 1])
WRONG = {
    "a place outside its slab": {"places": np.array([[0, 2]], np.int32)},
    "a place in no slab": {"places": np.array([[1, 0]], np.int32)},
    "a place below zero": {"places": np.array([[0, -1]], np.int32)},
    "places of three": {"places": np.zeros((2, 3), np.int32), "allowed": np.ones((0, 2), bool)},
    "a slab of other bins": {"slabs": [SUMS[:, :3].copy()]},
    "a slab of triples": {"slabs": [np.zeros((2, 4, 3), np.int64)]},
    "a slab with gaps": {"slabs": [np.zeros((4, 4, 2), np.int64)[::2]]},
    "counts of other bins": {"counts": [COUNTS[:, :3].copy()]},
    "counts as pairs": {"counts": [SUMS.copy()]},
    "counts of fewer nodes": {"counts": [COUNTS[:1].copy()], "places": np.array([[0, 1]], np.int32)},
    "least rows without counts": {"rules": Rules(min_child_rows=2)},
    "too few offsets": {"layout": replace(LAYOUT, offsets=LAYOUT.offsets[:2])},
    "descending offsets": {"layout": replace(LAYOUT, offsets=np.array([0, 4, 3], np.uint32))},
    "a column without bins": {"layout": replace(LAYOUT, offsets=np.array([0, 3, 3], np.uint32))},
    "a column of missing values alone": {"layout": replace(LAYOUT, offsets=np.array([0, 1, 3], np.uint32))},
    "too few kinds of columns": {"layout": replace(LAYOUT, has_missing=np.zeros(1, bool))},
    "no columns": {
        "layout": Layout(np.array([3], np.uint32), np.zeros(0, bool), np.zeros(0, bool)),
        "allowed": np.ones((0, 0), bool),
    },
    "too few columns allowed": {"allowed": np.ones((1, 1), bool)},
    "too few constraints": {"rules": Rules(monotone=[1])},
    "too many bounds": {"bounds": np.zeros((2, 2))},
    "bounds of three": {"rules": TWO, "bounds": np.zeros((1, 3))},
    "a lower bound above the upper": {"rules": TWO, "bounds": np.array([[1.0, 0.0]])},
    "bounds that are no numbers": {"rules": TWO, "bounds": np.array([[np.nan, np.nan]])},
    "slabs laid column after column": {"slabs": [np.asfortranarray(SUMS)]},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_sums_or_rules_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError, match=r"slab|histogram|layout|node|constraint|bound|column|contiguous"):
        replace(CASE, **wrong).found(1)


def test_a_column_of_more_bins_than_a_byte_can_name_is_refused():
    layout = Layout(np.array([0, 257], np.uint32), np.zeros(1, bool), np.zeros(1, bool))
    case = replace(CASE, slabs=[np.zeros((1, 258, 2), np.int64)], layout=layout, allowed=np.ones((1, 1), bool))
    with pytest.raises(ValueError, match="too many"):
        case.found(1)


def test_no_nodes_have_no_cuts():
    assert replace(CASE, places=NO_PLACES, allowed=CASE.allowed[:0]).found(2) == []
