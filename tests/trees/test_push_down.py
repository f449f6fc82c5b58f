"""Theorem 3 of HybridTree as a function: passive cuts below active ones, and every row's value as it was."""

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow.errors import ModelError
from hedgerow.model import push_down as module
from hedgerow.model.push_down import active_depth, passive_depth, push_down
from hedgerow.trees.forest import Forest
from trees.test_candidates import owned
from trees.test_predict import FINITE, forests, table_of


def scores(forest, values):
    out = np.zeros((len(values), 1), np.float32)
    forest.add_scores(values, float("nan"), out, 1)
    return out


def active_below_passive(forest, passive):
    """Whether an active cut lies below a passive one."""
    below = np.zeros(len(forest.columns), np.bool_)
    for place, column in enumerate(forest.columns.tolist()):
        if column >= 0:
            child = forest.children[place]
            below[child : child + 2] = below[place] or passive[column]
    return bool((below & (forest.columns >= 0) & ~passive[forest.columns]).any())


@given(st.data(), strategies.generators, st.integers(1, 12))
def test_the_value_of_every_row_stays_and_passive_cuts_are_lowest(data, rng, n):
    forest = owned(data.draw(forests(4)), rng, [2, 2]).forest
    passive = np.array([False, False, True, True])
    pushed = push_down(forest, passive)
    values = table_of(rng, n, 4, FINITE)
    np.testing.assert_array_equal(scores(pushed, values), scores(forest, values))
    places = _native.leaf_places(pushed, values, 1) + pushed.roots[:-1]
    before = _native.leaf_places(forest, values, 1) + forest.roots[:-1]
    np.testing.assert_array_equal(pushed.values[places], forest.values[before])
    assert not active_below_passive(pushed, passive)
    assert passive_depth(pushed, passive) <= passive_depth(forest, passive)


def test_the_sabotage_is_seen_on_a_small_tree():
    forest = small()
    passive, values = np.array([False, True]), np.array([[0.0, 0.0], [1.0, 0.0]], np.float32)
    with pytest.MonkeyPatch.context() as patch:
        real = module._restricted
        patch.setattr(module, "_restricted", lambda node, condition, _left: real(node, condition, True))
        assert not np.array_equal(scores(push_down(forest, passive), values), scores(forest, values))
    pushed = push_down(forest, passive)
    assert pushed.columns[:3].tolist() == [0, 1, 1]
    assert (active_depth(pushed, passive), passive_depth(pushed, passive)) == (1, 1)


def small():
    """A passive cut above an active one."""
    return Forest(
        columns=np.array([1, 0, -1, -1, -1], np.int32),
        thresholds=np.array([0.5, 0.5, 0, 0, 0], np.float32),
        missing_left=np.zeros(5, np.bool_),
        children=np.array([1, 3, -1, -1, -1], np.int32),
        sets=np.full(5, -1, np.int32),
        category_sets=np.empty((0, 4), np.uint64),
        values=np.array([0, 0, 3, 1, 2], np.float32),
        gains=np.zeros(5),
        covers=np.zeros(5, np.float32),
        roots=np.array([0, 5]),
    )


def test_a_tree_that_grows_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_NODES", 4)
    with pytest.raises(ModelError, match="more than 4 nodes"):
        push_down(small(), np.array([False, True]))
