"""Noised trees as a forest: they score rows as the rows were scored in training, and have what any forest has."""

import noised_cases as cases
import numpy as np
import pytest

from hedgerow.privacy import noise
from hedgerow.trees import noised
from hedgerow.trees.noised import fit as fitting
from hedgerow.trees.noised.additive import AdditiveRounds, Iterate
from hedgerow.trees.noised.fit import fit
from hedgerow.trees.noised.forests import DrawnRound, Scale, additive_forest, drawn_forest
from hedgerow.trees.noised.public_trees import PublicTrees
from hedgerow.trees.noised.rule import N_LEAVES, opening, schedule
from hedgerow.trees.noised.sums import OwnRows, OwnSums

GRID = cases.grid()
N_BINS = int(GRID.offsets[-1])


class Plain:
    """Releases without noise, or with the one that is planned, and what they were."""

    def __init__(self, own, agreed, draw=lambda n, variance: 0):
        self.own, self.draw, self.plan, self.made = OwnSums(own, agreed), draw, opening(agreed), []

    def noised(self, planned, words):
        self.made.append(planned.what)
        return words + self.draw(len(words), planned.variance)

    def rows(self):
        return self.noised(self.plan.rows, self.own.rows())

    def counts(self, asked):
        return self.noised(self.plan.cuts, self.own.counts(asked))

    def begin(self, grid, plan, trees):
        self.plan = plan
        self.own.begin(grid, plan, trees)

    def bin_counts(self):
        return self.noised(self.plan.additive.counts, self.own.bin_counts())

    def additive(self, round_, base, values):
        return self.noised(self.plan.additive.gradients, self.own.additive(round_, base, values))

    def restart(self, base, values):
        self.own.restart(base, values)

    def leaves(self, round_, values):
        if len(values):
            self.own.follow(round_ - 1, values)
        return self.noised(self.plan.trees.leaves, self.own.leaves(round_))


def scores_of(forest, own, base=0.0, n=1):
    out = np.full((own.n_rows, n), base, np.float32)
    forest.add_scores(own.values, own.absent, out, 1)
    return out.T


@pytest.mark.parametrize("kind", cases.KINDS)
def test_the_forest_scores_rows_as_they_were_scored_in_training(kind):
    rng = np.random.default_rng(8)
    agreed = cases.terms(kind, "random" if kind == "numbers" else "auto", mu=200.0)
    sums = cases.begun(cases.rows(kind, rng, as_sparse=kind == "few nonzero"), agreed)
    k, scale = agreed.n_scores, Scale.of(agreed)
    start = Iterate(rng.normal(0, 1, k), rng.normal(0, 1, (k, N_BINS)))
    sums.restart(*start.told)
    forest = additive_forest(GRID, start, np.ones(N_BINS), scale)
    base = scale.base(start)
    want = scale.span * sums.scores + (scale.low if k == 1 else 0)
    np.testing.assert_allclose(scores_of(forest, sums.own, base, k), want, atol=1e-4)
    values = rng.normal(0, 1, k * N_LEAVES).astype(np.float32)
    sums.follow(2, values)
    trees = drawn_forest(PublicTrees(GRID, 3), [DrawnRound(2, values, np.ones((k, N_LEAVES)))], scale)
    want = scale.span * sums.scores + (scale.low if k == 1 else 0)
    both = scores_of(forest, sums.own, base, k) + scores_of(trees, sums.own, 0.0, k)
    np.testing.assert_allclose(both, want, atol=2e-4)


def learnable(kind, n=4000):
    own = cases.rows(kind, np.random.default_rng(1), n, as_sparse=kind == "few nonzero")
    values = own.values if isinstance(own.values, np.ndarray) else own.values.toarray()
    signal = np.nan_to_num(values[:, 0]) + (values[:, 2] == 1) * 2 - np.isnan(values[:, 1])
    if kind == "three classes":
        labels = np.digitize(signal, [-0.5, 1])
    else:
        labels = np.clip(signal, -2, 3) if kind == "numbers" else signal > 0.5
    return OwnRows(own.values, own.absent, labels.astype(np.float32))


