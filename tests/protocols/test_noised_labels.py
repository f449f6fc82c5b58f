"""A vertical run whose labels are hidden by noise: what passive parties see follows from it, and it is all counted."""

from dataclasses import replace

import numpy as np
import pytest

from federated import Federation, MemoryLog, Stopped, Stopping, params_of, same
from hedgerow import DP, GBDTClassifier
from hedgerow.agreement.options import Hybrid, Lattice, Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError, PolicyError, PrivacyError
from hedgerow.model import train as training
from hedgerow.model.model import Model
from hedgerow.model.train import Task, prepare
from hedgerow.privacy import noise
from hedgerow.privacy.ledger import Ledger
from hedgerow.privacy.lifetime import LifetimeLimit, budgets_in, runs_in, total_of
from hedgerow.privacy.noised_words import KeptWords
from hedgerow.protocols.driver import run
from hedgerow.protocols.session.journal import NoLog
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.vertical.label_noise import NoisedLabels
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.trees.boost import boost
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.label_rows import LabelNoisedRows
from injected_noise import give, leave_out, note

PARAMS = params_of(n_estimators=2, max_depth=3, max_bin=6, gradient_bits=8)
NOISED = DP(3, protects="labels")
WITH_LATTICE = {"protection": "lattice"}


NUMBERS = {"goal": Goal(objective="squared"), "dp": DP(3, protects="labels", label_range=(-1.5, 2))}


