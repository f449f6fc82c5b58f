"""Frames arrive whole, both ways, and the end is told."""

import os
import threading

import pytest

from hedgerow.errors import ParameterError, PartyLost, PolicyError, ProtocolError
from hedgerow.transports.grpc.envelope import CHUNK

MOST = 64 << 20


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 << 20])
def test_a_frame_of_any_size_goes_there_and_back(net, size):
    driver = net.driver()
    net.party(driver.port, "a", lambda frame: frame[::-1])
    frame = os.urandom(size)
    assert driver.carry({"a": frame}, 10, MOST) == ({"a": frame[::-1]}, frozenset())


def test_three_parties_are_asked_at_once_and_again_and_again(net):
    driver = net.driver()
    together = threading.Barrier(3)

    def answer_as(name):
        def answer(frame):
            together.wait(5)  # passes only if all three compute at the same time
            return name.encode() + frame

        return answer

    for name in "abc":
        net.party(driver.port, name, answer_as(name))
    assert driver.wait(frozenset("abc"), 10) == frozenset()
    assert driver.here() == frozenset("abc")
    for turn in range(20):
        frames = dict.fromkeys("abc", b"%d" % turn)
        answers, missing = driver.carry(frames, 10, MOST)
        assert not missing
        assert answers == {name: b"%s%d" % (name.encode(), turn) for name in "abc"}


def test_a_party_begins_while_the_next_ones_frame_is_made(net):
    driver, begun = net.driver(), threading.Event()

    class InTurn(dict):
        def __getitem__(self, name):
            assert name == "a" or begun.wait(10), "the first party has not begun"
            return super().__getitem__(name)

    net.party(driver.port, "a", lambda frame: begun.set() or frame)
    net.party(driver.port, "b", bytes)
    assert driver.wait(frozenset("ab"), 10) == frozenset()
    assert driver.carry(InTurn(a=b"1", b=b"2"), 20, MOST) == ({"a": b"1", "b": b"2"}, frozenset())


def test_who_is_not_there_is_waited_for_and_then_named(net):
    driver = net.driver()
    net.party(driver.port, "a", bytes)
    assert driver.wait(frozenset("ab"), 1.0) == frozenset("b")
    answers, missing = driver.carry({"a": b"1", "b": b"2"}, 0.5, MOST)
    assert answers == {"a": b"1"}
    assert missing == frozenset("b")
    assert driver.reasons == {"b": "b did not answer within 0.5 seconds."}


def test_a_party_that_arrives_while_it_is_asked_answers(net):
    driver = net.driver()
    threading.Timer(0.3, lambda: net.party(driver.port, "a", bytes)).start()
    assert driver.carry({"a": b"1"}, 10, MOST) == ({"a": b"1"}, frozenset())


def test_a_party_that_is_away_longer_than_the_grace_is_missing(net):
    driver = net.driver(grace=0.3)
    assert driver.carry({"a": b"1"}, 30, MOST) == ({}, frozenset("a"))
    assert "away for more than 0.3 seconds" in driver.reasons["a"]


def test_goodbye_ends_the_parties_with_the_drivers_sentence(net):
    driver = net.driver()
    parties = [net.party(driver.port, name, bytes) for name in "ab"]
    driver.wait(frozenset("ab"), 10)
    driver.close(sentence="The model is ready.")
    assert [party.ended() for party in parties] == ["The model is ready."] * 2
    assert driver.events.told("lost") == []
    with pytest.raises(ProtocolError, match="was closed"):
        driver.carry({"a": b""}, 1, MOST)


def test_a_run_that_was_stopped_is_an_error_at_the_party(net):
    driver = net.driver()
    party = net.party(driver.port, "a", bytes)
    driver.wait(frozenset("a"), 10)
    driver.close(ok=False, sentence="b is lost.")
    result = party.ended()
    assert isinstance(result, PartyLost)
    assert str(result) == "The driver stopped the run: b is lost."


def test_the_reason_of_a_party_that_refuses_reaches_the_driver_and_the_party_goes_on(net):
    driver = net.driver()

    def answer(frame):
        if frame == b"too much":
            raise PolicyError("This owner allows epsilon up to 1.")
        return frame

    party = net.party(driver.port, "a", answer)
    assert driver.carry({"a": b"too much"}, 10, MOST) == ({}, frozenset("a"))
    assert driver.reasons == {"a": "This owner allows epsilon up to 1."}
    assert party.events.told("failed") == ["This owner allows epsilon up to 1."]
    assert driver.carry({"a": b"less"}, 10, MOST) == ({"a": b"less"}, frozenset())
    assert driver.reasons == {}


