"""One batch of noised sums of passive columns: it is all that the active party is told of them."""

from dataclasses import fields, replace

import msgspec
import numpy as np
import pytest

import injected_noise
from federated import Federation, Lossy, MemoryLog, Stopped, Stopping, params_of, same
from hedgerow import DP, GBDTClassifier, GBDTRegressor
from hedgerow.agreement.options import NoPrivacy, Vertical
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_request, encode
from hedgerow.data import partition
from hedgerow.data.table import Column, Table
from hedgerow.errors import DataError, ParameterError, PolicyError, PrivacyError, ProtocolError
from hedgerow.model import file as models
from hedgerow.model import part as parts
from hedgerow.model.prepare import own_cuts
from hedgerow.model.train import Task, train
from hedgerow.privacy.accountant import mu_of_budget
from hedgerow.privacy.noised_words import KeptWords, NoisedWords
from hedgerow.privacy.unencrypted import cipher as unencrypted
from hedgerow.protocols.state import State
from hedgerow.protocols.vertical.batch import REPEATS
from hedgerow.protocols.vertical.batch_passive import BatchRows
from hedgerow.protocols.vertical.batch_request import BatchRequest
from hedgerow.protocols.vertical.cut_releases import CutReleases
from hedgerow.run.forecast.cost import Shape, cost
from hedgerow.run.forecast.disclosures import leaks, used
from hedgerow.trees import bins
from hedgerow.trees.losses import Loss
from hedgerow.trees.noised import clipping
from hedgerow.trees.noised.one_batch_rule import OneBatch, batch_params
from hedgerow.trees.params import TreeParams
from statistics_of_noise import has_deviation

PARAMS = params_of(n_estimators=3, max_depth=2)
WIDE = [[0], list(range(1, 8)), list(range(8, 15))]
PRIVATE = DP(8, protects="passive")
NOISY = DP(1, protects="passive")
"""So much noise that it can be what sums over all rows differ by."""


def table(n=300, columns=6, seed=3, classes=2, scale=1.0, others=0):
    """Other values of all columns but the first with another `others`; labels stay."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)).astype(np.float32) * np.float32(scale)
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0] + X[:, 3] - X[:, 5])
    labels = score if not classes else np.digitize(score, [0.0] if classes == 2 else [-0.7, 0.7])
    if others:
        X[:, 1:] = np.random.default_rng(others).integers(0, 4, (n, columns - 1))
    return Table.of(X, labels)


def federation(whole=None, dp=PRIVATE, params=PARAMS, share=([0], [1, 2], [3, 4, 5]), **more):
    parties = partition.columns(table() if whole is None else whole, share=[list(own) for own in share])
    options = {"method": "vertical", "active": "party1", "levels": "A" * params.max_depth, "dp": dp, "align": "given"}
    return Federation(parties, params, more.pop("goal", Goal()), **{"protection": "plain", **options, **more})


def opened_in(fed):
    """The model, and the sums that were opened, party by party (bins x scores x 2)."""
    states = []
    model, state = fed.run(keep=states.append)
    n = model.loss.n_trees
    return model, [one.words.reshape(-1, n, 2) for one in state.opened]


def codes(grid, values):
    """Bins by NumPy: numbers by cut points, what is missing behind them."""
    out = []
    for column in range(grid.n_columns):
        cuts = grid.cuts[grid.cut_starts[column] : grid.cut_starts[column + 1]]
        found = np.searchsorted(cuts, values[:, column], side="right")
        out.append(np.where(np.isnan(values[:, column]), len(cuts) + 1, found))
    return out


def summed(grid, values, pairs):
    """Exact sums of all bins (bins x scores x 2), by NumPy."""
    sums = []
    for column, code in enumerate(codes(grid, values)):
        every = range(int(grid.n_values[column]) + 1)
        sums += [pairs[:, code == bin_].sum(axis=1, dtype=np.int64) for bin_ in every]
    return np.array(sums)


class Watched:
    """What the sides of a run work with: gradients as they are sealed, and the parties' grids."""

    def __init__(self, monkeypatch):
        self.pairs, self.grids = [], []
        pairs, init = BatchRequest.pairs, BatchRows.__init__

        def noting(own, ready, rule):
            self.pairs.append(pairs(own, ready, rule))
            return self.pairs[-1]

        def born(own, run, batch, noise):
            init(own, run, batch, noise)
            self.grids.append(run.table.grid)

        monkeypatch.setattr(BatchRequest, "pairs", noting)
        monkeypatch.setattr(BatchRows, "__init__", born)

    def exact(self, fed):
        """Of every passive party."""
        passive = [fed.tables[name] for name in fed.plan.answering]
        return [summed(grid, own.values, self.pairs[0]) for grid, own in zip(self.grids, passive, strict=True)]


