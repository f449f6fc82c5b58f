"""How real parties of a run meet: certificates that must fit the run file, where the driver listens, what is told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.transport import Answer
from hedgerow.errors import (
    HedgerowError,
    IdentityError,
    ParameterError,
    PolicyError,
    PrivacyError,
    ProtocolError,
    RunError,
)
from hedgerow.identity import authority
from hedgerow.identity.identity import Identity
from hedgerow.run.file.options import DriverOptions, PartyEntry
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder.folder import RunFolder
from hedgerow.run.folder.recorder import Say
from hedgerow.run.folder.restart import STOPPED_BY_DRIVER
from hedgerow.transports.grpc.driver import GrpcTransport
from hedgerow.transports.grpc.party import STOPPED

GONE_AFTER = 10.0
"""Seconds without a connection after which a run goes on without a party, where all have consented to that."""

EVENTS = {"here": "is here", "lost": "is away", "back": "is back", "restarted": "is back, as a new process"}


@contextmanager
def listening(
    settings: DriverOptions, identity: Identity, plan: Plan, folder: RunFolder, say: Say, run: bytes | None = None
) -> Iterator[GrpcTransport]:
    """Where parties dial in that are here for this run; whatever ends it, they are told how it ended."""

    def on_event(what: str, who: str) -> None:
        say(f"{who} {EVENTS[what]}." if what in EVENTS else f"Not let in: {who}")
        if what in EVENTS:
            folder.log.note(f"party {what}", party=who)

    ca, pins = ca_of(settings), {name: plan.fingerprints[name] for name in plan.answering}
    transport = GrpcTransport(
        settings.listen, identity, ca, pins, revoked=revoked_by(settings, ca), run=run or plan.digest,
        grace=GONE_AFTER if plan.goes_on else settings.deadline, on_event=on_event,
    )  # fmt: skip
    try:
        yield transport
    except BaseException as error:
        transport.close(False, _why(error))
        with suppress(RunError):  # of a disk that is full, maybe why it ended
            folder.log.note(STOPPED_BY_DRIVER)
        raise
    transport.close(True, "The run is finished.")


def _why(error: BaseException) -> str:
    if isinstance(error, HedgerowError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "The driver was stopped by hand; it can go on later."
    return "The driver met an error in its own program."


def told_of_driver(say: Say) -> Callable[[str, str], None]:
    """What a party's user is told of the driver: where it is, why it is not reached, and what this party refuses."""

    def on_event(what: str, who: str) -> None:
        if what == "waiting":
            say(who)
        elif what != STOPPED:  # which ends the party, with that sentence
            say(f"The driver {EVENTS[what]}." if what in EVENTS else f"This party refuses: {who}")

    return on_event


def discreet(own: Answer, say: Say) -> Answer:
    """Answers whose refusals tell the driver nothing of the rows; the owner is told all."""

    def answer(frame: bytes) -> bytes:
        try:
            return own(frame)
        except (PolicyError, ProtocolError, PrivacyError, IdentityError):
            raise  # these speak of what the driver said
        except HedgerowError as error:
            say(f"This party refuses: {error}")
            raise RunError("Its table cannot be used in this run; its own output says why.") from None

    return answer


def settings_of(run: RunFile) -> DriverOptions:
    """Where and as whom the driver of real parties listens; refuses a run file that does not say it."""
    if run.driver is None:
        raise ParameterError("Real parties need a [driver] section with address and fingerprint; add it.")
    return run.driver


def passive_entry(run: RunFile, plan: Plan, name: str, instead: str) -> PartyEntry:
    """The run file's entry of a party that answers; the active party is told what to use instead."""
    entry = next((entry for entry in run.parties if entry.name == name), None)
    if entry is None:
        raise ParameterError(f"{name!r} is no party of the run; it names {', '.join(map(repr, plan.names))}.")
    if name == plan.active:
        raise ParameterError(f"{name!r} is the active party, which drives the run; use `{instead}`.")
    return entry


def check_own(identity: Identity, fingerprint: str, place: str, settings: DriverOptions) -> None:
    """Refuse a certificate of this side that the run file does not name, or that is no longer good."""
    authority.check_valid(identity.certificate)
    if identity.fingerprint != fingerprint:
        raise IdentityError(
            f"The certificate given with --cert is not the one that {place} fingerprint names; "
            "give that one, or have the run file changed at every party."
        )
    if revoked_by(settings, ca_of(settings))(identity.certificate):
        raise IdentityError("The certificate given with --cert was revoked; get a new one and have it pinned.")


def ca_of(settings: DriverOptions) -> bytes:
    """The certificate of the authority that signed all others."""
    if settings.ca is None:
        raise ParameterError('[driver] lacks ca; name the file of the CA\'s certificate, like ca = "ca.pem".')
    return _content(settings.ca)


def revoked_by(settings: DriverOptions, ca: bytes) -> Callable[[bytes], bool]:
    """Whether a certificate was revoked."""
    return (lambda _: False) if settings.crl is None else authority.revoked_checker(_content(settings.crl), ca)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IdentityError(f"Cannot read {path}: {error.strerror or error}.") from None
