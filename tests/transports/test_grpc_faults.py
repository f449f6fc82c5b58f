"""Connections that break, peers that lie, and processes that die."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from peers import sha

from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.transports.grpc import envelope
from hedgerow.transports.grpc.envelope import CHUNK, Beat, Failed, Head, Part, Welcome

MOST = 64 << 20


class Counted:
    """An answer of a few MiB, and how often it was computed."""

    def __init__(self) -> None:
        self.calls = 0
        self.reply = os.urandom(5 << 20)

    def __call__(self, frame: bytes) -> bytes:
        self.calls += 1
        return frame + self.reply


@pytest.fixture
def through(net):
    """A driver, and a party that reaches it through a proxy."""
    driver = net.driver()
    proxy = net.proxy(driver.port)
    answer = Counted()
    net.party(proxy.port, "a", answer, patience=20.0)
    assert driver.wait(frozenset("a"), 10) == frozenset()
    return driver, proxy, answer


@pytest.mark.parametrize("fault", ["cut_after", "corrupt_after", "duplicate_after"])
def test_an_answer_that_is_broken_off_arrives_after_all_and_is_computed_once(through, fault):
    driver, proxy, answer = through
    setattr(proxy, fault, 2 << 20)
    answers, missing = driver.carry({"a": b"1"}, 20, MOST)
    assert proxy.happened.is_set()
    assert not missing
    assert answers["a"] == b"1" + answer.reply
    assert answer.calls == 1
    assert proxy.connections == 2
    driver.events.wait("back", "a")


def test_a_partition_of_a_few_seconds_in_the_middle_of_an_answer_costs_only_time(through):
    driver, proxy, answer = through
    proxy.swallow_after = 2 << 20

    def heal() -> None:
        driver.events.wait("lost", "a")
        proxy.swallow = False

    healing = threading.Thread(target=heal)
    healing.start()
    answers, missing = driver.carry({"a": b"1"}, 20, MOST)
    healing.join(10)
    assert proxy.happened.is_set()
    assert not missing
    assert answers["a"] == b"1" + answer.reply
    assert answer.calls == 1


def test_a_slow_line_costs_only_time(through):
    driver, proxy, answer = through
    proxy.delay = 0.005
    answers, _ = driver.carry({"a": bytes(1 << 20)}, 20, MOST)
    assert answers["a"] == bytes(1 << 20) + answer.reply
    assert driver.events.told("lost") == []


def test_a_request_that_is_broken_off_is_sent_again(net):
    driver = net.driver()
    proxy = net.proxy(driver.port)
    calls = []
    net.party(proxy.port, "a", lambda frame: calls.append(frame) or sha(frame), patience=20.0)
    driver.wait(frozenset("a"), 10)
    frame = os.urandom(8 << 20)
    proxy.delay = 0.005
    threading.Timer(0.2, proxy.cut).start()
    assert driver.carry({"a": frame}, 20, MOST) == ({"a": sha(frame)}, frozenset())
    assert calls == [frame]
    assert driver.events.told("lost") == ["a"]


def test_a_party_notices_that_the_driver_is_gone_and_gives_up_after_its_patience(net):
    driver = net.driver()
    proxy = net.proxy(driver.port)
    party = net.party(proxy.port, "a", bytes, patience=1.5)
    party.events.wait("here", "driver")
    proxy.swallow = True
    party.events.wait("lost", "driver")
    result = party.ended()
    assert isinstance(result, PartyLost)
    assert "gave up after 1.5 seconds without the driver" in str(result)


def test_a_driver_that_starts_anew_is_answered_from_an_empty_desk(net):
    first = net.driver()
    proxy = net.proxy(first.port)
    calls = []
    party = net.party(proxy.port, "a", lambda frame: calls.append(frame) or frame, patience=20.0)
    for turn in (b"1", b"2", b"3"):
        first.carry({"a": turn}, 10, MOST)
    second = net.driver()
    proxy.target = second.port
    proxy.cut()
    assert second.carry({"a": b"1"}, 20, MOST) == ({"a": b"1"}, frozenset())
    assert calls == [b"1", b"2", b"3", b"1"]
    party.events.wait("restarted", "driver")


def test_a_new_process_is_missing_in_the_round_that_began_before_it_and_asked_in_the_next(net):
    driver = net.driver(lost_after=5.0)
    old = net.raw(driver.port, "a")
    old.hello("a", b"1" * 16)
    old.next()
    driver.wait(frozenset("a"), 10)

    def replace() -> None:
        assert isinstance(old.next(), Head)
        old.close()
        driver.events.wait("lost", "a")
        net.party(driver.port, "a", bytes)

    replacing = threading.Thread(target=replace)
    replacing.start()
    assert driver.carry({"a": b"1"}, 20, MOST) == ({}, frozenset("a"))
    assert driver.reasons == {"a": "a is a new process that does not know what was said before."}
    replacing.join(5)
    driver.events.wait("restarted", "a")
    assert driver.carry({"a": b"2"}, 10, MOST) == ({"a": b"2"}, frozenset())


def test_a_process_that_answered_and_was_replaced_is_missing_in_the_next_round(net):
    """Another party took long; meanwhile the one that had answered was killed and came back."""
    driver = net.driver(lost_after=5.0)
    old = net.raw(driver.port, "a")
    old.hello("a", b"1" * 16)
    old.next()
    driver.wait(frozenset("a"), 10)

    def answer() -> None:
        assert isinstance(old.next(), Head)
        old.send(Head(1, 6, sha(b"answer"), b"answer"))

    answering = threading.Thread(target=answer)
    answering.start()
    assert driver.carry({"a": b"1"}, 10, MOST) == ({"a": b"answer"}, frozenset())
    answering.join(5)
    old.close()
    driver.events.wait("lost", "a")
    calls = []
    net.party(driver.port, "a", lambda frame: calls.append(frame) or frame)
    driver.events.wait("restarted", "a")
    assert driver.carry({"a": b"2"}, 10, MOST) == ({}, frozenset("a"))
    assert driver.reasons == {"a": "a is a new process that does not know what was said before."}
    assert calls == []
    assert driver.carry({"a": b"3"}, 10, MOST) == ({"a": b"3"}, frozenset())


def test_a_second_stream_of_the_same_process_replaces_the_first_and_is_asked_again(net):
    driver = net.driver(lost_after=5.0)
    first, second = net.raw(driver.port, "a"), net.raw(driver.port, "a")
    first.hello("a")
    assert isinstance(first.next(), Welcome)

    def reconnect() -> None:
        assert first.next() == Head(1, 7, sha(b"request"), b"request")
        second.hello("a")
        assert isinstance(second.next(), Welcome)
        assert second.next() == Head(1, 7, sha(b"request"), b"request")
        second.send(Head(1, 6, sha(b"answer"), b"answer"))

    reconnecting = threading.Thread(target=reconnect)
    reconnecting.start()
    assert driver.carry({"a": b"request"}, 10, MOST) == ({"a": b"answer"}, frozenset())
    reconnecting.join(5)
    assert driver.events.told("lost") == []


# A party that lies


def lying(net, *messages, most_bytes=MOST):
    """What the driver makes of a party that answers its first request with these."""
    driver = net.driver(lost_after=5.0)
    raw = net.raw(driver.port, "a")
    raw.hello("a")
    assert isinstance(raw.next(), Welcome)

    def run() -> None:
        raw.next()
        for message in messages:
            raw.send(message)

    threading.Thread(target=run, daemon=True).start()
    answers, missing = driver.carry({"a": b"request"}, 5, most_bytes)
    assert (answers, missing) == ({}, frozenset("a"))
    return driver.reasons["a"]


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([Head(1, 3, sha(b"abd"), b"abc")], "does not have the hash"),
        ([Head(1, 3, sha(b"abc"), b"abcd")], "more than the 3 bytes"),
        ([Head(1, CHUNK + 2, sha(b""), bytes(CHUNK)), Part(1, b"cde")], f"more than the {CHUNK + 2} bytes"),
        ([Head(1, 4, sha(b"abcd"), b"ab"), Part(1, b"cd")], "has 2 bytes; only the last may be short"),
        ([Head(1, CHUNK + 4, sha(b""), bytes(CHUNK)), Part(1, b"cd")], "has 2 bytes; only the last may be short"),
        ([Head(1, CHUNK + 1, sha(b""), bytes(CHUNK)), Part(2, b"c")], "request 2, which it was never sent"),
        ([Part(1, b"abc")], "without its beginning"),
        ([Head(2, 3, sha(b"abc"), b"abc")], "request 2, which it was never sent"),
        ([Failed(7, "no")], "request 7, which it was never sent"),
        ([Failed(1, "no\x1b[2J\r")], "no [2J "),
        ([b"\x91\x09"], "not one of the transport's"),
        ([envelope.Goodbye(True, "")], "not one of the transport's"),
        ([Head(1, MOST + 1, sha(b""), b"")], f"at most {MOST} are allowed"),
    ],
)
def test_a_party_that_breaks_the_rules_is_missing_and_the_rule_is_named(net, messages, why):
    assert why in lying(net, *messages)


def test_a_message_longer_than_a_chunk_is_refused_by_the_library(net):
    driver = net.driver()
    raw = net.raw(driver.port, "a")
    raw.hello("a")
    raw.next()
    raw.send(b"\x00" * (CHUNK + (1 << 17)))
    driver.events.wait("lost", "a")


# A driver that lies


@pytest.fixture
def asked(net):
    """A driver that sends what it is told to, a party, and what the party was asked to compute."""
    driver = net.raw_driver()
    calls = []
    party = net.party(driver.port, "a", lambda frame: calls.append(frame) or b"re " + frame)
    return driver, party, calls


def test_a_request_that_comes_twice_is_answered_twice_and_computed_once(asked):
    driver, _, calls = asked
    for sequence, frame in ((1, b"x"), (1, b"x"), (2, b"y"), (2, b"y")):
        driver.request(sequence, frame)
        assert driver.received.get(timeout=5).data == b"re " + frame
    assert calls == [b"x", b"y"]


@pytest.mark.parametrize(
    ("sequence", "frame", "why"),
    [(2, b"other", "came twice with different content"), (1, b"x", "came after request 2")],
    ids=["changed", "replayed"],
)
def test_a_changed_or_replayed_request_is_refused_and_never_computed(asked, sequence, frame, why):
    driver, party, calls = asked
    driver.request(2, b"y")
    assert driver.received.get(timeout=5).data == b"re y"
    driver.request(sequence, frame)
    told = driver.received.get(timeout=5)
    assert isinstance(told, Failed)
    assert why in told.sentence
    result = party.ended()
    assert isinstance(result, ProtocolError)
    assert why in str(result)
    assert calls == [b"y"]


def test_a_request_whose_parts_are_reordered_is_refused(asked):
    driver, party, calls = asked
    frame = os.urandom(3 * CHUNK)
    first, second, third = envelope.cut(1, frame, sha(frame))
    for message in (first, third, second):
        driver.out.put(message)
    assert "does not have the hash" in str(party.ended())
    assert calls == []


# Processes


def start(role, folder, port, name):
    command = [sys.executable, str(Path(__file__).parent / "process.py"), role, str(folder), str(port), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def folder(net, tmp_path):
    (tmp_path / "ca.crt").write_bytes(net.authority.pem)
    for name in ("a", "driver"):
        key, certificate = net.identities[name].pem()
        (tmp_path / f"{name}.key").write_bytes(key)
        (tmp_path / f"{name}.crt").write_bytes(certificate)
    return tmp_path


def until(process, line):
    """Read what a process says until a line begins like this."""
    for said in process.stdout:
        if said.startswith(line):
            return said.strip()
    pytest.fail(f"{line!r} never came: {process.stderr.read()}")


def test_the_death_of_a_party_is_noticed_and_its_next_process_is_a_new_one(net, folder):
    driver = net.driver(lost_after=8.0, heartbeat=1.5)
    with start("party", folder, driver.port, "a") as process:
        try:
            assert driver.wait(frozenset("a"), 20) == frozenset()
            asking = threading.Thread(target=driver.carry, args=({"a": b"sleep"}, 30, MOST))
            asking.start()
            until(process, "asked sleep")
            process.kill()
            killed = time.monotonic()
            driver.events.wait("lost", "a")
            assert time.monotonic() - killed < 10
        finally:
            process.kill()
    net.party(driver.port, "a", bytes)
    asking.join(10)
    assert not asking.is_alive()
    assert "new process" in driver.reasons["a"]


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="reads the sockets of a process from /proc")
def test_a_party_has_no_listening_socket_and_the_driver_has_one(net, folder):
    driver = net.driver()
    with start("party", folder, driver.port, "a") as process:
        try:
            until(process, "here driver")
            assert listening(process.pid) == 0
            assert listening(os.getpid()) == 1
        finally:
            process.kill()


def listening(pid: int) -> int:
    """How many listening TCP sockets a process has."""
    tables = [Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:] for kind in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table]
    inodes = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    return sum(os.readlink(end) in inodes for end in Path(f"/proc/{pid}/fd").iterdir() if end.is_symlink())


def test_an_interrupt_ends_a_party_that_waits_and_one_that_computes(net, folder):
    driver = net.driver()
    for computing in (False, True):
        with start("party", folder, driver.port, "a") as process:
            try:
                assert driver.wait(frozenset("a"), 20) == frozenset()
                until(process, "here driver")
                asking = threading.Thread(target=driver.carry, args=({"a": b"sleep"}, 20, MOST))
                if computing:
                    asking.start()
                    until(process, "asked sleep")
                process.send_signal(signal.SIGINT)
                assert process.wait(18) != 0
                if computing:
                    asking.join(5)
                    assert driver.reasons == {"a": "a stopped because it was interrupted."}
            finally:
                process.kill()


def test_an_interrupt_ends_a_driver_that_did_not_say_goodbye(folder, net):
    with start("driver", folder, 0, "a") as process:
        try:
            port = until(process, "port").split()[1]
            net.party(port, "a", lambda frame: threading.Event().wait(20) or b"")
            until(process, "here a")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=18)
            assert process.returncode != 0
        finally:
            process.kill()


@pytest.mark.parametrize("role", ["strict", "generous"])
def test_a_claim_of_ten_gigabytes_costs_little_memory(net, folder, role):
    """The generous driver allows 20 GB; the claim itself must not cost anything either."""
    with start(role, folder, 0, "a") as process:
        try:
            raw = net.raw(until(process, "port").split()[1], "a")
            raw.hello("a")
            assert isinstance(raw.next(), Welcome)
            assert isinstance(raw.next(), Head)
            raw.send(Head(1, 10 << 30, sha(b""), bytes(CHUNK)))
            raw.send(Part(1, bytes(CHUNK)))
            raw.send(Beat())
            raw.send(b"\x91\x09")  # the end of a driver's patience that would wait for the rest
            grown = until(process, "grown").split(" ", 2)
        finally:
            process.kill()
    assert int(grown[1]) < 64 << 10
    assert ("at most 1073741824 are allowed" if role == "strict" else "not one of the transport's") in grown[2]


def test_a_party_to_which_ten_gigabytes_are_claimed_refuses_before_it_computes(asked):
    driver, party, calls = asked
    driver.out.put(Head(1, 10 << 30, sha(b""), b""))
    assert (
        "10737418240 bytes was announced and at most 1073741824 are allowed" in driver.received.get(timeout=5).sentence
    )
    assert isinstance(party.ended(), ProtocolError)
    assert calls == []
