"""Pairwise pads that cancel in the sum over all parties, and only there.

Every two parties share a secret that nobody else can compute (X25519). For each request they derive from it the same
pad, a fresh uniform word for every word of the answer (ChaCha20); one of them adds it and the other takes it away,
modulo 2^64.

What hides what: a party's `masked_` words carry a pad for every other party, so that they are uniform noise to whoever
misses even one of its pair secrets. The sum of *all* parties' masked words is the sum of their `own_` words, bit for
bit; any smaller sum is noise, and so is a sum over parties that were told different things, because a pad's key depends
on all that was said.

Who can read: the collector reads the sum over all parties and nothing else; a party's words are open to all other
parties and the collector together. Secret keys live in this process's memory only: they are made at its start, are
never written, and have no form that could be sent.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import PrivacyError

KEY_BYTES = 32


class PairKeys:
    """One party's key pair for agreeing on pair secrets, from the system's generator of random numbers."""

    __slots__ = ("_own_key", "public")

    public: bytes
    """What others may see: 32 bytes."""

    def __init__(self, own_key: X25519PrivateKey) -> None:
        self._own_key = own_key
        self.public = own_key.public_key().public_bytes_raw()

    @classmethod
    def fresh(cls) -> "PairKeys":
        """A new key pair."""
        return cls(X25519PrivateKey.generate())

    def shared(self, public: bytes, context: bytes) -> bytes:
        """The secret that only the holder of the other public key can also compute, for this context alone."""
        if len(public) != KEY_BYTES:
            raise PrivacyError(f"A party's public key has {len(public)} bytes instead of {KEY_BYTES}; the run stops.")
        if public == self.public:
            raise PrivacyError("A party sent back this party's own public key; the run stops.")
        try:
            agreed = self._own_key.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise PrivacyError(
                "A party's public key is one with which no secret can be agreed on; the run stops."
            ) from None
        both = b"".join(sorted((self.public, public)))
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"hedgerow pair" + context + both).derive(agreed)

    def __reduce__(self) -> NoReturn:
        raise PrivacyError("Secret keys cannot be copied or written; make fresh ones instead.")


class Pads(NamedTuple):
    """What hides the words of one answer: a pad for each pair secret, taken from the words or added to them."""

    pair_secrets: NDArray[np.uint8]
    """A row for every other party."""
    subtract: NDArray[np.bool_]
    said: bytes
    """The hash of all that was said, the request included: it makes these pads those of one request alone."""


class PairSecrets:
    """The secrets that a party shares with each other one, by number; of each pair, the greater number subtracts."""

    def __init__(self, own_number: int, own_secrets: Mapping[int, bytes]) -> None:
        self.own_number, self.own_secrets = own_number, own_secrets
        self._parties: tuple[int, ...] = ()
        """Those last asked for; what follows is made of them, because it is the same for the steps of a tree."""
        self._rows = np.empty((0, KEY_BYTES), np.uint8)
        self._subtract = np.empty(0, np.bool_)

    def pads(self, parties: tuple[int, ...], said: bytes) -> Pads:
        """What hides this party's words in the sum over these parties, for the one request that `said` is a hash of."""
        if self._parties != parties:
            peers = [p for p in parties if p != self.own_number]
            joined = b"".join(self.own_secrets[p] for p in peers)
            self._rows = np.frombuffer(joined, np.uint8).reshape(-1, KEY_BYTES)
            self._subtract = np.array([p < self.own_number for p in peers], np.bool_)
            self._parties = parties
        return Pads(self._rows, self._subtract, said)


PadKeys = tuple[NDArray[np.uint8], NDArray[np.bool_], bytes]
"""Pair secrets, which of their pads are taken, and what the request is."""


def keys(pads: Pads) -> PadKeys:
    """What the kernels make these pads of: each is the ChaCha20 keystream of HKDF-Expand (SHA-256, RFC 5869) of them.

    Refused if there is nothing to hide words, or not enough of it.
    """
    pair_secrets, subtract, said = pads
    if not len(pair_secrets):
        raise PrivacyError("There is no pad to hide this party's words; masking needs at least one other party.")
    if pair_secrets.shape != (len(subtract), KEY_BYTES) or len(said) != KEY_BYTES:
        raise PrivacyError(
            f"Every pad needs a pair secret and a hash of {KEY_BYTES} bytes each, and a sign; the run stops."
        )
    return pair_secrets, subtract, b"hedgerow pad" + said


def mask(own: Sequence[tuple[NDArray[np.int64], Pads]], threads: int) -> list[NDArray[np.uint64]]:
    """Each party's words in one row, in place, each word under a word of every pad: noise to whoever misses a secret.

    Sums over rows are masked by the kernel that makes them, under the same pads.
    """
    hidden = []
    for words, pads in own:
        made_of = keys(pads)
        if words.dtype != np.int64:
            raise PrivacyError("Words of 64 bits can be masked, and no others; the run stops.")
        row = words if words.ndim == 1 else words.reshape(-1)
        hidden.append((row.view(np.uint64), made_of))
    _native.add_pads(hidden, threads)
    return [words for words, _ in hidden]


def unmasked_sum(masked: Sequence[NDArray[np.uint64]]) -> NDArray[np.int64]:
    """The sum of masked words: once every party's part is in it, the sum of their own words, clear from here on."""
    if not masked or any(part.shape != masked[0].shape for part in masked):
        raise PrivacyError("The masked parts of a sum are missing or differ in length; nothing can be opened.")
    return _native.sum_words(masked)
