"""A lattice key that its holder revealed, with which an auditor opens what was sealed, entry by entry.

What the key holder seals is an integer times the scale, or modulo a prime its share of the modulus, and a sampled
error, which is small in every coefficient. So
each coefficient has one reading, and an error that is larger, in which something could be hidden, is found. Two secrets
of one public key would solve the lattice problem on which all keys rest.
"""

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.errors import CipherError
from hedgerow.privacy.additive import NOT_SEALED, SealedSlots
from hedgerow.privacy.lattice.bounds import PRIMES, N
from hedgerow.privacy.lattice.coefficients import CoefficientSlots
from hedgerow.privacy.lattice.rows import LatticeRows, of_kind

Ints = NDArray[np.int64]


class LatticeRevealedKey:
    """See `additive.RevealedKey`; of slots that lie in coefficients."""

    def __init__(self, told: bytes, public: NDArray[np.uint32], name: bytes, threads: int) -> None:
        secret = _native.lattice_secret_of(told)
        if secret is None or not _native.lattice_belongs(secret, public):
            raise CipherError("The revealed lattice key is not the secret half of this public key.")
        self._secret, self._name, self._threads = secret, name, threads

    def entries(self, sealed: SealedSlots) -> tuple[Ints, Ints]:
        """Rows x entries, and what rows share; `NOT_SEALED` where an integer or its error is none agreed on."""
        slots = of_kind(sealed, CoefficientSlots)
        rows, plan = of_kind(slots.sealed, LatticeRows), slots.plan
        if rows.public.name != self._name:
            raise CipherError("What is audited was sealed under another key.")
        layout = rows.layout
        scale = [layout.scale % p for p in PRIMES[:4]]
        opened = _native.lattice_open_rows(self._secret, rows.sealed, scale, layout.modulus, self._threads)
        blocks = opened.reshape(-1, N)
        places, end = blocks[:, : rows.layout.step].reshape(-1).copy(), rows.plan.rows
        own = plan.rows * plan.entries
        if blocks[:, rows.layout.step :].any() or places[own : end - plan.shared].any() or places[end:].any():
            places[:] = NOT_SEALED  # something stands where no entry has its place
        return places[:own].reshape(plan.rows, plan.entries), places[end - plan.shared : end]
