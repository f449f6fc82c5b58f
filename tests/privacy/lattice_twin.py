"""The lattice scheme written down plainly: whole numbers of any size, no transforms, no tricks.

A polynomial is a list of n integers modulo q and X^n + 1. Products go through one multiplication of two huge integers
(Kronecker's substitution), so that nothing of the native transforms is used. All randomness is given by the caller.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Poly = list[int]


@dataclass(frozen=True)
class Ring:
    """Integers modulo the primes' product, polynomials modulo X^n + 1."""

    n: int
    primes: tuple[int, ...]

    @property
    def modulus(self) -> int:
        return int(np.prod([int(p) for p in self.primes], dtype=object))

    def without_last(self) -> "Ring":
        return Ring(self.n, self.primes[:-1])


@dataclass(frozen=True)
class Pair:
    """A ciphertext: c0 + c1 s is the scaled message and some noise."""

    c0: Poly
    c1: Poly
    ring: Ring


def is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def largest_primes(count: int, bits: int) -> tuple[int, ...]:
    """The largest primes of so many bits that are 1 modulo 16384."""
    found: list[int] = []
    candidate = 2**bits - 16384 + 1
    while len(found) < count:
        if is_prime(candidate):
            found.append(candidate)
        candidate -= 16384
    return tuple(found)


def centred(value: int, modulus: int) -> int:
    """The representative nearest to zero; of two equally near ones the positive."""
    value %= modulus
    return value - modulus if 2 * value > modulus else value


def rounded(numerator: int, denominator: int) -> int:
    """The nearest integer to a fraction, halves upwards."""
    return (2 * numerator + denominator) // (2 * denominator)


def add(*polys: Poly) -> Poly:
    return [sum(terms) for terms in zip(*polys, strict=True)]


def reduced(poly: Poly, ring: Ring) -> Poly:
    q = ring.modulus
    return [value % q for value in poly]


def product(a: Poly, b: Poly, ring: Ring) -> Poly:
    """The product modulo q and X^n + 1, for polynomials of any integers."""
    q, n = ring.modulus, ring.n
    a, b = [x % q for x in a], [x % q for x in b]
    width = (2 * q.bit_length() + n.bit_length()) // 8 + 1
    packed = [int.from_bytes(b"".join(x.to_bytes(width, "little") for x in poly), "little") for poly in (a, b)]
    whole = (packed[0] * packed[1]).to_bytes(2 * n * width, "little")
    terms = [int.from_bytes(whole[i * width : (i + 1) * width], "little") for i in range(2 * n)]
    return [(terms[i] - terms[i + n]) % q for i in range(n)]


def ternary(rng: np.random.Generator, n: int) -> Poly:
    return [int(x) for x in rng.integers(-1, 2, n)]


def error(rng: np.random.Generator, n: int) -> Poly:
    """Centred binomial, 21 bits less 21 bits."""
    return [int(x) for x in rng.binomial(21, 0.5, n) - rng.binomial(21, 0.5, n)]


def uniform(rng: np.random.Generator, ring: Ring) -> Poly:
    q = ring.modulus
    return [int.from_bytes(rng.bytes(40), "little") % q for _ in range(ring.n)]


