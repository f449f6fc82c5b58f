import math

import numpy as np
import pytest
import strategies
import twins
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow.trees.bins import Grid

exponents = st.floats(-708, 709)
positive = st.floats(min_value=2.2250738585072014e-308, allow_infinity=False)


def both(call):
    """The result by the best instructions of this CPU, and by those that any CPU has."""
    best = call()
    _native.set_portable_only(True)
    try:
        return best, call()
    finally:
        _native.set_portable_only(False)


def units_apart(a, b):
    """How many floats lie between."""
    as_integers = np.asarray(a, np.float64).view(np.int64), np.asarray(b, np.float64).view(np.int64)
    in_order = [np.where(i < 0, np.iinfo(np.int64).min - i, i) for i in as_integers]
    return np.abs(in_order[0] - in_order[1]).max(initial=0)


@given(st.lists(exponents, max_size=20))
def test_exp_is_within_two_units_of_the_library_and_as_specified(values):
    x = np.array(values)
    assert units_apart(_native.exp(x), [math.exp(v) for v in values]) <= 2
    np.testing.assert_array_equal(_native.exp(x), twins.exp(x))


@given(st.lists(positive, max_size=20))
def test_log_is_within_two_units_of_the_library_and_as_specified(values):
    x = np.array(values)
    assert units_apart(_native.log(x), [math.log(v) for v in values]) <= 2
    np.testing.assert_array_equal(_native.log(x), twins.log(x))


@pytest.mark.parametrize("reach", [1e-12, 1e-3, 1, 30, 700])
def test_exp_and_log_are_within_two_units_of_the_library_for_many_numbers(reach):
    x = np.random.default_rng(1).uniform(-reach, reach, 20_000)
    assert units_apart(_native.exp(x), [math.exp(v) for v in x]) <= 2
    y = np.exp(x)
    assert units_apart(_native.log(y), [math.log(v) for v in y]) <= 2


def test_known_values_are_exact():
    assert _native.exp(np.array([0.0, -0.0])).tolist() == [1.0, 1.0]
    assert _native.log(np.array([1.0])).tolist() == [0.0]


@given(st.lists(st.one_of(st.floats(709, math.inf), st.floats(-math.inf, -708)), max_size=9))
def test_exp_neither_overflows_nor_vanishes(values):
    found = _native.exp(np.array(values))
    assert np.isfinite(found).all()
    assert (found >= 1e-308).all()


@given(st.lists(st.floats(allow_nan=False), max_size=40))
def test_exp_and_log_give_the_same_bits_on_every_cpu(values):
    x = np.array(values)
    best, plain = both(lambda: _native.exp(x))
    assert best.tobytes() == plain.tobytes()
    best, plain = both(lambda: _native.log(np.abs(x) + 1e-300))
    assert best.tobytes() == plain.tobytes()


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax", "shares", "poisson", "tweedie", "huber"])
@given(strategies.generators, st.sampled_from([0, 1, 3, 8, 513, 2000]), st.booleans())
def test_gradients_are_the_same_on_every_cpu(loss, rng, n, weighted):
    n_trees = 3 if loss in ("softmax", "shares") else 1
    scores = (5 * rng.normal(size=(n_trees, n))).astype(np.float32)
    labels = rng.integers(0, 2, n).astype(np.float32)
    weights = rng.uniform(0, 2, n if weighted else 0).astype(np.float32)

    def pairs():
        out = np.zeros((n_trees, n, 2), np.int32)
        scales = (2.0**30 / 3, 2.0**30 / 7, False)
        clipped = _native.gradient_pairs((loss, 1.5), scales, scores, labels, weights, out, 2)
        return np.append(out, clipped)

    best, plain = both(pairs)
    np.testing.assert_array_equal(best, plain)


@given(strategies.generators, st.integers(0, 100), st.integers(1, 4))
def test_probabilities_are_the_same_on_every_cpu(rng, n, n_classes):
    scores = (9 * rng.normal(size=(n_classes, n))).astype(np.float32)
    best, plain = both(lambda: _native.logistic(scores[0]))
    assert best.tobytes() == plain.tobytes()
    best, plain = both(lambda: _native.softmax(scores))
    assert best.tobytes() == plain.tobytes()


@given(strategies.generators, st.integers(0, 100), st.sampled_from([0, 1, 2, 63, 64, 254]))
def test_bins_are_the_same_on_every_cpu(rng, n, n_cuts):
    cuts = np.sort(rng.normal(size=n_cuts)).astype(np.float32)
    grid = Grid(cuts, np.array([0, n_cuts]), np.array([True]), np.zeros(1, bool))
    values = np.where(rng.random((n, 1)) < 0.1, np.nan, rng.normal(size=(n, 1))).astype(np.float32)
    plan = np.zeros(1, np.uint32), grid.offsets, np.array([-1], np.int32), 1
    best, plain = both(lambda: _native.bin_dense(grid, values, *plan)[0])
    assert best.tobytes() == plain.tobytes()
