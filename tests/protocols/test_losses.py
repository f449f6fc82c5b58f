"""Parties that are lost on the way: the run waits for them, or goes on without them where all have agreed to it."""

import numpy as np
import pytest

from federated import Federation, Lossy, params_of, same, two_class
from hedgerow import _native
from hedgerow.agreement.plan import Goal
from hedgerow.corridor.messages import AskCounts, AskHistograms, AskLeafSums, FinishRound
from hedgerow.corridor.wire import decode_request
from hedgerow.data import partition
from hedgerow.errors import PartyLost
from hedgerow.storage.audit import AuditLog

PARAMS = params_of(n_estimators=4, subsample=0.9)

STAGES = {
    "root": lambda r: isinstance(r, AskHistograms) and (r.round, r.level) == (1, 0),
    "second level": lambda r: isinstance(r, AskHistograms) and (r.round, r.level) == (1, 1),
    "last level": lambda r: isinstance(r, AskHistograms) and (r.round, r.level) == (1, 2),
    "leaf sums": lambda r: isinstance(r, AskLeafSums) and r.round == 1,
    "finish": lambda r: isinstance(r, FinishRound) and r.round == 1,
    "last finish": lambda r: isinstance(r, FinishRound) and r.round == 3,
}


def once(stage, *names):
    """These parties are lost at the first request of a stage."""
    lost: set[str] = set()

    def lose(name, request):
        gone = name in names and name not in lost and stage(request)
        lost.update({name} if gone else ())
        return gone

    return lose


def parties_of_five(goal=Goal(), logs=None, **more):  # noqa: B008
    training, validation = partition.hold_out(two_class(5, n=400), 0.25)
    return Federation(training, PARAMS, goal, validation if goal.follow else None, logs=logs, **more)


def lossy(fed, *lose, returning=False):
    transport = Lossy(fed, lambda name, request: any(one(name, request) for one in lose))
    transport.returning = returning
    return transport


def sets_by_round(fed):
    """The sets over which sums of gradients were opened, by round."""
    opened = [m.message for m in fed.of("AskHistograms", "AskLeafSums")]
    answered = {}
    for request in opened:
        answered.setdefault(request.round, []).append((request.level, request.parties))
    return answered


@pytest.mark.parametrize("protection", ["masked", "plain"])
@pytest.mark.parametrize("lost", [("party2",), ("party1", "party5")])
@pytest.mark.parametrize("stage", STAGES)
def test_a_run_goes_on_without_lost_parties(stage, lost, protection):
    fed = parties_of_five(Goal(follow=True), on_loss="continue", protection=protection)
    model, state = fed.run(transport=lossy(fed, once(STAGES[stage], *lost)))
    assert model.n_rounds == 4
    assert len(model.history) == 4
    assert np.isfinite(model.forest.values).all()
    assert state.losses == ((3 if stage == "last finish" else 1, lost),)
    assert state.present == tuple(name for name in fed.plan.names if name not in lost)
    left = tuple(i for i, name in enumerate(fed.plan.names) if name not in lost)
    for round_, asked in sets_by_round(fed).items():
        whole = round_ < 1 or stage == "last finish"
        again = stage == "root" and round_ == 1  # nothing of it was opened before
        expected = {(0, 1, 2, 3, 4)} if whole or round_ == 1 else {left}
        expected |= {left} if again else set()
        assert {parties for _, parties in asked} == expected
    later = [m.receiver for m in fed.heard if getattr(m.message, "round", -1) > 1]
    assert stage == "last finish" or not set(later) & set(lost)


def test_two_parties_may_be_lost_one_after_the_other():
    fed = parties_of_five(on_loss="continue")
    first, second = once(STAGES["second level"], "party1"), once(STAGES["last finish"], "party2")
    model, state = fed.run(transport=lossy(fed, first, second))
    assert model.n_rounds == 4
    assert state.losses == ((1, ("party1",)), (3, ("party2",)))


def test_a_closed_tree_has_the_values_of_the_sums_that_were_opened():
    fed, whole = parties_of_five(on_loss="continue"), parties_of_five()
    model = fed.model(transport=lossy(fed, once(STAGES["second level"], "party2")))
    undisturbed = whole.model()
    tree, grown = model.forest.part(1, 2), undisturbed.forest.part(1, 2)
    assert model.forest.first(1) == undisturbed.forest.first(1)
    assert tree.columns.tolist() == [grown.columns[0], -1, -1]
    assert tree.thresholds[0] == grown.thresholds[0]
    assert (tree.values[1:] != 0).all()


def test_a_tree_that_could_not_be_cut_at_all_is_grown_by_those_that_remain():
    fed = parties_of_five(on_loss="continue")
    fed.run(transport=lossy(fed, once(STAGES["root"], "party2")))
    asked = [m.message.parties for m in fed.of("AskHistograms") if (m.message.round, m.message.level) == (1, 0)]
    assert set(asked) == {(0, 1, 2, 3, 4), (0, 2, 3, 4)}


