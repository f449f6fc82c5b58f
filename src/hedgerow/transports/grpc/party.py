"""A party's end: it dials out to the driver, answers what it is asked, and has no listening socket.

Answers are computed one at a time in the thread that called `serve`; other threads keep the stream alive meanwhile and
make a new one when it breaks.
"""

from collections.abc import Callable

from hedgerow.corridor.transport import Answer
from hedgerow.errors import HedgerowError, PartyLost
from hedgerow.identity.dates import check_authority, check_dates
from hedgerow.identity.identity import Identity
from hedgerow.transports.grpc.client import Calling, Terms
from hedgerow.transports.grpc.envelope import Failed, short
from hedgerow.transports.grpc.inbox import Desk, Request

STOPPED = "stopped"
"""The event of a driver that stops the run for everybody; one that is merely gone does not."""


def _ignore(_what: str, _who: str) -> None:
    """Tell nobody."""


def serve(
    address: str,
    identity: Identity,
    ca: bytes,
    name: str,
    answer: Answer,
    *,
    run: bytes,
    most_bytes: Callable[[], int] = lambda: 1 << 30,
    patience: float = 600.0,
    lost_after: float = 8.0,
    heartbeat: float = 1.5,
    server_name: str | None = None,
    driver: str | None = None,
    revoked: Callable[[bytes], bool] = lambda _certificate: False,
    on_event: Callable[[str, str], None] = _ignore,
) -> str:
    """Answer the driver at `address` ("host:port") until it says goodbye; returns what it said.

    Gives up with PartyLost after `patience` seconds without the driver. The address's host, or `server_name`, must be
    in the driver's certificate; with `driver`, the certificate must have that fingerprint; `revoked` may refuse it. No
    request may have more than `most_bytes()` when it comes. An
    error that `answer` raises on purpose is told to the driver in its own words; of any other, only that there was one.
    `on_event` is told, from another thread: here, lost, back or restarted with "driver"; failed with a sentence;
    waiting with a sentence that says why the driver is not reached and how long it is tried; and at the end stopped,
    with its sentence, if the driver said that it stops the run.
    """
    check_authority(ca)
    check_dates(identity.certificate, f"The certificate of {name}")
    terms = Terms(
        address, identity, ca, name, run, server_name, driver, patience=patience, lost_after=lost_after,
        heartbeat=heartbeat, on_event=on_event, revoked=revoked,
    )  # fmt: skip
    desk = Desk(most_bytes)
    calling = Calling(terms, desk)
    calling.begin()
    try:
        while isinstance(request := desk.next(), Request):
            desk.settle(request, _answered(answer, request, calling))
    finally:
        calling.finish()
    if not request.ok:
        calling.tell(STOPPED, short(request.sentence))
        raise PartyLost(f"The driver stopped the run: {short(request.sentence)}")
    return short(request.sentence)


def _answered(answer: Answer, request: Request, calling: Calling) -> bytes | Failed:
    try:
        return answer(request.frame)
    except HedgerowError as error:
        calling.tell("failed", str(error))
        return Failed(request.sequence, short(str(error)))
    except BaseException as error:
        why = "it was interrupted" if isinstance(error, KeyboardInterrupt) else "of an error in its own program"
        calling.part(Failed(request.sequence, f"{calling.name} stopped because {why}.", parting=True))
        raise
