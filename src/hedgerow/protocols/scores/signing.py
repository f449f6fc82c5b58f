"""What the active party signs of a sealed prediction, so that nobody can deny later what was asked.

The signature is over the plan, all that the party was told at the beginning (its slots, the public key, who is asked),
the batch's number, the ids and the sealed weights, as the party received them. It is kept in the party's audit log: an
auditor can demand that the active party shows what it signed, and opens what it sealed.
"""

import hashlib
from typing import NamedTuple

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskScores, BeginScores
from hedgerow.corridor.wire import encode
from hedgerow.errors import IdentityError
from hedgerow.identity.identity import fingerprint, verify

PURPOSE = "scores"
"""What these signatures are for; one for another purpose does not pass as such."""
TOLD = "scores told"
"""The event of a batch in a passive party's log."""


class Hashes(NamedTuple):
    """What was told: of the batch to all parties alike, at the beginning to this one, and all that was signed."""

    said: bytes
    begun: bytes
    signed: bytes


def begun_hash(told: BeginScores) -> bytes:
    """What one party was told when the session began: its slots, the key, and who else is asked."""
    return hashlib.sha256(encode(told)).digest()


def signed(said: bytes, begun: bytes, request: AskScores) -> bytes:
    """The bytes that are signed; `said` is the batch's hash (`pads.batch_hash`), `begun` the beginning's."""
    told = hashlib.sha256(said + begun + bytes([request.reasons]))
    for sealed in (request.sealed_weights, request.sealed_relays):
        told.update(len(sealed).to_bytes(8, "little"))
        for table in sealed:
            told.update(hashlib.sha256(table).digest())
    return told.digest()


def check_signed(plan: Plan, certificate: bytes, said: bytes, begun: bytes, request: AskScores) -> Hashes:
    """Refuse a request that the active party, whose certificate the plan names, has not signed; returns the hashes."""
    hashes = Hashes(said, begun, signed(said, begun, request))
    if plan.coordinator:  # in one process nobody is deceived
        if fingerprint(certificate) != plan.coordinator:
            raise IdentityError("The certificate that scores are signed with is not the one the plan names.")
        verify(certificate, PURPOSE, hashes.signed, request.signature)
    return hashes


def evidence(key_hash: str, session: bytes, request: AskScores, hashes: Hashes) -> dict[str, int | str]:
    """What a passive party's log keeps of a request, so that nobody can deny it later: no ids, no weights."""
    return {
        "batch": request.batch,
        "session": session.hex(),
        "key": key_hash,
        "begun": hashes.begun.hex(),
        "signed": hashes.signed.hex(),
        "signature": request.signature.hex(),
    }
