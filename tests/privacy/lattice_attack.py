"""What attacks on the lattice's answers have in common: exact products, answers as residues, and telling two apart.

"Guessing": of 60 trials between two candidates, a coin is right in 14 to 46 but for a probability of 2 in 100 000.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.privacy import lattice_twin as twin

from hedgerow.privacy.lattice.bounds import PRIMES
from hedgerow.privacy.lattice.cipher import Lattice, LatticeSecretKey
from hedgerow.privacy.lattice.layout import RowsLayout
from hedgerow.privacy.shapes import RowsPlan

Ints = NDArray[np.int64]
TRIALS, COIN = 60, (14, 46)
RING = twin.Ring(4096, PRIMES[:4])
"""Of sealed rows."""


def product(a: Ints, b: Ints) -> Ints:
    """Modulo X^n + 1: residues of 27 bits times numbers of a few bits (up to 12), exact in 53-bit transforms."""
    n = len(a)
    whole = np.rint(np.fft.irfft(np.fft.rfft(a, 2 * n) * np.fft.rfft(b, 2 * n), 2 * n)).astype(np.int64)
    return np.asarray(whole[:n] - whole[n:])


def wide_product(a: Ints, b: Ints, p: int) -> Ints:
    """Modulo p and X^n + 1: residues times numbers of up to 24 bits, the low 12 and the high ones one by one."""
    low = ((b + 2048) & 4095) - 2048
    return (product(a, low) + (product(a, (b - low) >> 12) % p << 12)) % p


class Answer(NamedTuple):
    """Both halves of a ciphertext: residues of their coefficients, a row a prime."""

    c0: Ints
    c1: Ints

    @property
    def ring(self) -> twin.Ring:
        return twin.Ring(self.c0.shape[1], PRIMES[: len(self.c0)])

    def times(self, own_choice: Ints) -> "Answer":
        """As it stands, without anything that hides the choice."""
        return Answer(*(_rows(half, lambda x, p: wide_product(x, own_choice, p)) for half in self))

    def plus(self, other: "Answer") -> "Answer":
        return Answer(*(_rows(a + b, lambda x, p: x % p) for a, b in zip(self, other, strict=True)))

    def flooded(self, flood: list[int] | Ints) -> "Answer":
        """Whole numbers of any size, added to the first half."""
        residues = np.array([[int(x) % p for x in flood] for p in self.ring.primes])
        return self.plus(Answer(residues, np.zeros_like(residues)))

    def dropped(self, left: int) -> "Answer":
        """Divided by its last primes and rounded until so many are left."""
        pair = twin.Pair(*(twin.from_residues(half.astype(np.uint32), self.ring) for half in self), self.ring)
        while len(pair.ring.primes) > left:
            pair = twin.switched_down(pair)
        return Answer(*(twin.residues(half, pair.ring).astype(np.int64) for half in (pair.c0, pair.c1)))

    def phase(self, secret: Ints) -> list[int]:
        """c0 + c1 s: what the key holder sees before rounding, noise included."""
        seen = self.c0 + _rows(self.c1, lambda x, p: product(x, secret) % p)
        return twin.from_residues(_rows(seen, lambda x, p: x % p).astype(np.uint32), self.ring)


def _rows(table: Ints, each: Callable[[Ints, int], Ints]) -> Ints:
    return np.array([each(row, p) for row, p in zip(table, PRIMES, strict=False)])


def encryption_of_zero(b: Ints, a: Ints, rng: np.random.Generator) -> Answer:
    """From a public key's halves: (b u + e0, a u + e1)."""
    n = b.shape[1]
    u, e0, e1 = (np.array(drawn) for drawn in (twin.ternary(rng, n), twin.error(rng, n), twin.error(rng, n)))
    zero = Answer(b, a).times(u)
    return zero.plus(Answer(*(_rows(np.tile(e, (len(b), 1)), lambda x, p: x % p) for e in (e0, e1))))


def better_fit(noise: list[int], moved: list[list[int]]) -> int:
    """Which of two moves leaves less of the noise when it is taken away; in whole integers, for one is far smaller."""
    zero, one = moved
    lean = sum(x * (b - a) for x, a, b in zip(noise, zero, one, strict=True))
    return int(2 * lean > sum(b * b - a * a for a, b in zip(zero, one, strict=True)))


def plaintext(layout: RowsLayout, value: int) -> int:
    """An integer as it is sealed: times the scale, or the nearest integer to Q x / t."""
    return twin.rounded(RING.modulus * value, layout.modulus) if layout.modulus else layout.scale * value


RETURN_BYTES = 2 * 13824 + 2 * 27
"""Of one sum that is not merged with others."""
RETURNED = twin.Ring(4096, PRIMES[:2])


def phases(payload: bytes, rows: int, secret: Ints) -> tuple[Ints, list[int]]:
    """Of returns that are not merged: c1 (rows x primes x 4096), and what the key holder sees of each one's sum."""
    # Of a product modulo X^n + 1 the first coefficient.
    turned = np.where(np.arange(4096) == 0, 1, -1) * secret[-np.arange(4096) % 4096]
    words, seen = [], []
    for row in range(rows):
        now = payload[row * RETURN_BYTES : (row + 1) * RETURN_BYTES]
        c1 = twin.unpacked(now[: 2 * 13824]).reshape(2, 4096)
        c0 = twin.unpacked(now[2 * 13824 :]).reshape(2, 8)[:, :1]
        phase = (c0 + (c1.astype(np.int64) @ turned)[:, None]) % np.array(RETURNED.primes)[:, None]
        words.append(c1)
        seen.append(twin.centred(twin.from_residues(phase.astype(np.uint32), RETURNED)[0], RETURNED.modulus))
    return np.array(words), seen


def own_secret(key: LatticeSecretKey) -> Ints:
    """The coefficients of the key holder's secret: -1, 0, 1."""
    found = twin.restored(key._own_secret.reshape(4, 2, 4096)[:1, 0], twin.Ring(4096, PRIMES[:1]))
    return np.array([twin.centred(x, PRIMES[0]) for x in found])


class KnownRows:
    """Sealed rows, and all that the key holder knows of them."""

    def __init__(self, values: Ints, plan: RowsPlan) -> None:
        self.key: LatticeSecretKey = Lattice().new_key(2)
        # A sum of sealed things has both halves in its wire form.
        self.sealed = self.key.seal_rows(values, plan) + self.key.seal_rows(np.zeros_like(values), plan)
        self.layout = self.sealed.layout
        self.secret: list[int] = own_secret(self.key).tolist()
        blocks = max(len(values) // self.layout.step, 1)
        words = twin.unpacked(self.sealed.encode()[-blocks * 8 * 13824 :][: 8 * 13824]).reshape(2, 4, 4096)
        self.pair = twin.Pair(twin.restored(words[0], RING), twin.restored(words[1], RING), RING)
        message = [0] * 4096
        for j in range(min(len(values), self.layout.step)):
            message[-j % 4096] = plaintext(self.layout, int(values[j, 0])) * (1 if j == 0 else -1)
        phase = zip(twin.phase(self.pair, self.secret), message, strict=True)
        self.errors = [twin.centred(x - m, RING.modulus) for x, m in phase]
