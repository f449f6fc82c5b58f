"""Vectors of words that many seal for one: how they lie in a cipher's slots, known to all from plan and request.

Words are signed integers, and so small that even the largest possible total needs no reduction modulo 2^64. A word is
never cut into pieces that are opened one by one: the carries between them would tell about the parts. With Paillier, a
word has one field of a plaintext, wide enough for the total. With the lattice, it is sealed modulo two or three
plaintext primes whose product holds the total. Parts are added modulo each prime, so that what the opener decrypts are
the total's residues, and nothing else of the parts.

Whoever adds hides what it adds up. In Paillier's sum nothing but the sum can be read: the randomness of ciphertexts has
nothing to do with what they seal. The lattice rounds integers when it seals them, and who has the key could see in the
noise of the sum how those of all parties were rounded; so the sum leaves with an encryption of zero and a flood
(`filtered`, everything chosen): within 2^-40 for the whole run, its noise is the same whatever the parts were.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hedgerow.agreement.options import Lattice, Paillier
from hedgerow.agreement.plan import Plan
from hedgerow.corridor.messages import AskCounts, AskHistograms, Request
from hedgerow.errors import ProtocolError
from hedgerow.privacy.additive import PublicKey, SealedSlots, SecretKey
from hedgerow.privacy.lattice.slots_bounds import SLOTS, slots_layout
from hedgerow.privacy.lattice.slots_wire import POLYNOMIAL_BYTES
from hedgerow.privacy.paillier.packing import slots_packing
from hedgerow.privacy.shapes import SlotsPlan
from hedgerow.protocols.session.group import answer_of
from hedgerow.trees.fixedpoint import MOST_ROWS, WIDE_BITS

RUN_SUMS = 1 << 40
"""More integers than any run opens: the flood is wide enough for so many."""
ROWS_BITS = MOST_ROWS.bit_length()
HEAD = 4096
"""Bytes around sealed words, at most."""


def word_bits(plan: Plan, kind: type[Request]) -> int:
    """Bits of the largest total that such a request can ask for, its sign included; from public facts alone."""
    if kind is AskCounts:
        return ROWS_BITS + 1
    if kind is AskHistograms:
        return ROWS_BITS + plan.params.gradient_bits
    return ROWS_BITS + WIDE_BITS + 1  # labels, leaves, metrics: every row has at most one wide unit


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
    def slots(self) -> SlotsPlan:
        """What the cipher needs to know: one integer a word, and what all parts together have at most."""
        rows, most = self.n_words, 1 << (self.bits - 1)
        floods = isinstance(self.plan.method.privacy, Lattice)  # before a sum leaves
        if floods:
            rows = -(-rows // SLOTS) * SLOTS
        choices, run_sums = (1, RUN_SUMS) if floods else (0, 1)
        parts = len(self.plan.members)
        return SlotsPlan(
            rows=rows, entries=1, bound=most, choices=choices, run_sums=run_sums, parts=parts, most_total=most
        )

    def most_bytes(self, added: bool = False) -> int:
        """The length of sealed words, or a little more; `added`: of their sum as it leaves."""
        slots = self.slots
        if not isinstance(self.plan.method.privacy, Paillier):
            layout = slots_layout(slots, by_public_key=True)
            return layout.blocks * len(layout.moduli) * 2 * layout.primes[added] * POLYNOMIAL_BYTES + HEAD
        bits = self.plan.method.privacy.bits
        return slots_packing(slots, bits, 0).count(slots.rows) * bits // 4 + HEAD

    def seal(self, public: PublicKey, own_words: NDArray[np.int64]) -> bytes:
        """A party's words, for whoever has the secret key."""
        words = np.zeros((self.slots.rows, 1), np.int64)
        words[: self.n_words, 0] = own_words.reshape(-1)
        return public.seal_slots(words, self.slots).encode()

    def total(self, public: PublicKey, sealed_parts: Mapping[str, bytes]) -> bytes:
        """The sum of all parties' parts, still sealed; who opens it learns the sum and nothing else of the parts."""
        total: SealedSlots | None = None
        for party, sealed in sealed_parts.items():
            with answer_of(party):
                part = public.read_slots(sealed, self.slots, 1)
                total = part if total is None else total + part
        if total is None:
            raise ProtocolError("A sum was asked for over no parties.")
        if self.slots.choices:
            total = public.filtered(total, np.ones((self.slots.rows, 1), np.bool_))
        return total.encode()

    def open(self, secret: SecretKey, sealed_sum: bytes) -> NDArray[np.int64]:
        """The words of all parties together, clear here from now on."""
        sealed = secret.public.read_slots(sealed_sum, self.slots, 1, self.slots.choices)
        return secret.open_slots(sealed)[: self.n_words, 0].copy()
