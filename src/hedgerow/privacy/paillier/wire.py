"""Paillier's ciphertexts and public keys, and their wire forms.

A wire form begins with a head: whose it is, its version, what it holds, for which key and plan, how many parts were
added, and its sizes. Everything in it is compared with what this side agreed on before anything is allocated; then come
the numbers, each as long as the modulus says, the lowest byte first. Nothing here reads a plaintext.
"""

import struct
from functools import cache
from hashlib import sha256
from math import gcd, isqrt, prod
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError, ParameterError
from hedgerow.privacy.additive import Addable
from hedgerow.privacy.paillier.proof import ROOTS, ensure_proved
from hedgerow.privacy.shapes import RowsPlan, SlotsPlan, agreed, plan_digest

VERSION = 2
MARK = b"HP"
KEY_HEAD = struct.Struct("<2sBBI")
HEAD = struct.Struct("<2sBBI16s8sQQQQ")
"""Whose, version, kind, bits of the key; the key, the plan, the parts, two sizes, and how many ciphertexts follow."""
KEY, ROWS, SUMS, SLOTS = range(1, 5)
WRONG = {
    1: "A ciphertext is not smaller than the square of its key; nothing was used.",
    2: "A ciphertext is 0 or 1, which no sealing gives; nothing was used.",
    3: "A ciphertext shares a factor with its key; nothing was used.",
}

Words = NDArray[np.uint64]
Plan = TypeVar("Plan", RowsPlan, SlotsPlan)
Kind = TypeVar("Kind", "PaillierRows", "PaillierSums", "PaillierSlots")


class Ring:
    """The numbers modulo the square of a public key, and the threads that work on them."""

    __slots__ = ("bits", "n", "name", "proof", "rows", "threads")

    def __init__(self, n: Words, threads: int, proof: bytes) -> None:
        self.n, self.threads, self.proof = n, threads, proof
        self.bits = 64 * len(n)
        self.name = sha256(n.astype("<u8").tobytes()).digest()[:16]
        self.rows: tuple[bytes, Words] | None = None
        """The sealed rows that were read last, and their hash."""

    def encode(self) -> bytes:
        """The wire form of the public key: the modulus, and the roots that prove it."""
        return KEY_HEAD.pack(MARK, VERSION, KEY, self.bits) + self.n.astype("<u8").tobytes() + self.proof


def key_bytes(bits: int) -> int:
    """The length of a public key of so many bits in its wire form."""
    return KEY_HEAD.size + (1 + ROOTS) * bits // 8


