"""What the active party signs of a sealed prediction, so that nobody can deny later what was asked.

The signature is over the plan, the session, its public key and the party's slots, the batch's number, the ids and the
sealed weights, as the party received them: an auditor can demand that the active party opens what it sealed.
"""

import hashlib
from typing import NamedTuple

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskScores, BeginScores
from hedgerow.corridor.wire import encode
from hedgerow.identity.identity import verify
from hedgerow.protocols.scores.pads import batch_hash

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
    for table in (*request.sealed_weights, *request.sealed_relays):
        told.update(hashlib.sha256(table).digest())
    return told.digest()


def check_signed(plan: Plan, certificate: bytes, told: BeginScores, request: AskScores) -> Hashes:
    """Refuse a request that the active party has not signed; returns the hashes of what was told of the batch."""
    said = batch_hash(plan.digest, told.session, request.batch, request.ids)
    begun = begun_hash(told)
    hashes = Hashes(said, begun, signed(said, begun, request))
    if plan.coordinator:  # in one process nobody is deceived
        verify(certificate, PURPOSE, hashes.signed, request.signature)
    return hashes


def evidence(told: BeginScores, request: AskScores, hashes: Hashes) -> dict[str, int | str]:
    """What a passive party's log keeps of a request, so that nobody can deny it later: no ids, no weights."""
    return {
        "batch": request.batch,
        "session": told.session.hex(),
        "key": hashlib.sha256(told.public_key).hexdigest(),
        "begun": hashes.begun.hex(),
        "signed": hashes.signed.hex(),
        "signature": request.signature.hex(),
    }