def test_of_a_mistake_in_a_partys_program_the_driver_learns_only_that_there_was_one(net):
    driver = net.driver()

    def answer(frame):
        raise ValueError("own_income is 41250")

    party = net.party(driver.port, "a", answer)
    assert driver.carry({"a": b""}, 10, MOST) == ({}, frozenset("a"))
    assert driver.reasons == {"a": "a stopped because of an error in its own program."}
    assert isinstance(party.ended(), ValueError)


def test_an_answer_over_the_limit_is_refused_and_the_limit_named(net):
    driver = net.driver()
    party = net.party(driver.port, "a", lambda frame: bytes(1001))
    assert driver.carry({"a": b""}, 10, 1000) == ({}, frozenset("a"))
    assert "1001 bytes was announced and at most 1000 are allowed" in driver.reasons["a"]
    assert isinstance(party.ended(), ProtocolError)


def test_a_request_over_a_partys_limit_is_refused_and_the_driver_told(net):
    driver = net.driver()
    calls = []
    party = net.party(driver.port, "a", lambda frame: calls.append(frame) or b"", most_bytes=lambda: 1000)
    assert driver.carry({"a": bytes(1 << 20)}, 10, MOST) == ({}, frozenset("a"))
    assert "at most 1000 are allowed" in driver.reasons["a"]
    assert isinstance(party.ended(), ProtocolError)
    assert calls == []


def test_a_partys_limit_is_what_it_is_when_a_request_comes(net):
    driver, limits = net.driver(), [1000]
    party = net.party(driver.port, "a", lambda frame: limits.append(2000) or b"", most_bytes=lambda: limits[-1])
    assert driver.carry({"a": bytes(1000)}, 10, MOST)[1] == frozenset()
    assert driver.carry({"a": bytes(1500)}, 10, MOST)[1] == frozenset()
    assert driver.carry({"a": bytes(2001)}, 10, MOST)[1] == frozenset("a")
    assert isinstance(party.ended(), ProtocolError)


def test_what_a_party_says_of_its_refusal_is_nothing_that_a_terminal_obeys(net):
    def refuse(frame):
        raise ProtocolError("no\x1b[2J\u202e\nat all" + "x" * 2000)

    driver = net.driver()
    net.party(driver.port, "a", refuse)
    driver.carry({"a": b""}, 10, MOST)
    assert driver.reasons["a"].startswith("no [2J  at allx")
    assert len(driver.reasons["a"]) == 1000


def test_a_late_answer_is_dropped_and_the_next_one_taken(net):
    driver = net.driver()
    go = threading.Event()

    def answer(frame):
        if frame == b"slow":
            go.wait(10)
        return frame

    net.party(driver.port, "a", answer)
    driver.wait(frozenset("a"), 10)
    assert driver.carry({"a": b"slow"}, 0.3, MOST) == ({}, frozenset("a"))
    threading.Timer(0.2, go.set).start()
    assert driver.carry({"a": b"quick"}, 10, MOST) == ({"a": b"quick"}, frozenset())


def test_work_for_the_meantime_is_done_also_if_nobody_can_be_asked(net):
    driver, done = net.driver(), []
    driver.meanwhile(lambda: done.append(1))
    assert driver.carry({"a": b""}, 0.3, MOST) == ({}, frozenset("a"))
    assert done == [1]


def test_an_error_in_work_for_the_meantime_is_raised_and_the_next_frame_is_carried(net):
    driver = net.driver()
    net.party(driver.port, "a", lambda frame: frame)
    driver.wait(frozenset("a"), 10)
    driver.meanwhile(lambda: int("one"))
    with pytest.raises(ValueError, match="invalid literal"):
        driver.carry({"a": b"1"}, 10, MOST)
    assert driver.carry({"a": b"2"}, 10, MOST) == ({"a": b"2"}, frozenset())


def test_a_party_that_computes_longer_than_the_silence_allowed_is_not_lost(net):
    driver = net.driver(lost_after=0.6, heartbeat=0.1)
    late = threading.Event()
    threading.Timer(1.5, late.set).start()
    net.party(driver.port, "a", lambda frame: b"done" if late.wait(10) else b"", lost_after=0.6, heartbeat=0.1)
    assert driver.carry({"a": b""}, 10, MOST) == ({"a": b"done"}, frozenset())
    assert driver.events.told("lost") == []


def test_a_name_without_a_pin_is_refused(net):
    driver = net.driver()
    with pytest.raises(ParameterError, match="no pinned certificate for 'z'"):
        driver.carry({"z": b""}, 1, MOST)
