"""A run that stops and goes on gives the forest of one that did not."""

import numpy as np
import pytest
from scipy import sparse

from federated import Federation, Lossy, params_of, same, two_class
from hedgerow.agreement.plan import Goal
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import PartyLost, PrivacyError
from hedgerow.protocols.driver import State
from hedgerow.storage.audit import AuditLog

PARAMS = params_of(n_estimators=5, subsample=0.8, colsample_bytree=0.8)
STOPPING = Goal(follow=True, early_stopping_rounds=2)


def split():
    return partition.hold_out(two_class(4), 0.3)


def fresh(goal=Goal(), **more):  # noqa: B008
    training, validation = split()
    return Federation(training, PARAMS, goal, validation if goal.follow else None, **more)


def states_of(goal, **more):
    """The undisturbed model, and the driver's state after every tree."""
    states: list[State] = []
    model = fresh(goal, **more).model(keep=states.append)
    return model, states


@pytest.mark.parametrize("goal", [Goal(), STOPPING, Goal(follow=True, eval_metric="auc")])
@pytest.mark.parametrize("kept", [1, 2, 4])
def test_new_processes_of_all_go_on_from_any_tree(goal, kept):
    model, states = states_of(goal)
    assert len(states[kept].parts) == kept
    assert same(fresh(goal).model(state=states[kept]), model)


def test_a_run_that_would_have_stopped_early_stops_after_a_resume_too():
    goal, params = Goal(follow=True, early_stopping_rounds=1), params_of(n_estimators=12, learning_rate=2.0)
    training, validation = split()
    states: list[State] = []
    model = Federation(training, params, goal, validation).model(keep=states.append)
    assert len(model.history) < 12
    for state in states[2:]:
        again = Federation(training, params, goal, validation).model(state=state)
        assert same(again, model)


def test_with_many_classes_a_resume_goes_on_from_whole_rounds():
    X = two_class(1)["party1"]
    parties = partition.rows(X.values, np.arange(X.n_rows) % 3, 3)
    states: list[State] = []
    model = Federation(parties, PARAMS).model(keep=states.append)
    assert same(Federation(parties, PARAMS).model(state=states[2]), model)


def test_a_random_forest_goes_on_too():
    training, validation = split()
    params = params_of(n_estimators=4, average=True, subsample=0.6)
    states: list[State] = []
    made = [Federation(training, params, Goal(follow=True), validation) for _ in range(2)]
    model = made[0].model(keep=states.append)
    assert same(made[1].model(state=states[2]), model)


def test_a_driver_that_kept_nothing_but_the_attempt_begins_again_with_the_same_parties():
    """Its process ended after the cut points were found and before the first tree was kept."""
    X = two_class(1)["party1"]
    X = Table.of(sparse.csr_array(np.nan_to_num(X.values)), X.labels, absent="zero")
    fed = Federation(partition.rows(X, n=3))
    transport = Lossy(fed, lambda name, request: type(request).__name__ == "AskLeafSums")
    transport.returning = False
    with pytest.raises(PartyLost, match="did not come back"):
        fed.run(transport=transport)
    assert same(fed.model(state=State(attempt=5)), Federation(fed.tables).model())


def test_a_driver_that_forgot_its_attempts_is_refused():
    fed = Federation(two_class(3))
    fed.model()
    with pytest.raises(PrivacyError, match="repeats an attempt"):
        fed.model()


def test_parties_with_logs_refuse_other_trees_than_they_helped_to_grow(tmp_path):
    logs: dict[str, AuditLog] = {}

    def with_logs():
        for party in split()[0]:
            if party in logs:
                logs[party].close()
            logs[party] = AuditLog(tmp_path / f"{party}.log", "a test", party)
        return Federation(split()[0], PARAMS, logs=logs)

    states: list[State] = []
    model = with_logs().model(keep=states.append)
    assert same(with_logs().model(state=states[3]), model)
    other = Federation(split()[0], params_of(n_estimators=5, learning_rate=0.5))
    strange: list[State] = []
    other.model(keep=strange.append)
    with pytest.raises(PrivacyError, match="other trees of round 0"):
        with_logs().model(state=State(9, common=states[3].common, start=states[3].start, parts=strange[2].parts))
