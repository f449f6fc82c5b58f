"""How a party keeps a stream to the driver: dials, speaks, watches for silence, and dials again."""

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hedgerow.errors import HedgerowError, IdentityError, PartyLost, ProtocolError
from hedgerow.identity.identity import Identity, fingerprint, verify
from hedgerow.transports.grpc.envelope import (
    VERSION,
    Beat,
    Failed,
    FromDriver,
    Goodbye,
    Head,
    Hello,
    Part,
    Welcome,
    encode,
    read_from_driver,
    short,
)
from hedgerow.transports.grpc.inbox import Desk, Line
from hedgerow.transports.grpc.tls_streams import Broken, Dialled, Occupied, Shut
from hedgerow.transports.grpc.waiting import Waiting

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
SHUT_TIMES = 3
OCCUPIED_SECONDS = 20.0
LAST_WORDS_SECONDS = 2.0
_BEAT = encode(Beat())


@dataclass(frozen=True)
class Terms:
    """Whom to call, as whom, and how long to try."""

    address: str
    identity: Identity
    ca: bytes
    name: str
    run: bytes
    server_name: str | None
    driver: str | None
    patience: float
    lost_after: float
    heartbeat: float
    on_event: Callable[[str, str], None]
    revoked: Callable[[bytes], bool]


