"""A vertical model that is promised to tell little of a linked row: it is made of noised sums and of nothing else."""

from dataclasses import fields, replace

import numpy as np
import pytest

from federated import Federation, MemoryLog, Stopped, Stopping, params_of, same
from hedgerow import DP, GBDTClassifier
from hedgerow.agreement.options import Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.data import partition
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError, PolicyError, PrivacyError
from hedgerow.model import file as models
from hedgerow.model import part as parts
from hedgerow.model.train import Task, prepare
from hedgerow.privacy.noised_words import KeptWords, NoisedWords
from hedgerow.protocols.driver import run
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.vertical.drawn_first import AskedEverywhere, AskedRows
from hedgerow.protocols.vertical.private_cuts import declared
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.trees.cut_search import KEY_BITS, Prefixes
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised.drawn_rows import DrawnNoisedRows, clipped_rows
from hedgerow.trees.noised.drawn_rule import OwnedCuts, drawn_params, drawn_schedule
from hedgerow.trees.noised.greedy import root_words
from hedgerow.trees.noised.rule import CUT_BITS
from hedgerow.trees.noised.sums import OwnRows, OwnSums
from hedgerow.trees.params import TreeParams
from hedgerow.trees.splits import Nodes
from injected_noise import leave_out

PARAMS = params_of(n_estimators=4, max_depth=3, max_bin=6, learning_rate=0.3)
PRIVATE = DP(2, protects="model", classes=(0, 1))


def table(n=300, seed=3, classes=2, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32) * np.float32(scale)
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0] + X[:, 3] - X[:, 5])
    return Table.of(X, np.digitize(score, [0.0] if classes == 2 else [-0.7, 0.7]))


def federation(whole=None, dp=PRIVATE, goal=Goal(), params=PARAMS, **more):  # noqa: B008
    parties = partition.columns(table() if whole is None else whole, share=[[0, 1], [2, 3], [4, 5]])
    options = {"method": "vertical", "active": "party1", "levels": "J" * params.max_depth, "dp": dp, **more}
    return Federation(parties, params, goal, **options)


class Told:
    """What was released, in order; or, instead of what would be, what was told before."""

    def __init__(self, monkeypatch, told=None):
        self.words, real, left = [], NoisedWords.words, iter(told or ())

        def words(own, key, release, request, draw, **more):
            found = real(own, key, release, request, draw, **more)
            found = found if told is None else next(left)
            self.words.append(found)
            return found

        monkeypatch.setattr(NoisedWords, "words", words)


def content(fed):
    """Everything that is in the model's parts, but for ids, which are random."""
    model = fed.whole()
    own = [parts.decoded(part, name) for name, part in fed.kept.items()]
    fresh = ("model", "commitment")
    cuts = [repr([(f.name, getattr(p, f.name)) for f in fields(p) if f.name not in fresh]) for p in own]
    forest = {name: getattr(model.forest, name).tolist() for name in model.forest.__dataclass_fields__}
    return model.base_score, forest, cuts, [column.name for column in model.columns]


OTHERS = {"other rows": {"seed": 8}, "more rows": {"n": 351, "seed": 9}, "wider values": {"seed": 4, "scale": 1000.0}}


@pytest.mark.parametrize("others", OTHERS)
def test_the_model_follows_from_what_was_released_and_from_no_row(monkeypatch, others):
    """Other rows under which the same is released: the very same model, in all its parts."""
    told = Told(monkeypatch)
    one = content(federation())
    monkeypatch.undo()
    Told(monkeypatch, told.words)
    assert content(federation(table(**OTHERS[others]))) == one


def test_so_it_is_with_three_classes(monkeypatch):
    dp = DP(2, protects="model", classes=(0, 1, 2))
    told = Told(monkeypatch)
    one = content(federation(table(classes=3), dp=dp))
    monkeypatch.undo()
    Told(monkeypatch, told.words)
    assert content(federation(table(classes=3, seed=5), dp=dp)) == one


SABOTAGES = {
    "nodes without rows are leaves": (AskedEverywhere, "divide", AskedRows.divide),
    "gains are told": (DrawnNoisedRows, "node_sums", lambda self, nodes: self.rows.node_sums(nodes)),
    "leaves are exact": (DrawnNoisedRows, "leaf_sums", lambda self, leaves: self.rows.leaf_sums(leaves)),
}


