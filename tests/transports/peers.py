"""Parties in threads, and peers that break the rules."""

import hashlib
import queue
import threading
import time

from hedgerow.identity.identity import fingerprint
from hedgerow.transports.grpc import envelope, tls_streams
from hedgerow.transports.grpc.party import serve

RUN = b"a run"
QUICK = {"lost_after": 1.0, "heartbeat": 0.2}


class Events:
    """What a transport told; `wait` returns once it was told."""

    def __init__(self) -> None:
        self._told: list[tuple[str, str]] = []
        self._changed = threading.Condition()

    def __call__(self, what: str, who: str) -> None:
        with self._changed:
            self._told.append((what, who))
            self._changed.notify_all()

    def wait(self, what: str, who: str = "", seconds: float = 10.0) -> str:
        def found() -> str | None:
            return next((w for kind, w in self._told if kind == what and who in w), None)

        with self._changed:
            got = self._changed.wait_for(found, seconds)
            assert got is not None, f"no {what} of {who!r} in {self._told}"
            return got

    def told(self, what: str) -> list[str]:
        with self._changed:
            return [who for kind, who in self._told if kind == what]


class Party(threading.Thread):
    """`serve` in a thread; `result` is what it returned or raised."""

    def __init__(self, port, identity, ca, name, answer, **more) -> None:
        super().__init__(daemon=True)
        self.result: object = None
        self.events = Events()
        self._arguments = (f"127.0.0.1:{port}", identity, ca, name, answer)
        self._more = {"run": RUN, "patience": 5.0, "on_event": self.events, **QUICK, **more}
        self.start()

    def run(self) -> None:
        try:
            self.result = serve(*self._arguments, **self._more)
        except Exception as error:
            self.result = error

    def ended(self, seconds: float = 10.0) -> object:
        self.join(seconds)
        assert not self.is_alive(), "the party did not end"
        return self.result


class RawParty:
    """A stream with a valid certificate over which anything can be sent."""

    def __init__(self, port, identity, ca) -> None:
        self._out: queue.Queue[bytes | None] = queue.Queue()
        self._stream = tls_streams.Dialled(f"127.0.0.1:{port}", identity, ca, None, iter(self._out.get, None))
        self._stream.known = True  # it reports what the driver says
        self._in = iter(self._stream)

    def send(self, message: object) -> None:
        self._out.put(message if isinstance(message, bytes) else envelope.encode(message))

    def hello(self, name: str, start: bytes = b"0" * 16, run: bytes = RUN, version: int = envelope.VERSION) -> None:
        self.send(envelope.Hello(version, name, start, run))

    def next(self) -> object:
        """The next message that is no heartbeat; raises what ended the stream."""
        while True:
            message = envelope.read_from_driver(next(self._in))
            if not isinstance(message, envelope.Beat):
                return message

    def beat(self, every: float = 0.2) -> None:
        """Stay alive from now on."""

        def run() -> None:
            while True:
                self.send(envelope.Beat())
                time.sleep(every)

        threading.Thread(target=run, daemon=True).start()

    def close(self) -> None:
        self._out.put(None)
        self._stream.cut()


class RawDriver:
    """A listener that welcomes one party and sends it whatever it is told to."""

    def __init__(self, identity, ca) -> None:
        self.identity, self.start = identity, b"d" * 16
        self.received: queue.Queue[object] = queue.Queue()
        self.out: queue.Queue[object] = queue.Queue()
        self._listener = tls_streams.listen("127.0.0.1:0", identity, ca, self._talk, 10)
        self.port = self._listener.port

    def _talk(self, caller):
        hello = envelope.read_hello(next(caller.messages))
        who = bytes.fromhex(fingerprint(caller.certificate))
        signature = self.identity.sign("welcome", who + hello.start + self.start)
        yield envelope.encode(envelope.Welcome(envelope.VERSION, self.start, self.identity.certificate, signature))
        threading.Thread(target=self._read, args=(caller,), daemon=True).start()
        while (message := self._next()) is not None:
            yield message if isinstance(message, bytes) else envelope.encode(message)

    def _next(self) -> object:
        try:
            return self.out.get(timeout=0.2)
        except queue.Empty:
            return envelope.Beat()

    def _read(self, caller) -> None:
        for raw in caller.messages:
            message = envelope.read_from_party(raw)
            if not isinstance(message, envelope.Beat):
                self.received.put(message)
        self.out.put(None)

    def request(self, sequence: int, frame: bytes) -> None:
        for message in envelope.cut(sequence, frame, sha(frame)):
            self.out.put(message)

    def close(self) -> None:
        self.out.put(None)
        self._listener.stop()


def sha(frame: bytes) -> bytes:
    return hashlib.sha256(frame).digest()
