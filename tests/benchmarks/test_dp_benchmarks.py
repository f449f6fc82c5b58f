"""The benchmark of differential privacy: the noise of five parties, rows with their bars, and a picture."""

import numpy as np
import pytest
from benchmarks.dp_sets import EPSILONS, SETS, permuted

from benchmarks import dp_accuracy, dp_plots
from hedgerow.agreement.dp import DP
from hedgerow.data.table import Table
from hedgerow.model.noised_train import train_noised
from hedgerow.model.train import Task
from hedgerow.privacy import noise
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams


def test_every_release_has_a_quarter_more_noise_than_the_ledger_counts(monkeypatch):
    drawn, real = [], noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda n, variance: drawn.append(variance) or real(n, variance))
    rng = np.random.default_rng(0)
    table = Table.of(rng.normal(0, 1, (500, 3)).astype(np.float32), rng.integers(0, 2, 500))
    task, dp = Task(Loss("logistic"), (0, 1)), DP(epsilon=1, method="additive", classes=(0, 1))
    model = train_noised(table, TreeParams(), task, dp, dp_accuracy.FiveParties)
    counted = {round(one.scale**2) for one in model.promise.releases}
    assert {round(variance / 1.25 / 1000) for variance in drawn} == {round(variance / 1000) for variance in counted}


def test_three_quarters_of_the_rows_are_to_train_on_and_no_row_is_twice():
    split = permuted(np.arange(20).reshape(10, 2), np.arange(10))
    assert len(split.y_train) == 7
    assert sorted([*split.y_train, *split.y_test]) == list(range(10))
    np.testing.assert_array_equal(split.X_train[:, 0], 2 * split.y_train)


@pytest.mark.parametrize(("name", "ours", "ok"), [("a9a", 0.9, True), ("a9a", 0.89, False), ("abalone", 0.09, True)])
def test_rows_are_held_against_the_bars_of_their_epsilon(name, ours, ok):
    line = dp_accuracy._line(SETS[name], EPSILONS.index(1.0), [ours, ours], None, 0.9)
    assert line.ok is ok
    assert line.figures["goal reached"] == "no"


def test_accuracy_against_epsilon_is_drawn(tmp_path):
    lines = [dp_accuracy._line(SETS["a9a"], place, [0.9], 0.8, 0.91).as_json() for place in range(5)]
    assert dp_plots.draw(lines, tmp_path).stat().st_size > 1000
    assert dp_plots.draw([], tmp_path) is None


def test_bars_and_goals_go_the_same_way_at_every_epsilon():
    for private in SETS.values():
        sign = -1 if private.numbers else 1
        assert (np.diff(private.bars) * sign > 0).all()
        assert ((np.array(private.goals) - private.bars) * sign > 0).all()
