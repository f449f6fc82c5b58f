import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from twins import siphash

from hedgerow import _native
from hedgerow.trees import sampling
from hedgerow.trees.sampling import ColumnSampler
from hedgerow.trees.splits import Nodes

words = st.integers(0, 2**64 - 1)
shares = st.floats(0, 1, exclude_min=True)
keys = st.lists(words, max_size=60, unique=True).map(lambda k: np.array(k, np.uint64))


@given(st.lists(words, max_size=20), words, words)
def test_draws_are_siphash(keys, seed, stream):
    found = _native.draws(np.array(keys, np.uint64), seed, stream)
    assert found.tolist() == [siphash(key, seed, stream) for key in keys]


def test_draws_agree_with_the_published_vector():
    first, second = int.from_bytes(bytes(range(8)), "little"), int.from_bytes(bytes(range(8, 16)), "little")
    assert siphash(first, first, second) == 0x93F5F5799A932462
    assert _native.draws(np.array([first], np.uint64), first, second).tolist() == [0x93F5F5799A932462]


@given(keys, shares, st.integers(0, 2**63 - 1), st.integers(0, 1000), st.randoms())
def test_whether_a_row_is_drawn_depends_on_its_key_alone(keys, share, seed, round_, random):
    drawn = set(keys[sampling.rows(keys, share, seed, round_)].tolist())
    some = np.array(random.sample(keys.tolist(), len(keys) // 2), np.uint64)
    assert set(some[sampling.rows(some, share, seed, round_)].tolist()) == drawn & set(some.tolist())


@given(keys, shares, shares, st.integers(0, 2**63 - 1))
def test_a_greater_share_draws_the_same_rows_and_more(keys, a, b, seed):
    few, more = (sampling.rows(keys, share, seed, 3) for share in sorted((a, b)))
    assert (few <= more).all()


def test_as_many_rows_are_drawn_as_the_share_says_and_others_in_another_round():
    keys = np.arange(20_000, dtype=np.uint64)
    first, second = (sampling.rows(keys, 0.3, 7, round_) for round_ in (0, 1))
    assert abs(first.mean() - 0.3) < 0.015
    assert abs((first & second).mean() - 0.09) < 0.01


@given(st.integers(1, 30), shares, shares, st.integers(0, 2**63 - 1), st.integers(0, 99))
def test_a_fixed_number_of_columns_is_drawn_for_each_tree_and_from_them_for_each_node(
    n, by_tree, by_node, seed, round_
):
    nodes = Nodes(np.array([0, 0, 2]), np.array([0, 5, 5]))
    allowed = ColumnSampler(n, by_tree, by_node, seed).allowed(round_, nodes)
    of_trees = ColumnSampler(n, by_tree, 1.0, seed).allowed(round_, nodes)
    if by_tree == 1 and by_node == 1:
        assert allowed.shape == (0, n)
        return
    of_tree = max(1, round(by_tree * n))
    assert allowed.sum(axis=1).tolist() == [max(1, round(by_node * of_tree))] * 3
    if by_tree < 1:
        assert of_trees.sum(axis=1).tolist() == [of_tree] * 3
        assert (allowed <= of_trees).all()
        assert (of_trees[0] == of_trees[1]).all()
