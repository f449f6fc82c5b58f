"""A vertical run that protects labels without noise: other labels, and passive parties receive the very same bytes."""

import numpy as np
import pytest

from federated import Federation, Stopped, Stopping, params_of, same
from hedgerow import DP
from hedgerow.agreement.plan import Goal
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import DataError, ParameterError
from hedgerow.privacy.promise import headline, sentences
from hedgerow.run.forecast.disclosures import leaks
from hedgerow.trees.local import LocalRows

N = 240
PARAMS = params_of(n_estimators=4, max_depth=4)
NOTHING = DP(0, protects="labels", classes=(0, 1))
RANDOM = (m.Consent, m.Introduce)
"""They carry fresh keys and hashes."""


def tables(labels="by columns", n=N):
    """Three parties; labels follow from the columns, or from nothing, or are all alike but for one row."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    y = {
        "by columns": (X[:, 0] + X[:, 3] > 0).astype(int),
        "opposite": (X[:, 0] + X[:, 3] <= 0).astype(int),
        "at random": rng.integers(0, 2, n),
        "rare": (np.arange(n) == 7).astype(int),
        "one class": np.zeros(n, int),
        "numbers": X[:, 0] - 3 * X[:, 3],
    }[labels]
    return partition.columns(Table.of(X, y), share=[[0, 1], [2, 3], [4, 5]])


def federation(labels="by columns", dp=NOTHING, goal=Goal(), levels="PPAA", **more):  # noqa: B008
    options = {"method": "vertical", "active": "party1", "levels": levels, "dp": dp, **more}
    return Federation(tables(labels), PARAMS, goal, **options)


def received(fed):
    """Every byte that passive parties were given, but for keys and hashes that are new in every run."""
    told = [one for one in fed.heard if one.receiver in fed.plan.answering and not isinstance(one.message, RANDOM)]
    return [(one.receiver, one.kind, _without_new(one.message)) for one in told]


def _without_new(message):
    """The id and the commitment of a model are of random numbers, and as long in every run."""
    if isinstance(message, m.KeepPart):
        return len(message.model), len(message.commitment)
    return encode(message)


@pytest.mark.parametrize("labels", ["opposite", "at random", "rare", "one class"])
def test_passive_parties_receive_the_same_bytes_whatever_the_labels_are(labels):
    one, other = federation(), federation(labels)
    models = one.model(), other.model()
    assert received(one) == received(other)
    assert not same(*models)
    assert {"AskDrawnSides", "EndRound", "KeepPart"} <= {kind for _, kind, _ in received(one)}


def test_so_it_is_with_numbers():
    dp, goal = DP(0, protects="labels"), Goal(objective="squared")
    one, other = (federation(labels, dp, goal) for labels in ("numbers", "by columns"))
    one.model(), other.model()
    assert received(one) == received(other)


@pytest.mark.parametrize("sabotage", ["levels", "cuts"])
def test_otherwise_they_depend_on_labels(sabotage):
    """The sabotage: cuts that labels choose above those of passive parties, or of their columns."""
    runs = []
    for labels in ("by columns", "opposite", "at random"):
        if sabotage == "levels":
            fed = Federation(tables(labels), PARAMS, method="hybrid", active="party1", levels="APPA", align="given",
                             passive_cuts="random", shared=False, protection="plain")  # fmt: skip
        else:
            fed = Federation(tables(labels), PARAMS, method="vertical", active="party1", protection="lattice")
        fed.model()
        runs.append([one for one in received(fed) if one[1] in ("AskDrawnSides", "AskSides")])
    assert any(run != runs[0] for run in runs)


def test_callbacks_cannot_end_training_early():
    fed = federation()
    seen = []
    fed.model(callbacks=[lambda round_: seen.append(round_.number) or True])
    assert seen == [1, 2, 3, 4]


def test_without_a_promise_they_can():
    """The sabotage."""
    fed = federation(dp=None)
    fed.model(callbacks=[lambda _: True])
    assert len(fed.of("EndRound")) < 2 * PARAMS.n_estimators


def test_no_gradient_is_computed_before_the_last_answer_about_rows(monkeypatch):
    fed, heard, start = federation(), [], LocalRows.start_round

    def noting(self, round_):
        heard.append(len(fed.heard))
        start(self, round_)

    monkeypatch.setattr(LocalRows, "start_round", noting)
    fed.model()
    assert len(heard) == PARAMS.n_estimators
    assert {one.kind for one in fed.heard[heard[0] :]} == {"KeepPart", "Done"}


def test_a_driver_that_is_stopped_grows_the_same_trees_whenever_that_is():
    fed, states = federation(), []
    stop = Stopping(fed, lambda request: isinstance(request, m.AskDrawnSides) and request.round == 2)
    with pytest.raises(Stopped):
        fed.run(keep=states.append, transport=stop)
    model, _ = fed.run(states[-1], keep=states.append)
    assert same(model, federation().model())
    asked = len(fed.of("AskDrawnSides"))
    later = next(state for state in states if len(state.parts) == 2)
    assert same(fed.run(later)[0], model)
    assert len(fed.of("AskDrawnSides")) == asked


def test_the_model_promises_epsilon_0_and_says_against_whom():
    model = federation().model()
    assert model.promise.nothing_released
    assert headline(model.promise) == (
        "epsilon 0 for one label, replace one, against all passive parties together, for all that passive parties are "
        "told while the model is trained; none of it depends on that"
    )
    assert len(list(sentences(model.promise))) == 1


def test_the_plan_says_what_is_covered_and_what_is_not():
    said = " ".join(leaks(federation().plan))
    assert "epsilon 0 for one label (replace one), against all passive parties together" in said
    assert "Not covered: when messages come" in said
    assert "Passive parties learn nothing that depends on labels" in said


REFUSED = {
    "below a cut that labels chose": {"levels": "APPA"},
    "when training ends must not depend on labels": {"goal": Goal(early_stopping_rounds=3)},
    "trees that are grown again": {"on_loss": "continue"},
    "what it hides is public here": {"levels": "", "hidden_rows": True},
    "only labels are protected": {"dp": DP(0, protects="labels", categories={"a": ["b"]})},
    "nothing is noised": {"dp": DP(0, protects="labels", label_range=(0, 1)), "goal": Goal(objective="squared")},
    "needs the classes declared": {"dp": DP(0, protects="labels"), "coordinator": "f" * 64},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_would_tell_of_labels_is_refused(why):
    with pytest.raises(ParameterError, match=why):
        federation(**REFUSED[why])


def test_an_epsilon_of_0_is_of_labels_only():
    for protects in ("rows", "model", "passive"):
        with pytest.raises(ParameterError, match="epsilon must be a number above 0"):
            DP(0, protects=protects)


def test_a_label_that_is_not_declared_ends_the_run_before_it_begins():
    with pytest.raises(DataError, match="label"):
        federation("numbers").model()
