"""Noise on labels: how far one label reaches, which sums have noise, and what is made of them."""

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.data.table import Table
from hedgerow.model.labels import within
from hedgerow.model.prepare import growth_of
from hedgerow.model.train import Task, prepare
from hedgerow.trees.boost import boost
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.label_rows import LabelNoisedRows, Totals
from hedgerow.trees.noised.label_rule import FEW, few, first_score, label_schedule
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Nodes

PARAMS = TreeParams(n_estimators=3, max_depth=3, max_bin=8, gradient_bits=8, learning_rate=0.3)
LOSSES = {
    "two": (Loss("logistic"), (0, 1)),
    "many": (Loss("softmax", n_classes=3), (0, 1, 2)),
    "numbers": (Loss("squared"), ()),
}
RANGE = (-2.0, 8.0)
"""Of numbers, which are at its ends: so one label can move as far as any."""


def ready_of(kind="two", n=60, flip=None, bits=8, base=0.3):
    """A table of which one label may be another's."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    loss, classes = LOSSES[kind]
    y = rng.integers(0, len(classes) or 2, n)
    if flip is not None:
        y[flip] = (y[flip] + 1) % (len(classes) or 2)
    base_score, span = base if kind != "many" else None, None
    if not classes:
        y, span = np.array(RANGE)[y], RANGE
    task = Task(loss, classes, base_score, label_range=span)
    return prepare(Table.of(X, y), replace(PARAMS, gradient_bits=bits), task)


def schedule_of(ready, mu=1.0):
    scales, n = ready.fixed.scales, ready.task.loss.n_trees
    span = None if ready.task.classes else RANGE[1] - RANGE[0]
    return label_schedule(mu, ready.fixed.grid.n_columns, n, 3, 3, scales, 8, span)


def noised(ready, noise=lambda planned, n: np.zeros(n, np.int64), mu=1.0):
    """The rows with noise, what was released, and the same without."""
    released, exact = [], []

    def release(key, planned, told, sums):
        found = sums + noise(planned, sums.size)
        released.append((key, planned.what, found.copy()))
        exact.append(sums.copy())
        return found

    schedule = schedule_of(ready, mu)
    return LabelNoisedRows(ready.rows, ready.fixed.grid, schedule, ready.fixed.scales, release), released, exact


def grown(ready, rows, schedule=None):
    least = schedule.least_side if schedule is not None else 0
    params = replace(PARAMS, min_child_weight=max(least, 0.01))
    growth = replace(growth_of(ready.fixed.grid, params, ready.fixed.scales, 1), subtracts=rows is ready.rows)
    return boost(rows, growth, params, ready.fixed.scales, ready.task.loss.n_trees).forest


def everything_summed(kind, flip, bits):
    """Sums of gradients by bin and by leaf, over a level of public nodes, of rows with scores of their own."""
    ready = ready_of(kind, flip=flip, bits=bits)
    rows, _, exact = noised(ready)
    ready.rows.own.scores[:] += np.random.default_rng(4).normal(0, 3, ready.rows.own.scores.shape).astype(np.float32)
    rows.start_round(0)
    n_trees = ready.task.loss.n_trees
    roots = Nodes(np.arange(n_trees), np.zeros(n_trees, np.int64))
    rows.histograms(roots)
    rows.leaf_sums(roots)
    return [sums.astype(np.float64) for sums in exact], schedule_of(ready)


@pytest.mark.parametrize("bits", [8, 20])
@pytest.mark.parametrize("kind", LOSSES)
def test_one_label_reaches_as_far_as_is_accounted_for_and_no_farther(kind, bits):
    truth, schedule = everything_summed(kind, None, bits)
    reach = np.zeros(2)
    for row in range(60):
        other, _ = everything_summed(kind, row, bits)
        reach = np.maximum(reach, [np.linalg.norm(a - b) for a, b in zip(truth, other, strict=True)])
    planned = np.array([schedule.level.sensitivity, schedule.leaves.sensitivity])
    assert (reach <= planned).all()
    assert (reach >= 0.98 * planned).all()


@pytest.mark.parametrize("kind", ["two", "numbers"])
def test_another_label_changes_no_hessian(kind):
    one, other = ready_of(kind), ready_of(kind, flip=5)
    for ready in (one, other):
        ready.rows.start_round(0)
    assert np.array_equal(one.rows.pairs[..., 1], other.rows.pairs[..., 1])
    assert not np.array_equal(one.rows.pairs[..., 0], other.rows.pairs[..., 0])


def test_labels_beyond_the_declared_range_would_reach_twice_as_far():
    """The sabotage: gradients are cut off on both sides, so that a label anywhere could go from one to the other."""
    pairs = []
    for label in (-1000.0, 1000.0):
        ready = ready_of("numbers")
        ready.rows.own.labels[7] = label
        ready.rows.start_round(0)
        pairs.append(ready.rows.pairs[..., 0].astype(np.int64))
    span = (RANGE[1] - RANGE[0]) / ready.fixed.scales.gradient_bound * 2**30
    assert np.abs(pairs[1] - pairs[0]).max() > 1.9 * span


def test_labels_are_put_within_the_range_whatever_its_ends_are_in_32_bits():
    outside = within(np.array([-5, 3, 1e9], np.float32), 0.1, 0.7)
    assert np.allclose(outside, [0.1, 0.7, 0.7])
    assert outside.min() >= 0.1
    assert outside.max() <= 0.7


def test_the_first_score_is_moved_by_one_label_as_far_as_is_accounted_for():
    assert first_score(1.0).sensitivity == 4096


def test_all_releases_together_cost_the_budget():
    planned = (first_score(0.4), *schedule_of(ready_of(), 0.4).planned)
    spent = sum(one.times * one.sensitivity**2 / (one.variance - 4) for one in planned)
    assert 0.99 * 0.4**2 < spent <= 0.4**2


def test_without_noise_the_first_tree_is_the_ordinary_one():
    ready = ready_of(n=300)
    rows, released, _ = noised(ready)
    plain = ready_of(n=300)
    forest, ordinary = grown(ready, rows), grown(plain, plain.rows)
    first = ordinary.roots[1]
    assert np.array_equal(forest.columns[:first], ordinary.columns[:first])
    assert np.array_equal(forest.thresholds[:first], ordinary.thresholds[:first])
    assert {what for _, what, _ in released} == {"histograms of a level", "sums of leaves"}


def test_every_release_has_a_key_of_its_own_and_no_more_are_made_than_planned():
    ready = ready_of(n=300)
    rows, released, _ = noised(ready)
    grown(ready, rows)
    assert len({key for key, _, _ in released}) == len(released)
    for planned in schedule_of(ready).planned:
        assert sum(what == planned.what for _, what, _ in released) <= planned.times


def noise_of(seed, share=0.05):
    rng = np.random.default_rng(seed)
    return lambda planned, n: np.rint(rng.normal(0, share * np.sqrt(planned.variance), n)).astype(np.int64)


def test_the_forest_follows_from_what_was_released_and_not_from_labels():
    """Other labels under which the same is released: the very same forest."""
    ready = ready_of(n=300)
    rows, released, _ = noised(ready, noise_of(1))
    forest = grown(ready, rows)
    other = ready_of(n=300)
    other.rows.own.labels[:] = 1 - other.rows.own.labels
    told = iter([words for _, _, words in released])
    again = LabelNoisedRows(other.rows, other.fixed.grid, schedule_of(other), other.fixed.scales, lambda *_: next(told))
    assert np.array_equal(grown(other, again).values, forest.values)


@pytest.mark.parametrize("sabotage", ["leaves", "histograms"])
def test_noise_on_a_copy_is_seen(monkeypatch, sabotage):
    """The sabotage: where exact sums are used beside the noised ones, other labels give another forest."""
    real = LabelNoisedRows._noised

    def leaky(self, planned, nodes, exact):
        noised_ = real(self, planned, nodes, exact)
        return exact if planned.what.endswith("leaves") == (sabotage == "leaves") else noised_

    monkeypatch.setattr(LabelNoisedRows, "_noised", leaky)
    with pytest.raises((AssertionError, StopIteration, ValueError)):  # other values, or other nodes are asked about
        test_the_forest_follows_from_what_was_released_and_not_from_labels()


def test_of_siblings_one_is_asked_for_and_both_have_noise_of_their_own(monkeypatch):
    ready, asked = ready_of(n=300), []
    real = type(ready.rows).histograms
    monkeypatch.setattr(type(ready.rows), "histograms", lambda self, n: asked.append(len(n.tree)) or real(self, n))
    rows, released, exact = noised(ready, noise_of(3))
    grown(ready, rows)
    width = int(ready.fixed.grid.offsets[-1])
    nodes = [len(sums) // width for (_, what, _), sums in zip(released, exact, strict=True) if what.startswith("hist")]
    assert any(n > 1 for n in nodes)
    assert asked == [max(n // 2, 1) for n in nodes]


def test_columns_agree_on_the_total_and_bins_without_rows_have_no_gradient():
    ready = ready_of()
    rows, _, _ = noised(ready, noise_of(5, 1.0))
    rows.start_round(0)
    found = rows.histograms(Nodes(np.zeros(1, np.int64), np.zeros(1, np.int64)))
    totals = Totals(ready.fixed.grid)
    by_column = np.add.reduceat(found[:, :-1, 0], totals.starts, axis=1)
    assert np.abs(by_column - found[:, -1:, 0]).max() <= totals.sizes.max()
    assert not found[:, :-1, 0][found[:, :-1, 1] == 0].any()


def test_few_small_trees_are_grown_unless_it_is_said_otherwise():
    assert few(TreeParams()) == FEW
    assert few(TreeParams(max_depth=5)) == replace(FEW, max_depth=5)


def test_counts_and_metrics_are_never_asked_for():
    rows, _, _ = noised(ready_of())
    with pytest.raises(NotImplementedError, match="would be counted"):
        rows.counts(Nodes(np.zeros(1, np.int64), np.zeros(1, np.int64)))
    with pytest.raises(NotImplementedError, match="summed without noise"):
        rows.held_out_sums(None, 1)
