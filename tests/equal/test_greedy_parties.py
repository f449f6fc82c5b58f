"""Greedy trees from noised sums of several parties are those of one table under the same noise, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from test_noised import NUMBERS, gappy, mixed, spread

from hedgerow import DP, partition
from hedgerow.agreement.plan import Goal
from hedgerow.errors import HedgerowError, PrivacyError
from hedgerow.model.noised_terms import terms_of
from hedgerow.model.noised_trees import PooledTrees
from hedgerow.model.prepare import n_categories
from hedgerow.privacy.ledger import Budget, Ledger
from hedgerow.protocols.columns import loss_of
from hedgerow.protocols.noised import greedy_driver
from hedgerow.trees.noised import growing
from hedgerow.trees.noised.fit_greedy import GreedyTask, fit_greedy
from hedgerow.trees.noised.sums import OwnRows, OwnSums
from hedgerow.trees.params import TreeParams
from noised import Drawn, noised, rows, same

SHORT = TreeParams(n_estimators=4, max_depth=3)

CASES = {
    "two classes": (rows(), DP(5, method="greedy"), Goal()),
    "three classes": (rows(classes=3), DP(8, method="greedy"), Goal()),
    "numbers": (spread(), DP(5, method="greedy", label_range=(0, 100)), NUMBERS),
    "categories": (mixed(), DP(20, method="greedy", categories={"job": ["a", "b", "c"]}), Goal()),
    "declared zeros": (gappy(), DP(20, method="greedy", max_nonzero=3), Goal()),
    "a sparse table": (gappy(), DP(20, method="greedy"), Goal()),
    "persons": (rows(), DP(20, method="greedy", rows_per_id=3), Goal()),
}


class Given(PooledTrees):
    """Releases of one table under the noise that all parties drew together."""

    def __init__(self, own, of_release):
        super().__init__(own, Ledger(Budget(1.0, 1e-6), ()))
        self.of_release = of_release

    def begin_trees(self, start, schedule):
        self.trees = schedule
        self.own.begin(start.grid, schedule.before, 0)

    def noised(self, planned, own_words):
        self.n_made += 1
        return own_words + self.of_release(self.n_made - 1)


def pooled(fed, model, drawn):
    whole = partition.pooled({name: table.aligned(model.columns) for name, table in fed.tables.items()})
    numbers = {label: i for i, label in enumerate(model.classes)}
    labels = np.array([numbers.get(label, label) for label in whole.labels.tolist()], np.float32)
    terms = terms_of(fed.plan.method.dp, model.columns, len(model.classes))
    own = OwnSums(OwnRows(whole.values, whole.absent, labels), terms)
    releases = Given(own, lambda number: drawn.of_release(number, len(fed.tables)))
    loss = loss_of(fed.plan, model.classes)
    return fit_greedy(releases, GreedyTask(terms, loss, fed.plan.params, n_categories(model.columns)))


@pytest.mark.parametrize("case", CASES)
def test_a_federation_grows_the_greedy_trees_of_one_table_under_the_same_noise(case, monkeypatch):
    table, dp, goal = CASES[case]
    drawn = Drawn(monkeypatch)
    fed = noised(partition.rows(table, n=4), dp=dp, goal=goal, params=SHORT)
    model, _ = fed.run()
    fitted = pooled(fed, model, drawn)
    assert model.base_score == np.float32(fitted.start.base)
    assert same(model.forest, fitted.forest)
    assert model.params == fitted.start.params
    assert model.promise.epsilon == dp.epsilon
    assert model.promise.composed <= dp.epsilon


def test_the_rule_sets_what_the_user_did_not(monkeypatch):
    Drawn(monkeypatch)
    model = noised(dp=DP(5, method="greedy"), params=TreeParams()).model()
    assert model.forest.n_trees == model.params.n_estimators < TreeParams().n_estimators


def test_noise_of_every_release_is_drawn_by_every_party_with_its_share(monkeypatch):
    drawn = Drawn(monkeypatch)
    fed = noised(dp=DP(5, method="greedy", colluders=2), params=SHORT)
    model, state = fed.run()
    assert len(drawn.all) == 4 * len(state.opened)
    shares = {variance for variance, _ in drawn.all}
    for release in model.promise.releases:  # what is accounted for is the noise of two honest parties
        assert any(2 * share == pytest.approx(release.scale**2, rel=1e-9) for share in shares)


def spoiled(monkeypatch, **changed):
    """A driver that asks for something else than agreed, in the so manyth request of trees."""
    real, asked = greedy_driver.AskNoisedLevel, []

    def request(number, opened, base, before, values, cuts, nodes):
        asked.append(number)
        said = {"number": number, "opened": opened, "base": base, "before": before, "values": values, "cuts": cuts}
        said["nodes"] = nodes
        if len(asked) == 3:
            said |= {name: change(said[name]) for name, change in changed.items()}
        return real(*said.values())

    monkeypatch.setattr(greedy_driver, "AskNoisedLevel", request)


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"number": lambda number: number - 1}, "not those which the plan has next"),
        ({"opened": lambda _: True}, "which this party has not given"),
        ({"nodes": lambda nodes: type(nodes)(nodes.tree, nodes.node * 0)}, "not at the lowest level, or twice"),
        ({"base": lambda _: np.ones(1, np.float32)}, "scores"),
        ({"values": lambda _: np.ones(1, np.float32)}, "values"),
    ],
)
def test_a_party_refuses_what_the_plan_does_not_have_next(changed, refusal, monkeypatch):
    Drawn(monkeypatch)
    fed = noised(dp=DP(20, method="greedy"), params=SHORT)
    spoiled(monkeypatch, **changed)
    with pytest.raises(HedgerowError, match=refusal):
        fed.run()


def test_a_model_of_fewer_trees_than_were_planned_is_not_kept(monkeypatch):
    Drawn(monkeypatch)
    fed, real = noised(dp=DP(20, method="greedy"), params=SHORT), growing.boost

    def shorter(rows, growth, params, *more, **named):
        return real(rows, growth, replace(params, n_estimators=params.n_estimators - 1), *more, **named)

    monkeypatch.setattr(growing, "boost", shorter)
    with pytest.raises(PrivacyError, match="other columns, classes or sums than were agreed"):
        fed.run()