KINDS = {
    "two classes": {},
    "three classes": {"classes": 3},
    "numbers": {"classes": 0},
}


def of_kind(kind, **more):
    numbers = kind == "numbers"
    dp = DP(8, protects="passive", label_range=(-4, 4)) if numbers else PRIVATE
    goal = Goal(objective="squared") if numbers else Goal()
    return federation(table(**KINDS[kind]), dp=dp, goal=goal, **more)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_opened_is_what_numpy_sums_with_the_noise_that_was_drawn(monkeypatch, kind):
    noted, watched = injected_noise.note(monkeypatch), Watched(monkeypatch)
    fed = of_kind(kind)
    _, opened = opened_in(fed)
    noise = [drawn for _, drawn in noted.drawn[-len(opened) :]]
    for found, exact, drawn in zip(opened, watched.exact(fed), noise, strict=True):
        assert np.array_equal(found - exact, drawn.reshape(exact.shape))


@pytest.mark.parametrize(("kind", "protection"), [("two classes", "lattice"), ("three classes", "lattice")])
def test_encrypted_sums_are_those_that_are_not_encrypted(monkeypatch, kind, protection):
    """And so is the model, to the last bit, with the same noise."""
    noted = injected_noise.note(monkeypatch)
    plain = of_kind(kind)
    one = plain.whole()
    monkeypatch.undo()
    injected_noise.give(monkeypatch, [drawn for _, drawn in noted.drawn])
    sealed = of_kind(kind, protection=protection)
    assert same(one, sealed.whole())


def test_paillier_opens_the_same(monkeypatch):
    noted = injected_noise.note(monkeypatch)
    few = table(n=40)
    one = federation(few).whole()
    monkeypatch.undo()
    injected_noise.give(monkeypatch, [drawn for _, drawn in noted.drawn])
    assert same(one, federation(few, protection="paillier", key_bits=2048).whole())


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_trees_are_those_of_the_active_party_alone(kind):
    """Its own columns are the model's first, and nothing of the others is in these trees."""
    fed = of_kind(kind)
    model, own = fed.model(), fed.tables["party1"]
    loss = {"two classes": Loss("logistic"), "three classes": Loss("softmax", n_classes=3), "numbers": Loss("squared")}
    alone = train(own, fed.plan.params, Task(loss[kind], model.classes))
    n = alone.forest.n_trees
    assert model.forest.first(n) == alone.forest
    assert model.forest.n_trees == n + 5 * model.loss.n_trees


def test_the_parts_together_predict_the_sum_of_what_bins_add(monkeypatch):
    """By NumPy: the score of the active party's own trees, and of each passive column the value of the row's bin."""
    watched = Watched(monkeypatch)
    fed = federation()
    whole, values = fed.whole(), np.array(table().values)
    own = replace(whole, forest=whole.forest.first(PARAMS.n_estimators))
    scores, tree = scores_of(own), PARAMS.n_estimators
    for grid, first in zip(watched.grids, (1, 3), strict=True):
        for code in codes(grid, values[:, first : first + grid.n_columns]):
            scores = scores + leaves_of(whole.forest, tree, code)
            tree += 1
    assert np.allclose(scores_of(whole), scores, atol=1e-5)


def scores_of(model):
    return np.ravel(model.scores(Table.of(table().values, names=model.names))).astype(np.float64)


def leaves_of(forest, tree, code):
    """The value of each row's bin in a one-column tree: first what is missing, behind the numbers, is told apart."""
    start, end = forest.roots[tree : tree + 2]
    n = (int(end - start) + 1) // 2
    out, todo = np.zeros(n), [(int(start), 0, n)]
    while todo:
        node, first, last = todo.pop()
        if forest.children[node] < 0:
            out[first] = forest.values[node]
            continue
        child, middle = int(forest.children[node]), n - 1 if last - first == n else (first + last) // 2
        todo += [(child, first, middle), (child + 1, middle, last)]
    return out[code]


