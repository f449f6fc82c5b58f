"""Greedy noised trees: how far a row reaches into what is released, what is released, and what is made of it."""

from collections import Counter
from math import isclose, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score

from hedgerow.data.table import Table
from hedgerow.model.noised_trees import PooledTrees
from hedgerow.model.prepare import own_cuts, under_cuts
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.trees.boost import boost
from hedgerow.trees.grow import Growth
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.clipped_rows import clip_gradients, clip_jointly
from hedgerow.trees.noised.fit_greedy import GreedyTask, chosen_of, fit_greedy
from hedgerow.trees.noised.greedy import Settling, root_mean, root_words
from hedgerow.trees.noised.greedy_rule import Chosen, greedy_schedule
from hedgerow.trees.noised.growing import GreedyTrees, Start, boost_noised
from hedgerow.trees.noised.rule import GRADIENT_UNITS, Terms
from hedgerow.trees.noised.sums import OwnRows, OwnSums
from hedgerow.trees.params import TreeParams
from hedgerow.trees.sampling import ColumnSampler
from hedgerow.trees.splits import Nodes, Rules

ROOT = Nodes(np.zeros(1, np.int64), np.zeros(1, np.int64))
LOGISTIC, SQUARED = Loss("logistic"), Loss("squared")


def terms_of(n_columns=4, mu=0.5, n_scores=1, **more):
    return Terms("greedy", mu, n_columns, n_columns, n_scores, **more)


def silent(n, variance):
    return np.zeros(n, np.int64)


def table_of(n=600, n_columns=4, seed=0, nonzero=None):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, n_columns)).astype(np.float32)
    if nonzero is not None:
        values[np.argsort(rng.random((n, n_columns)), axis=1) >= nonzero] = 0
    logit = values[:, 0] + values[:, 1] * (values[:, 2] > 0)
    return values, (rng.random(n) < 1 / (1 + np.exp(-2 * logit))).astype(np.float32)


def rows_of(values, labels, schedule, loss=LOGISTIC, shorten=None, score=0.0):
    table = Table.of(values)
    grid, _ = own_cuts(table, 8, 1, 1)
    trees = GreedyTrees(schedule)
    start = Start(grid, loss, score, trees.params(TreeParams(min_child_weight=0)))
    rows = trees.own_rows(under_cuts(table, grid, 1), labels, start, 1)
    if shorten is not None:
        rows.shorten = shorten
    rows.start_round(0)
    return rows, start


pairs_of_rows = arrays(
    np.int32, st.tuples(st.integers(1, 3), st.integers(1, 8), st.just(2)), elements=st.integers(-(2**30), 2**30)
)


@given(pairs_of_rows, st.integers(1, 2**13))
def test_no_vector_is_longer_than_the_radius_in_exact_integers(pairs, radius):
    clip_jointly(pairs, radius)
    assert (
        max(sum(int(x) ** 2 for x in row) for row in pairs.transpose(1, 0, 2).reshape(pairs.shape[1], -1)) <= radius**2
    )


@given(pairs_of_rows, st.integers(1, 2**13))
def test_vectors_within_the_radius_stay_and_others_keep_their_direction(pairs, radius):
    before = pairs.astype(np.float64)
    n_long = clip_jointly(pairs, radius)
    length = np.sqrt((before**2).sum(axis=(0, 2)))
    assert n_long == (length > radius).sum()
    wanted = before * np.minimum(1, radius / np.maximum(length, 1))[None, :, None]
    assert np.abs(pairs - wanted).max() <= 2


def reaches(schedule, values, labels, **more):
    """How far each row moves the histograms and the leaf of a root, in L2: by taking it away."""
    rows, _ = rows_of(values, labels, schedule, **more)
    level, leaf = rows.histograms(ROOT).astype(np.float64), rows.leaf_sums(ROOT).astype(np.float64)
    rows.parts[0].spans[0, 0, 1] = 0  # none, then one row at a time
    found = []
    for row in range(len(values)):
        rows.parts[0].orders[0, 0] = row
        rows.parts[0].spans[0, 0, 1] = 1
        found.append((np.linalg.norm(rows.histograms(ROOT)), np.linalg.norm(rows.leaf_sums(ROOT))))
    assert level.any()
    assert leaf.any()
    return np.max(found, axis=0)


@pytest.mark.parametrize("nonzero", [None, 2])
@pytest.mark.parametrize("score", [0.0, 1.2, -6.0])
def test_a_row_moves_a_level_and_the_leaves_no_farther_than_is_accounted_for(nonzero, score):
    values, labels = table_of(120, 6, nonzero=nonzero)
    schedule = greedy_schedule(terms_of(6, max_nonzero=nonzero), 120, Chosen())
    level, leaf = reaches(schedule, values, labels, score=score)
    assert level <= schedule.level.sensitivity
    assert leaf <= schedule.leaves.sensitivity
    assert score or level > 0.8 * schedule.level.sensitivity  # and not much less than that


