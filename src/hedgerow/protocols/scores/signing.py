"""What the active party signs of a sealed prediction, so that nobody can deny later what was asked.

The signature is over the plan, the session and its public key, the batch's number, the ids and the sealed weights, as
the party received them: an auditor can demand that the active party opens what it sealed.
"""

import hashlib

from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskScores
from hedgerow.identity.identity import verify
from hedgerow.protocols.scores.pads import batch_hash

PURPOSE = "scores"
"""What these signatures are for; one for another purpose does not pass as such."""


def key_hash(public_key: bytes) -> bytes:
    """What stands for the key in all that is signed: a key has megabytes, and is the same for a whole session."""
    return hashlib.sha256(public_key).digest()


def signed(said: bytes, key: bytes, request: AskScores) -> bytes:
    """The bytes that are signed; `said` is the batch's hash (`pads.batch_hash`), `key` the session's (`key_hash`)."""
    told = hashlib.sha256(said + key + bytes([request.reasons]))
    for table in (*request.sealed_weights, *request.sealed_relays):
        told.update(hashlib.sha256(table).digest())
    return told.digest()


def check_signed(plan: Plan, certificate: bytes, session: bytes, key: bytes, request: AskScores) -> bytes:
    """Refuse a request that the active party has not signed; returns the hash of what was told of the batch."""
    said = batch_hash(plan.digest, session, request.batch, request.ids)
    if plan.coordinator:  # in one process nobody is deceived
        verify(certificate, PURPOSE, signed(said, key, request), request.signature)
    return said
