"""A proof that Paillier's modulus is sound: made by whoever has its primes, checked by everybody who reads the key.

What it shows of n: gcd(n, phi(n)) = 1, and n has at most nine prime factors. The first makes the plaintext all that the
key holder reads of a return: with a common factor d, n-th powers would miss a part of the group modulo n, and what rows
hold in that part would come back unhidden. The second bounds the quadratic characters, of which the answering side's
bases for hiding returns must miss none (`paillier/public`).

    challenges       rho_1 to rho_16: hashes of n, taken modulo n, those of Jacobi symbol 1
    proof            for each of them a root sigma with sigma^2n = rho or -rho modulo n
    who checks       derives the challenges itself, raises the roots, and compares; n has no factor below 2^16

Every honest n has the roots. Both of its primes are 3 modulo 4, so that rho or -rho is a square modulo both, and 2n has
an inverse among the squares.

Why no other n has them. Let G be the group of the units modulo n, k the number of n's prime factors. Half of G at least
has symbol 1, and at most 2 |G^2n| of its elements are a 2n-th power or the negative of one: a random challenge has a
root with a chance of at most 4 / |G : G^2n|. If a prime d divides n and phi(n), then G has a cyclic factor whose order
d divides (the units modulo d^2, or modulo a prime factor that is 1 modulo d), and the index is at least 2 d > 2^17. In
any case it is at least 2^k. So sixteen roots have a chance of at most 2^-240 where gcd(n, phi(n)) is not 1, and of
2^-128 where k is 10 or more: for each n that somebody tries, as the hash decides about it.

What it tells of the primes: nothing. A root is the only one that is a square itself; anybody could draw random squares
and raise them, and would have such pairs of challenge and root.

The proof follows Goldberg, Reyzin, Sagga and Baldimtsi (2018), "Efficient noninteractive certification of RSA moduli
and beyond", who take roots for both properties apart.
"""

from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError

Words = NDArray[np.uint64]

ROOTS = 16
UNSOUND = (
    "The proof that the modulus of a public key is sound does not hold: the key was not made as it should be. "
    "The run stops."
)
_SURPLUS = 32
"""Bytes of a hash beyond those of n, so that it is uniform modulo n up to 2^-256."""
_PURPOSE = b"hedgerow: roots that prove a Paillier modulus, 1"


def challenges(n: int) -> list[int]:
    """What must have roots modulo n, if n is sound; a CipherError if one of them shares a factor with it."""
    size, found, count = (n.bit_length() + 7) // 8, list[int](), 0
    start = _PURPOSE + n.to_bytes(size, "little")
    while len(found) < ROOTS:
        drawn = shake_256(start + count.to_bytes(8, "little")).digest(size + _SURPLUS)
        challenge, count = int.from_bytes(drawn, "little") % n, count + 1
        symbol = _jacobi(challenge, n)
        if symbol == 0:
            raise CipherError(UNSOUND)
        if symbol == 1:
            found.append(challenge)
    return found


def _jacobi(a: int, n: int) -> int:
    """Jacobi's symbol of a modulo an odd n: 0 if they share a factor."""
    symbol = 1
    while a:
        twos = (a & -a).bit_length() - 1
        a >>= twos
        if (twos % 2 and n % 8 in (3, 5)) != (a % 4 == 3 and n % 4 == 3):
            symbol = -symbol
        a, n = n % a, a
    return symbol if n == 1 else 0


def prove(own_primes: Words, n: Words, threads: int) -> bytes:
    """The roots, which may be sent; the primes stay here."""
    numbers = _words(challenges(_number(n)), len(n))
    return _native.paillier_roots(own_primes, numbers, threads).astype("<u8").tobytes()


def ensure_proved(n: Words, proof: bytes, threads: int) -> None:
    """Refuses a modulus whose proof does not hold: returns under it would tell more than their sums."""
    roots, modulus = np.frombuffer(proof, "<u8").astype(np.uint64).reshape(ROOTS, len(n)), _number(n)
    powers = _native.paillier_raised(n, roots, threads)
    wanted = [(rho, modulus - rho) for rho in challenges(modulus)]
    holds = all(_number(power) in pair for power, pair in zip(powers, wanted, strict=True))
    if not holds or any(_number(root) >= modulus for root in roots):
        raise CipherError(UNSOUND)


def _number(words: Words) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def _words(numbers: list[int], length: int) -> Words:
    rows = [np.frombuffer(number.to_bytes(8 * length, "little"), "<u8") for number in numbers]
    return np.stack(rows).astype(np.uint64)
