"""Pads of a sealed prediction: what hides a part of a score from the active party, which opens it.

Two passive parties share a secret that nobody else can compute. For each batch and class they derive from it uniform
numbers modulo the scores' prime. *Between* all parties that are asked they cancel: each answer by itself is uniform,
and the sum of all is the score. Nobody is told with whom to pad: one that could be told to leave its pads out would
open what others relayed to it. On *relays*, sums that go on from one to the other, the first adds them and the second
takes them away.

Each pad's key depends on all that both were told of the batch: the plan, the session, who is asked, the batch's number
and its ids; that of a relay also on how many relays there are, or one row's pads could be had for another's. Parties
that were told different things have pads that do not cancel, and what is opened is noise.
"""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from numpy.typing import NDArray

from hedgerow.corridor.messages import Key

Ints = NDArray[np.int64]
BETWEEN, RELAY = b"between", b"relay"
_SPARE = 64
"""Words drawn beyond those needed: so many are never rejected."""


def session_hash(plan: bytes, session: bytes, keys: Sequence[Key]) -> bytes:
    """All that the parties of a session are told alike; `keys` are those of all that are asked, in order."""
    told = hashlib.sha256(b"hedgerow scores" + plan + hashlib.sha256(session).digest())
    for key in keys:
        told.update(_counted(key.name.encode()) + _counted(key.public_key))
    return told.digest()


def batch_hash(session: bytes, batch: int, ids: Sequence[str]) -> bytes:
    """All that the parties of a batch are told alike; `session` is the session's hash."""
    told = hashlib.sha256(b"hedgerow batch" + session + batch.to_bytes(8, "little"))
    for text in ids:
        told.update(_counted(text.encode()))
    return told.digest()


def _counted(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


class ScorePads:
    """One party's pads with the others of a batch, by their numbers."""

    def __init__(self, own_number: int, own_secrets: Mapping[int, bytes], modulus: int, said: bytes) -> None:
        self.own_number, self.own_secrets, self.modulus, self.said = own_number, own_secrets, modulus, said

    def between(self, score: int, rows: int) -> Ints:
        """What this party adds to its answers: the numbers of all who are asked sum to zero."""
        total = np.zeros(rows, np.int64)
        for other in self.own_secrets:
            pad = self._uniform(other, BETWEEN, score, rows)
            total += pad if other > self.own_number else -pad
        return total % self.modulus

    def come(self, sources: Mapping[int, int], score: int, rows: int) -> dict[int, Ints]:
        """What others' relays to this party, so many of each source, are hidden by (rows x relays)."""
        return {source: self.relayed(source, self.own_number, score, (rows, n)) for source, n in sources.items()}

    def relayed(self, source: int, target: int, score: int, shape: tuple[int, int]) -> Ints:
        """What hides the sums of relays from one party to another, one of which is this (rows x relays)."""
        other = target if source == self.own_number else source
        direction = RELAY + b"".join(number.to_bytes(4, "little") for number in (source, target, *shape))
        return self._uniform(other, direction, score, shape[0] * shape[1]).reshape(shape)

    def _uniform(self, other: int, what: bytes, score: int, n: int) -> Ints:
        info = b"hedgerow score pad" + self.said + what + score.to_bytes(4, "little")
        key = HKDFExpand(SHA256(), 32, info).derive(self.own_secrets[other])
        return uniform(key, n, self.modulus)


def uniform(key: bytes, n: int, modulus: int) -> Ints:
    """So many numbers from 0 up to the modulus, from the key's ChaCha20 stream; none is likelier than another."""
    stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    words = np.frombuffer(stream.update(bytes(8 * (n + _SPARE))), np.uint64)
    whole = np.uint64((1 << 64) // modulus * modulus - 1)
    return (words[words <= whole][:n] % np.uint64(modulus)).astype(np.int64)
