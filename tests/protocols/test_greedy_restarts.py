"""Greedy trees over parties: killed at any release, a run goes on with the very same sums, none counted twice."""

import pytest
from test_noised_restarts import killing

from federated import same
from hedgerow import DP
from hedgerow.privacy.ledger import Ledger
from hedgerow.privacy.noised_words import KeptWords
from hedgerow.protocols.state import State
from hedgerow.trees.noised import fit_greedy
from hedgerow.trees.noised.greedy_rule import Chosen
from injected_noise import note
from noised import Deadly, Killed, OnDisk

GREEDY = DP(2, method="greedy")


@pytest.fixture
def fed(monkeypatch, tmp_path):
    """Three parties that grow three trees of two levels: rows, cut points, a root, and three releases a tree."""
    monkeypatch.setattr("hedgerow.protocols.noised.told_greedy.chosen_of", lambda _: Chosen(3, 2))
    monkeypatch.setattr(fit_greedy, "chosen_of", lambda _: Chosen(3, 2))
    return OnDisk(tmp_path, GREEDY)


def check_whole(fed, noted, n_releases, redrawn=0):
    for log in fed.logs.values():
        released = log.released()
        assert len(set(released)) == len(released) == n_releases
    assert len(noted.drawn) == 3 * n_releases + redrawn


@pytest.mark.parametrize(
    ("owner", "method", "when", "redrawn"),
    [
        (KeptWords, "write", "before", 1),
        (KeptWords, "write", "after", 0),
        (Ledger, "release", "before", 0),
        (Ledger, "release", "after", 0),
    ],
)
@pytest.mark.parametrize("release", [4, 5, 7, 8, 12])
def test_a_party_that_is_killed_at_any_event_goes_on(fed, release, owner, method, when, redrawn, monkeypatch):
    noted = note(monkeypatch)
    with monkeypatch.context() as patch:
        calls = 3 * release + 2 if owner is KeptWords else 4 * release + 3
        killing(patch, owner, method, calls, when)
        transport = Deadly(fed)
        model, state = fed.run(transport=transport)
    assert transport.deaths == 1
    check_whole(fed, noted, len(state.opened), redrawn)
    assert same(fed.model(state=State(state.attempt, opened=state.opened)), model)


@pytest.mark.parametrize("step", [4, 6, 9, 13])
def test_a_driver_that_is_killed_goes_on(fed, step, monkeypatch):
    noted, states = note(monkeypatch), []

    def keep(state):
        states.append(state)
        if len(states) == step:
            raise Killed

    with pytest.raises(Killed):
        fed.run(keep=keep)
    for name in fed.logs:
        fed.restart(name)
    model, state = fed.run(State(attempt=9, opened=states[-1].opened))
    check_whole(fed, noted, len(state.opened))
    assert same(fed.model(state=State(20, opened=state.opened)), model)