def test_noise_has_the_variance_that_is_accounted_for(monkeypatch):
    found, rule = deviations(monkeypatch)
    assert has_deviation(found, rule.sums.variance)


SABOTAGES = {
    "half the noise": lambda patch: injected_noise.weaken(patch, 0.5),
    "the same noise for every word": injected_noise.repeat,
    "noise on a copy": lambda patch: without_plus(patch),
}


@pytest.mark.parametrize("sabotage", SABOTAGES)
def test_less_noise_is_noticed(monkeypatch, sabotage):
    """The sabotage."""
    SABOTAGES[sabotage](monkeypatch)
    found, rule = deviations(monkeypatch)
    assert not has_deviation(found, rule.sums.variance)


def without_plus(monkeypatch):
    real = unencrypted.UnencryptedPublicKey.group_sums

    def forgetful(self, sealed, selection, nodes, plus=None, pads=None):
        return real(self, sealed, selection, nodes, None if plus is None else np.zeros_like(plus), pads)

    monkeypatch.setattr(unencrypted.UnencryptedPublicKey, "group_sums", forgetful)


def deviations(monkeypatch):
    """What was opened less the exact sums, of fourteen columns."""
    watched = Watched(monkeypatch)
    fed = federation(table(n=2500, columns=15), share=WIDE)
    _, opened = opened_in(fed)
    both = zip(opened, watched.exact(fed), strict=True)
    rule = OneBatch(mu_of(fed), 2, 7, 7)
    return np.concatenate([(found - exact).reshape(-1) for found, exact in both]), rule


def mu_of(fed):
    return mu_of_budget(fed.plan.method.dp.epsilon, fed.plan.method.dp.delta)


class Replaced:
    """Noise by which other rows are opened as the same sums: noised counts, and sums that were opened."""

    def __init__(self, monkeypatch, fed=None, told=()):
        self.told, self.count, left = list(told), 0, iter(told)
        answer, words = BatchRows.answer, NoisedWords.words
        now = []

        def answering(own, request):
            now[:] = [own]
            return answer(own, request)

        def given(own, key, release, asked, draw, **more):
            if not told:
                self.told.append(words(own, key, release, asked, draw, **more).copy())
                if key == "one batch of sums":
                    self.told[-1] += self.exact(now[0], fed)
                    return self.told[-1] - self.exact(now[0], fed)
                return self.told[-1]
            found = next(left)
            return found - self.exact(now[0], fed) if key == "one batch of sums" else found

        monkeypatch.setattr(BatchRows, "answer", answering)
        monkeypatch.setattr(NoisedWords, "words", given)
        self.pairs, pairs = [], BatchRequest.pairs

        def noting(own, ready, rule):
            self.pairs.append(pairs(own, ready, rule))
            return self.pairs[-1]

        monkeypatch.setattr(BatchRequest, "pairs", noting)

    def exact(self, rows, fed):
        own, n = rows.run.table.own_codes, bins_of(rows)
        sums = [self.pairs[0][:, code == bin_].sum(axis=1) for code, k in zip(own, n, strict=True) for bin_ in range(k)]
        return np.array(sums, np.int64).reshape(-1)


def bins_of(rows):
    grid = rows.run.table.grid
    return (grid.n_values + grid.has_missing).tolist()


def answers(fed):
    """All that passive parties said of their columns and rows; of sums what follows the name of the key."""
    columns = {one.sender: one for one in fed.of("OwnColumns")}
    n_bytes = {sender: 16 * int((one.message.n_values + 1).sum()) for sender, one in columns.items()}
    sums = [(one.sender, one.message.sealed_sums[-n_bytes[one.sender] :]) for one in fed.of("BatchSums")]
    return [(one.sender, one.frame) for one in columns.values()] + sums


def content(fed):
    own = [parts.decoded(part, name) for name, part in fed.kept.items()]
    return [
        repr([(f.name, getattr(p, f.name)) for f in fields(p) if f.name not in ("model", "commitment")]) for p in own
    ]


def test_nothing_that_is_said_depends_on_passive_values_but_what_is_released(monkeypatch):
    """Quite other values, under which the same is released: the very same frames, and the same model in all parts."""
    told = Replaced(monkeypatch)
    one = federation(dp=NOISY)
    first = one.model()
    monkeypatch.undo()
    Replaced(monkeypatch, told=told.told)
    other = federation(table(others=9), dp=NOISY)
    assert same(other.model(), first)
    assert answers(other) == answers(one)
    assert content(other) == content(one)