@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_otherwise_it_depends_on_rows(monkeypatch, sabotage):
    """The sabotage: what is told beside the releases makes another model."""
    told = Told(monkeypatch)
    one = content(federation())
    monkeypatch.undo()
    if sabotage.startswith("nodes"):
        kept = DrawnNoisedRows.divide
        monkeypatch.setattr(DrawnNoisedRows, "divide", lambda self, cuts: (kept(self, cuts), sizes_of(self, cuts))[1])
    monkeypatch.setattr(*SABOTAGES[sabotage])
    Told(monkeypatch, told.words)
    few = table(n=2, seed=8)
    try:
        found = content(federation(few))
    except Exception as error:  # that the words do not fit is a difference, too
        found = repr(error)
    assert found != one


def sizes_of(rows, cuts):
    parts_ = rows.rows.own.parts if hasattr(rows.rows, "own") else rows.rows.rows.own.parts
    return np.stack([parts_[0].sizes(Nodes(cuts.nodes.tree, cuts.child + side)) for side in (0, 1)], axis=1)


def test_noise_reaches_the_model(monkeypatch):
    assert not same(federation().whole(), federation().whole())
    leave_out(monkeypatch)
    assert same(federation().whole(), federation().whole())


def test_a_row_reaches_no_farther_than_is_accounted_for():
    """By brute force: each row left out, whatever the scores are."""
    whole = table(n=80)
    ready = prepare(whole, PARAMS, Task(Loss("logistic"), (0, 1)))
    rows = clipped_rows(ready.rows)
    rows.own.scores[:] = np.random.default_rng(0).normal(0, 4, rows.own.scores.shape)
    rows.start_round(0)
    longest = np.sqrt((rows.pairs.astype(np.float64) ** 2).sum(axis=(0, 2))).max()
    planned = drawn_schedule(1.0, 4).leaves.sensitivity
    assert 0.95 * planned < longest <= planned


def test_a_row_moves_counts_for_cut_points_and_the_first_score_as_far_as_is_accounted_for():
    """By brute force: each row left out."""
    values = np.array(table(n=40).values)
    owner = OwnedCuts(0.3, 3, 6, 6)
    bits = CUT_BITS[0]
    asked = Prefixes(
        np.repeat(np.arange(6, dtype=np.int32), 1 << bits),
        np.tile(np.arange(1 << bits, dtype=np.uint32), 6),
        np.full(6 << bits, KEY_BITS - bits, np.uint8),
    )

    def counted(rows):
        own = OwnSums(OwnRows(rows, np.nan, np.zeros(len(rows), np.float32)), owner.terms)
        return own.counts(asked).astype(np.float64), own.rows().astype(np.float64)

    whole = counted(values)
    reach = np.zeros(2)
    for row in range(len(values)):
        other = counted(np.delete(values, row, axis=0))
        reach = np.maximum(reach, [np.linalg.norm(a - b) for a, b in zip(whole, other, strict=True)])
    planned = [owner.opening.cuts.sensitivity, owner.opening.rows.sensitivity]
    assert np.allclose(reach, planned)
    words = root_words(np.array([0, 1, 1], np.float32)) - root_words(np.array([0, 1], np.float32))
    assert np.isclose(np.linalg.norm(words), drawn_schedule(0.3, 4).root.sensitivity)


def test_all_parties_together_spend_the_budget_and_no_more():
    mu = 0.3
    owners = [OwnedCuts(mu, 3, n, n) for n in (1, 7, 40)]
    planned = [one for owner in owners for one in owner.opening.planned] + list(drawn_schedule(mu, 9).planned)
    spent = sum(one.times * one.sensitivity**2 / (one.variance - 4) for one in planned)
    assert 0.99 * mu**2 < spent <= mu**2


def test_the_model_promises_of_linked_rows_what_all_parties_released():
    model = federation().model()
    promise = model.promise
    assert (promise.unit, promise.neighbours) == ("linked row", "add or remove one")
    assert "was no party" in promise.adversary
    made = [(release.what, release.times) for release in promise.releases]
    assert sum(n for what, n in made if what == "row count") == 3
    assert sum(n for what, n in made if what == "cut points") <= 9
    assert 1.9 < promise.composed <= 2
    assert models.decoded(models.encoded(model), "it").promise == promise


@pytest.mark.parametrize("kept", [True, False])
def test_a_passive_party_finds_the_same_cut_points_after_a_restart_or_stops(monkeypatch, kept):
    log, words, fed = MemoryLog(), KeptWords(), federation()
    fed.logs["party2"] = log

    def begin():
        fed.restart("party2")
        object.__setattr__(fed.parties["party2"].owner, "noised", words if kept else None)

    begin()
    stop, states = Stopping(fed, lambda request: isinstance(request, m.EndRound)), []
    with pytest.raises(Stopped):
        fed.run(transport=stop, keep=states.append)
    released = [line["key"] for line in log.kept if line["event"] == "noised release"]
    assert len(released) == len(set(released)) >= 2
    begin()
    if not kept:
        with pytest.raises(DataError, match="not those with which the run began"):
            fed.run(states[-1])
        return
    assert fed.run(states[-1])[0].forest.n_trees == 4
    assert [line["key"] for line in log.kept if line["event"] == "noised release"] == released