class Calling:
    """Keeps a stream to the driver, in threads of its own."""

    def __init__(self, terms: Terms, desk: Desk) -> None:
        self.name = terms.name
        self._terms, self._desk = terms, desk
        self._start = secrets.token_bytes(16)
        self._over = threading.Event()
        self._heard = time.monotonic()
        self._line: Line | None = None
        self._stream: Dialled | None = None
        self._lost = False
        self._waiting = Waiting(lambda sentence: self.tell("waiting", sentence))
        self._threads = [
            threading.Thread(target=work, daemon=True, name=f"hedgerow-{work.__name__.strip('_')}")
            for work in (self._dial, self._watch)
        ]

    def begin(self) -> None:
        """Dial."""
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """End the stream and the threads."""
        self._over.set()
        if self._stream is not None:
            self._stream.cut()
        for thread in self._threads:
            thread.join(LAST_WORDS_SECONDS)

    def part(self, failed: Failed) -> None:
        """Send this as the last thing, if there is a stream, and wait a little until it is gone."""
        self._over.set()
        with self._desk.changed:
            if self._line is not None:
                self._line.parting = failed
            self._desk.changed.notify_all()
        self._threads[0].join(LAST_WORDS_SECONDS)

    def tell(self, what: str, who: str) -> None:
        """To whoever wants to know."""
        with contextlib.suppress(Exception):
            self._terms.on_event(what, who)

    # Dialling, in a thread of its own

    def _dial(self) -> None:
        try:
            self._dial_again_and_again()
        finally:  # counts only if nothing else ended it
            self._desk.end(PartyLost("The stream to the driver is no longer kept; start the party again."))

    def _dial_again_and_again(self) -> None:
        pause, shut = FIRST_PAUSE, 0
        occupied: float | None = None
        while not self._over.is_set():
            line = Line(time.monotonic())
            trouble: HedgerowError = Broken(f"The driver at {self._terms.address} ended the stream")
            try:
                self._converse(line)
            except HedgerowError as error:
                trouble = error
            if line.silent:
                trouble = Broken(
                    f"Nothing answers at {self._terms.address}; check the address and that no firewall is in between"
                )
            if line.welcomed:
                pause, shut, occupied = FIRST_PAUSE, 0, None
                self._lose()
            shut += isinstance(trouble, Shut)
            occupied = (occupied or time.monotonic()) if isinstance(trouble, Occupied) else None
            if (end := self._hopeless(trouble, shut, occupied)) is not None:
                self._desk.end(end)
                return
            if not line.welcomed:
                self._say_why(trouble, occupied)
            self._over.wait(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)

    def _hopeless(self, trouble: HedgerowError, shut: int, occupied: float | None) -> HedgerowError | None:
        """The error to end with, unless dialling again may help."""
        now = time.monotonic()
        if isinstance(trouble, Occupied):
            return trouble if occupied is not None and now - occupied > OCCUPIED_SECONDS else None
        if not isinstance(trouble, Broken):
            return trouble
        if shut >= SHUT_TIMES:
            return IdentityError(f"{trouble}.")
        if now - self._heard > self._terms.patience:
            return PartyLost(f"{trouble}; gave up after {self._terms.patience:g} seconds without the driver.")
        return None

    def _say_why(self, trouble: HedgerowError, occupied: float | None) -> None:
        """Why the driver was not reached, unless that is known to end soon, and how long it is tried."""
        now, address = time.monotonic(), self._terms.address
        if self._over.is_set() or isinstance(trouble, Shut):
            return
        if occupied is not None:
            reason = f"Another process with this party's certificate is connected to the driver at {address}"
            self._waiting.failed(reason, occupied + OCCUPIED_SECONDS - now)
        else:
            self._waiting.failed(str(trouble), self._heard + self._terms.patience - now)

    def _converse(self, line: Line) -> None:
        """One stream, from dialling to its end."""
        terms = self._terms
        stream = Dialled(terms.address, terms.identity, terms.ca, terms.server_name, self._speak(line))
        self._line, self._stream = line, stream
        try:
            if self._over.is_set():
                return
            for raw in stream:
                line.heard = self._heard = time.monotonic()
                message = read_from_driver(raw)
                try:
                    self._take(line, message)
                    stream.known = line.welcomed
                except ProtocolError as error:
                    self._refuse(line, message, error, stream)
                    raise
        finally:
            with self._desk.changed:
                line.ended, self._line = True, None
                self._desk.changed.notify_all()
            stream.cut()

    def _refuse(self, line: Line, message: FromDriver, error: ProtocolError, stream: Dialled) -> None:
        """Say why, and stay until the driver has read it and ends the stream."""
        if not isinstance(message, (Head, Part)):
            return
        with self._desk.changed:
            line.parting = Failed(message.sequence, short(str(error)))
            self._desk.changed.notify_all()
        end = time.monotonic() + LAST_WORDS_SECONDS
        with contextlib.suppress(HedgerowError):
            for _ in stream:
                if time.monotonic() > end:
                    return

    def _take(self, line: Line, message: FromDriver) -> None:
        if isinstance(message, Welcome):
            self._meet(line, message)
        elif not line.welcomed:
            raise ProtocolError("The driver did not begin with a welcome; install the same release at both ends.")
        elif isinstance(message, Goodbye):
            self._over.set()
            self._desk.end(message)
        elif isinstance(message, (Head, Part)):
            self._desk.take(line, message)

    def _meet(self, line: Line, welcome: Welcome) -> None:
        """The driver has signed for this party's certificate and process, so it is no other party in between."""
        pin = self._terms.driver
        if pin is not None and fingerprint(welcome.certificate) != pin.replace(":", "").lower():
            raise IdentityError(
                f"The driver at {self._terms.address} does not have the certificate that is in the plan."
            )
        if self._terms.revoked(welcome.certificate):
            raise IdentityError(f"The certificate of the driver at {self._terms.address} was revoked.")
        said = bytes.fromhex(self._terms.identity.fingerprint) + self._start + welcome.start
        verify(welcome.certificate, "welcome", said, welcome.signature)
        line.welcomed = True
        self._waiting.over()
        other = self._desk.meet(welcome.start)
        self.tell("restarted" if other else "back" if self._lost else "here", "driver")
        self._lost = False

    def _lose(self) -> None:
        if not self._over.is_set() and not self._lost:
            self._lost = True
            self.tell("lost", "driver")

    # Speaking, in the thread that gRPC keeps for each stream

    def _speak(self, line: Line) -> Iterator[bytes]:
        desk = self._desk
        yield encode(Hello(VERSION, self._terms.name, self._start, self._terms.run))
        while True:
            with desk.changed:
                desk.changed.wait_for(lambda: line.stopped or desk.due(line), self._terms.heartbeat)
                request = desk.due(line)
                line.owed = line.owed and request is None
            if line.ended:
                return
            if line.parting is not None:
                yield encode(line.parting)
                return
            if request is None:
                yield _BEAT
                continue
            for message in request.messages():
                if line.stopped or not desk.is_latest(request):
                    break
                yield message

    # Watching for silence, in a thread of its own

    def _watch(self) -> None:
        while not self._over.wait(min(self._terms.heartbeat, self._terms.lost_after / 4)):
            line, stream = self._line, self._stream
            if line is not None and stream is not None and time.monotonic() - line.heard > self._terms.lost_after:
                line.silent = not line.welcomed
                stream.cut()