def exact_grid(self, of, shared, threads):
    exact = own_cuts(of, 16, 1, threads)[0]
    return replace(exact, has_missing=np.ones(of.n_columns, np.bool_))


def test_exact_cut_points_are_noticed(monkeypatch):
    """The sabotage: numbers of bins then depend on values."""
    one, other = federation(dp=NOISY), federation(table(others=9), dp=NOISY)
    monkeypatch.setattr(CutReleases, "grid", exact_grid)
    for fed in (one, other):
        asked(fed)
    told = [[one.frame for one in fed.of("OwnColumns")] for fed in (one, other)]
    assert told[0] != told[1]


def test_nothing_else_is_said_of_rows():
    fed = federation()
    fed.model()
    said = {one.kind for one in fed.heard if one.sender != "driver"}
    assert said == {"Consent", "Facts", "OwnColumns", "BatchSums", "Done"}
    assert len(fed.of("BatchSums")) == 2
    assert not fed.of("AskSides", "AskSealedSums", "BeginSealed", "EndRound")


def test_a_rows_other_values_reach_no_farther_than_is_accounted_for(monkeypatch):
    """By brute force: the passive values of each row replaced, with gradients as long as they can be."""
    terms = OneBatch(1.0, 1, 4, 4).terms()
    scores = np.array([[30.0, -30.0, 0.0, 2.0]], np.float32)
    pairs = clipping.clipped_pairs(scores, np.array([0, 1, 1, 0], np.float32), terms, 13640, 4096, 1)
    rule, reach = OneBatch(1.0, 1, 4, 4), 0.0
    grid = bins.Grid(np.tile(np.float32([0, 1]), 4), np.arange(5) * 2, np.ones(4, np.bool_), np.zeros(4, np.bool_))
    values = np.zeros((4, 4), np.float32)
    before = summed(grid, values, pairs)
    for row in range(4):
        for other in (-5.0, 5.0, np.nan):
            changed = values.copy()
            changed[row] = other
            reach = max(reach, float(np.linalg.norm((summed(grid, changed, pairs) - before).astype(np.float64))))
    assert 0.99 * rule.sums.sensitivity < reach <= rule.sums.sensitivity


def test_so_it_is_with_counts_for_cut_points():
    rule = OneBatch(1.0, 1, 4, 4)
    a, b = (np.repeat(rows, 4) for rows in ([16, 0], [0, 16]))
    assert np.isclose(np.linalg.norm(a - b), rule.cuts.sensitivity)


def test_all_owners_together_spend_the_budget_and_no_more():
    for owners, kinds in ((1, [(6, 6)]), (3, [(1, 1), (40, 7), (5, 0)])):
        planned = [one for n, numeric in kinds for one in OneBatch(0.3, owners, n, numeric).planned]
        spent = sum(one.times * one.sensitivity**2 / (one.variance - 4) for one in planned)
        assert 0.99 * 0.3**2 < spent <= 0.3**2


def test_the_model_promises_what_all_owners_released():
    model = federation().model()
    promise = model.promise
    assert (promise.unit, promise.neighbours) == ("row's passive columns", "replace one")
    assert promise.adversary.startswith("the active party, as long as")
    made = [(release.what, release.times) for release in promise.releases]
    assert made == [("cut points", 3), ("one batch of sums", 1)] * 2
    assert 7.99 < promise.composed <= 8
    assert models.decoded(models.encoded(model), "it").promise == promise


# Asked again, resumed, refused


def begun(fed, name, log, words):
    """A process of this party."""
    fed.logs[name] = log
    fed.restart(name)
    object.__setattr__(fed.parties[name].owner, "noised", words)


def asked(fed, state=None):
    """A request for a batch, which nobody has heard."""
    with pytest.raises(Stopped) as stop:
        fed.run(state, transport=Stopping(fed, lambda request: isinstance(request, m.AskBatch)))
    return stop.value.args[0]


def test_another_request_is_another_release_and_refused():
    fed = federation()
    request = asked(fed)
    party = fed.parties["party2"]
    assert party.answer(encode(request)) == party.answer(encode(request))
    changed = msgspec.structs.replace(request, first=request.first + 1)
    with pytest.raises(PrivacyError, match="once more, all releases would cost"):
        party.answer(encode(changed))


