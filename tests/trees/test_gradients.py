import math

import numpy as np
import pytest
import strategies
import twins
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hedgerow import _native

LOSSES = {
    "squared": 0.0,
    "logistic": 0.0,
    "softmax": 0.0,
    "shares": 0.0,
    "poisson": 0.0,
    "tweedie": 1.5,
    "huber": 0.7,
}
PER_CLASS = ("softmax", "shares")
n_rows = st.one_of(st.integers(0, 40), st.sampled_from([511, 512, 513, 9000]))
NO_WEIGHTS = np.empty(0, np.float32)


def gradient_pairs(loss, scales, scores, labels, weights, threads=1):
    out = np.full((*scores.shape, 2), -7, np.int32)
    clipped = _native.gradient_pairs(loss, scales, scores, labels, weights, out, threads)
    return out, clipped


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=60)
@given(st.data(), strategies.generators, n_rows, strategies.threads)
def test_gradients_of_every_loss_are_those_of_the_specification(name, data, rng, n, threads):
    n_trees = data.draw(st.integers(2, 5)) if name in PER_CLASS else 1
    spread = data.draw(st.sampled_from([0, 1, 30, 500]))
    scores = (spread * rng.normal(size=(n_trees, n))).astype(np.float32)
    labels = rng.integers(0, max(n_trees, 2), n).astype(np.float32)
    weights = data.draw(st.sampled_from([NO_WEIGHTS, rng.uniform(0, 3, n).astype(np.float32)]))
    scale = st.sampled_from([1.0, 2.0**30, 2.0**30 / 3, 1e-3, 2.0**40])
    scales = data.draw(scale), data.draw(scale), data.draw(st.booleans())
    found = gradient_pairs((name, LOSSES[name]), scales, scores, labels, weights, threads)
    with np.errstate(over="ignore"):
        g, h = twins.derivatives(name, LOSSES[name], scores, labels)
        expected = twins.quantised(g, h, weights, scales)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_the_slopes_of_the_loss(name):
    """The specification itself, against differences of the written-out losses."""
    p = LOSSES[name]
    written = {
        "squared": lambda s, y: (s[0] - y) ** 2 / 2,
        "logistic": lambda s, y: math.log1p(math.exp(s[0])) - y * s[0],
        "softmax": lambda s, y: math.log(sum(math.exp(v) for v in s)) - s[int(y)],
        "shares": lambda s, y: -s[int(y)],
        "poisson": lambda s, y: math.exp(s[0]) - y * s[0],
        "tweedie": lambda s, y: math.exp((2 - p) * s[0]) / (2 - p) - y * math.exp((1 - p) * s[0]) / (1 - p),
        "huber": lambda s, y: p**2 * (math.sqrt(1 + ((s[0] - y) / p) ** 2) - 1),
    }[name]
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(3 if name in PER_CLASS else 1, 20))
    labels = rng.integers(0, 2, 20)
    g, h = twins.derivatives(name, p, scores, labels)
    step = 1e-5
    for tree in range(len(scores)):
        for row, y in enumerate(labels):
            up, middle, down = (scores[:, row] + step * k * (np.arange(len(scores)) == tree) for k in (1, 0, -1))
            slope = (written(up, y) - written(down, y)) / (2 * step)
            bend = (written(up, y) - 2 * written(middle, y) + written(down, y)) / step**2
            assert g[tree, row] == pytest.approx(slope, abs=1e-6)
            if name == "huber":  # the bend of a parabola from above
                assert h[tree, row] >= bend - 1e-4
            elif name != "shares":  # whose leaves are means, from zero
                doubled = 2 if name == "softmax" else 1
                assert h[tree, row] == pytest.approx(doubled * bend, abs=1e-4)


@given(st.floats(-(2.0**31), 2.0**31), st.sampled_from([1.0, 3.0, 0.5]))
@example(2.5, 1.0)
@example(3.5, 1.0)
@example(-0.5, 1.0)
@example(2.0**30 + 0.4, 1.0)
@example(2.0**30 + 128, 1.0)
@example(-(2.0**30) - 128, 1.0)
def test_integers_are_rounded_half_to_even_and_clipped_at_two_to_the_thirty(value, scale):
    score = np.float32(value)
    pairs, clipped = gradient_pairs(
        ("squared", 0.0), (scale, scale, False), np.array([[score]]), np.zeros(1, np.float32), NO_WEIGHTS
    )
    exact = float(score) * scale
    assert pairs[0, 0, 0] == max(-(2**30), min(2**30, round(exact)))
    assert clipped == (abs(exact) > 2**30)