def tables(n=240, flip=None, classes=2):
    """Three parties; the first has labels that follow from columns of all (numbers if there are no classes)."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    score = X[:, 0] + X[:, 3] - X[:, 5]
    y = score if not classes else np.digitize(score, [0.0] if classes == 2 else [-0.5, 0.5])
    if flip is not None:
        y[flip] = (y[flip] + 1) % classes
    return partition.columns(Table.of(X, y), share=[[0, 1], [2, 3], [4, 5]])


def federation(parties=None, dp=NOISED, goal=Goal(), params=PARAMS, **more):  # noqa: B008
    options = {"method": "vertical", "active": "party1", "dp": dp, **WITH_LATTICE, **more}
    return Federation(parties or tables(), params, goal, **options)


def pooled(fed) -> Model:
    """The model of one table with all columns, by the same rows with noise around it."""
    whole = Table.of(np.hstack([table.values for table in fed.tables.values()]), fed.tables["party1"].labels)
    labels = NoisedLabels(fed.plan, fed.driver().own, NoLog())
    base = labels.mean(fed.driver().own)
    if fed.plan.goal.objective is not None:
        loss, classes = Loss("squared"), ()
    else:
        classes = tuple(np.unique(whole.labels).tolist())
        loss = Loss("logistic") if len(classes) == 2 else Loss("softmax", n_classes=len(classes))
    ready = prepare(whole, PARAMS, Task(loss, classes, base, label_range=labels.range))

    class Joint:
        grid = ready.fixed.grid

    rows, params = labels.around(ready.rows, ready, Joint)
    growth = replace(training.growth_of(ready.fixed.grid, params, ready.fixed.scales, 1), subtracts=False)
    return ready.model(boost(rows, growth, PARAMS, ready.fixed.scales, loss.n_trees), ready.columns)


@pytest.mark.parametrize("classes", [2, 3, 0])
def test_it_is_the_forest_of_one_table_under_the_same_noise(monkeypatch, classes):
    fed = federation(tables(classes=classes), **(NUMBERS if not classes else {}))
    noted = note(monkeypatch)
    found = fed.whole()
    give(monkeypatch, noted.totals(1))
    one = pooled(fed)
    assert found.base_score == one.base_score
    assert np.array_equal(found.forest.values, one.forest.values)
    assert np.array_equal(found.forest.columns, one.forest.columns)
    assert np.array_equal(found.forest.thresholds, one.forest.thresholds)


def test_so_it_is_under_paillier(monkeypatch):
    small = params_of(n_estimators=1, max_depth=2, max_bin=4, gradient_bits=8)
    noted = note(monkeypatch)
    found = federation(params=small, protection="paillier", key_bits=2048).whole()
    give(monkeypatch, noted.totals(1))
    assert same(found, federation(params=small).whole())


def test_the_noise_reaches_what_passive_parties_see(monkeypatch):
    """Cuts and nodes are others with other noise; without noise they are the same in every run."""
    seen = []
    for _ in range(2):
        fed = federation()
        fed.model()
        seen.append([one.frame for one in fed.of("AskSides")])
    assert seen[0] != seen[1]
    leave_out(monkeypatch)
    silent = []
    for _ in range(2):
        fed = federation()
        fed.model()
        silent.append([one.frame for one in fed.of("AskSides")])
    assert silent[0] == silent[1]


def test_all_that_passive_parties_read_follows_from_what_was_released(monkeypatch):
    """Other labels under which the same is released: the same in every field that is not sealed."""

    def seen(flip, told=None):
        released, real = [], LabelNoisedRows._noised

        def noised(self, planned, nodes, exact):
            found = real(self, planned, nodes, exact)
            found = found if told is None else told.pop(0)
            released.append(found)
            return found

        monkeypatch.setattr(LabelNoisedRows, "_noised", noised)
        fed = federation(tables(flip=flip), goal=Goal(base_score=0.5))
        fed.model()
        monkeypatch.setattr(LabelNoisedRows, "_noised", real)
        clear = [
            (one.receiver, one.message.moves, one.message.nodes) if one.kind == "AskSealedSums" else one.frame
            for one in fed.of("AskSealedSums", "AskSides", "EndRound", "BeginSealed", "AskColumns")
        ]
        return repr(clear), released

    one, released = seen(None)
    assert seen(np.arange(0, 240, 3), list(released))[0] == one
    assert seen(np.arange(0, 240, 3))[0] != one


def test_the_model_says_what_it_cost():
    model = federation().model()
    promise = model.promise
    assert (promise.epsilon, promise.unit, promise.neighbours) == (3, "label", "replace one")
    assert promise.adversary == "all passive parties together"
    assert {release.what for release in promise.releases} == {"first score", "histograms of a level", "sums of leaves"}
    assert 0 < promise.composed <= 3


def test_numbers_are_learnt_in_their_declared_range_and_labels_beyond_it_tell_no_more(monkeypatch):
    own = tables(classes=0)["party1"]
    assert np.abs(own.labels).max() > 3
    fed = federation(tables(classes=0), **NUMBERS)
    promise = fed.model().promise
    assert (promise.unit, promise.neighbours, promise.scope.count("classes")) == ("label", "replace one", 0)
    assert 0 < promise.composed <= 3
    leave_out(monkeypatch)
    cut = {**tables(classes=0), "party1": replace(own, labels=np.clip(own.labels, -1.5, 2))}
    assert same(federation(tables(classes=0), **NUMBERS).whole(), federation(cut, **NUMBERS).whole())


def test_classes_that_are_not_declared_are_said_to_be_taken_as_known():
    assert "where classes come from a table, they are taken as known to everybody" in federation().model().promise.scope
    told = federation(dp=DP(3, protects="labels", classes=(0, 1))).model().promise
    assert "taken as known" not in told.scope


def test_a_declared_first_score_is_not_released():
    model = federation(goal=Goal(base_score=0.3)).model()
    assert "first score" not in {release.what for release in model.promise.releases}


def test_each_release_is_in_the_log_before_anything_follows_from_it():
    fed, log = federation(), MemoryLog()
    order = []
    log.sync = lambda: order.append(("log", sum(line["event"] == "noised release" for line in log.kept)))
    driver = fed.driver(log=log)
    carry = fed.transport.carry
    fed.transport.carry = lambda frames, *more: order.append(("said", len(order))) or carry(frames, *more)
    run(driver)
    released = [n for what, n in order if what == "log"]
    assert released[-1] == 1 + 2 * 4
    first = next(i for i, (what, n) in enumerate(order) if what == "log" and n == 1)
    assert any(what == "said" for what, _ in order[first:])


def test_after_a_restart_the_same_trees_have_the_same_noise_and_nothing_is_paid_twice(tmp_path, monkeypatch):
    fed, log, drawn = federation(), MemoryLog(), note(monkeypatch)
    kept = KeptWords(tmp_path, fed.plan.digest.hex())
    own = Active(fed.tables["party1"], noised=kept)
    late = m.AskSides | m.EndRound  # a second tree may be without a cut of a passive column
    stop, states = Stopping(fed, lambda request: isinstance(request, late) and request.round == 1), []
    with pytest.raises(Stopped):
        run(fed.driver(own=own, log=log, keep=states.append, transport=stop))
    before = len(drawn.drawn)
    again = Active(fed.tables["party1"], noised=KeptWords(tmp_path, fed.plan.digest.hex()))
    model, _ = run(fed.driver(own=again, log=log), states[-1])
    assert len(drawn.drawn) == 1 + 2 * 4
    assert 1 + 4 < before <= len(drawn.drawn)
    assert model.promise.n_releases == 1 + 2 * 4
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("event", [0, 1, 4, 8])
@pytest.mark.parametrize("when", ["before it is counted", "after it is counted"])
def test_a_driver_that_is_killed_at_a_release_neither_forgets_it_nor_draws_it_twice(monkeypatch, event, when):
    fed, log, kept, states, calls = federation(), MemoryLog(), KeptWords(), [], []
    real = Ledger.release

    def release(self, *which, **more):
        calls.append(which)
        if len(calls) == event + 1 and when.startswith("before"):
            raise Stopped
        real(self, *which, **more)
        if len(calls) == event + 1:
            raise Stopped

    monkeypatch.setattr(Ledger, "release", release)
    own = Active(fed.tables["party1"], noised=kept)
    with pytest.raises(Stopped):
        run(fed.driver(own=own, log=log, keep=states.append))
    drawn = note(monkeypatch)
    model, _ = run(fed.driver(own=own, log=log, keep=states.append), states[-1])
    keys = [line["key"] for line in log.kept if line["event"] == "noised release"]
    assert len(keys) == len(set(keys)) == model.promise.n_releases == 1 + 2 * 4
    assert len(drawn.drawn) == len(keys) - event - 1


def test_words_that_are_lost_cannot_be_drawn_again_beyond_the_budget():
    fed, log, states = federation(), MemoryLog(), []
    stop = Stopping(fed, lambda request: isinstance(request, m.EndRound) and request.round == 1)
    with pytest.raises(Stopped):
        run(fed.driver(log=log, keep=states.append, transport=stop))
    with pytest.raises(PrivacyError, match="would cost"):
        run(fed.driver(log=log), states[-1])


def test_all_runs_of_the_active_party_are_counted_together_and_refused_beyond_its_limit():
    ledger, limit = MemoryLog(), LifetimeLimit(epsilon=4.0)
    own = Active(tables()["party1"], ledger=ledger, lifetime=limit)
    federation().model(own=own, log=MemoryLog())
    (found,) = runs_in(ledger).values()
    assert (found.unit, found.is_open) == ("label", False)
    assert 0 < total_of([found], 1e-6).epsilon <= 3
    with pytest.raises(PolicyError, match=r"over 2 runs, to an epsilon of .* refuses \(most_epsilon = 4\)"):
        federation(run="another").model(own=own, log=MemoryLog())
    other = replace(own, lifetime=replace(limit, budget="other customers"))
    federation(run="another").model(own=other, log=MemoryLog())
    assert set(budgets_in(ledger)) == {"", "other customers"}


def test_a_run_that_goes_on_is_counted_once():
    ledger, log, kept, states = MemoryLog(), MemoryLog(), KeptWords(), []
    own = Active(tables()["party1"], noised=kept, ledger=ledger, lifetime=LifetimeLimit(epsilon=3.5))
    fed = federation()
    stop = Stopping(fed, lambda request: isinstance(request, m.EndRound) and request.round == 0)
    with pytest.raises(Stopped):
        run(fed.driver(own=own, log=log, keep=states.append, transport=stop))
    assert [one.is_open for one in runs_in(ledger).values()] == [True]
    run(fed.driver(own=own, log=log, keep=states.append), states[-1])
    assert [one.is_open for one in runs_in(ledger).values()] == [False]


def test_rows_that_are_aligned_leave_the_ledger_and_the_kept_words_with_their_owner():
    """The sabotage's place: rows found by their ids are a table of their own, of the same owner."""
    whole = {name: replace(one, ids=np.arange(240)) for name, one in tables().items()}
    ledger, kept = MemoryLog(), KeptWords()
    own = Active(whole["party1"], noised=kept, ledger=ledger)
    federation(whole, align="private").model(own=own, log=MemoryLog())
    assert len(runs_in(ledger)) == 1