def test_the_same_is_given_again_only_as_often_as_it_is_hidden_for():
    fed = federation()
    request = asked(fed)
    for _ in range(REPEATS):
        fed.parties["party2"].answer(encode(request))
    with pytest.raises(PrivacyError, match="more sums than the run was to open"):
        fed.parties["party2"].answer(encode(request))


class Dies(Lossy):
    """The process of a party ends when it has answered to the batch, and before that is heard; another begins."""

    def __init__(self, fed, anew):
        super().__init__(fed, lambda _, __: False)
        self.anew, self.died = anew, False

    def carry(self, frames, deadline, most_bytes):
        answers, missing = super().carry(frames, deadline, most_bytes)
        if not self.died and isinstance(decode_request(frames["party2"]), m.AskBatch):
            self.died, self.gone = True, {"party2"}
            self.anew()
            return {name: answer for name, answer in answers.items() if name != "party2"}, frozenset(["party2"])
        return answers, missing


@pytest.mark.parametrize("kept", [True, False])
def test_a_party_that_begins_anew_gives_the_same_noise_or_refuses(kept):
    fed, log, words = federation(), MemoryLog(), KeptWords()
    begun(fed, "party2", log, words)
    transport = Dies(fed, lambda: begun(fed, "party2", log, words if kept else KeptWords()))
    if not kept:
        with pytest.raises((DataError, PrivacyError, ProtocolError), match=r"would cost|not those with which"):
            fed.run(transport=transport)
        return
    fed.run(transport=transport)
    assert transport.died
    released = [line["key"] for line in log.kept if line["event"] == "noised release"]
    assert released[-1] == "one batch of sums"
    assert len(set(released)) == len(released) <= 4


@pytest.mark.parametrize("corrected", [False, True])
def test_one_noise_is_for_the_very_same_rows_only(corrected):
    """A table that is corrected between two processes would else be seen by its exact difference."""
    fed, log, words = federation(), MemoryLog(), KeptWords()
    begun(fed, "party2", log, words)
    request = asked(fed)
    party = fed.parties["party2"]
    party.answer(encode(request))
    values = np.array(fed.tables["party2"].values)
    values[7] = -values[7] if corrected else values[7]
    fed.tables["party2"] = replace(fed.tables["party2"], values=values)
    begun(fed, "party2", log, words)
    asked(fed, State(attempt=1))
    if corrected:
        with pytest.raises(PrivacyError, match="once more, all releases would cost"):
            fed.parties["party2"].answer(encode(request))
    else:
        fed.parties["party2"].answer(encode(request))


def test_a_driver_that_has_the_sums_goes_on_without_asking_again():
    fed, states = federation(), []
    stop = Stopping(fed, lambda request: isinstance(request, m.KeepPart))
    with pytest.raises(Stopped):
        fed.run(transport=stop, keep=states.append)
    assert len(states[-1].opened) == 2
    model, _ = fed.run(states[-1])
    assert len(fed.of("AskBatch")) == 2
    assert model.forest.n_trees == PARAMS.n_estimators + 5


def test_one_that_lost_them_cannot_have_others():
    """Its key is gone, so that it would be another request."""
    fed, states = federation(), []

    def stop(state):
        states.append(state)
        if state.opened:
            raise Stopped(state)

    with pytest.raises(Stopped):
        fed.run(keep=stop)
    with pytest.raises((PrivacyError, ProtocolError), match="once more, all releases would cost"):
        fed.run(replace(states[-1], opened=()))


def test_noise_is_gone_once_the_run_is_over(tmp_path):
    fed = federation()
    begun(fed, "party2", MemoryLog(), KeptWords(tmp_path, fed.plan.digest.hex()))
    fed.model()
    assert not list(tmp_path.iterdir())


def test_a_release_that_was_not_planned_is_refused(monkeypatch):
    monkeypatch.setattr(OneBatch, "planned", property(lambda self: (self.cuts,)))
    with pytest.raises((PrivacyError, ProtocolError), match="not among those that the run has planned"):
        federation().model()


