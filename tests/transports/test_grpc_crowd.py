"""Connections that show no certificate take neither the driver's descriptors nor, for long, the places of parties."""

import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from crowded import MOST_FILES

from hedgerow.errors import RunError
from hedgerow.transports.grpc import connections


@contextmanager
def driver(net, folder, *more):
    """A driver in a process of its own, and what it says to a line."""
    (folder / "ca.crt").write_bytes(net.authority.pem)
    for name in ("a", "driver"):
        key, certificate = net.identities[name].pem()
        (folder / f"{name}.key").write_bytes(key)
        (folder / f"{name}.crt").write_bytes(certificate)
    command = [sys.executable, str(Path(__file__).parent / "crowded.py"), str(folder), *more]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:

        def ask(line):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        try:
            yield int(process.stdout.readline()), ask
        finally:
            process.kill()


def crowd(port, stack):
    """More connections than the driver has descriptors, over which nothing is ever said; the last of them."""
    for _ in range(MOST_FILES + 100):
        last = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
    return last


def test_a_crowd_without_certificates_leaves_room_for_files_and_after_a_while_for_parties(net, tmp_path):
    with driver(net, tmp_path) as (port, ask), ExitStack() as stack:
        with suppress(ConnectionError):
            assert crowd(port, stack).recv(1) == b""  # closed by the driver, which has seen all of them by now
        assert ask("now") == "yes, here:"
        net.party(port, "a", bytes, patience=30.0)
        assert ask("wait") == "yes, here: a"


def test_without_limits_a_crowd_takes_every_descriptor(net, tmp_path):
    """The sabotage: gRPC as it comes."""
    with driver(net, tmp_path, "unlimited") as (port, ask), ExitStack() as stack:
        crowd(port, stack)
        end = time.monotonic() + 30
        while (said := ask("now")) == "yes, here:" and time.monotonic() < end:  # gRPC takes them in at its own pace
            time.sleep(0.02)
        assert said.startswith("Too many open files")


@pytest.fixture
def descriptors(monkeypatch):
    """A process's limits of open files, which are only noted."""
    kept = {"now": (1024, 4096)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: kept["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: kept.update(now=new))
    return kept


def most(streams):
    return dict(connections.limits(streams))["grpc.max_allowed_incoming_connections"]


def test_the_limit_of_open_files_is_raised_where_many_parties_need_it(descriptors):
    assert most(16) == 16 + connections.SPARE_CONNECTIONS
    assert descriptors["now"] == (1024, 4096)
    assert most(1000) == 1000 + connections.SPARE_CONNECTIONS
    assert descriptors["now"] == (1064 + connections.OWN_FILES, 4096)


def test_where_it_may_not_be_raised_there_are_fewer_connections_or_none(descriptors):
    descriptors["now"] = (300, 300)
    assert most(1000) == 300 - connections.OWN_FILES
    descriptors["now"] = (200, 200)
    with pytest.raises(RunError, match=r"only 200 files open, too few to listen; raise its limit to 324"):
        most(4)