def test_a_driver_that_is_stopped_finds_the_same_cut_points_and_goes_on(tmp_path):
    fed, log, states = federation(), MemoryLog(), []
    digest = fed.plan.digest.hex()
    first, again = (Active(fed.tables["party1"], noised=KeptWords(tmp_path, digest)) for _ in range(2))
    stop = Stopping(fed, lambda request: isinstance(request, m.EndRound) and request.round == 2)
    with pytest.raises(Stopped):
        run(fed.driver(own=first, log=log, keep=states.append, transport=stop))
    model, _ = run(fed.driver(own=again, log=log, keep=states.append), states[-1])
    assert model.forest.n_trees == 4
    keys = [line["key"] for line in log.kept if line["event"] == "noised release"]
    assert len(keys) == len(set(keys)) <= 1 + 3 + 1 + 4
    assert not list(tmp_path.iterdir())


def test_no_gradient_leaves_and_no_sums_are_opened():
    fed = federation()
    fed.model()
    assert not fed.of("AskSealedSums", "SealedSums", "AskSides")
    assert fed.of("AskDrawnSides")


REFUSED = {
    "all cuts are drawn": {"levels": "PPA"},
    "their cuts would be chosen without noise": {"local_trees": 1},
    "everybody knows who is drawn": {"party_share": 0.5},
    "the noise on leaves is for classes": {"goal": Goal(objective="squared"), "dp": DP(1, protects="model")},
    "they are drawn anyway": {"params": params_of(max_depth=3, colsample_bytree=0.5)},
    "needs the classes declared": {"dp": DP(1, protects="model"), "coordinator": "f" * 64},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_would_be_told_without_noise_is_refused(why):
    with pytest.raises(ParameterError, match=why):
        federation(**REFUSED[why])


def test_categories_are_declared_between_real_parties():
    kinds = (Column("job", "categorical", ("clerk", "smith")), Column("age"))
    own = replace(Table.of(np.zeros((2, 2), np.float32)), columns=kinds)
    real = federation(coordinator="f" * 64).plan
    with pytest.raises(DataError, match="declare them"):
        declared(real, own)
    told = federation(dp=DP(1, protects="model", categories={"job": ["clerk", "other", "smith"]})).plan
    assert declared(told, own).columns[0].categories == ("clerk", "other", "smith")


def test_bins_have_no_fewest_rows_and_none_are_counted_first():
    """A refusal by exact counts would tell of them."""
    log = MemoryLog()
    fed = federation(policy=replace(ALLOW_ALL, min_bin_rows=2), logs={"party2": log})
    with pytest.raises(PolicyError, match="leave min_bin_rows out"):
        fed.model()
    assert not [line for line in log.kept if line["event"] == "noised release"]


def test_a_policy_of_epsilon_for_rows_is_not_met_by_a_promise_about_labels():
    strict = replace(ALLOW_ALL, most_epsilon=5.0)
    federation(policy=strict).model()
    labels = federation(dp=DP(1, protects="labels"), levels="", policy=strict)
    with pytest.raises(PolicyError, match="promises no differential privacy of this party's columns"):
        labels.model()


def test_a_budget_over_all_runs_holds_for_cut_points_too():
    strict = replace(ALLOW_ALL, most_epsilon=1.0)
    with pytest.raises((PolicyError, PrivacyError), match="most_epsilon"):
        federation(policy=strict).model()


def test_the_plan_says_against_whom_and_against_whom_not():
    said = " ".join(leaks(federation().plan))
    assert "epsilon 2 at delta 1e-06 for one linked row (add or remove one), against whoever has the finished" in said
    assert "Not covered: what parties see of each other" in said


def test_an_estimator_grows_trees_of_drawn_cuts():
    parties = partition.columns(table(), share=[[0, 1], [2, 3], [4, 5]])
    dp = DP(2, protects="model")
    fit = GBDTClassifier(n_estimators=3, federation=Vertical(dp=dp)).fit(parties)
    assert fit.model_.params.max_depth == 4
    assert fit.model_.forest.gains.max() == 0
    assert drawn_params(TreeParams()).n_estimators == 100
