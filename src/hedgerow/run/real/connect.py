"""How real parties of a run meet: as whom each process takes part, and certificates that must fit the run file."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hedgerow.agreement.plan import Plan
from hedgerow.agreement.policy import Policy
from hedgerow.errors import IdentityError, ParameterError
from hedgerow.identity import authority
from hedgerow.identity.identity import Identity
from hedgerow.run.file.options import DriverOptions
from hedgerow.run.file.read import RunFile
from hedgerow.run.folder.recorder import Say, Watch

EVENTS = {"here": "is here", "lost": "is away", "back": "is back", "restarted": "is back, as a new process"}


@dataclass(frozen=True)
class Options:
    """How to take part, beside what the run file says."""

    folder: Path | None = None
    resume: bool = False
    threads: int = 1
    watch: Watch = lambda _: None
    say: Say = lambda _: None


@dataclass(frozen=True, eq=False)
class Seat:
    """A process's place in a run of real parties: what all agree on, its certificate, and where they meet."""

    plan: Plan
    settings: DriverOptions
    name: str
    identity: Identity
    say: Say
    meeting: bytes
    """What both sides show when they meet, so that they are here for the same."""

    @cached_property
    def ca(self) -> bytes:
        """The certificate of the authority that signed all others."""
        if self.settings.ca is None:
            raise ParameterError('[driver] lacks ca; name the file of the CA\'s certificate, like ca = "ca.pem".')
        return _content(self.settings.ca)

    @cached_property
    def revoked(self) -> Callable[[bytes], bool]:
        """Whether a certificate was revoked."""
        crl = self.settings.crl
        return (lambda _: False) if crl is None else authority.revoked_checker(_content(crl), self.ca)


def driver_seat(run: RunFile, plan: Plan, identity: Identity, say: Say, meeting: bytes | None = None) -> Seat:
    """The driver's, in a vertical run the active party's; refuses a certificate that the run file does not name."""
    place = f"[[party]] {plan.active!r}" if plan.active else "[driver]"
    seat = Seat(plan, _settings(run), plan.active or "driver", identity, say, meeting or plan.digest)
    return _checked(seat, plan.coordinator, place)


def party_seat(
    run: RunFile, plan: Plan, name: str, identity: Identity, say: Say, *, instead: str, meeting: bytes | None = None
) -> Seat:
    """That of a party which answers; the active party is told what to use instead."""
    settings = _settings(run)
    entry = next((entry for entry in run.parties if entry.name == name), None)
    if entry is None:
        raise ParameterError(f"{name!r} is no party of the run; it names {', '.join(map(repr, plan.names))}.")
    if name == plan.active:
        raise ParameterError(f"{name!r} is the active party, which drives the run; use `{instead}`.")
    seat = Seat(plan, settings, name, identity, say, meeting or plan.digest)
    return _checked(seat, entry.fingerprint, f"[[party]] {name!r}")


def bound_policy(own: Policy, plan: Plan, party: str = "") -> Policy:
    """A party's rules, which from now on allow this plan only; refuses a plan that they do not allow."""
    policy = replace(own, plan=own.plan or plan.digest.hex())
    policy.check(plan, party)
    return policy


def _settings(run: RunFile) -> DriverOptions:
    """Where the driver of real parties listens; refuses a run file that does not say it."""
    if run.driver is None:
        raise ParameterError("Real parties need a [driver] section with address and fingerprint; add it.")
    return run.driver


def _checked(seat: Seat, fingerprint: str, place: str) -> Seat:
    """Refuse a certificate of this side that the run file does not name, or that is no longer good."""
    authority.check_valid(seat.identity.certificate)
    if seat.identity.fingerprint != fingerprint:
        raise IdentityError(
            f"The certificate given with --cert is not the one that {place} fingerprint names; "
            "give that one, or have the run file changed at every party."
        )
    if seat.revoked(seat.identity.certificate):
        raise IdentityError("The certificate given with --cert was revoked; get a new one and have it pinned.")
    return seat


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IdentityError(f"Cannot read {path}: {error.strerror or error}.") from None
