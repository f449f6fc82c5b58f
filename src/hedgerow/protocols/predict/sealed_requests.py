"""What the active party signs of a sealed prediction, so that nobody can deny later what was asked.

The signature is over the plan, the session and its public key, the batch's number, the ids and the sealed weights, as
the party received them: an auditor can demand that the active party opens what it sealed.
"""

import hashlib

from hedgerow.corridor.messages import AskScores

PURPOSE = "scores"
"""What these signatures are for; one for another purpose does not pass as such."""


def signed(said: bytes, public_key: bytes, request: AskScores) -> bytes:
    """The bytes that are signed; `said` is the batch's hash (`score_pads.batch_hash`)."""
    told = hashlib.sha256(said + hashlib.sha256(public_key).digest() + bytes([request.reasons]))
    for table in (*request.sealed_weights, *request.sealed_relays):
        told.update(hashlib.sha256(table).digest())
    return told.digest()
