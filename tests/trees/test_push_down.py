"""Theorem 3 of HybridTree as a function: four claims about every tree, and for each a fault that is seen."""

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow.errors import ModelError
from hedgerow.model import push_down as module
from hedgerow.model.push_down import push_down, shape
from hedgerow.trees.forest import Forest, join
from trees.test_candidates import owned
from trees.test_predict import FINITE, forests, table_of

PASSIVE = np.array([False, False, True, True])
SHORT = np.array([False, True])


def scores(forest, values):
    out = np.zeros((len(values), 1), np.float32)
    forest.add_scores(values, float("nan"), out, 1)
    return out


def leaf_values(forest, values):
    """Of every row and tree."""
    return forest.values[_native.leaf_places(forest, values, 1) + forest.roots[:-1]]


def active_below_passive(forest, passive):
    """Whether an active cut lies below a passive one."""
    below = np.zeros(len(forest.columns), np.bool_)
    for place, column in enumerate(forest.columns.tolist()):
        if column >= 0:
            child = forest.children[place]
            below[child : child + 2] = below[place] or passive[column]
    return bool((below & (forest.columns >= 0) & ~passive[forest.columns]).any())


def tree(node):
    """A tree of (column, threshold, left, right), whose leaves are values."""
    nodes, children = [node], []
    for one in nodes:  # which grows meanwhile
        children.append(len(nodes) if isinstance(one, tuple) else -1)
        nodes += one[2:] if isinstance(one, tuple) else ()
    n, cuts = len(nodes), [one if isinstance(one, tuple) else (-1, 0.0) for one in nodes]
    return Forest(
        columns=np.array([one[0] for one in cuts], np.int32),
        thresholds=np.array([one[1] for one in cuts], np.float32),
        missing_left=np.zeros(n, np.bool_),
        children=np.array(children, np.int32),
        sets=np.full(n, -1, np.int32),
        category_sets=np.empty((0, 4), np.uint64),
        values=np.array([0 if isinstance(one, tuple) else one for one in nodes], np.float32),
        gains=np.zeros(n),
        covers=np.zeros(n, np.float32),
        roots=np.array([0, n]),
    )


def drawn(rng, depth, only_passive=False):
    """A tree in which every passive cut has a child without active cuts; columns 2 and 3 are passive."""
    if depth == 0 or rng.random() < 0.15:
        return float(rng.normal())
    column = int(rng.integers(2 if only_passive else 0, 4))
    sides = [drawn(rng, depth - 1, only_passive), drawn(rng, depth - 1, only_passive or column >= 2)]
    return (column, float(rng.integers(-2, 3)), *(sides[i] for i in rng.permutation(2)))


@given(st.data(), strategies.generators, st.integers(1, 12))
def test_every_row_keeps_its_value_and_passive_cuts_are_lowest_and_no_deeper(data, rng, n):
    forest = owned(data.draw(forests(4)), rng, [2, 2]).forest
    pushed = push_down(forest, PASSIVE)
    values = table_of(rng, n, 4, FINITE)
    np.testing.assert_array_equal(scores(pushed, values), scores(forest, values))
    np.testing.assert_array_equal(leaf_values(pushed, values), leaf_values(forest, values))
    assert not active_below_passive(pushed, PASSIVE)
    assert (shape(pushed, PASSIVE).passive_depth <= shape(forest, PASSIVE).passive_depth).all()


@given(strategies.generators, st.integers(0, 7), st.integers(1, 3))
def test_active_cuts_are_no_deeper_where_every_passive_cut_has_a_child_without_them(rng, depth, n):
    forest = join([tree(drawn(rng, depth)) for _ in range(n)])
    before = shape(forest, PASSIVE)
    assert before.in_meta_form.all()
    assert (shape(push_down(forest, PASSIVE), PASSIVE).active_depth <= before.active_depth).all()


def test_active_cuts_may_be_deeper_where_a_passive_cut_has_them_on_both_sides():
    forest = tree((1, 0.0, (0, 0.0, 1, 2), (0, 1.0, 3, 4)))
    before, after = shape(forest, SHORT), shape(push_down(forest, SHORT), SHORT)
    assert before.in_meta_form.tolist() == [False]
    assert (before.active_depth.tolist(), after.active_depth.tolist()) == ([1], [2])


def test_the_shape_of_each_tree_is_told():
    two = join([tree((1, 0.0, (0, 0.0, 1, (1, 2.0, 2, 3)), 4)), tree(7)])
    found = shape(two, SHORT)
    assert found.leaves.tolist() == [4, 1]
    assert found.passive_depth.tolist() == [2, 0]
    assert found.active_depth.tolist() == [1, 0]
    assert found.in_meta_form.tolist() == [True, True]
    assert shape(push_down(two, SHORT), SHORT).leaves.tolist() == [5, 1]


