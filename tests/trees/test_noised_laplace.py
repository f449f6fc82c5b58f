"""FedTree's noise, for comparison: on gradients of every histogram, on nothing else."""

import numpy as np
import pytest

from hedgerow.data.table import Table
from hedgerow.model.prepare import own_cuts, under_cuts
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.growing import LaplaceTrees, Level, Start, boost_noised
from hedgerow.trees.noised.laplace import CLIP, LaplaceRows, LaplaceSchedule
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Nodes

ROOT = Nodes(np.zeros(1, np.int64), np.zeros(1, np.int64))


def rows_of(labels=None, scale=1.0):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(500, 3)).astype(np.float32)
    table = Table.of(values)
    grid, _ = own_cuts(table, 8, 1, 1)
    trees = LaplaceTrees(LaplaceSchedule(1.0, 4, 3, 3))
    start = Start(grid, Loss("squared"), 0.0, trees.params(TreeParams(n_estimators=4, max_depth=3, max_bin=8)))
    numbers = (values[:, 0] * scale).astype(np.float32)
    rows = trees.own_rows(under_cuts(table, grid, 1), numbers, start, 1)
    rows.start_round(0)
    return trees, rows, start, numbers


def test_the_noise_of_a_histogram_is_fedtrees_and_its_queries_are_counted():
    schedule = LaplaceSchedule(0.5, 50, 6, 123)
    assert schedule.scale == 4 * CLIP.units  # 2 R / epsilon
    assert schedule.n_queries == 36_900


def test_gradients_are_cut_to_1_and_hessians_are_1():
    _, rows, _, numbers = rows_of(scale=3.0)
    g, h = rows.pairs[0].T / CLIP.units
    assert np.allclose(g, np.clip(-numbers, -1, 1), atol=1e-3)
    assert (h == 1).all()


def test_gradients_get_noise_and_numbers_of_rows_get_none():
    trees, rows, start, _ = rows_of()
    exact, width = rows.histograms(ROOT), int(start.grid.offsets[-1]) + 1
    assert not exact[:, -1].any()  # the total is not told: it would have no noise
    noise = trees.noise(Level(1, width, False), lambda n, scale: np.full(n, scale)).reshape(1, width, 2)
    assert (noise[:, :-1, 0] == trees.schedule.scale).all()
    assert not noise[:, :, 1].any()
    noised = LaplaceRows(rows, start.grid, trees.schedule, lambda n, scale: np.full(n, scale)).histograms(ROOT)
    assert np.array_equal(noised[:, :-1, 1], exact[:, :-1, 1])
    assert noised[0, -1, 1] == 500 * CLIP.units


def test_leaves_tell_nothing_that_histograms_have_not_told():
    trees, rows, _, _ = rows_of()
    assert not rows.leaf_sums(ROOT).any()
    assert not trees.noise(Level(3, 99, True), lambda n, scale: np.full(n, scale)).any()


def test_its_trees_are_ordinary_ones_where_the_noise_is_small():
    trees, rows, start, numbers = rows_of()
    done = boost_noised(trees, rows, start, lambda n, scale: np.zeros(n, np.int64), 1)
    assert done.forest.n_trees == 4
    assert np.corrcoef(rows.own.scores[0], numbers)[0, 1] > 0.9


@pytest.mark.parametrize("n_parties", [1, 3])
def test_every_party_adds_all_of_the_noise(n_parties):
    trees, _, _, _ = rows_of()
    level = Level(2, 10, False)
    scales = []
    trees.noise(level, lambda n, scale: scales.append(scale) or np.zeros(n, np.int64), honest=n_parties)
    assert scales == [trees.schedule.scale]
