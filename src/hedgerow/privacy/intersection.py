"""Which ids several parties share, told by points that nobody can read: Diffie-Hellman private set intersection.

An id is hashed to a point of the group ristretto255 and multiplied by a secret scalar. A blinded point is noise to
whoever misses one of its secrets (decisional Diffie-Hellman), and trying out ids does not help. Secrets commute: ids
that have passed all parties' secrets, in whatever order, are the same point if and only if they are the same id.

Who can read: nobody an id from a point; whoever holds lists that have passed the same secrets, how many of their
points are the same, and at which places. So each party shuffles what it returns. The tag keeps the points of two runs
apart, and secrets are fresh for every list of ids; they live in this process's memory only.
"""

import hmac
import os
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, PrivacyError

POINT_BYTES = 32
PROOF_BYTES = 32


class Blinding:
    """One party's secret of one alignment, from the system's generator of random numbers."""

    __slots__ = ("_own_scalar",)

    def __init__(self, own_scalar: bytes) -> None:
        self._own_scalar = own_scalar

    @classmethod
    def fresh(cls) -> "Blinding":
        """A new secret: 64 bytes reduced, so that every scalar is as likely as any other."""
        return cls(_native.reduce_scalar(os.urandom(64)))

    def ids(self, own_ids: Sequence[str], tag: bytes, threads: int) -> NDArray[np.uint8]:
        """Points (n x 32) that stand for these ids under this secret; noise to everybody else."""
        texts = [text.encode() for text in own_ids]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        return _native.blind_ids(b"".join(texts), ends, tag, self._own_scalar, threads)

    def points(self, blinded: NDArray[np.uint8], threads: int) -> NDArray[np.uint8]:
        """Points that came in, under this secret too; what is not a point is refused, and the identity."""
        try:
            return _native.blind_points(blinded, self._own_scalar, threads)
        except ValueError:
            raise CipherError(
                "A blinded id that came in is not a point of the group, or is its identity; the run stops."
            ) from None

    def __reduce__(self) -> NoReturn:
        raise PrivacyError("Secret scalars cannot be copied or written; make fresh ones instead.")


def proof(pair_secret: bytes, said: bytes) -> bytes:
    """Shows the other holder of a pair's secret that this one says the same; noise to everybody else (HMAC)."""
    return hmac.digest(pair_secret, b"hedgerow proof" + said, "sha256")


def shuffled(n: int) -> NDArray[np.int64]:
    """The places 0 to n - 1 in an order drawn from the system's generator."""
    # Keys of 128 bits: two alike, which would keep their order, are as likely as guessing one.
    keys = np.frombuffer(os.urandom(16 * n), np.uint64).reshape(2, n)
    return np.lexsort(keys)


def places_of(points: NDArray[np.uint8], among: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Where each point is in another list under the same secrets, -1 if nowhere. A point twice in one is refused."""
    found, texts = _texts((points, among))
    order = np.argsort(texts)
    at = np.searchsorted(texts, found, sorter=order)
    places = order[np.minimum(at, len(texts) - 1)]
    return np.where(texts[places] == found, places, -1)


def in_all(lists: Sequence[NDArray[np.uint8]]) -> list[NDArray[np.bool_]]:
    """Of each list of points under the same secrets, which are in all lists. A point twice in one is refused."""
    texts = _texts(lists)
    shared = texts[0]
    for text in texts[1:]:
        shared = np.intersect1d(shared, text, assume_unique=True)
    return [np.isin(text, shared, assume_unique=True) for text in texts]


def _texts(lists: Sequence[NDArray[np.uint8]]) -> list[NDArray[np.bytes_]]:
    # As text of 32 bytes: NumPy leaves off zeros at its end, and points of one length stay different without them.
    texts = [np.ascontiguousarray(points).view(f"S{POINT_BYTES}").reshape(-1) for points in lists]
    if any(len(np.unique(text)) != len(text) for text in texts):
        raise CipherError("A list of blinded ids holds one of them twice; the run stops.")
    return texts
