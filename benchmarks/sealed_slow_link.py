"""A link between two processes of this machine that is as slow as one between organisations; runs as a process.

`python -m benchmarks.sealed_slow_link LISTEN TARGET MILLISECONDS MBIT` passes connections on to TARGET. What is sent
arrives half a round trip later, and no faster than the link lets bytes through, in each direction by itself. No packet
is lost, and connections do not start slowly as those of TCP do on a long way.
"""

import contextlib
import queue
import socket
import subprocess
import sys
import threading
import time

from benchmarks.sets import REPOSITORY

PIECE = 1 << 14
"""Bytes that travel together."""

Travelling = tuple[float, bytes]
"""When bytes arrive; no bytes: the end."""


class SlowLink:
    """Passes connections on, late."""

    def __init__(self, listen: int, target: int, round_trip: float, mbit: float) -> None:
        self.target, self.late, self.rate = target, round_trip / 2, mbit * 1e6 / 8
        self.server = socket.create_server(("127.0.0.1", listen))

    def serve(self) -> None:
        """Until the process ends, or the socket is closed."""
        while True:
            try:
                near, _ = self.server.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except ConnectionRefusedError:
                near.close()  # who dials tries again
                continue
            except OSError:
                return
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                on_the_way: queue.SimpleQueue[Travelling] = queue.SimpleQueue()
                threading.Thread(target=self._take, args=(one, on_the_way), daemon=True).start()
                threading.Thread(target=deliver, args=(other, on_the_way), daemon=True).start()

    def _take(self, source: socket.socket, on_the_way: "queue.SimpleQueue[Travelling]") -> None:
        free = 0.0
        with contextlib.suppress(OSError):
            while data := source.recv(PIECE):
                free = max(free, time.perf_counter()) + len(data) / self.rate
                on_the_way.put((free + self.late, data))
        on_the_way.put((free + self.late, b""))


def deliver(target: socket.socket, on_the_way: "queue.SimpleQueue[Travelling]") -> None:
    """Send what comes, each when it is there."""
    while True:
        arrives, data = on_the_way.get()
        time.sleep(max(0.0, arrives - time.perf_counter()))
        if not data:
            break
        try:
            target.sendall(data)
        except OSError:
            break
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
    target.close()


def start(listen: int, target: int, round_trip: float, mbit: float) -> "subprocess.Popen[bytes]":
    """A link in a process of its own."""
    given = map(str, (listen, target, round_trip * 1000, mbit))
    return subprocess.Popen([sys.executable, "-m", "benchmarks.sealed_slow_link", *given], cwd=REPOSITORY)


if __name__ == "__main__":
    SlowLink(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000, float(sys.argv[4])).serve()
