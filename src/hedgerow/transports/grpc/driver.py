"""The driver's end: the only one that listens. Parties dial in, one stream each, and are known by their certificates.

Requests are numbered. One that is under way when a party's stream breaks is sent again when the same process is back,
which answers it from memory if it had computed the answer already.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping

from hedgerow.errors import ParameterError, ProtocolError
from hedgerow.identity.dates import check_authority, check_dates
from hedgerow.identity.identity import Identity
from hedgerow.transports.grpc import tls_streams
from hedgerow.transports.grpc.envelope import Goodbye, short
from hedgerow.transports.grpc.server import STREAMS_PER_PARTY, Reception, Rules
from hedgerow.transports.grpc.sessions import Asked, Seat


def _ignore(_what: str, _who: str) -> None:
    """Tell nobody."""


class GrpcTransport:
    """Carries frames to parties that dial in at `listen` ("host:port"; port 0: the system chooses, see `port`).

    `pins` are the fingerprints of the parties' certificates; `revoked` may refuse one of them. A party that is silent
    for `lost_after` seconds counts as gone, and one that is gone for `grace` seconds as missing. `on_event` is told,
    from another thread: here, lost, back or restarted with a name; refused with a sentence. With `run`, parties of
    another run are refused. `reasons` says why each party that was missing in the last `carry` was so; those in
    `refusals` are connected and refused: do not wait for them.
    """

    def __init__(
        self,
        listen: str,
        identity: Identity,
        ca: bytes,
        pins: Mapping[str, str],
        *,
        revoked: Callable[[bytes], bool] = lambda _certificate: False,
        lost_after: float = 8.0,
        grace: float = 600.0,
        heartbeat: float = 1.5,
        run: bytes | None = None,
        on_event: Callable[[str, str], None] = _ignore,
    ) -> None:
        check_authority(ca)
        check_dates(identity.certificate, "The driver's own certificate")
        self.reasons: dict[str, str] = {}
        self.refusals: frozenset[str] = frozenset()
        self._grace, self._sequence, self._carrying = grace, 0, threading.Lock()
        self._beside: list[Callable[[], None]] = []
        self._reception = Reception(identity, Rules(dict(pins), revoked, run, lost_after, heartbeat, on_event))
        streams = STREAMS_PER_PARTY * len(pins) + 4
        try:
            self._listener = tls_streams.listen(listen, identity, ca, self._reception.talk, streams)
        except BaseException:
            self._reception.finish()
            raise

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listener.port

    def here(self) -> frozenset[str]:
        """The parties that can be asked now."""
        with self._reception.changed:
            return frozenset(name for name, seat in self._reception.seats.items() if seat.link is not None)

    def wait(self, parties: frozenset[str], deadline: float) -> frozenset[str]:
        """Wait until these are here, at most `deadline` seconds; returns those that are not."""
        seats = [self._seat(name) for name in parties]
        with self._reception.changed:
            self._reception.changed.wait_for(lambda: all(seat.link for seat in seats), deadline)
            for seat in seats:
                seat.accept()
            return frozenset(seat.name for seat in seats if seat.link is None)

    def meanwhile(self, work: Callable[[], None]) -> None:
        """Work that the next `carry` does when its frames are on their way."""
        self._beside.append(work)

    def carry(
        self, frames: Mapping[str, bytes], deadline: float, most_bytes: int
    ) -> tuple[dict[str, bytes], frozenset[str]]:
        """Hand each party its frame; returns the answers, and who did not answer."""
        seats = [self._seat(name) for name in frames]
        with self._carrying:
            try:
                asked, end = self._ask(seats, frames, most_bytes), time.monotonic() + deadline
                if self._beside:
                    self._await(seats, deadline, end, lambda one: one.settled or one.gone)
                while self._beside:
                    self._beside.pop(0)()
                self._await(seats, deadline, end, lambda one: one.settled)
            finally:
                with self._reception.changed:
                    for seat in seats:
                        seat.forget()
        self.reasons = {seat.name: one.reason for seat, one in zip(seats, asked, strict=True) if one.reason is not None}
        self.refusals = frozenset(seat.name for seat, one in zip(seats, asked, strict=True) if one.refused)
        answers = {seat.name: one.answer for seat, one in zip(seats, asked, strict=True) if one.answer is not None}
        return answers, frozenset(frames) - answers.keys()

    def _ask(self, seats: list[Seat], frames: Mapping[str, bytes], most_bytes: int) -> list[Asked]:
        """Send each party its frame as soon as it is made."""
        with self._reception.changed:
            if self._reception.farewell is not None:
                raise ProtocolError("The transport was closed; nothing can be carried any more.")
            self._sequence += 1
        asked: list[Asked] = []
        frame, digest = b"", hashlib.sha256().digest()
        for seat in seats:
            before, frame = frame, frames[seat.name]
            digest = digest if frame is before else hashlib.sha256(frame).digest()
            with self._reception.changed:
                asked.append(seat.ask(Asked(self._sequence, frame, digest, most_bytes)))
                self._reception.to_say.notify_all()
        return asked

    def _await(self, seats: list[Seat], deadline: float, end: float, enough: Callable[[Asked], bool]) -> None:
        """Until every request is far enough, or settled by a reason why it will never be."""
        changed = self._reception.changed
        with changed:
            while waiting := [seat for seat in seats if seat.asked is not None and not enough(seat.asked)]:
                now = time.monotonic()
                for seat in waiting:
                    late = f"{seat.name} did not answer within {deadline:g} seconds." if now >= end else None
                    seat.give_up(seat.missing(self._grace, now) or late)
                if any(seat.asked is not None and not enough(seat.asked) for seat in waiting):
                    changed.wait(min(end - now, 0.5))

    def _seat(self, name: str) -> Seat:
        if name not in self._reception.seats:
            raise ParameterError(f"There is no pinned certificate for {name!r}; name it in the run's plan.")
        return self._reception.seats[name]

    def close(self, ok: bool = True, sentence: str = "The run is over.") -> None:
        """Say goodbye to all; nothing can be carried afterwards."""
        changed, seats = self._reception.changed, self._reception.seats.values()
        with changed:
            if self._reception.farewell is not None:
                return
            self._reception.farewell = Goodbye(ok, short(sentence))
            self._reception.to_say.notify_all()
            changed.wait_for(lambda: all(seat.link is None for seat in seats), 3.0)
        self._listener.stop()
        self._reception.finish()