def test_numbers_beyond_the_declared_range_reach_no_farther():
    values, labels = table_of(100)
    schedule = greedy_schedule(terms_of(label_range=(0.0, 10.0)), 100, Chosen())
    level, leaf = reaches(schedule, values, labels * 1e6 - 4e5, loss=SQUARED, score=5.0)
    assert level <= schedule.level.sensitivity
    assert leaf <= schedule.leaves.sensitivity


def test_classes_of_a_row_reach_as_far_together():
    values, labels = table_of(60)
    schedule = greedy_schedule(terms_of(n_scores=3), 60, Chosen())
    rows, _ = rows_of(values, labels + (values[:, 3] > 0), schedule, Loss("softmax", n_classes=3))
    assert np.sqrt((rows.pairs.astype(np.int64) ** 2).sum(axis=(0, 2))).max() <= schedule.leaves.sensitivity


def test_gradients_clipped_apart_from_hessians_reach_too_far():
    values, labels = table_of(120, 6)
    schedule = greedy_schedule(terms_of(6), 120, Chosen())
    apart = lambda pairs, radius: clip_gradients(pairs, radius // 2)  # noqa: E731  # the mistake
    rows, _ = rows_of(values, labels, schedule, shorten=apart)
    assert np.hypot(*rows.pairs[0].T).max() > schedule.clip.units // 2


@pytest.mark.parametrize("chosen", [Chosen(), Chosen(7, 2, 0.5, 16)])
@pytest.mark.parametrize(
    "more", [{}, {"max_nonzero": 3}, {"label_range": (0.0, 1.0)}, {"n_scores": 4}, {"rows_per_id": 3}]
)
def test_all_releases_together_cost_the_promised_mu_and_hardly_less(chosen, more):
    for n_rows in (50.0, 5_000.0, 1e6):
        schedule = greedy_schedule(terms_of(20, 0.3, **more), n_rows, chosen)
        spent = sum(p.times * p.sensitivity**2 / p.variance for p in schedule.planned)
        assert spent <= 0.3**2
        assert isclose(spent, 0.3**2, rel_tol=1e-3)


def test_the_users_numbers_are_kept():
    schedule = greedy_schedule(terms_of(), 1000, Chosen(7, 2, 0.5, 16))
    params = GreedyTrees(schedule).params(TreeParams(reg_lambda=3.0))
    assert (params.n_estimators, params.max_depth, params.learning_rate, params.max_bin) == (7, 2, 0.5, 16)
    assert params.reg_lambda == 3.0


def test_what_the_user_set_is_what_differs_from_the_defaults():
    assert chosen_of(TreeParams()) == Chosen()
    assert chosen_of(TreeParams(max_depth=2, reg_lambda=7.0)) == Chosen(max_depth=2)


def test_without_noise_cuts_are_those_of_ordinary_growing():
    values, labels = table_of(800)
    schedule = greedy_schedule(terms_of(mu=1e4), 800, Chosen(5, 3, 0.3, 8))
    rows, start = rows_of(values, labels, schedule)
    noised = boost_noised(GreedyTrees(schedule), rows, start, silent, 1).forest.part(0, 1)
    again, _ = rows_of(values, labels, schedule)
    again.untold = np.empty(0, np.int64)
    scales = schedule.clip.scales
    growth = Growth(start.grid, Rules.of(start.params, scales), ColumnSampler(4, 1, 1, 0), 3, 1)
    plain = boost(again, growth, start.params, scales, 1).forest.part(0, 1)
    assert np.array_equal(noised.columns, plain.columns)
    assert np.array_equal(noised.thresholds, plain.thresholds)


@pytest.mark.parametrize("nonzero", [None, 2])
def test_settled_columns_of_a_node_all_have_its_total(nonzero):
    values, labels = table_of(300, nonzero=nonzero)
    schedule = greedy_schedule(terms_of(max_nonzero=nonzero), 300, Chosen())
    rows, start = rows_of(values, labels, schedule)
    noise = np.random.default_rng(0).normal(0, 5000, rows.histograms(ROOT).shape).astype(np.int64)
    settled = Settling(start.grid, schedule).level(rows.histograms(ROOT) + noise)
    totals = np.add.reduceat(settled[:, :-1], start.grid.offsets[:-1].astype(np.int64), axis=1)
    assert np.abs(totals - settled[:, -1:]).max() <= 8  # rounded, a bin at a time


def test_sums_that_are_not_told_are_those_without_noise():
    values, labels = table_of(300, nonzero=2)
    schedule = greedy_schedule(terms_of(max_nonzero=2), 300, Chosen())
    rows, start = rows_of(values, labels, schedule)
    told = rows.histograms(ROOT)
    rows.untold = np.empty(0, np.int64)
    assert not np.array_equal(told, rows.histograms(ROOT))
    assert np.array_equal(Settling(start.grid, schedule).level(told), rows.histograms(ROOT))


def test_a_leaf_of_which_only_noise_is_known_has_no_value():
    schedule = greedy_schedule(terms_of(), 1000, Chosen())
    _, start = rows_of(*table_of(50), schedule)
    sums = Settling(start.grid, schedule).leaves(np.array([[10**6, -(10**6)], [10**6, 0], [-(10**7), 10**8]]))
    assert not sums[:2, 0].any()
    assert (sums[:, 1] >= int(sqrt(schedule.leaves.variance))).all()
    assert -(10**7) < sums[2, 0] < 0


def test_the_first_score_is_the_mean_label():
    words = root_words(np.array([[1.0, 0, 0, 0]], np.float32))
    assert words[1] == 4 * GRADIENT_UNITS // 2
    assert root_mean(words) == pytest.approx(0.25)
    assert root_mean(np.array([10**9, -5])) == 0.999


class Given(PooledTrees):
    """Releases whose noise a test gives."""

    def __init__(self, own, draw):
        super().__init__(own, Ledger(Budget(1.0, 1e-6), ()))
        self.draw, self.opened = draw, []

    def begin_trees(self, start, schedule):
        self.trees = schedule
        self.own.begin(start.grid, schedule.before, 0)

    def noised(self, planned, own_words):
        self.opened.append(own_words + self.draw(len(own_words), planned.variance))
        return self.opened[-1]


class Replayed(Given):
    """Sums that were opened before, whatever these rows are."""

    def noised(self, planned, own_words):
        return self.opened.pop(0)


def fitted(values, labels, terms, draw, loss=LOGISTIC, kind=Given, opened=()):
    own = OwnSums(OwnRows(values, float("nan"), labels), terms)
    task = GreedyTask(terms, loss, TreeParams(min_child_weight=0), np.zeros(values.shape[1], np.int64))
    releases = kind(own, draw)
    releases.opened.extend(opened)
    return fit_greedy(releases, task), releases


def scores_of(fit, values):
    out = np.full((len(values), 1), fit.start.base, np.float32)
    fit.forest.add_scores(values, float("nan"), out, 1)
    return out[:, 0]


def test_noise_is_drawn_for_every_word_of_every_planned_release_and_for_no_more():
    values, labels = table_of(3000, 5)
    drawn = Counter()

    def draw(n, variance):
        drawn[variance] += 1
        return np.random.default_rng(1).normal(0, sqrt(variance), n).astype(np.int64)

    fit, _ = fitted(values, labels, terms_of(5, 2.0), draw)
    planned = {p.variance: p.times for p in fit.schedule.planned}
    assert set(drawn) == set(planned)
    assert all(drawn[variance] <= times for variance, times in planned.items())
    assert drawn[fit.schedule.leaves.variance] == fit.schedule.n_trees


def test_a_forest_is_a_function_of_the_opened_sums_alone():
    def draw(n, variance):
        return np.random.default_rng(n).normal(0, sqrt(variance), n).astype(np.int64)

    first, releases = fitted(*table_of(1500), terms_of(mu=1.0), draw)
    others = table_of(50, seed=9)
    second, _ = fitted(*others, terms_of(mu=1.0), draw, kind=Replayed, opened=releases.opened)
    for name in first.forest.__dataclass_fields__:
        assert np.array_equal(getattr(first.forest, name), getattr(second.forest, name)), name


def test_it_learns_what_needs_two_columns_at_once():
    values, labels = table_of(20_000)
    test, truth = table_of(4000, seed=1)

    def draw(n, variance):
        return np.random.default_rng(variance % 1000 + n).normal(0, sqrt(variance), n).astype(np.int64)

    assert roc_auc_score(truth, scores_of(fitted(values, labels, terms_of(mu=2.0), draw)[0], test)) > 0.84
    numbers = (values[:, 0] > 0) * 6.0 + (values[:, 1] > 0) * (values[:, 2] > 0) * 4.0
    fit, _ = fitted(values, numbers.astype(np.float32), terms_of(mu=2.0, label_range=(0.0, 10.0)), draw, SQUARED)
    assert np.sqrt(np.mean((scores_of(fit, values) - numbers) ** 2)) < 0.5 * numbers.std()
