"""How a real run is driven, whatever its parties are asked: listen, let them in, write down every message."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from hedgerow.corridor.wire import Corridor
from hedgerow.errors import HedgerowError, PartyLost, RunError
from hedgerow.run.folder.folder import RunFolder
from hedgerow.run.folder.recorder import Recorder, Watch
from hedgerow.run.folder.restart import STOPPED_BY_DRIVER
from hedgerow.run.real.connect import EVENTS, Seat
from hedgerow.transports.grpc.driver import GrpcTransport

RESTARTED = "restarted"
"""The event of a party that is back as a new process."""
GONE_AFTER = 10.0
"""Seconds without a connection after which a run goes on without a party, where all have consented to that."""


@contextmanager
def drive(
    seat: Seat,
    folder: RunFolder,
    awaited: Sequence[str],
    watch: Watch = lambda _: None,
    on_restart: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Corridor, Recorder]]:
    """Where the parties of a run are asked, once they have dialled in; whatever ends it, they are told how it ended.

    Every message is in the folder's log before it leaves. `on_restart` is called, from another thread, when a party is
    back as a new process, which knows nothing of what was said.
    """
    plan, settings = seat.plan, seat.settings

    def on_event(what: str, who: str) -> None:
        if what == RESTARTED:
            on_restart()
        seat.say(f"{who} {EVENTS[what]}." if what in EVENTS else f"Not let in: {who}")
        if what in EVENTS:
            folder.log.note(f"party {what}", party=who)

    transport = GrpcTransport(
        settings.listen, seat.identity, seat.ca, {name: plan.fingerprints[name] for name in plan.answering},
        revoked=seat.revoked, run=seat.meeting, on_event=on_event,
        grace=GONE_AFTER if plan.goes_on else settings.deadline,
    )  # fmt: skip
    try:
        seat.say(f"Listening at {settings.listen}; waiting for {', '.join(awaited)}.")
        recorder = Recorder(folder.log, watch)
        yield Corridor(transport, (recorder,)), recorder
    except BaseException as error:
        transport.close(False, _why(error))
        with suppress(RunError):  # of a disk that is full, maybe why it ended
            folder.log.note(STOPPED_BY_DRIVER)
        raise
    transport.close(True, "The run is finished.")


def wait_for(parties: Sequence[str], seat: Seat, corridor: Corridor, advice: str) -> None:
    """Return when all of these are here; the refusal ends with what to do."""
    patience = seat.settings.patience
    late = corridor.transport.wait(frozenset(parties), patience)
    if late:
        names = ", ".join(map(repr, sorted(late)))
        raise PartyLost(f"{names} did not come within {patience:g} seconds; {advice}", late)


def _why(error: BaseException) -> str:
    if isinstance(error, HedgerowError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "The driver was stopped by hand; it can go on later."
    return "The driver met an error in its own program."