def test_every_clipped_gradient_and_hessian_is_counted():
    scores = np.array([[1.0, -1.0, 0.25, 3.0]], np.float32)
    labels = np.zeros(4, np.float32)
    weights = np.array([1, 1, 1, 2], np.float32)
    pairs, clipped = gradient_pairs(("squared", 0.0), (2.0**31, 2.0**30, False), scores, labels, weights)
    assert clipped == 4  # the gradients of rows 0, 1 and 3, and the hessian of row 3
    assert pairs[0].tolist() == [[2**30, 2**30], [-(2**30), 2**30], [2**29, 2**30], [2**30, 2**30]]


@given(strategies.generators, st.integers(2, 31), st.integers(0, 50))
def test_narrow_integers_are_the_wide_ones_rounded_half_up(rng, bits, n):
    pairs = strategies.wide_pairs(rng, 2, n, extreme=False)
    pairs[0, :8] = np.array([[0, 0], [1, 1], [-1, 1], [1 << 30, 1 << 30], [-(1 << 30), 0], [3, 5], [-3, 2], [-5, 7]])[
        :n
    ]
    unit = 2 ** (31 - bits)
    expected = [math.floor(x / unit + 0.5) for x in pairs.ravel().tolist()]
    assert _native.narrow(pairs, bits).ravel().tolist() == expected
    assert twins.narrow(pairs, bits).ravel().tolist() == expected


@given(strategies.generators, st.integers(0, 300), st.integers(1, 5))
def test_probabilities_are_those_of_the_specification(rng, n, n_classes):
    scores = (50 * rng.normal(size=(n_classes, n))).astype(np.float32)
    np.testing.assert_array_equal(_native.logistic(scores[0]), 1 / (1 + twins.exp(-scores[0].astype(float))))
    if n:
        np.testing.assert_array_equal(_native.softmax(scores), twins.softmax(scores.astype(float)).T)


SCALES = (1.0, 1.0, False)
ROW = np.zeros(3, np.float32)


@pytest.mark.parametrize(
    ("loss", "scores", "labels", "weights", "shape"),
    [
        (("cubic", 0.0), (1, 3), ROW, NO_WEIGHTS, (1, 3, 2)),
        (("squared", 0.0), (2, 3), ROW, NO_WEIGHTS, (2, 3, 2)),
        (("squared", 0.0), (0, 3), ROW, NO_WEIGHTS, (0, 3, 2)),
        (("squared", 0.0), (1, 3), ROW[:2], NO_WEIGHTS, (1, 3, 2)),
        (("squared", 0.0), (1, 3), ROW, ROW[:2], (1, 3, 2)),
        (("squared", 0.0), (1, 3), ROW, NO_WEIGHTS, (1, 2, 2)),
        (("softmax", 0.0), (2, 3), ROW, NO_WEIGHTS, (2, 3, 1)),
        (("softmax", 0.0), (2, 3), ROW, NO_WEIGHTS, (1, 3, 2)),
    ],
)
def test_scores_labels_and_gradients_that_do_not_fit_are_refused(loss, scores, labels, weights, shape):
    with pytest.raises(ValueError, match=r"no such loss|differ in shape|one label"):
        _native.gradient_pairs(
            loss, SCALES, np.zeros(scores, np.float32), labels, weights, np.zeros(shape, np.int32), 1
        )


@pytest.mark.parametrize("bits", [0, 1, 32, 99])
def test_integers_of_too_few_or_too_many_bits_are_refused(bits):
    with pytest.raises(ValueError, match="gradient_bits"):
        _native.narrow(np.zeros((1, 1, 2), np.int32), bits)


def test_scores_laid_row_after_row_are_refused():
    scores = np.asfortranarray(np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match="contiguous"):
        gradient_pairs(("softmax", 0.0), SCALES, scores, ROW, NO_WEIGHTS)
    with pytest.raises(ValueError, match="contiguous"):
        _native.softmax(scores)


def test_pairs_of_three_are_refused():
    with pytest.raises(ValueError, match=r"pair|reshape"):
        _native.narrow(np.zeros((1, 4, 3), np.int32), 16)