def test_the_leaves_may_be_many_more():
    """Ten conditions on ten active columns, each below a passive cut of its own: every set of answers has a subtree."""
    passive, node = np.array([False] * 10 + [True]), 0.0
    for i in range(10):
        node = (10, float(i), (i, 0.0, 1.0, 2.0), node)
    found = shape(push_down(tree(node), passive), passive)
    assert found.leaves[0] > 100 * shape(tree(node), passive).leaves[0]


@pytest.mark.parametrize(("threshold", "missing_left"), [(1.0, (True, False)), (-1.0, (False, True))])
def test_what_follows_from_a_condition_is_left_out_unless_missing_values_go_elsewhere(threshold, missing_left):
    """Of rows at which x0 < 0 only one whose x0 is missing can be one at which x0 < 1 does not hold."""
    forest = tree((1, 0.0, (0, 0.0, 1, 2), (0, threshold, 3, 4)))
    assert shape(push_down(forest, SHORT), SHORT).leaves.tolist() == [6]
    forest.missing_left[1:3] = missing_left
    pushed = push_down(forest, SHORT)
    assert shape(pushed, SHORT).leaves.tolist() == [8]
    values = np.array([[x, y] for x in (np.nan, -2, -0.5, 0.5, 2) for y in (np.nan, -1, 1)], np.float32)
    np.testing.assert_array_equal(scores(pushed, values), scores(forest, values))


def test_a_condition_that_is_taken_to_follow_for_missing_values_is_seen(monkeypatch):
    forest = tree((1, 0.0, (0, 0.0, 1, 2), (0, 1.0, 3, 4)))
    forest.missing_left[1] = True
    values = np.array([[np.nan, 1.0]], np.float32)
    monkeypatch.setattr(module, "_follows", lambda one, known, _left: one[0] == known[0])
    assert not np.array_equal(scores(push_down(forest, SHORT), values), scores(forest, values))


# Faults


def test_a_value_that_changes_is_seen(monkeypatch):
    forest, values = tree((1, 0.5, (0, 0.5, 1, 2), 3)), np.array([[0.0, 0.0], [1.0, 0.0]], np.float32)
    np.testing.assert_array_equal(scores(push_down(forest, SHORT), values), scores(forest, values))
    real = module._restricted
    monkeypatch.setattr(module, "_restricted", lambda node, condition, _left: real(node, condition, True))
    assert not np.array_equal(scores(push_down(forest, SHORT), values), scores(forest, values))


def test_an_active_cut_that_stays_below_is_seen(monkeypatch):
    forest = tree((1, 0.5, (0, 0.5, (0, 0.2, 1, 2), 3), 4))
    assert not active_below_passive(push_down(forest, SHORT), SHORT)
    real, calls = module._pushed, []

    def once(node, passive, room):
        calls.append(node)
        return real(node, passive, room) if len(calls) == 1 else node

    monkeypatch.setattr(module, "_pushed", once)
    assert active_below_passive(push_down(forest, SHORT), SHORT)


def test_a_passive_cut_that_is_repeated_is_seen(monkeypatch):
    forest = tree((1, 0.5, (0, 0.5, 1, 2), 3))
    assert shape(push_down(forest, SHORT), SHORT).passive_depth.tolist() == [1]
    real = module._restricted

    def repeated(node, condition, left):
        found = real(node, condition, left)
        whole = isinstance(found, module._Cut) and found.condition[0] == 1
        return module._Cut(found.condition, found.place, found, found) if whole else found

    monkeypatch.setattr(module, "_restricted", repeated)
    pushed = push_down(forest, SHORT)
    values = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], np.float32)
    np.testing.assert_array_equal(scores(pushed, values), scores(forest, values))
    assert shape(pushed, SHORT).passive_depth.tolist() > [1]


def test_active_conditions_in_another_order_are_seen(monkeypatch):
    forest = tree((1, 0.5, (0, 0.5, (0, 0.2, 1, 2), (0, 0.8, 3, 4)), 5))
    before = shape(forest, SHORT)
    assert before.in_meta_form.all()
    assert shape(push_down(forest, SHORT), SHORT).active_depth.tolist() == before.active_depth.tolist() == [2]
    real = module._by_level
    monkeypatch.setattr(module, "_by_level", lambda node: reversed(list(real(node))))
    assert shape(push_down(forest, SHORT), SHORT).active_depth.tolist() == [3]


def test_a_tree_that_grows_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_NODES", 4)
    with pytest.raises(ModelError, match="more than 4 nodes"):
        push_down(tree((1, 0.5, (0, 0.5, 1, 2), 3)), SHORT)
