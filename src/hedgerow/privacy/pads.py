"""Pads inside sealed sums: what hides the parts of a total from the key holder, which can open each of them.

Several who answer under one key add pads to their sums before they return them, and the pads of all cancel. A pad is
uniform modulo the *whole* plaintext of a lane or ciphertext, whatever lies in it. A pad that were smaller, or one for
each integer beside others, would leave carries by which a part could be told from noise.

Who can read: the key holder reads the total of all, and of any fewer noise. With all but one of those who answer it
reads the sums of that one.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import PrivacyError

KEY_BYTES = 32
SURPLUS = 16
"""Bytes drawn beyond those of a modulus, so that no residue is likelier than another by more than 2^-128."""


class Pads(NamedTuple):
    """Keys that each are shared with one other who answers: one of the two adds what comes of it, the other takes it.

    A key is used for one answer only.
    """

    add: tuple[bytes, ...]
    subtract: tuple[bytes, ...]

    def words(self, n: int, bits: int) -> NDArray[np.int64]:
        """So many numbers from 0 to below 2^bits (at most 2^63), to be added modulo that."""
        return self.wide_words(n) & ((1 << bits) - 1)

    def wide_words(self, n: int) -> NDArray[np.int64]:
        """So many numbers modulo 2^64, in signed words."""
        self._check()
        keys = np.frombuffer(b"".join((*self.add, *self.subtract)), np.uint8).reshape(-1, KEY_BYTES)
        subtract = np.arange(len(keys)) >= len(self.add)
        return _native.pad_words(n, keys, subtract).view(np.int64)

    def numbers(self, n: int, modulus: int) -> list[int]:
        """So many numbers from 0 to below the modulus."""
        size = (modulus.bit_length() + 7) // 8 + SURPLUS
        totals = [0] * n
        for stream, sign in self._streams(size * n):
            for i in range(n):
                totals[i] += sign * int.from_bytes(stream[size * i : size * (i + 1)], "little")
        return [total % modulus for total in totals]

    def _check(self) -> None:
        if not self.add and not self.subtract:
            raise PrivacyError("There is no pad to hide these sums; at least one other must answer, too.")
        for key in (*self.add, *self.subtract):
            if len(key) != KEY_BYTES:
                raise PrivacyError(f"The key of a pad has {len(key)} bytes instead of {KEY_BYTES}; the run stops.")

    def _streams(self, n_bytes: int) -> Iterator[tuple[bytes, int]]:
        """The keystream of every key, and the sign with which it is added."""
        self._check()
        for keys, sign in ((self.add, 1), (self.subtract, -1)):
            for key in keys:
                yield Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(n_bytes)), sign