@pytest.mark.parametrize("stage", STAGES)
def test_fewer_than_three_masked_parties_do_not_go_on(stage):
    fed = parties_of_five(on_loss="continue")
    lost = once(STAGES[stage], "party1", "party3", "party4")
    with pytest.raises(PartyLost, match=r"did not come back within .* trees are kept, resume"):
        fed.run(transport=lossy(fed, lost))


def test_the_sentence_says_who_is_lost_and_how_many_must_remain():
    fed, told = parties_of_five(on_loss="continue"), []
    lost = once(STAGES["root"], "party1", "party3", "party4")
    with pytest.raises(PartyLost, match="resume the run"):
        fed.run(transport=lossy(fed, lost), tell=told.append)
    assert told == [
        "'party1', 'party3', 'party4' is lost and only 2 parties remain; at least 3 must. Resume the run when it is "
        "back. Waiting for 'party1', 'party3', 'party4'."
    ]


@pytest.mark.parametrize("on_loss", ["wait", "continue"])
def test_a_party_lost_before_the_first_tree_stops_the_run(on_loss):
    fed = parties_of_five(on_loss=on_loss)
    lost = once(lambda r: isinstance(r, AskCounts) and r.step == 2, "party3")
    with pytest.raises(PartyLost, match=r"'party3' did not come back within 0.1 seconds; 0 trees are kept"):
        fed.run(transport=lossy(fed, lost))


SETUP = {"counts": lambda r: isinstance(r, AskCounts) and r.step == 2}


@pytest.mark.parametrize("logged", [False, True])
@pytest.mark.parametrize("stage", STAGES | SETUP)
def test_a_party_that_comes_back_leaves_no_trace_in_the_forest(stage, logged):
    goal = Goal(follow=True, eval_metric="auc")
    expected = parties_of_five(goal).model()
    logs = {f"party{i}": AuditLog(None, "a test", f"party{i}") for i in range(1, 6)} if logged else None
    fed = parties_of_five(goal, logs)
    lost = once((STAGES | SETUP)[stage], "party2", "party4")
    model, state = fed.run(transport=lossy(fed, lost, returning=True))
    assert state.attempt == 2
    assert same(model, expected)


@pytest.mark.parametrize("logged", [False, True])
@pytest.mark.parametrize("stage", STAGES | SETUP)
def test_a_new_process_of_a_lost_party_leaves_no_trace_either(stage, logged):
    expected = parties_of_five().model()
    logs = {f"party{i}": AuditLog(None, "a test", f"party{i}") for i in range(1, 6)} if logged else None
    fed = parties_of_five(logs=logs)

    class Restarting(Lossy):
        def wait(self, parties, deadline):
            for name in parties & self.gone:
                fed.restart(name)
            return super().wait(parties, deadline)

    transport = Restarting(fed, once((STAGES | SETUP)[stage], "party2"))
    assert same(fed.model(transport=transport), expected)


@pytest.mark.parametrize("logged", [False, True])
def test_losses_at_one_step_after_another_leave_no_trace(logged):
    """Every request of every kind is lost once; after each, the round begins again."""
    expected = parties_of_five().model()
    logs = {f"party{i}": AuditLog(None, "a test", f"party{i}") for i in range(1, 6)} if logged else None
    fed, seen = parties_of_five(logs=logs), set()

    def lose(name, request):
        if name != "party4" or not hasattr(request, "level"):
            return False
        step = (type(request), request.round, request.level)
        first = step not in seen
        seen.add(step)
        return first

    model, state = fed.run(transport=lossy(fed, lose, returning=True))
    assert state.attempt > 10
    assert same(model, expected)


def test_a_party_that_answered_but_was_not_heard_comes_back_too():
    """The answer, not the request, is lost: the party has done what the driver does not know of."""
    for kind in (AskHistograms, AskLeafSums, FinishRound):
        fed = parties_of_five()
        stage = once(lambda r, kind=kind: isinstance(r, kind) and r.round == 1, "party2")
        assert same(heard_but_lost(fed, stage), parties_of_five().model())


def heard_but_lost(fed, stage):
    transport = Lossy(fed, lambda name, request: False)
    carry = transport.carry

    def losing(frames, deadline, most_bytes):
        answers, missing = carry(frames, deadline, most_bytes)
        lost = {name for name, frame in frames.items() if stage(name, decode_request(frame))}
        return {n: a for n, a in answers.items() if n not in lost}, missing | lost

    transport.carry = losing
    return fed.model(transport=transport)


@pytest.mark.parametrize("stage", ["root", "finish"])
def test_gradients_that_were_cut_off_are_counted_once_where_a_step_is_repeated(stage, monkeypatch):
    computed = _native.gradient_pairs
    monkeypatch.setattr(_native, "gradient_pairs", lambda *what: computed(*what) + 7)
    fed = parties_of_five(on_loss="continue")
    _, state = fed.run(transport=lossy(fed, once(STAGES[stage], "party2")))
    assert state.clipped == 7 * (5 + 4 + 4 + 4)