@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("method", cases.METHODS)
def test_every_method_learns_and_gives_an_ordinary_forest(kind, method):
    own, agreed = learnable(kind), cases.terms(kind, method, mu=3.0)
    found = fit(Plain(own, agreed, noise.gaussian), agreed, cases.N_CATEGORIES, 0)
    scores = scores_of(found.forest, own, found.base, agreed.n_scores)
    if kind == "numbers":
        assert np.mean((scores[0] - own.labels) ** 2) < 0.5 * own.labels.var()
    else:
        said = scores.argmax(axis=0) if kind == "three classes" else scores[0] > 0
        assert np.mean(said == own.labels) > 0.8
    forest = found.forest
    assert (forest.covers > 0).all()
    assert (forest.gains >= 0).all()
    assert np.isfinite(forest.values).all()
    assert forest.depth <= 6
    assert forest.n_trees == agreed.n_scores * ((method != "random") * 4 + _drawn(found.schedule))


def _drawn(plan):
    if plan.trees is None:
        return 0
    return plan.trees.rounds - (plan.additive is None)  # the first round tells the first score


def test_releases_are_those_of_the_schedule_in_its_order():
    own, agreed = learnable("classes"), cases.terms("classes", mu=3.0)
    releases = Plain(own, agreed, noise.gaussian)
    plan = fit(releases, agreed, cases.N_CATEGORIES, 0).schedule
    most = [one.what for one in plan.planned for _ in range(one.times)]
    cuts = releases.made.count("cut points")
    assert 1 <= cuts <= 3
    assert releases.made == [most[0], *["cut points"] * cuts, *most[4:]]


def test_the_same_words_give_the_same_forest_whoever_holds_the_rows():
    """Two parties' sums and the noise of both are one table's sums and that noise."""
    own, agreed = learnable("classes"), cases.terms("classes", mu=3.0)
    half = np.arange(own.n_rows) % 3 == 0
    parts = [OwnRows(own.values[w], own.absent, own.labels[w]) for w in (half, ~half)]
    drawn = []

    def noted(n, variance):
        drawn.append(noise.gaussian(n, variance))
        return drawn[-1]

    class Sum:
        def __getattr__(self, name):
            def call(*given):
                found = [getattr(one, name)(*given) for one in others]
                return None if found[0] is None else np.sum(found, axis=0)

            return call

    others = [OwnSums(part, agreed) for part in parts]
    together = Plain(own, agreed, noted)
    together.own = Sum()
    first = fit(together, agreed, cases.N_CATEGORIES, 0)
    again = iter(drawn)
    second = fit(Plain(own, agreed, lambda n, variance: next(again)), agreed, cases.N_CATEGORIES, 0)
    assert first.forest == second.forest
    assert first.base == second.base


def test_the_mean_of_the_last_rounds_is_less_noisy_than_the_last():
    own, agreed = learnable("classes"), cases.terms("classes", "additive", mu=0.3)
    exact = fit(Plain(own, agreed), agreed, cases.N_CATEGORIES, 0)
    kept = []

    class Watched(AdditiveRounds):
        def averaged(self):
            kept.append((super().averaged(), self.kept[-1]))
            return kept[-1][0]

    far = {"mean": [], "last": []}
    truth = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "AdditiveRounds", Watched)
        patch.setattr(fitting, "noised_grid", lambda *_: exact.grid)
        fit(Plain(own, agreed), agreed, cases.N_CATEGORIES, 0)
        truth = kept.pop()[0]
        for _ in range(8):
            fit(Plain(own, agreed, noise.gaussian), agreed, cases.N_CATEGORIES, 0)
            mean, last = kept.pop()
            far["mean"].append(np.abs(mean.values - truth.values).mean())
            far["last"].append(np.abs(last.values - truth.values).mean())
    assert np.mean(far["mean"]) < 0.95 * np.mean(far["last"])


@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("method", cases.METHODS)
def test_noise_that_drowns_everything_still_gives_finite_scores(kind, method):
    own, agreed = cases.rows(kind, np.random.default_rng(2), 5, as_sparse=True), cases.terms(kind, method, mu=0.001)
    found = fit(Plain(own, agreed, noise.gaussian), agreed, cases.N_CATEGORIES, 0)
    scores = scores_of(found.forest, own, found.base, agreed.n_scores)
    assert np.isfinite(scores).all()
    if kind != "numbers":
        assert np.abs(scores).max() < 60


def test_without_a_row_there_is_still_a_model():
    """How many rows there are must not be told by a refusal."""
    own = OwnRows(np.empty((0, 4), np.float32), float("nan"), np.empty(0, np.float32))
    agreed = cases.terms("classes")
    found = fit(Plain(own, agreed, noise.gaussian), agreed, cases.N_CATEGORIES, 0)
    assert found.forest.n_trees >= 4
    assert schedule(agreed, -5.0).n_rows == 1
    assert noised.__doc__