def smooth_flood(rng: np.random.Generator, n: int, bits: int) -> Poly:
    """Sums of three uniform integers of so many bits, centred."""
    mask = 2**bits - 1
    draw = lambda: int.from_bytes(rng.bytes(32), "little") & mask  # noqa: E731
    return [sum(draw() for _ in range(3)) - 3 * mask // 2 for _ in range(n)]


def public_key(secret: Poly, random_half: Poly, own_error: Poly, ring: Ring) -> Pair:
    """An encryption of zero under the secret, whose second half anybody expands from a seed."""
    hidden = [e - x for e, x in zip(own_error, product(random_half, secret, ring), strict=True)]
    return Pair(reduced(hidden, ring), reduced(random_half, ring), ring)


def scaled(message: Poly, t: int, ring: Ring) -> Poly:
    """Each integer's place among q / t steps: round(q m / t)."""
    return [rounded(ring.modulus * m, t) for m in message]


def seal(message: Poly, t: int, secret: Poly, random_half: Poly, own_error: Poly, ring: Ring) -> Pair:
    """Sealed with the secret key: signed integers, smaller than t / 2."""
    zero = public_key(secret, random_half, own_error, ring)
    return Pair(reduced(add(zero.c0, scaled(message, t, ring)), ring), zero.c1, ring)


def encryption_of_zero(public: Pair, own_u: Poly, own_e0: Poly, own_e1: Poly) -> Pair:
    """Zero, sealed with the public key: hides whatever it is added to."""
    ring = public.ring
    c0 = reduced(add(product(public.c0, own_u, ring), own_e0), ring)
    return Pair(c0, reduced(add(product(public.c1, own_u, ring), own_e1), ring), ring)


def times(pair: Pair, own_selection: Poly) -> Pair:
    ring = pair.ring
    return Pair(product(pair.c0, own_selection, ring), product(pair.c1, own_selection, ring), ring)


def plus(a: Pair, b: Pair) -> Pair:
    return Pair(reduced(add(a.c0, b.c0), a.ring), reduced(add(a.c1, b.c1), a.ring), a.ring)


def plus_poly(pair: Pair, summand: Poly) -> Pair:
    """A plain summand, or a flood, on the first half."""
    return Pair(reduced(add(pair.c0, summand), pair.ring), pair.c1, pair.ring)


def switched_down(pair: Pair) -> Pair:
    """Divided by the last prime and rounded."""
    last, ring = pair.ring.primes[-1], pair.ring.without_last()
    q = ring.modulus
    drop = lambda poly: [(x - centred(x, last)) // last % q for x in poly]  # noqa: E731
    return Pair(drop(pair.c0), drop(pair.c1), ring)


def phase(pair: Pair, secret: Poly) -> Poly:
    """c0 + c1 s, centred: what the key holder sees before rounding, noise included."""
    q = pair.ring.modulus
    return [centred(x, q) for x in add(pair.c0, product(pair.c1, secret, pair.ring))]


def opened(pair: Pair, t: int, secret: Poly) -> Poly:
    q = pair.ring.modulus
    return [centred(rounded(t * x, q), t) for x in phase(pair, secret)]


def noise(pair: Pair, t: int, secret: Poly) -> Poly:
    """How far each coefficient of the phase is from the nearest message, to the nearest integer."""
    q = pair.ring.modulus
    return [centred(x - rounded(q * rounded(t * x, q), t), q) for x in phase(pair, secret)]


def turned(poly: Poly, power: int) -> Poly:
    """The polynomial at X^power, for an odd power."""
    n, out = len(poly), [0] * len(poly)
    for i, value in enumerate(poly):
        place = i * power % (2 * n)
        out[place % n] = value if place < n else -value
    return out


def shifted(poly: Poly, places: int) -> Poly:
    """Times X^places, for places from 0 to n."""
    return [-x for x in poly[len(poly) - places :]] + poly[: len(poly) - places]


def switching_key(
    secret: Poly, power: int, digit_bits: int, halves: list[Poly], errors: list[Poly], ring: Ring
) -> list[Pair]:
    """Encryptions of the turned secret times each digit's weight, one for each random half."""
    target = turned(secret, power)
    zeros = [public_key(secret, half, e, ring) for half, e in zip(halves, errors, strict=True)]
    return [plus_poly(zero, [x << (digit_bits * i) for x in target]) for i, zero in enumerate(zeros)]


def turned_pair(pair: Pair, power: int, digit_bits: int, key: list[Pair]) -> Pair:
    """The ciphertext of the turned message under the same secret: one key switch."""
    ring = pair.ring
    c0, c1 = turned(pair.c0, power), reduced(turned(pair.c1, power), ring)
    total = Pair(reduced(c0, ring), [0] * ring.n, ring)
    for i, part in enumerate(key):
        digit = [x >> (digit_bits * i) & (2**digit_bits - 1) for x in c1]
        total = plus(total, times(part, digit))
    return total


def merged(a: Pair, b: Pair, step: int, digit_bits: int, key: list[Pair]) -> Pair:
    """Twice a's coefficients at multiples of `step`, and twice b's half a step further."""
    ring, power = a.ring, 1 + 2 * a.ring.n // step
    moved = Pair(shifted(b.c0, step // 2), shifted(b.c1, step // 2), ring)
    minus = Pair([-x for x in moved.c0], [-x for x in moved.c1], ring)
    return plus(plus(a, moved), turned_pair(plus(a, minus), power, digit_bits, key))


def residues(poly: Poly, ring: Ring) -> NDArray[np.uint32]:
    """Primes x n."""
    return np.array([[x % p for x in poly] for p in ring.primes], dtype=np.uint32)


def from_residues(table: NDArray[np.uint32], ring: Ring) -> Poly:
    """The polynomial with these residues (the Chinese remainder theorem)."""
    q = ring.modulus
    weights = [q // p * pow(q // p, -1, p) for p in ring.primes]
    return [sum(w * int(x) for w, x in zip(weights, column, strict=True)) % q for column in table.T]


def native_order(n: int) -> NDArray[np.int64]:
    """Which power of the root each value of the native transform belongs to; part of the wire form."""
    bits = n.bit_length() - 1
    powers = np.array([2 * int(format(i, f"0{bits}b")[::-1], 2) + 1 for i in range(n)])
    return powers.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1)


@cache
def _powers(p: int, n: int, inverse: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Powers 0 to 63, and multiples of 64, of the roots of X^n + 1 modulo p in native order, or of their inverses."""
    roots = (pow(g, (p - 1) // (2 * n), p) for g in range(2, p))
    root = next(root for root in roots if pow(root, n, p) == p - 1)
    exponents = [-int(e) if inverse else int(e) for e in native_order(n)]
    table = np.array([pow(root, i, p) for i in range(2 * n)])
    small = np.array([[e * j % (2 * n) for e in exponents] for j in range(64)])
    large = np.array([[64 * e * j % (2 * n) for e in exponents] for j in range(n // 64)])
    return table[small], table[large]


def values_at_roots(poly: Poly, p: int) -> NDArray[np.int64]:
    """A polynomial's values modulo p: all terms of all of them."""
    small, large = _powers(p, len(poly), False)
    terms, exact = np.array([x % p for x in poly]).reshape(-1, 64), small.astype(np.float64)
    # In two parts of 14 bits, so that sums of 64 products are exact in 53 bits.
    high, low = ((part.astype(np.float64) @ exact).astype(np.int64) for part in (terms >> 14, terms & (2**14 - 1)))
    parts = (high % p * 2**14 + low) % p
    return np.asarray((parts * large % p).sum(axis=0) % p)


def from_values(values: NDArray[np.int64], p: int) -> Poly:
    """The polynomial with these values at the roots: all terms of all of them."""
    n = len(values)
    small, large = _powers(p, n, True)
    terms = values % p * large % p
    # In two parts of 14 bits, so that sums of n products fit 64 bits.
    sums = (terms >> 14) @ small.T % p * 2**14 + (terms & (2**14 - 1)) @ small.T
    return [int(x) for x in (sums % p * pow(n, -1, p) % p).reshape(-1)]


def packed(table: NDArray[np.uint32]) -> bytes:
    """Residues of 27 bits one after the other, row after row, the lowest bits first."""
    eights = [sum(int(x) << (27 * i) for i, x in enumerate(eight)) for eight in table.reshape(-1, 8)]
    return b"".join(eight.to_bytes(27, "little") for eight in eights)


def unpacked(data: bytes) -> NDArray[np.uint32]:
    """What `packed` packed, in one row."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(-1, 27)
    words = np.packbits(np.pad(bits, ((0, 0), (0, 5))), axis=1, bitorder="little")
    return np.ascontiguousarray(words).view("<u4").reshape(-1).astype(np.uint32)


def restored(words: NDArray[np.uint32], ring: Ring) -> Poly:
    """The polynomial whose native transforms, a row a prime, are these."""
    rows = zip(words, ring.primes, strict=True)
    table = np.array([from_values(row.astype(np.int64), p) for row, p in rows], dtype=np.uint32)
    return from_residues(table, ring)
