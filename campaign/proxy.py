"""A TCP proxy that can cut, delay, corrupt, duplicate and swallow what passes through it."""

import contextlib
import socket
import threading
import time


class Proxy:
    """Forwards connections to 127.0.0.1:`target`; faults are switched on and off while it runs.

    The faults named `_after` count the bytes of a connection that the party sends, and happen once; `swallow` lasts
    until it is switched off.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self.delay = 0.0
        self.swallow = False
        self.cut_after: int | None = None
        self.corrupt_after: int | None = None
        self.duplicate_after: int | None = None
        self.swallow_after: int | None = None
        self.happened = threading.Event()
        self.connections = 0
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                party, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            try:
                driver = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                party.close()
                continue
            self._pairs.append((party, driver))
            for pair in ((party, driver, True), (driver, party, False)):
                threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, upward: bool) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                passed += len(data)
                time.sleep(self.delay)
                if upward and self.swallow_after is not None and passed > self.swallow_after:
                    self.swallow, self.swallow_after = True, None
                    self.happened.set()
                if self.swallow:
                    continue
                target.sendall(self._harmed(data, passed) if upward else data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _harmed(self, data: bytes, passed: int) -> bytes:
        if self.cut_after is not None and passed > self.cut_after:
            self.cut_after = None
            self.happened.set()
            raise ConnectionError
        if self.corrupt_after is not None and passed > self.corrupt_after:
            self.corrupt_after = None
            self.happened.set()
            return data[:-1] + bytes([data[-1] ^ 1])
        if self.duplicate_after is not None and passed > self.duplicate_after:
            self.duplicate_after = None
            self.happened.set()
            return data + data
        return data

    def cut(self) -> None:
        """End all connections that are open now."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End everything."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.cut()
