"""How a real party serves its driver, whatever it is asked: dial, answer until the driver says goodbye."""

from collections.abc import Callable

from hedgerow.corridor.transport import Answer
from hedgerow.errors import (
    CipherError,
    HedgerowError,
    IdentityError,
    PolicyError,
    PrivacyError,
    ProtocolError,
    RunError,
)
from hedgerow.run.folder.restart import STOPPED_BY_DRIVER
from hedgerow.run.real.connect import EVENTS, Seat
from hedgerow.storage.audit import AuditLog
from hedgerow.transports.grpc import party as grpc_party


def serve(seat: Seat, answer: Answer, most_bytes: Callable[[], int], log: AuditLog | None = None) -> None:
    """Answer the driver until it says goodbye; if it stops the run for everybody, that goes into the log, if any.

    No request may have more than `most_bytes()` when it comes. Refusals tell the driver nothing of the rows.
    """

    def on_event(what: str, who: str) -> None:
        if what == "waiting":
            seat.say(who)
        elif what == grpc_party.STOPPED:  # which ends the party, with that sentence
            if log is not None:
                log.note(STOPPED_BY_DRIVER)
        else:
            seat.say(f"The driver {EVENTS[what]}." if what in EVENTS else f"This party refuses: {who}")

    settings = seat.settings
    seat.say(f"Calling the driver at {settings.address}.")
    grpc_party.serve(
        settings.address, seat.identity, seat.ca, seat.name, _discreet(seat, answer), run=seat.meeting,
        most_bytes=most_bytes, patience=settings.patience, driver=seat.plan.coordinator, revoked=seat.revoked,
        on_event=on_event,
    )  # fmt: skip


def _discreet(seat: Seat, own: Answer) -> Answer:
    """Answers whose refusals tell the driver nothing of the rows; the owner is told all."""

    def answer(frame: bytes) -> bytes:
        try:
            return own(frame)
        except (CipherError, PolicyError, ProtocolError, PrivacyError, IdentityError):
            raise  # these speak of what the driver said
        except HedgerowError as error:
            seat.say(f"This party refuses: {error}")
            raise RunError("Its table cannot be used in this run; its own output says why.") from None

    return answer
