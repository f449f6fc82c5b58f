"""Which requests of an opened session a passive party answered, by its log, each signed by the active party."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskScores, BeginScores, SlotsTold
from hedgerow.errors import AuditError, IdentityError
from hedgerow.identity.identity import fingerprint, verify
from hedgerow.protocols.scores.openings import SessionOpening
from hedgerow.protocols.scores.pads import batch_hash, session_hash
from hedgerow.protocols.scores.signing import PURPOSE, TOLD, begun_hash, signed

Line = Mapping[str, Any]


def answered(
    plan: Plan, opened: SessionOpening, party: str, slots: Sequence[SlotsTold], log: Iterable[Line]
) -> list[AskScores]:
    """The requests that a party answered; refuses an opening that lacks one, or one that was not signed.

    `slots` are those that the model gives the party.
    """
    head = opened.head
    lines = [line for line in log if line["event"] == TOLD and line.get("session") == head.session.hex()]
    if not lines:
        raise AuditError(f"The log of {party!r} has no answer of this session.")
    begun = begun_hash(BeginScores(head.session, head.keys, tuple(slots), head.public_key))
    _check_begun(lines, opened, begun)
    if fingerprint(head.certificate) != plan.fingerprints[plan.active]:
        raise AuditError("The certificate in the opening is not the active party's of the plan.")
    requests = {}
    for request in (request for name, request in opened.requests if name == party):
        said = batch_hash(session_hash(plan.digest, head.session, head.keys), request.batch, request.ids)
        requests[signed(said, begun, request)] = request
    hashes = [bytes.fromhex(line["signed"]) for line in lines]
    missing = sum(line["rows"] for line, one in zip(lines, hashes, strict=True) if one not in requests)
    if missing:
        raise AuditError(f"Requests for {missing} rows in the log of {party!r} are not in the opening, or others are.")
    false = sum(
        line["rows"] for line, one in zip(lines, hashes, strict=True) if not _is_signed(head.certificate, one, line)
    )
    if false:
        raise AuditError(f"Requests for {false} rows in the log of {party!r} have no signature of the active party.")
    return [requests[one] for one in dict.fromkeys(hashes)]


def _check_begun(lines: Sequence[Line], opened: SessionOpening, begun: bytes) -> None:
    """Refuse a session that was begun with another key than the opening has, or other slots than the model's."""
    key = hashlib.sha256(opened.head.public_key).hexdigest()
    if any(line["key"] != key for line in lines):
        raise AuditError("The session's public key in the log is not that of the opening.")
    others = sum(line["rows"] for line in lines if line["begun"] != begun.hex())
    if others:
        raise AuditError(f"For {others} rows the party was told other slots than the model has, or other parties.")


def _is_signed(certificate: bytes, what: bytes, line: Line) -> bool:
    try:
        verify(certificate, PURPOSE, what, bytes.fromhex(line["signature"]))
    except IdentityError:
        return False
    return True
