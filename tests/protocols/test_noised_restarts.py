"""Whenever a party or the driver is killed: no release leaves uncounted, none is drawn twice, and the run goes on."""

import pytest

from federated import same
from hedgerow import DP
from hedgerow.errors import PrivacyError
from hedgerow.privacy.ledger import Ledger
from hedgerow.privacy.noised_words import KeptWords
from hedgerow.protocols.state import State
from injected_noise import note
from noised import Deadly, Killed, OnDisk

ADDITIVE, DRAWN = DP(8, method="additive"), DP(8, method="random")
LAST = {"additive": 24, "random": 103}
"""The number of the last release."""


def killing(monkeypatch, owner, method, nth, when):
    """The nth call of this method of a party's ends its process, before or after."""
    calls, real = [0], getattr(owner, method)

    def deadly(*given, **more):
        calls[0] += 1
        if calls[0] == nth and when == "before":
            raise Killed
        done = real(*given, **more)
        if calls[0] == nth and when == "after":
            raise Killed
        return done

    monkeypatch.setattr(owner, method, deadly)


def check_whole(fed, noted, redrawn=0):
    """Each release was counted once at each party, and drawn once but for what was drawn when its process ended."""
    for log in fed.logs.values():
        released = log.released()
        assert len(set(released)) == len(released) == LAST[fed.plan.method.dp.method] + 1
    assert len(noted.drawn) == len(fed.logs) * (LAST[fed.plan.method.dp.method] + 1) + redrawn


@pytest.mark.parametrize(
    ("owner", "method", "when", "redrawn"),
    [
        (KeptWords, "write", "before", 1),
        (KeptWords, "write", "after", 0),
        (Ledger, "release", "before", 0),
        (Ledger, "release", "after", 0),
    ],
)
@pytest.mark.parametrize("release", [0, 2, 4, 11, 24])
def test_a_party_that_is_killed_at_any_event_goes_on(release, owner, method, when, redrawn, monkeypatch, tmp_path):
    """Parties have the calls of a release one after the other: the second of three is killed at it."""
    noted, fed = note(monkeypatch), OnDisk(tmp_path, ADDITIVE)
    with monkeypatch.context() as patch:
        calls = 3 * release + 2 if owner is KeptWords else 4 * release + 3  # the driver counts a release before
        killing(patch, owner, method, calls, when)
        transport = Deadly(fed)
        model, state = fed.run(transport=transport)
    assert transport.deaths == 1
    assert len(state.opened) == 25
    check_whole(fed, noted, redrawn if when == "before" else 0)
    assert same(fed.model(state=State(state.attempt, opened=state.opened)), model)


@pytest.mark.parametrize("release", [0, 3, 4, 50, 103])
def test_a_party_whose_answer_was_lost_sends_the_same_again_under_new_pads(release, monkeypatch, tmp_path):
    noted, fed = note(monkeypatch), OnDisk(tmp_path, DRAWN)
    lost = []

    def loses(name, request):
        if name == "party2" and getattr(request, "release", None) == release and not lost:
            lost.append(request)
            return True
        return False

    fed.run(transport=Deadly(fed, loses))
    check_whole(fed, noted)
    words = [one.message.noised_words for one in fed.of("NoisedSums") if one.sender == "party1"]
    twice = [w for w in words if len(w) == len(words[release])]
    assert len(words) == 105
    assert len({w.tobytes() for w in twice}) == len(twice), "no pad was used twice"


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", [1, 2, 6, 26])
def test_a_driver_that_is_killed_at_any_event_goes_on(step, when, monkeypatch, tmp_path):
    """It keeps its state for the attempt, then after each release; what was opened is not lost, or asked for again."""
    noted, fed, states = note(monkeypatch), OnDisk(tmp_path, ADDITIVE), []

    def keep(state):
        if when == "after" or len(states) + 1 < step:
            states.append(state)
        if len(states) + (when == "before") == step:
            raise Killed

    with pytest.raises(Killed):
        fed.run(keep=keep)
    for name in fed.logs:
        fed.restart(name)
    model, state = fed.run(State(attempt=9, opened=states[-1].opened if states else ()))
    check_whole(fed, noted)
    assert len(state.opened) == 25
    assert same(fed.model(state=State(20, opened=state.opened)), model)


def test_a_party_that_lost_what_it_kept_stops_the_run(monkeypatch, tmp_path):
    """Its noise is known to nobody; new noise would be a second draw for the same sum."""
    fed = OnDisk(tmp_path, ADDITIVE)

    def loses(name, request):
        if name != "party2" or getattr(request, "release", None) != 7:
            return False
        KeptWords(tmp_path / name).forget()
        return True

    with pytest.raises(PrivacyError, match="its noised sums are no longer here"):
        fed.run(transport=Deadly(fed, loses))


def test_a_party_that_forgot_the_run_does_not_begin_in_its_middle(tmp_path):
    fed = OnDisk(tmp_path, ADDITIVE)
    _, state = fed.run()
    fed.logs["party2"].synced.clear()
    fed.restart("party2")
    with pytest.raises(PrivacyError, match="which this party has not given"):
        fed.run(State(attempt=9, opened=state.opened))


def test_words_are_kept_until_the_next_release_and_forgotten_with_the_model(tmp_path):
    fed, most = OnDisk(tmp_path, ADDITIVE), []

    def loses(name, request):
        most.append(len(list((tmp_path / name).glob("*.words"))))
        return False

    fed.run(transport=Deadly(fed, loses))
    assert max(most) == 1
    assert not list(tmp_path.rglob("*.words"))


def test_noise_drawn_anew_for_a_sum_that_left_is_noticed(monkeypatch, tmp_path):
    """The sabotage: a party that keeps nothing draws again, and averaging both sums would halve the noise."""
    noted = note(monkeypatch)
    monkeypatch.setattr(KeptWords, "read", lambda *_: None)
    monkeypatch.setattr(Ledger, "has", lambda *_: False)
    fed, lost = OnDisk(tmp_path, ADDITIVE), []

    def loses(name, request):
        if name == "party3" and getattr(request, "release", None) == 5 and not lost:
            lost.append(request)
            return True
        return False

    def checked_run():
        fed.run(transport=Deadly(fed, loses))
        check_whole(fed, noted)

    with pytest.raises((AssertionError, PrivacyError)):  # the ledger counts it, and that is more than the budget
        checked_run()