def test_an_owners_policy_and_its_budget_over_all_runs_hold():
    strict = replace(ALLOW_ALL, most_epsilon=9.0)
    log = MemoryLog()
    runs = [federation(policy=strict, run=name) for name in ("one", "two", "three")]

    def begin(fed):
        object.__setattr__(fed.parties["party2"].owner, "ledger", log)

    for fed in runs[:2]:
        begin(fed)
        fed.model()
    begin(runs[2])
    with pytest.raises((PolicyError, PrivacyError, ProtocolError), match="most_epsilon"):
        runs[2].model()
    with pytest.raises((PolicyError, ProtocolError), match="most_epsilon"):
        federation(policy=replace(ALLOW_ALL, most_epsilon=5.0)).model()


def test_bins_have_no_fewest_rows():
    with pytest.raises((PolicyError, ProtocolError), match="leave min_bin_rows out"):
        federation(policy=replace(ALLOW_ALL, min_bin_rows=5)).model()


REFUSED = {
    "would tell sides of single rows": {"levels": "AJ"},
    "all are asked, once": {"party_share": 0.5},
    "all trees that are grown are of own columns": {"local_trees": 1},
    "trees that are grown again": {"on_loss": "continue"},
    "they would be of own columns alone": {"goal": Goal(early_stopping_rounds=3)},
    "declare it, like label_range": {"goal": Goal(objective="squared")},
    "its gradients have no bound": {
        "goal": Goal(objective="huber"),
        "dp": DP(1, protects="passive", label_range=(0, 1)),
    },
    "a row of more weight": {"goal": Goal(scale_pos_weight=2.0)},
    "use boosted trees": {"params": params_of(max_depth=2, average=True)},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_would_be_told_without_noise_is_refused(why):
    with pytest.raises(ParameterError, match=why):
        federation(**REFUSED[why])


def test_weights_are_refused():
    parties = federation().tables
    own = parties["party1"]
    weighted = Table.of(own.values, own.labels, weights=np.ones(own.n_rows))
    with pytest.raises(DataError, match="rows with weights"):
        Federation({**parties, "party1": weighted}, PARAMS, method="vertical", active="party1", levels="AA",
                   dp=PRIVATE, align="given", protection="plain").model()  # fmt: skip


def test_the_plan_says_what_is_covered_and_what_is_not():
    plan = federation(protection="lattice").plan
    said = " ".join(leaks(plan))
    assert "for one row's passive columns (replace one), against the active party" in said
    assert "Not covered: an active party that seals longer gradients than agreed" in said
    assert "which rows share a node" not in said
    assert {m.AskBatch, m.BatchSums} < set(used(plan))
    lines = {line.message for line in cost(plan, Shape.wide(3, 17, 300)).lines}
    assert {"AskBatch", "BatchSums", "KeepPart"} < lines


def test_an_estimator_learns_from_the_others_columns_and_predicts():
    whole = table(n=1500)
    kinds = (*whole.columns[:5], Column("c", "categorical", ("a", "b", "c")))
    values = np.array(whole.values)
    values[:, 5] = np.digitize(np.nan_to_num(values[:, 5]), [-0.5, 0.5])
    mixed = replace(whole, values=values, columns=kinds)
    parties = partition.columns(mixed, share=[[0, 1], [2, 3], [4, 5]])
    federated = Vertical(dp=DP(5, protects="passive"), privacy=NoPrivacy(i_accept_disclosure=True))
    fitted = GBDTClassifier(federation=federated, n_estimators=20).fit(parties)
    own = GBDTClassifier(n_estimators=20, max_depth=3).fit(parties["party1"])
    labels = np.asarray(whole.labels)
    right = (fitted.predict(parties) == labels).mean()
    assert right > (own.predict(parties["party1"]) == labels).mean() + 0.05
    assert fitted.model_.params.max_depth == 3
    assert batch_params(TreeParams(max_depth=6, learning_rate=0.5)).learning_rate == 0.5


def test_numbers_are_learnt_in_their_declared_range():
    whole = table(n=1500, classes=0)
    parties = partition.columns(whole, share=[[0, 1], [2, 3], [4, 5]])
    federated = Vertical(dp=DP(5, protects="passive", label_range=(-5, 5)), privacy=NoPrivacy(i_accept_disclosure=True))
    fitted = GBDTRegressor(federation=federated).fit(parties)
    labels = np.asarray(whole.labels)
    alone = GBDTRegressor(max_depth=3, learning_rate=0.1).fit(parties["party1"]).predict(parties["party1"])
    assert ((fitted.predict(parties) - labels) ** 2).mean() < 0.9 * ((alone - labels) ** 2).mean()