REFUSED = {
    "passive parties would read every label": {"protection": "plain"},
    "numbers of unknown range: declare it": {"goal": Goal(objective="squared")},
    "gradients have no bound; use the squared loss": {**NUMBERS, "goal": Goal(objective="poisson")},
    "a label of more weight": {"goal": Goal(scale_pos_weight=2.0)},
    "rows of nodes would be counted": {"params": params_of(min_child_rows=3)},
    "everybody can compute which rows are drawn, so it hides nothing": {"params": params_of(subsample=0.5)},
    "use boosted trees": {"params": params_of(average=True, subsample=0.5)},
    "when training ends": {"goal": Goal(early_stopping_rounds=2)},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_the_noise_is_not_for_is_refused(why):
    with pytest.raises(ParameterError, match=why):
        federation(**REFUSED[why])


def test_weights_are_refused():
    parties = tables()
    own = parties["party1"]
    weighted = Table.of(own.values, own.labels, weights=np.arange(1.0, own.n_rows + 1))
    with pytest.raises(DataError, match="Labels of rows with weights need more noise"):
        federation({**parties, "party1": weighted}).model()


def test_nothing_is_promised_of_rows_or_in_hybrid_runs_or_by_other_trees():
    with pytest.raises(ParameterError, match="no epsilon can be promised of whole rows"):
        Vertical(dp=DP(1))
    with pytest.raises(ParameterError, match='grown by "additive"; use that or "auto"'):
        Vertical(dp=DP(1, protects="passive", method="greedy"))
    with pytest.raises(ParameterError, match="may stand in many rows of the active one"):
        Hybrid(dp=NOISED)
    with pytest.raises(ParameterError, match='"greedy"; use that or "auto"'):
        Vertical(dp=DP(1, protects="labels", method="laplace"))


def test_the_plan_says_whose_noise_it_is_and_what_is_not_covered():
    said = " ".join(leaks(federation().plan))
    assert "epsilon 3 at delta 1e-06 for one label (replace one), against all passive parties together" in said
    assert "The active party adds noise to gradients" in said
    assert "Not covered" in said


def test_an_estimator_grows_few_small_trees_unless_it_is_told_how_many():
    parties = tables()
    fit = GBDTClassifier(federation=Vertical(Lattice(), dp=DP(3, protects="labels"))).fit(parties)
    assert (fit.model_.params.n_estimators, fit.model_.params.max_bin) == (10, 8)
    assert fit.model_.promise.epsilon == 3


def test_noise_is_drawn_by_the_exact_sampler(monkeypatch):
    asked = []
    real = noise.gaussian
    monkeypatch.setattr(noise, "gaussian", lambda n, variance: asked.append(variance) or real(n, variance))
    federation().model()
    assert len(set(asked)) == 3
