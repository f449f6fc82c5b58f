"""Paillier's primes as their holder revealed them, with which an auditor opens what was sealed, entry by entry.

A plaintext is read whole: an honest entry is an integer within the plan's bound, and has nothing above it.
"""

import secrets

import numpy as np

from hedgerow import _native
from hedgerow.errors import CipherError
from hedgerow.privacy.additive import NOT_SEALED, SealedSlots
from hedgerow.privacy.paillier.packing import Ints
from hedgerow.privacy.paillier.wire import PaillierSlots, Ring, inside

TRIALS = 64
"""Of a number that is no prime, each finds that with a probability of a half at least."""


class PaillierRevealedKey:
    """See `additive.RevealedKey`."""

    def __init__(self, told: bytes, ring: Ring) -> None:
        half = ring.bits // 16
        self._ring, self._n = ring, int.from_bytes(ring.n.astype("<u8").tobytes(), "little")
        primes = [int.from_bytes(part, "little") for part in (told[:half], told[half:])]
        if len(told) != 2 * half or primes[0] * primes[1] != self._n or not all(map(_is_prime, primes)):
            raise CipherError("The revealed Paillier key is not the secret half of this public key.")
        self._primes = np.frombuffer(told, "<u8").astype(np.uint64).reshape(2, -1)

    def entries(self, sealed: SealedSlots) -> tuple[Ints, Ints]:
        """Rows x entries, and what rows share; `NOT_SEALED` where a plaintext is none that was agreed on."""
        own, words, _ = inside(sealed, PaillierSlots, self._ring)
        plan = own.plan
        rows = _native.paillier_open_numbers(self._primes, words, self._ring.threads).astype("<u8")
        numbers = (int.from_bytes(row.tobytes(), "little") for row in rows)
        signed = (number - self._n if 2 * number > self._n else number for number in numbers)
        opened = np.array([x if abs(x) <= plan.bound else NOT_SEALED for x in signed], np.int64)
        return opened[: plan.rows * plan.entries].reshape(plan.rows, plan.entries), opened[plan.rows * plan.entries :]


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test of a number that is 3 modulo 4, as both primes of a key are."""
    if number < 5 or number % 4 != 3:
        return False
    bases = (2 + secrets.randbelow(number - 3) for _ in range(TRIALS))
    return all(pow(base, number // 2, number) in (1, number - 1) for base in bases)
