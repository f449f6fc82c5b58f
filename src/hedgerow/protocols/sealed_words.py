"""Vectors of 64-bit words that many seal for one: how they lie in a cipher's slots, known to all from plan and request.

A word is cut into limbs so small that their sums over all parties fit one slot; limbs are added, and put together again
when they are opened, modulo 2^64 as masked words are.

Whoever adds hides what it adds up. In Paillier's sum nothing but the sum can be read: the randomness of ciphertexts has
nothing to do with what they seal. The lattice rounds integers when it seals them, and who has the key could see in the
noise of the sum how those of all parties were rounded; so the sum leaves with an encryption of zero and a flood
(`filtered`, everything chosen): within 2^-40 for the whole run, its noise is the same whatever the parts were.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.messages import AskCounts, AskHistograms, Request
from hedgerow.plan import Plan
from hedgerow.privacy.additive import PublicKey, SecretKey
from hedgerow.privacy.agreed import SlotsPlan
from hedgerow.privacy.lattice_slots_bounds import SLOTS, slots_layout
from hedgerow.privacy.lattice_slots_wire import POLYNOMIAL_BYTES
from hedgerow.privacy.paillier_packing import slots_packing
from hedgerow.trees.fixedpoint import MOST_ROWS

ROOM = {"lattice": 25, "paillier": 60}
"""Bits that a sum of limbs may have: for the lattice, what fits one plaintext prime."""
CHOICES = {"lattice": 1, "paillier": 0}
"""Whether a sum must be flooded before it leaves."""
RUN_SUMS = 1 << 40
"""More integers than any run opens: the flood is wide enough for so many."""
ROWS_BITS = MOST_ROWS.bit_length()
HEAD = 4096
"""Bytes around sealed words, at most."""


def word_bits(plan: Plan, kind: type[Request]) -> int:
    """Bits of the largest sum that such a request can ask for, its sign included; from public facts alone."""
    if kind is AskCounts:
        return ROWS_BITS + 1
    if kind is AskHistograms:
        return ROWS_BITS + plan.params.gradient_bits
    return 64


@dataclass(frozen=True)
class SealedVector:
    """How the words that a request asks for are sealed, added and opened."""

    plan: Plan
    n_words: int
    bits: int

    @classmethod
    def of(cls, plan: Plan, request: Request, n_words: int) -> "SealedVector":
        """So many words that this request asks for."""
        return cls(plan, n_words, word_bits(plan, type(request)))

    @cached_property
    def limb_bits(self) -> int:
        """As few limbs as fit, all of one size."""
        room = ROOM[self.plan.protection] - len(self.plan.members).bit_length()
        return -(-self.bits // -(-self.bits // room))

    @property
    def n_limbs(self) -> int:
        """Of each word."""
        return -(-self.bits // self.limb_bits)

    @cached_property
    def slots(self) -> SlotsPlan:
        """What the cipher needs to know."""
        rows = self.n_words * self.n_limbs
        if self.plan.protection == "lattice":
            rows = -(-rows // SLOTS) * SLOTS
        bound, parts = 1 << self.limb_bits, len(self.plan.members)
        choices = CHOICES[self.plan.protection]
        run_sums = RUN_SUMS if choices else 1
        return SlotsPlan(rows=rows, entries=1, bound=bound, choices=choices, run_sums=run_sums, parts=parts)

    def most_bytes(self, added: bool = False) -> int:
        """The length of sealed words, or a little more; `added`: of their sum as it leaves."""
        slots = self.slots
        if self.plan.protection == "lattice":
            layout = slots_layout(slots, by_public_key=True)
            return layout.blocks * len(layout.moduli) * 2 * layout.primes[added] * POLYNOMIAL_BYTES + HEAD
        bits = self.plan.key_bits
        return slots_packing(slots, bits, 0).count(slots.rows) * bits // 4 + HEAD

    def seal(self, public: PublicKey, own_words: NDArray[np.int64]) -> bytes:
        """A party's words, for whoever has the secret key."""
        limbs = np.zeros(self.slots.rows, np.int64)
        rest, n = own_words.reshape(-1), self.n_words
        for i in range(self.n_limbs - 1):
            limbs[i * n : (i + 1) * n] = rest & ((1 << self.limb_bits) - 1)
            rest = rest >> self.limb_bits
        limbs[(self.n_limbs - 1) * n : self.n_limbs * n] = rest
        return public.seal_slots(limbs[:, None], self.slots).encode()

    def total(self, public: PublicKey, sealed_parts: Sequence[bytes]) -> bytes:
        """The sum of all parts, still sealed; who opens it learns the sum and nothing else of the parts."""
        total = public.read_slots(sealed_parts[0], self.slots, 1)
        for part in sealed_parts[1:]:
            total = total + public.read_slots(part, self.slots, 1)
        if self.slots.choices:
            total = public.filtered(total, np.ones((self.slots.rows, 1), np.bool_))
        return total.encode()

    def open(self, secret: SecretKey, sealed_sum: bytes) -> NDArray[np.int64]:
        """The words of all parties together, clear here from now on."""
        sealed = secret.public.read_slots(sealed_sum, self.slots, 1, self.slots.choices)
        limbs = secret.open_slots(sealed)[: self.n_words * self.n_limbs, 0].reshape(self.n_limbs, self.n_words)
        words = np.zeros(self.n_words, np.int64)
        for limb in limbs[::-1]:
            words = (words << self.limb_bits) + limb
        return words