def read_key(data: bytes, bits: int, threads: int) -> Ring:
    """A public key of so many bits; a modulus under which returns would tell more than sums is refused."""
    agreed(len(data) >= KEY_HEAD.size, "A public key is too short for its head; nothing was read.")
    mark, version, kind, told = KEY_HEAD.unpack_from(data)
    _check_start(mark, version)
    agreed(kind == KEY, "These bytes do not hold a public key.")
    agreed(told == bits, f"A public key is not one of {bits} bits, as was agreed on; nothing was read.")
    agreed(len(data) == key_bytes(bits), "A public key does not have the length that its head tells.")
    body, proof = data[KEY_HEAD.size : KEY_HEAD.size + bits // 8], data[KEY_HEAD.size + bits // 8 :]
    _check_modulus(int.from_bytes(body, "little"), bits)
    words = np.frombuffer(body, "<u8").astype(np.uint64)
    ensure_proved(words, proof, threads)
    return Ring(words, threads, proof)


def _check_modulus(n: int, bits: int) -> None:
    """What can be seen without a proof. That no factor is small is a part of what the proof rests on."""
    agreed(n.bit_length() == bits, f"The modulus of a public key does not have exactly {bits} bits.")
    agreed(n % 2 == 1, "The modulus of a public key is even.")
    agreed(gcd(n, _small_primes()) == 1, "The modulus of a public key has a small factor.")
    agreed(isqrt(n) ** 2 != n, "The modulus of a public key is a square.")
    agreed(pow(2, n - 1, n) != 1, "The modulus of a public key is a prime.")


@cache
def _small_primes() -> int:
    """The product of all odd primes below 2 to the 16."""
    sieve = np.ones(1 << 16, np.bool_)
    for factor in range(3, 256, 2):
        sieve[factor * factor :: factor] = False
    return prod(int(prime) for prime in np.flatnonzero(sieve)[3:] if prime % 2)


def _check_start(mark: bytes, version: int) -> None:
    agreed(mark == MARK, "These bytes are not Paillier's, as was agreed on; nothing was read.")
    agreed(version == VERSION, f"A wire form has version {version}, this hedgerow reads {VERSION}; update the older.")


class PaillierSealed(Addable, Generic[Plan]):
    """Integers that only the secret key opens; adding them needs no key."""

    __slots__ = ("_parts", "_plan", "_ring", "_sizes", "_words")
    kind: ClassVar[int]

    def __init__(self, words: Words, plan: Plan, ring: Ring, parts: int = 1, sizes: tuple[int, int] = (0, 0)) -> None:
        self._words: Words = words
        self._plan: Plan = plan
        self._ring, self._parts, self._sizes = ring, parts, sizes

    @property
    def plan(self) -> Plan:
        """What was agreed on before they were sealed."""
        return self._plan

    def _combined(self, other: Self, *, subtract: bool) -> Self:
        agreed(type(other) is type(self), "Sealed things of different kinds or ciphers cannot be added.")
        same = (other._ring.name, other._plan, other._sizes) == (self._ring.name, self._plan, self._sizes)
        agreed(same, "Sealed things of different keys, plans or sizes cannot be added.")
        parts = self._parts + other._parts
        if parts > self._plan.parts:
            raise ParameterError("The plan does not allow so many sealed things to be added.")
        n, threads = self._ring.n, self._ring.threads
        words = _native.paillier_negate(n, other._words, threads) if subtract else other._words
        words = _native.paillier_add(n, self._words, words, threads)
        return type(self)(words, self._plan, self._ring, parts, self._sizes)

    def encode(self) -> bytes:
        """The wire form: a head with version and sizes, then the ciphertexts."""
        ring = self._ring
        plain = _native.paillier_write(ring.n, self._words, ring.threads)
        told = (ring.name, plan_digest(self._plan, self.kind == ROWS), self._parts, *self._sizes, len(plain))
        return HEAD.pack(MARK, VERSION, self.kind, ring.bits, *told) + plain.astype("<u8").tobytes()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, sealed>"


class PaillierRows(PaillierSealed[RowsPlan]):
    """Integers of rows: a row's channels in one ciphertext, or in several if they are many."""

    __slots__ = ()
    kind = ROWS


class PaillierSums(PaillierSealed[RowsPlan]):
    """Sums by group on their way back, several in a ciphertext, each ciphertext freshly randomised."""

    __slots__ = ()
    kind = SUMS

    @property
    def groups(self) -> int:
        """Sums a node and channel."""
        return self._sizes[0]


class PaillierSlots(PaillierSealed[SlotsPlan]):
    """Integers of rows and entries: one a ciphertext until the last choice was made, then several."""

    __slots__ = ()
    kind = SLOTS

    @property
    def entries(self) -> int:
        """As in the plan, or 1 after the entries of each row were summed."""
        return self._sizes[0]

    @property
    def chosen(self) -> int:
        """How many choices have been made upon it."""
        return self._sizes[1]


def inside(sealed: object, kind: type[Kind], ring: Ring) -> tuple[Kind, Words, int]:
    """A thing of this kind and key, its ciphertexts and parts; nothing else is looked into."""
    if not isinstance(sealed, kind):
        raise CipherError("These sealed integers are of another cipher or kind than this key works with.")
    agreed(sealed._ring.name == ring.name, "These sealed integers belong to another key.")
    return sealed, sealed._words, sealed._parts


def read(
    data: bytes, ring: Ring, kind: type[Kind], plan: RowsPlan | SlotsPlan, count: int, sizes: tuple[int, int] = (0, 0)
) -> tuple[Words, int]:
    """So many ciphertexts, each checked, and how many parts were added to make them."""
    agreed(len(data) >= HEAD.size, "Sealed integers are too short for their head; nothing was read.")
    mark, version, found, bits, name, digest, parts, *told = HEAD.unpack_from(data)
    _check_start(mark, version)
    agreed(found == kind.kind, "These bytes do not hold the kind of sealed integers that was asked for.")
    agreed(bits == ring.bits and name == ring.name, "These sealed integers belong to another key.")
    fits = digest == plan_digest(plan, kind.kind == ROWS) and tuple(told) == (*sizes, count)
    agreed(fits, "These sealed integers were not made for the plan that was agreed on.")
    agreed(1 <= parts <= plan.parts, "More sealed things were added than the plan allows.")
    length = HEAD.size + count * ring.bits // 4
    agreed(len(data) == length, "Sealed integers do not have the length that their head tells.")
    plain = np.frombuffer(data, "<u8", offset=HEAD.size).astype(np.uint64).reshape(count, -1)
    if kind is not PaillierRows:
        return _checked(plain, ring), parts
    # The same rows are read anew for each question about them; they need not be checked anew.
    again = sha256(memoryview(data)[HEAD.size :]).digest()
    if ring.rows is None or ring.rows[0] != again:
        ring.rows = again, _checked(plain, ring)
    return ring.rows[1], parts


def _checked(plain: Words, ring: Ring) -> Words:
    """Ciphertexts that came in, each of them one that sealing can give."""
    wrong, words = _native.paillier_read(ring.n, plain, ring.threads)
    agreed(not wrong, WRONG.get(wrong, ""))
    return words
