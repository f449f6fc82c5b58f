"""A party that cannot reach the driver says why, at once, and for how much longer it goes on trying."""

import socket

import pytest
from peers import QUICK, RUN

from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.transports.grpc import client, tls_streams
from hedgerow.transports.grpc.driver import GrpcTransport
from hedgerow.transports.grpc.waiting import Waiting, duration


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_failure_is_told_at_once_with_the_time_that_is_left(clock):
    told = []
    Waiting(told.append, clock).failed("Nobody listens at a:1", 598)
    assert told == ["Nobody listens at a:1. Trying for another 9 min 58 s."]


def test_a_party_that_never_gives_up_says_so(clock):
    told = []
    Waiting(told.append, clock).failed("Nobody listens at a:1", float("inf"))
    assert told == ["Nobody listens at a:1. Trying until it is there."]


def test_the_same_failure_is_told_again_after_longer_and_longer_gaps(clock):
    told = []
    waiting = Waiting(lambda _: told.append(clock.now), clock)
    for second in range(300):
        clock.now = float(second)
        waiting.failed("Nobody listens at a:1", 600 - second)
    assert told == [0, 10, 30, 70, 130, 190, 250]


def test_another_reason_is_told_at_once(clock):
    told = []
    waiting = Waiting(told.append, clock)
    waiting.failed("Nobody listens at a:1", 60)
    waiting.failed("The host of a:1 is not known", 59)
    assert told[1] == "The host of a:1 is not known. Trying for another 59 s."


def test_after_the_driver_was_reached_a_failure_is_new(clock):
    told = []
    waiting = Waiting(told.append, clock)
    for _ in range(2):
        waiting.failed("Nobody listens at a:1", 60)
        waiting.over()
    assert len(told) == 2


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (0.2, "1 s"), (59, "59 s"), (60, "1 min"), (598, "9 min 58 s"), (7500, "2 h 5 min"), (3600, "1 h")],
)
def test_seconds_are_written_for_people(seconds, words):
    assert duration(seconds) == words


def test_a_party_says_that_nobody_listens_and_then_that_the_driver_is_here(net):
    with socket.socket() as bound:  # not listening, so that calls are refused and nobody else takes the port
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        party = net.party(port, "a", bytes, patience=600)
        said = party.events.wait("waiting")
    assert said.startswith(
        f"Nobody listens at 127.0.0.1:{port}; check the address and that the driver was started. Trying for another "
    )
    assert "min" in said
    pins = {"a": net.identities["a"].fingerprint}
    driver = GrpcTransport(f"127.0.0.1:{port}", net.identities["driver"], net.authority.pem, pins, run=RUN, **QUICK)
    party.events.wait("here", "driver")
    driver.close()
    party.ended()


def test_a_party_says_that_nothing_answers_where_a_port_is_open_and_silent(net):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        party = net.party(port, "a", bytes, patience=2.0)
        said = party.events.wait("waiting")
        assert said.startswith(
            f"Nothing answers at 127.0.0.1:{port}; check the address and that no firewall is in between. Trying for "
        )
        assert isinstance(party.ended(), PartyLost)


def test_a_second_process_says_that_the_first_is_connected(net, monkeypatch):
    monkeypatch.setattr(client, "OCCUPIED_SECONDS", 1.0)
    driver = net.driver(lost_after=20)
    first = net.raw(driver.port, "a")
    first.hello("a", b"1" * 16)
    first.next()
    second = net.party(driver.port, "a", bytes)
    address = f"127.0.0.1:{driver.port}"
    assert second.events.wait("waiting").startswith(
        f"Another process with this party's certificate is connected to the driver at {address}. Trying for another 1 s"
    )


def test_a_stream_that_works_is_no_reason_to_say_anything(net):
    driver = net.driver()
    party = net.party(driver.port, "a", bytes)
    party.events.wait("here", "driver")
    driver.close()
    party.ended()
    assert party.events.told("waiting") == []


def test_what_a_server_says_before_it_has_shown_who_it_is_is_not_passed_on(net, monkeypatch):
    def talk(caller):
        raise ProtocolError("the server's own words")
        yield

    monkeypatch.setattr(tls_streams, "_status", lambda grpc, _: grpc.StatusCode.UNAVAILABLE)
    listener = tls_streams.listen("127.0.0.1:0", net.identities["driver"], net.authority.pem, talk, 10)
    try:
        party = net.party(listener.port, "a", bytes, patience=0.5)
        party.ended()
    finally:
        listener.stop()
    address = f"127.0.0.1:{listener.port}"
    said = f"The connection to {address} broke; check the network and that the driver runs. Trying for another 1 s."
    assert party.events.told("waiting") == [said]
