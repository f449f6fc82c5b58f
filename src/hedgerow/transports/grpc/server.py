"""Where the driver receives its parties: lets streams in by certificate, speaks over them, and notices silence.

A certificate is looked up among the pins before anything that a stream says is parsed.
"""

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hedgerow.errors import HedgerowError, IdentityError, ParameterError, ProtocolError
from hedgerow.identity.dates import check_dates
from hedgerow.identity.identity import Identity, fingerprint
from hedgerow.transports.grpc.envelope import (
    VERSION,
    Beat,
    Failed,
    Goodbye,
    Hello,
    Welcome,
    cut,
    encode,
    read_from_party,
    read_hello,
    short,
)
from hedgerow.transports.grpc.sessions import Asked, Link, Seat
from hedgerow.transports.grpc.tls_streams import Caller, Occupied

STREAMS_PER_PARTY = 4
MOST_EVENTS = 1000
_BEAT = encode(Beat())


@dataclass(frozen=True)
class Rules:
    """Whom to let in, when silence counts as absence, and whom to tell."""

    pins: Mapping[str, str]
    revoked: Callable[[bytes], bool]
    run: bytes | None
    lost_after: float
    heartbeat: float
    on_event: Callable[[str, str], None]


class Reception:
    """The parties' seats and streams; everything in it is read and changed with their one lock held.

    Who asks waits for `changed`, those that speak for `to_say`: nobody is woken for what is another's.
    """

    def __init__(self, identity: Identity, rules: Rules) -> None:
        lock = threading.RLock()
        self.changed, self.to_say, self._to_tell = (threading.Condition(lock) for _ in range(3))
        self.seats = {name: Seat(name) for name in rules.pins}
        self.farewell: Goodbye | None = None
        self._identity, self._rules, self._names = identity, rules, _by_fingerprint(rules.pins)
        self._start = secrets.token_bytes(16)
        self._links: set[Link] = set()
        self._events: list[tuple[str, str]] = []
        self._over = False
        self._watcher = threading.Thread(target=self._watch, daemon=True, name="hedgerow-watch")
        self._watcher.start()

    def finish(self) -> None:
        """Tell the last events and stop watching."""
        with self.changed:
            self._over = True
            self._to_tell.notify_all()
        self._watcher.join(2)

    # A stream, in the thread that sends over it

    def talk(self, caller: Caller) -> Iterator[bytes]:
        """What the driver says over a stream that was opened; a HedgerowError ends it."""
        link: Link | None = None
        try:
            link = self._admit(caller)
            first = next(caller.messages, None)
            if first is None:
                return
            yield self._greet(link, read_hello(first))
            threading.Thread(target=self._hear, args=(link,), daemon=True, name="hedgerow-hear").start()
            yield from self._speak(link)
        except HedgerowError as error:
            self._tell("refused", str(error))
            raise
        finally:
            if link is not None:
                self._drop(link)

    def _admit(self, caller: Caller) -> Link:
        """Who this is, by the certificate alone; nothing that was sent has been looked at."""
        shown = fingerprint(caller.certificate)
        name = self._names.get(shown)
        if name is None:
            raise IdentityError(f"The certificate {shown} is not in the plan; ask the driver to pin it.")
        check_dates(caller.certificate, f"The certificate of {name}")
        if self._rules.revoked(caller.certificate):
            raise IdentityError(f"The certificate of {name} was revoked; get a new one and have it pinned.")
        link = Link(caller, name)
        with self.changed:
            if sum(other.name == name for other in self._links) >= STREAMS_PER_PARTY:
                raise Occupied(f"{name} has {STREAMS_PER_PARTY} streams open already; wait until they have ended.")
            self._links.add(link)
        return link

    def _greet(self, link: Link, hello: Hello) -> bytes:
        if hello.name != link.name:
            raise IdentityError(
                f"The certificate of {link.name} was shown by a party that calls itself {hello.name!r}; "
                "use that party's own certificate."
            )
        if self._rules.run is not None and hello.run != self._rules.run:
            raise ProtocolError(f"{link.name} is here for another run; start it with this run's plan.")
        link.start = hello.start
        self._take_seat(link)
        said = bytes.fromhex(fingerprint(link.caller.certificate)) + hello.start + self._start
        signature = self._identity.sign("welcome", said)
        return encode(Welcome(VERSION, self._start, self._identity.certificate, signature))

    def _take_seat(self, link: Link) -> None:
        """The same process again replaces its own stream; another one must wait until the first is silent."""
        with self.changed:
            seat = self.seats[link.name]
            before = seat.link
            if before is not None and before.start != link.start:
                if time.monotonic() - before.heard <= self._rules.lost_after:
                    raise Occupied(f"There are two processes with the certificate of {link.name}; stop one of them.")
                self._drop(before)
            told = seat.take(link)
            if before is not None:
                self._drop(before)
                before.caller.cut()
            if told is not None:
                self._tell(told, link.name)
            self.changed.notify_all()

    def _speak(self, link: Link) -> Iterator[bytes]:
        seat = self.seats[link.name]
        while True:
            with self.changed:
                self.to_say.wait_for(
                    lambda: link.ended or link.fault or self.farewell or seat.due(link), self._rules.heartbeat
                )
                if link.fault is not None:
                    raise link.fault
                if link.ended:
                    return
                farewell, asked = self.farewell, seat.due(link)
                if asked is not None:
                    link.sent = asked.sequence
            if farewell is not None:
                yield encode(farewell)
                return
            if asked is None:
                yield _BEAT
            else:
                yield from self._send(link, asked)

    def _send(self, link: Link, asked: Asked) -> Iterator[bytes]:
        seat = self.seats[link.name]
        for message in cut(asked.sequence, asked.frame, asked.sha256):
            if link.ended or link.fault or self.farewell or seat.asked is not asked:
                return
            yield message
        with self.changed:
            asked.gone = True
            self.changed.notify_all()

    # A stream, in the thread that reads it

    def _hear(self, link: Link) -> None:
        seat = self.seats[link.name]
        try:
            for raw in link.caller.messages:
                with self.changed:
                    link.heard = time.monotonic()
                    asked = seat.asked if seat.link is link else None
                answer = link.collect(read_from_party(raw), asked)
                if answer is not None and asked is not None:
                    self._settle(asked, answer)
        except ProtocolError as fault:
            with self.changed:
                link.fault = fault
                if seat.link is link and seat.asked is not None and not seat.asked.settled:
                    seat.asked.reason = f"{link.name} broke the rules of the transport: {fault}"
                self._stir()
        else:
            self._drop(link)

    def _settle(self, asked: Asked, answer: bytes | Failed) -> None:
        with self.changed:
            if asked.settled:
                return
            if isinstance(answer, Failed):
                asked.reason, asked.refused = short(answer.sentence), not answer.parting
            else:
                asked.answer = answer
            self.changed.notify_all()

    # Those who fell silent, and what there is to tell

    def _drop(self, link: Link) -> None:
        with self.changed:
            self._links.discard(link)
            seat = self.seats[link.name]
            if seat.link is link:
                seat.leave()
                if self.farewell is None:
                    self._tell("lost", link.name)
            link.ended = True
            self._stir()

    def _stir(self) -> None:
        """Something that both who asks and who speaks look at."""
        self.changed.notify_all()
        self.to_say.notify_all()

    def _tell(self, what: str, who: str) -> None:
        with self.changed:
            if len(self._events) < MOST_EVENTS:
                self._events.append((what, who))
            self._to_tell.notify_all()

    def _watch(self) -> None:
        over = False
        while not over:
            with self.changed:
                if not self._events and not self._over:
                    self._to_tell.wait(min(self._rules.heartbeat, self._rules.lost_after / 4))
                now = time.monotonic()
                silent = [link for link in self._links if now - link.heard > self._rules.lost_after]
                for link in silent:
                    self._drop(link)
                events, self._events = self._events, []
                over = self._over
            for link in silent:
                link.caller.cut()
            for what, who in events:
                with contextlib.suppress(Exception):
                    self._rules.on_event(what, who)


def _by_fingerprint(pins: Mapping[str, str]) -> dict[str, str]:
    names = {pin.replace(":", "").lower(): name for name, pin in pins.items()}
    if len(names) < len(pins):
        raise ParameterError("Two parties have the same certificate in the plan; give each its own.")
    return names
