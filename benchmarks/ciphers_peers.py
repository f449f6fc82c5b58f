"""Paillier as others do it, 2048 bits: `phe`, and gmpy2 written straightforwardly. One core, one number a ciphertext.

Costs are those of single steps, measured on a sample; whatever takes many steps is extrapolated linearly from them.
"""

import importlib
import importlib.util
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.ciphers import CHANNELS, Cost
from benchmarks.measure import timed

BITS = 2048
SAMPLE = 40
PRODUCTS = 20_000


@dataclass(frozen=True)
class Steps:
    """Seconds of one sealing, one addition and one opening."""

    name: str
    seal: float
    add: float
    open: float

    def cost(self, rows: int, columns: int, sums: int) -> Cost:
        """Every row's pair sealed, added once a column, and so many sums (of each channel) opened."""
        values, size = rows * CHANNELS, 2 * BITS / 8
        opened = sums * CHANNELS
        return Cost(
            values * self.seal, values * columns * self.add, 0.0, opened * self.open, values * size, opened * size
        )


class Straightforward:
    """Paillier with gmpy2 as textbooks have it: a random r to the n for every number, one product an addition."""

    def __init__(self) -> None:
        self.gmpy2: Any = importlib.import_module("gmpy2")
        p, q = self._prime(), self._prime()
        self.n, self.n2 = p * q, (p * q) ** 2
        self.order = (p - 1) * (q - 1)
        self.inverse = self.gmpy2.invert(self.order, self.n)

    def _prime(self) -> Any:
        return self.gmpy2.next_prime(secrets.randbits(BITS // 2) | (3 << (BITS // 2 - 2)))

    def seal(self, value: int) -> Any:
        """One number."""
        r = self.gmpy2.mpz(secrets.randbelow(int(self.n)))
        return (1 + value * self.n) * self.gmpy2.powmod(r, self.n, self.n2) % self.n2

    def open(self, sealed: Any) -> int:
        """One number, signed."""
        found = (self.gmpy2.powmod(sealed, self.order, self.n2) - 1) // self.n * self.inverse % self.n
        return int(found if 2 * found < self.n else found - self.n)

    def products(self, sealed: list[Any], groups: list[int], wanted: int) -> list[Any]:
        """Sums by group: one product a number."""
        sums, n2 = [self.gmpy2.mpz(1)] * wanted, self.n2
        for each, group in zip(sealed, groups, strict=True):
            sums[group] = sums[group] * each % n2
        return sums


def at_hand(name: str) -> bool:
    """Whether a library is installed; says so in one sentence if not."""
    found = importlib.util.find_spec(name) is not None
    if not found:
        print(f"Left out, not installed: {name}.", file=sys.stderr)
    return found


def gmpy2_steps() -> Steps:
    """Of gmpy2."""
    peer = Straightforward()
    sealing, sealed = timed(lambda: [peer.seal(value) for value in range(SAMPLE)])
    groups = [i % 32 for i in range(PRODUCTS)]
    adding, _ = timed(lambda: peer.products(sealed * (PRODUCTS // SAMPLE), groups, 32))
    opening, _ = timed(lambda: [peer.open(each) for each in sealed])
    return Steps("gmpy2", sealing / SAMPLE, adding / PRODUCTS, opening / SAMPLE)


def phe_steps() -> Steps:
    """Of phe, which uses gmpy2 if that is there."""
    paillier: Any = importlib.import_module("phe.paillier")
    public, private = paillier.generate_paillier_keypair(n_length=BITS)
    sealing, sealed = timed(lambda: [public.encrypt(value) for value in range(SAMPLE)])
    adding, _ = timed(lambda: [a + b for a in sealed for b in sealed])
    opening, _ = timed(lambda: [private.decrypt(each) for each in sealed])
    return Steps("phe", sealing / SAMPLE, adding / SAMPLE**2, opening / SAMPLE)


PEERS: dict[str, Callable[[], Steps]] = {"gmpy2": gmpy2_steps, "phe": phe_steps}


def peers() -> list[Steps]:
    """Those that are installed."""
    return [measure() for name, measure in PEERS.items() if at_hand(name)]
